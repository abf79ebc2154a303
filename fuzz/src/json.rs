//! The JSON reader against `serde_json`: the whole input is a document.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use hookbox_providers::{Configured, DecodeError, Fault, MAX_JSON_DEPTH, MAX_JSON_VALUES};
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use super::ways::{Delivery, generic};

/// Takes every document, and gives the text of its member `n` as resource.
static READER: LazyLock<Configured> = LazyLock::new(|| {
    generic(&json!({"event": {
        "kind": "const:document",
        "resource": "body:$.n",
        "without_id": [{"use": "digest", "window": "1d"}],
    }}))
});

/// What `serde_json` takes is taken with the same value, but for keys that occur twice and the limits of size; what is
/// refused is refused for a reason.
pub fn holds(data: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(data);
    match READER.decode(&Delivery::new(data).request()) {
        Ok(delivery) => {
            let Ok(theirs) = theirs else {
                assert!(has_half_a_pair(data), "what is taken is JSON");
                return;
            };
            let [event] = delivery.events.as_slice() else { panic!("one document is one event") };
            if !rounds(data) {
                let again = serde_json::to_vec(&theirs).expect("JSON is written");
                let again = READER.decode(&Delivery::new(&again).request()).expect("and read again");
                assert_eq!(event.digest, again.events[0].digest, "another value than serde_json reads");
            }
            assert!(!shape(data).has_twice, "a key that occurs twice");
            // Numbers, which a value rounds, are taken as they are written.
            if let Ok(members) = serde_json::from_slice::<std::collections::BTreeMap<String, &RawValue>>(data)
                && let Some(Value::Number(_)) = theirs.get("n")
                && members["n"].get().len() <= hookbox_core::limits::MAX_FIELD_BYTES
            {
                assert_eq!(event.resource.as_deref(), Some(members["n"].get()));
            }
        }
        Err(DecodeError::Shape { fault, .. }) => match fault {
            Fault::Empty => assert!(data.is_empty()),
            Fault::ByteOrderMark => assert!(data.starts_with(b"\xef\xbb\xbf")),
            Fault::InvalidUtf8 => assert!(std::str::from_utf8(data).is_err()),
            Fault::DuplicateKey { at } => {
                assert_eq!(data.get(at), Some(&b'"'));
                assert!(theirs.is_err() || shape(data).has_twice, "no key occurs twice");
            }
            Fault::TooDeep { .. } => {
                assert!(theirs.is_err() || shape(data).depth > MAX_JSON_DEPTH, "not deep");
            }
            Fault::TooManyValues => assert!(data.len() >= MAX_JSON_VALUES),
            Fault::Syntax { at } | Fault::TrailingBytes { at } => {
                assert!(at <= data.len());
                assert!(theirs.is_err(), "refused, and JSON");
            }
            other => panic!("{other} is no fault of a document"),
        },
        Err(error) => panic!("{error} is no fault of a document"),
    }
}

/// Whether it may hold the escape of half a surrogate pair, which `serde_json` does not take.
fn has_half_a_pair(data: &[u8]) -> bool {
    data.windows(4).any(|bytes| bytes[..2] == *b"\\u" && bytes[2].eq_ignore_ascii_case(&b'd'))
}

/// Whether it may hold a number that a float does not hold to its last digit.
fn rounds(data: &[u8]) -> bool {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let is_exponent = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1].eq_ignore_ascii_case(&b'e');
    data.chunk_by(|a, b| is_of_number(a) == is_of_number(b)).any(|run| run.len() > 15 && is_of_number(&run[0]))
        || data.windows(2).any(is_exponent)
}

/// What a value does not show.
#[derive(Default)]
struct Shape {
    depth: usize,
    has_twice: bool,
}

fn shape(data: &[u8]) -> Shape {
    let mut reader = serde_json::Deserializer::from_slice(data);
    serde::Deserialize::deserialize(&mut reader).unwrap_or_default()
}

impl<'de> serde::Deserialize<'de> for Shape {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Visitor)
    }
}

struct Visitor;

impl Shape {
    fn around(self, inner: &Self) -> Self {
        Self { depth: self.depth.max(inner.depth + 1), has_twice: self.has_twice || inner.has_twice }
    }
}

impl<'de> serde::de::Visitor<'de> for Visitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut shape = Shape { depth: 1, has_twice: false };
        while let Some(inner) = items.next_element::<Shape>()? {
            shape = shape.around(&inner);
        }
        Ok(shape)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let (mut shape, mut keys) = (Shape { depth: 1, has_twice: false }, HashSet::new());
        while let Some((key, inner)) = members.next_entry::<String, Shape>()? {
            shape = shape.around(&inner);
            shape.has_twice |= !keys.insert(key);
        }
        Ok(shape)
    }
}
