//! The items of the table: how each kind is stored. They are types of their own, so that a change of a domain type
//! never silently changes what lies in a table.
//!
//! Every item carries `schema`. A reader accepts its own and older ones, passes over attributes that it does not know,
//! and gives up on a newer one. New attributes need no new schema, a new meaning of an old one does; so does a new
//! attribute inside a list or a map, because those are written whole.

pub(crate) mod audit;
pub(crate) mod bulk;
pub(crate) mod entry;
pub(crate) mod index;
pub(crate) mod integration;
pub(crate) mod job;
pub(crate) mod key;
pub(crate) mod own_profile;
pub(crate) mod pause;
pub(crate) mod payload;
pub(crate) mod receipt;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ItemError;

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The schema that this version writes.
pub(crate) const SCHEMA: u32 = 1;

/// The item of a value.
pub(crate) fn write(value: &impl Serialize) -> Result<Item, ItemError> {
    serde_dynamo::aws_sdk_dynamodb_1::to_item(value).map_err(|error| ItemError::Corrupt {
        pk: String::new(),
        sk: String::new(),
        what: format!("cannot be written: {error}"),
    })
}

/// The value of an item, if this version can read it.
pub(crate) fn read<T: DeserializeOwned>(item: Item) -> Result<T, ItemError> {
    check_schema(&item)?;
    let (pk, sk) = names(&item);
    serde_dynamo::aws_sdk_dynamodb_1::from_item(item).map_err(|error| ItemError::Corrupt {
        pk,
        sk,
        what: without_values(&error.to_string()),
    })
}

/// The reader's message as far as it cannot quote a value of the item.
fn without_values(message: &str) -> String {
    let named = ["missing field", "unknown field", "duplicate field"].iter().any(|start| message.starts_with(start));
    if named { message.to_owned() } else { "an attribute is not of the expected form".to_owned() }
}

/// Refuses an item of a newer schema or of none.
pub(crate) fn check_schema(item: &Item) -> Result<(), ItemError> {
    let schema = match item.get("schema") {
        Some(AttributeValue::N(schema)) => schema.parse().ok(),
        _ => None,
    };
    match schema {
        Some(SCHEMA..) if schema != Some(SCHEMA) => {
            let (pk, sk) = names(item);
            Err(ItemError::NewerSchema { pk, sk, schema: schema.unwrap_or(u32::MAX) })
        }
        Some(_) => Ok(()),
        None => Err(corrupt(item, "no schema")),
    }
}

/// The item cannot be read, for this reason.
pub(crate) fn corrupt(item: &Item, what: &str) -> ItemError {
    let (pk, sk) = names(item);
    ItemError::Corrupt { pk, sk, what: what.to_owned() }
}

/// The keys of an item as far as it has them.
pub(crate) fn names(item: &Item) -> (String, String) {
    let text = |name| item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
    (text("pk"), text("sk"))
}

/// How large DynamoDB counts an item.
pub(crate) fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        // About a byte for two digits, one for the exponent and one for a sign.
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 2,
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + value_size(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.iter().map(|(name, value)| 1 + name.len() + value_size(value)).sum::<usize>(),
        _ => 1,
    }
}

/// Stores 32 bytes as a binary attribute: half the size of its text.
pub(crate) mod digest {
    use hookbox_core::digest::Digest;
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(digest.as_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Digest;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("32 bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Digest, E> {
                <[u8; 32]>::try_from(bytes).map(Digest::from_bytes).map_err(|_| E::invalid_length(bytes.len(), &self))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}
