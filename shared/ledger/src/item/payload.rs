//! The items of a payload: its bytes, compressed and cut into chunks. The first also says how to read them.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::event::Payload;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::{MAX_BODY_BYTES, MAX_TRANSACTION_BYTES, PAYLOAD_CHUNK_BYTES};
use hookbox_core::time::EpochSeconds;
use serde::{Deserialize, Serialize};
use zstd::bulk::Compressor;

use super::{Item, SCHEMA, key};
use crate::error::{ItemError, LedgerError};

/// Higher levels cost several times the work for a few percent of a webhook's JSON.
const LEVEL: i32 = 3;
/// The attribute that holds a chunk's bytes.
const DATA: &str = "data";

#[derive(Serialize, Deserialize)]
struct ChunkItem {
    pk: ReceiptId,
    sk: String,
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<EpochSeconds>,
}

/// What the first chunk says about all of them.
#[derive(Serialize, Deserialize)]
struct AboutItem {
    chunks: usize,
    /// Bytes before compression.
    length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
}

/// The chunks of a payload.
pub(crate) fn to_items(
    receipt: ReceiptId,
    payload: &Payload,
    expires_at: Option<EpochSeconds>,
) -> Result<Vec<Item>, LedgerError> {
    let compressed = compress(&payload.body)?;
    let parts: Vec<&[u8]> = compressed.chunks(PAYLOAD_CHUNK_BYTES).collect();
    let mut items = Vec::with_capacity(parts.len());
    for (chunk, part) in parts.iter().enumerate() {
        let mut item = super::write(&ChunkItem { pk: receipt, sk: key::payload(chunk), schema: SCHEMA, expires_at })?;
        if chunk == 0 {
            item.extend(super::write(&AboutItem {
                chunks: parts.len(),
                length: payload.body.len(),
                content_type: payload.content_type.clone(),
                headers: payload.headers.clone(),
                query: payload.query.clone(),
            })?);
        }
        item.insert(DATA.to_owned(), AttributeValue::B(Blob::new(*part)));
        items.push(item);
    }
    Ok(items)
}

/// The payload of its chunks, in order; `None` when some are missing. Chunks beyond its own are of a longer payload
/// that it replaced.
pub(crate) fn from_items(items: &[Item]) -> Result<Option<Payload>, ItemError> {
    let Some(first) = items.first() else { return Ok(None) };
    super::check_schema(first)?;
    if super::names(first).1 != key::payload(0) {
        return Ok(None);
    }
    let about = first.iter().filter(|(name, _)| *name != DATA).map(|(name, value)| (name.clone(), value.clone()));
    let about: AboutItem = super::read(about.collect())?;
    let mut compressed = Vec::new();
    for chunk in 0..about.chunks {
        let Some(item) = items.get(chunk).filter(|item| super::names(item).1 == key::payload(chunk)) else {
            return Ok(None);
        };
        super::check_schema(item)?;
        let data = item.get(DATA).and_then(|data| data.as_b().ok());
        compressed.extend_from_slice(data.ok_or_else(|| super::corrupt(item, "no data"))?.as_ref());
    }
    let body = decompress(&compressed, about.length).map_err(|what| super::corrupt(first, what))?;
    Ok(Some(Payload { body, content_type: about.content_type, headers: about.headers, query: about.query }))
}

fn compress(body: &[u8]) -> Result<Vec<u8>, LedgerError> {
    if body.len() > MAX_BODY_BYTES {
        return Err(LedgerError::TooLarge { what: "payload in bytes", size: body.len(), limit: MAX_BODY_BYTES });
    }
    let compressed = Compressor::new(LEVEL).and_then(|mut compressor| {
        // A reader that met the chunks of two writers would otherwise send a mixture on.
        compressor.include_checksum(true)?;
        compressor.compress(body)
    });
    let compressed = compressed.map_err(|error| LedgerError::Refused {
        code: "compression".to_owned(),
        action: None,
        source: Box::new(error),
    })?;
    if compressed.len() > MAX_TRANSACTION_BYTES {
        let size = compressed.len();
        return Err(LedgerError::TooLarge { what: "compressed payload in bytes", size, limit: MAX_TRANSACTION_BYTES });
    }
    Ok(compressed)
}

/// Never gives, or makes room for, more than the stored length, and nothing for a length that we do not take.
fn decompress(compressed: &[u8], length: usize) -> Result<Vec<u8>, &'static str> {
    if length > MAX_BODY_BYTES {
        return Err("length over the limit");
    }
    let body = zstd::bulk::decompress(compressed, length).map_err(|_| "data is not what was compressed")?;
    if body.len() == length { Ok(body) } else { Err("data of another length") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use hookbox_core::digest::Digest;

    fn payload(body: &[u8]) -> Payload {
        Payload {
            body: body.to_vec(),
            content_type: Some("application/json".into()),
            headers: vec![("x-a".into(), "1".into()), ("x-a".into(), "2".into())],
            query: Some("a=b".into()),
        }
    }

    fn id() -> ReceiptId {
        Digest::of(b"x").to_string().parse().unwrap()
    }

    /// Bytes that no compressor makes smaller.
    fn noise(length: usize) -> Vec<u8> {
        let blocks = (0..length.div_ceil(32) as u64).flat_map(|n| *Digest::of(&n.to_be_bytes()).as_bytes());
        blocks.take(length).collect()
    }

    #[test]
    fn payloads_of_every_size_come_back() {
        for length in [0, 1, 31, PAYLOAD_CHUNK_BYTES, PAYLOAD_CHUNK_BYTES + 1, 1_000_000] {
            let payload = payload(&noise(length));
            let items = to_items(id(), &payload, None).unwrap();
            assert!(items.iter().all(|item| super::super::size(item) < 400 * 1024));
            assert_eq!(items.len() > 1, length >= PAYLOAD_CHUNK_BYTES, "{length}");
            assert_eq!(from_items(&items).unwrap(), Some(payload));
        }
    }

    #[test]
    fn a_missing_chunk_is_a_missing_payload() {
        let items = to_items(id(), &payload(&noise(1_000_000)), None).unwrap();
        assert_eq!(items.len(), 3);
        for gap in 0..items.len() {
            let mut rest = items.clone();
            rest.remove(gap);
            assert_eq!(from_items(&rest).unwrap(), None, "without chunk {gap}");
        }
        assert_eq!(from_items(&[]).unwrap(), None);
    }

    #[test]
    fn chunks_of_two_writers_never_make_a_payload() {
        let one = to_items(id(), &payload(&noise(1_000_000)), None).unwrap();
        let mut other_body = noise(1_000_000);
        other_body.reverse();
        let mut mixed = to_items(id(), &payload(&other_body), None).unwrap();
        mixed[1] = one[1].clone();
        assert!(matches!(from_items(&mixed), Err(ItemError::Corrupt { .. })));
    }

    #[test]
    fn decompression_is_bounded_by_the_stored_length() {
        let mut items = to_items(id(), &payload(&vec![b' '; 4_000_000]), None).unwrap();
        assert!(super::super::size(&items[0]) < 2_000, "a bomb is small");
        items[0].insert("length".to_owned(), AttributeValue::N("1000".to_owned()));
        assert!(matches!(from_items(&items), Err(ItemError::Corrupt { .. })));
        items[0].insert("length".to_owned(), AttributeValue::N("9000000000".to_owned()));
        assert!(matches!(from_items(&items), Err(ItemError::Corrupt { what, .. }) if what.contains("limit")));
    }
}
