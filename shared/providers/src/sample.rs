//! Sample deliveries: what `hookbox send` sends.

use hookbox_core::time::Timestamp;
use serde_json::Value;

use crate::profile::file::SampleFile;

/// What a sample delivery is to say. What is not set is the profile's own.
#[derive(Clone, Debug)]
pub struct SampleValues<'a> {
    /// The event's id.
    pub event_id: Option<&'a str>,
    /// The event's kind.
    pub kind: Option<&'a str>,
    /// What it happened to.
    pub resource: Option<&'a str>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// A JSON object that becomes part of the event, so that two samples of one id can differ.
    pub set: Option<&'a Value>,
}

impl Default for SampleValues<'_> {
    fn default() -> Self {
        Self { event_id: None, kind: None, resource: None, occurred_at: Timestamp::from_millis(0), set: None }
    }
}

/// A delivery as the provider would send it, but for its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its headers, with the content type.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// The id of its event, which some schemes sign.
    pub event_id: String,
}

impl Sample {
    pub(crate) fn build(file: &SampleFile, values: &SampleValues<'_>) -> Result<Self, String> {
        let event_id = values.event_id.unwrap_or(&file.event_id);
        let kind = values.kind.unwrap_or(&file.kind);
        let resource = values.resource.unwrap_or(&file.resource);
        let (head, tail) = kind.split_once('.').unwrap_or((kind, ""));
        let at = values.occurred_at;
        let texts = [
            ("{event_id}", event_id.to_owned()),
            ("{kind}", kind.to_owned()),
            ("{kind.head}", head.to_owned()),
            ("{kind.tail}", tail.to_owned()),
            ("{resource}", resource.to_owned()),
            ("{occurred_at}", at.to_string()),
            ("{occurred_at_s}", at.as_millis().div_euclid(1000).to_string()),
            ("{occurred_at_ms}", at.as_millis().to_string()),
        ];
        let set = match values.set {
            None => "{}".to_owned(),
            Some(value @ Value::Object(_)) => value.to_string(),
            Some(_) => return Err("what is set is not a JSON object".to_owned()),
        };
        let inside_json = |text: &str| {
            let quoted = Value::from(text).to_string();
            quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
        };
        let body = fill(&file.body, |name| {
            if name == "{set}" {
                return Some(set.clone());
            }
            texts.iter().find(|(known, _)| *known == name).map(|(_, text)| inside_json(text))
        });
        let mut headers = Vec::new();
        headers.extend(file.content_type.clone().map(|value| ("Content-Type".to_owned(), value)));
        for (name, template) in &file.headers {
            let value =
                fill(template, |name| texts.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone()));
            headers.push((name.clone(), value));
        }
        Ok(Self { headers, body: body.into_bytes(), event_id: event_id.to_owned() })
    }
}

/// Puts a text in the place of each name in braces that is known. What was put in is not looked at again, and other
/// braces are the body's own.
fn fill(template: &str, text_of: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = rest.find('}').and_then(|close| text_of(&rest[..=close]).map(|text| (close, text)));
        if let Some((close, text)) = known {
            out.push_str(&text);
            rest = &rest[close + 1..];
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_put_in_once_and_quoted() {
        let file = SampleFile {
            kind: "a.b".into(),
            resource: "r".into(),
            event_id: "e".into(),
            content_type: Some("application/json".into()),
            headers: [("X-Kind".to_owned(), "{kind.head}".to_owned())].into(),
            body: r#"{"id":"{event_id}","t":{occurred_at_s},"k":"{kind.tail}","o":{},"s":{set}}"#.into(),
        };
        let set = json!({"n": "{kind}"});
        let values = SampleValues { event_id: Some("\"{kind}\""), set: Some(&set), ..SampleValues::default() };
        let sample = Sample::build(&file, &values).unwrap();
        let body: Value = serde_json::from_slice(&sample.body).unwrap();
        assert_eq!(body, json!({"id": "\"{kind}\"", "t": 0, "k": "b", "o": {}, "s": {"n": "{kind}"}}));
        assert_eq!(sample.headers[1], ("X-Kind".into(), "a".into()));
        assert!(Sample::build(&file, &SampleValues { set: Some(&json!([])), ..SampleValues::default() }).is_err());
    }
}
