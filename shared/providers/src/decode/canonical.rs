//! The digest of a value that does not depend on how it is spelt: two deliveries of one event have the same one.
//!
//! Keys are sorted by their UTF-8 bytes, nothing is put between the elements, and a number is written as its
//! significant digits and a power of ten, taken from its source text: `100`, `1e2` and `100.0` are one number, and two
//! that differ only beyond what a float holds stay two.

use hookbox_core::digest::Digest;
use serde_json::Value;

use super::json::{Json, NodeId, unquoted};

/// The digest of a value without the object members that these JSON pointers name; a pointer to nothing changes
/// nothing.
pub(crate) fn digest(json: &Json<'_>, id: NodeId, without: &[&str]) -> Digest {
    let mut text = Vec::with_capacity(json.slice(id).len());
    write(json, id, without, &mut text);
    Digest::of(&text)
}

fn write(json: &Json<'_>, id: NodeId, without: &[&str], out: &mut Vec<u8>) {
    let text = json.slice(id);
    match text.as_bytes().first() {
        Some(b'{') => {
            let mut members: Vec<_> = json.children(id).map(|child| (json.name(child), child)).collect();
            members.sort_unstable();
            out.push(b'{');
            let start = out.len();
            for (name, child) in members {
                let below = below(without, &name);
                if below.contains(&"") {
                    continue;
                }
                if out.len() > start {
                    out.push(b',');
                }
                write_string(&name, out);
                out.push(b':');
                write(json, child, &below, out);
            }
            out.push(b'}');
        }
        Some(b'[') => {
            out.push(b'[');
            for (i, child) in json.children(id).enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let below = if without.is_empty() { Vec::new() } else { below(without, &i.to_string()) };
                write(json, child, &below, out);
            }
            out.push(b']');
        }
        Some(b'"') if text.contains('\\') => write_string(&unquoted(text).unwrap_or_default(), out),
        Some(b'-' | b'0'..=b'9') => write_number(text, out),
        _ => out.extend_from_slice(text.as_bytes()),
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

/// A number of JSON as its significant digits and a power of ten.
fn write_number(text: &str, out: &mut Vec<u8>) {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return out.push(b'0');
    }
    let moved = digits.len() - digits.trim_end_matches('0').len();
    // The reader has refused what is larger than a float, so that only an exponent far below zero fits nowhere.
    let exponent =
        exponent.parse().unwrap_or(i64::MIN).saturating_sub(length(fraction.len())).saturating_add(length(moved));
    out.extend_from_slice(format!("{sign}{significant}e{exponent}").as_bytes());
}

fn length(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str, without: &[&str]) -> Digest {
        let json = Json::parse(text.into()).unwrap();
        digest(&json, 0, without)
    }

    fn written(text: &str) -> String {
        let json = Json::parse(text.into()).unwrap();
        let mut out = Vec::new();
        write(&json, 0, &[], &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn key_order_does_not_matter_and_values_do() {
        let a = of(r#"{"b":[1,{"y":2,"x":"é"}],"a":null}"#, &[]);
        assert_eq!(of(r#"{ "a": null, "b": [1, {"x": "\u00e9", "\u0079": 2}] }"#, &[]), a);
        assert_ne!(of(r#"{"a": null, "b": [{"x": "é", "y": 2}, 1]}"#, &[]), a, "arrays keep their order");
    }

    #[test]
    fn the_canonical_text_is_what_it_says() {
        let text = "{\"b\": [1, true, null, \"q\\\"\\u0001é\u{7f}\\\\\"], \"a\\n\": {}, \"A\": 12}";
        let canonical = "{\"A\":12e0,\"a\\n\":{},\"b\":[1e0,true,null,\"q\\\"\\u0001é\u{7f}\\\\\"]}";
        assert_eq!(written(text), canonical);
        assert_eq!(of(text, &[]), Digest::of(canonical.as_bytes()));
    }

    #[test]
    fn a_number_is_its_value_to_the_last_digit() {
        for (spellings, canonical) in [
            (&["0", "-0", "0.0", "0e5", "-0.00E-3"][..], "0"),
            (&["100", "1e2", "100.0", "1.00E+2", "10000e-2"], "1e2"),
            (&["-2.5", "-25e-1", "-0.025e2"], "-25e-1"),
            (&["18446744073709551616170"], "1844674407370955161617e1"),
            (&["18446744073709551616171"], "18446744073709551616171e0"),
            (&["0.1", "1e-1", "0.10"], "1e-1"),
            (&["0.10000000000000000001"], "10000000000000000001e-20"),
            (&["1e300"], "1e300"),
            (&["1e-400"], "1e-400"),
            (&["1.5e-9223372036854775808"], "15e-9223372036854775808"),
            (&["1e-99999999999999999999"], "1e-9223372036854775808"),
        ] {
            for spelling in spellings {
                assert_eq!(written(spelling), canonical, "{spelling}");
            }
        }
    }

    #[test]
    fn members_can_be_left_out() {
        let text = r#"{"n": 1, "a": {"x/y": 1, "~": 2, "z": 3}, "l": [{"n": 4}, {"n": 5}], "m": 6}"#;
        let pointers = ["/n", "/a/x~1y", "/a/~0", "/l/0/n", "/l/1", "/m/o", "/none"];
        let left = r#"{"a": {"z": 3}, "l": [{}, {"n": 5}], "m": 6}"#;
        assert_eq!(of(text, &pointers), of(left, &[]), "elements of arrays stay where they are");
    }
}
