//! Forms, `application/x-www-form-urlencoded` with the place of every value in the text, or multipart.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{Fault, multipart};
use crate::request::Duplicate;

/// The most fields of one form.
const MAX_FIELDS: usize = 10_000;

/// A decoded form.
#[derive(Debug)]
pub(crate) struct Form {
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    value: String,
    /// Where the value stands in the body, still encoded.
    raw: Option<Range<usize>>,
}

impl Form {
    pub(crate) fn parse(body: &str) -> Result<Self, Fault> {
        let mut fields = Vec::new();
        let mut at = 0;
        for pair in body.split('&') {
            let start = at;
            at += pair.len() + 1;
            if pair.is_empty() {
                continue;
            }
            if fields.len() == MAX_FIELDS {
                return Err(Fault::TooManyValues);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let raw = Some(start + pair.len() - value.len()..start + pair.len());
            fields.push(Field { name: unescape(name)?, value: unescape(value)?, raw });
        }
        Ok(Self { fields })
    }

    /// Reads `multipart/form-data`.
    pub(crate) fn parse_multipart(body: &[u8], boundary: &str) -> Result<Self, Fault> {
        let parts = multipart::parse(body, boundary)?.into_iter();
        Ok(Self { fields: parts.map(|(name, value)| Field { name, value, raw: None }).collect() })
    }

    /// Names and values in their order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| (field.name.as_str(), field.value.as_str()))
    }

    /// The value of a field that has one, however often it says so: who repeats a field as it is changes nothing that
    /// Twilio or Mandrill sign.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, Duplicate> {
        Ok(self.field(name)?.map(|field| field.value.as_str()))
    }

    /// Where the value of a field stands in the body, still encoded.
    pub(crate) fn place(&self, name: &str) -> Option<Range<usize>> {
        self.field(name).ok().flatten().and_then(|field| field.raw.clone())
    }

    fn field(&self, name: &str) -> Result<Option<&Field>, Duplicate> {
        let mut fields = self.fields.iter().filter(|field| field.name == name);
        let first = fields.next();
        let same = |field: &Field| first.is_some_and(|first| first.value == field.value);
        if fields.all(same) { Ok(first) } else { Err(Duplicate) }
    }

    /// The form as a JSON object, for paths and for the canonical digest: a text for each name, or a list of texts for a
    /// name that has several.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        for field in &self.fields {
            let value = Value::from(field.value.as_str());
            match map.get_mut(&field.name) {
                None => {
                    map.insert(field.name.clone(), value);
                }
                Some(Value::Array(list)) if list.contains(&value) => {}
                Some(Value::Array(list)) => list.push(value),
                Some(first) if *first == value => {}
                Some(first) => *first = Value::Array(vec![first.take(), value]),
            }
        }
        Value::Object(map)
    }
}

/// Encodes a value as browsers do.
pub(crate) fn escape(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// `+` is a blank, `%41` a byte; a `%` without two digits stands for itself, and bytes that are no UTF-8 are refused.
fn unescape(text: &str) -> Result<String, Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0);
                bytes.push(u8::try_from(digit(*high) * 16 + digit(*low)).unwrap_or(0));
                rest = after;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Fault::InvalidUtf8)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_decoded_and_found_in_the_body() {
        let body = "a=1+2&&b=%C3%A4%26&c&d=x&d=y&e=100%&=q";
        let form = Form::parse(body).unwrap();
        assert_eq!(form.get("a"), Ok(Some("1 2")));
        assert_eq!(form.get("b"), Ok(Some("ä&")));
        assert_eq!(form.get("c"), Ok(Some("")));
        assert_eq!(form.get("d"), Err(Duplicate));
        assert_eq!(form.get("e"), Ok(Some("100%")));
        assert_eq!(&body[form.place("b").unwrap()], "%C3%A4%26");
        assert_eq!(form.to_json(), json!({"a": "1 2", "b": "ä&", "c": "", "d": ["x", "y"], "e": "100%", "": "q"}));
        assert_eq!(Form::parse("a=%ff").unwrap_err(), Fault::InvalidUtf8);
    }

    proptest::proptest! {
        #[test]
        fn what_is_encoded_is_read_back(text in ".{0,40}") {
            let body = format!("x=1&a={}&y=2", escape(&text));
            assert_eq!(Form::parse(&body).unwrap().get("a"), Ok(Some(text.as_str())));
        }
    }
}
