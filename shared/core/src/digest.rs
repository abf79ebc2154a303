//! SHA-256 digests of bytes and of JSON in canonical form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest: expected 64 hexadecimal digits")]
pub struct InvalidDigest;

impl Digest {
    /// The digest of exactly these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a JSON value that does not depend on the order of object keys or on white space: keys are sorted
    /// by their UTF-8 bytes, nothing is put between the elements, and numbers are written as `serde_json` prints them.
    pub fn of_canonical_json(value: &Value) -> Self {
        Self::of_canonical_json_without(value, &[])
    }

    /// The same without the object members that these JSON pointers name; a pointer to nothing changes nothing.
    pub fn of_canonical_json_without(value: &Value, pointers: &[&str]) -> Self {
        let mut text = Vec::new();
        write_canonical(value, pointers, &mut text);
        Self::of(&text)
    }

    /// A digest that was computed before.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

fn write_canonical(value: &Value, without: &[&str], out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push(b'{');
            let start = out.len();
            for (key, inner) in entries {
                let below = below(without, key);
                if below.contains(&"") {
                    continue;
                }
                if out.len() > start {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                write_canonical(inner, &below, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, inner) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let below = if without.is_empty() { Vec::new() } else { below(without, &i.to_string()) };
                write_canonical(inner, &below, out);
            }
            out.push(b']');
        }
        Value::String(text) => write_string(text, out),
        leaf => out.extend_from_slice(leaf.to_string().as_bytes()),
    }
}

/// A JSON string as `serde_json` writes it.
fn write_string(text: &str, out: &mut Vec<u8>) {
    if text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.extend_from_slice(Value::from(text).to_string().as_bytes());
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// What is left of the JSON pointers that lead through `key`; empty where one ends there.
fn below<'p>(pointers: &[&'p str], key: &str) -> Vec<&'p str> {
    let through = |pointer: &&'p str| {
        let rest = pointer.strip_prefix('/')?;
        let (token, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let same = token == key || (token.contains('~') && token.replace("~1", "/").replace("~0", "~") == key);
        same.then_some(rest)
    };
    pointers.iter().filter_map(through).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_values_do() {
        let a: Value = serde_json::from_str(r#"{"b":[1,{"y":2,"x":"é"}],"a":null}"#).expect("json");
        let b: Value = serde_json::from_str(r#"{ "a": null, "b": [1, {"x": "é", "y": 2}] }"#).expect("json");
        assert_eq!(Digest::of_canonical_json(&a), Digest::of_canonical_json(&b));
        let c = json!({"a": null, "b": [{"x": "é", "y": 2}, 1]});
        assert_ne!(Digest::of_canonical_json(&a), Digest::of_canonical_json(&c), "arrays keep their order");
    }

    #[test]
    fn the_canonical_text_is_what_it_says() {
        let value = json!({"b": [1, -2.5, 1e300, true, null, "q\"\u{1}é\u{7f}\\"], "a\n": {}, "A": 18_446_744_073_709_551_615_u64});
        let text =
            "{\"A\":18446744073709551615,\"a\\n\":{},\"b\":[1,-2.5,1e+300,true,null,\"q\\\"\\u0001é\u{7f}\\\\\"]}";
        assert_eq!(Digest::of_canonical_json(&value), Digest::of(text.as_bytes()));
    }

    #[test]
    fn members_can_be_left_out() {
        let value = json!({"n": 1, "a": {"x/y": 1, "~": 2, "z": 3}, "l": [{"n": 4}, {"n": 5}], "m": 6});
        let left = json!({"a": {"z": 3}, "l": [{}, {"n": 5}], "m": 6});
        let pointers = ["/n", "/a/x~1y", "/a/~0", "/l/0/n", "/l/1", "/m/o", "/none"];
        let without = Digest::of_canonical_json_without(&value, &pointers);
        assert_eq!(without, Digest::of_canonical_json(&left), "elements of arrays stay where they are");
    }

    #[test]
    fn text_goes_both_ways() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!("e3b0".parse::<Digest>(), Err(InvalidDigest));
    }
}
