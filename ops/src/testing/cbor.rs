//! As much of CBOR (RFC 8949) as the protocol of CloudWatch takes, as JSON. A time is written of `{"time": seconds}` and
//! read as its seconds.

use serde_json::{Map, Value, json};

/// The document.
pub(crate) fn read(bytes: &[u8]) -> Value {
    let mut at = 0;
    let value = item(bytes, &mut at).unwrap();
    assert_eq!(at, bytes.len());
    value
}

/// `None` at the end of a list of no stated length.
fn item(bytes: &[u8], at: &mut usize) -> Option<Value> {
    let mut take = |count: usize| {
        let taken = &bytes[*at..*at + count];
        *at += count;
        taken.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let head = take(1);
    let (kind, short) = (head >> 5, head & 31);
    let number = match short {
        24..=27 => take(1 << (short - 24)),
        _ => short,
    };
    let length = (short != 31).then(|| usize::try_from(number).unwrap());
    Some(match kind {
        0 => json!(number),
        1 => json!(-1 - i64::try_from(number).unwrap()),
        3 => {
            let start = *at;
            *at += length.unwrap();
            json!(std::str::from_utf8(&bytes[start..*at]).unwrap())
        }
        4 => {
            let mut list = Vec::new();
            while length.is_none_or(|length| list.len() < length) {
                let Some(value) = item(bytes, at) else { break };
                list.push(value);
            }
            Value::Array(list)
        }
        5 => {
            let mut map = Map::new();
            while length.is_none_or(|length| map.len() < length) {
                let Some(name) = item(bytes, at) else { break };
                map.insert(name.as_str().unwrap().to_owned(), item(bytes, at).unwrap());
            }
            Value::Object(map)
        }
        6 => item(bytes, at).unwrap(),
        7 => match short {
            20 | 21 => json!(short == 21),
            22 => Value::Null,
            26 => json!(f32::from_bits(u32::try_from(number).unwrap())),
            27 => json!(f64::from_bits(number)),
            31 => return None,
            other => panic!("simple value {other}"),
        },
        other => panic!("kind {other}"),
    })
}

/// The bytes of a document.
pub(crate) fn written(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    let head = |kind: u8, length: usize, bytes: &mut Vec<u8>| {
        bytes.push((kind << 5) + 26);
        bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
    };
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key("time") => {
            bytes.push((6 << 5) + 1);
            write(&map["time"], bytes);
        }
        Value::Object(map) => {
            head(5, map.len(), bytes);
            for (name, value) in map {
                write(&json!(name), bytes);
                write(value, bytes);
            }
        }
        Value::Array(list) => {
            head(4, list.len(), bytes);
            for value in list {
                write(value, bytes);
            }
        }
        Value::String(text) => {
            head(3, text.len(), bytes);
            bytes.extend(text.as_bytes());
        }
        Value::Number(number) => {
            bytes.push((7 << 5) + 27);
            bytes.extend(number.as_f64().unwrap().to_bits().to_be_bytes());
        }
        Value::Bool(yes) => bytes.push((7 << 5) + 20 + u8::from(*yes)),
        Value::Null => bytes.push((7 << 5) + 22),
    }
}
