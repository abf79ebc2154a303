//! What the dispatcher needs to know of a stream record.

use hookbox_core::job::{ReviewReason, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use serde::Deserialize;
use serde_dynamo::{AttributeValue, Item};

use crate::error::ItemError;
use crate::item::{SCHEMA, key};

/// A change of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChange {
    /// The job.
    pub key: JobKey,
    /// Its status before; `None` when it is new.
    pub old_status: Option<Status>,
    /// Its status now.
    pub new_status: Status,
    /// Why it waits for a person, if it does.
    pub reason: Option<ReviewReason>,
}

/// What the dispatcher needs of an image.
#[derive(Deserialize)]
struct Image {
    status: Status,
    reason: Option<ReviewReason>,
}

/// Reads the images of a stream record; `old` is empty for an insert.
///
/// An old image that cannot be read counts as none: the worst is a message too many.
pub fn job_change(old: &Item, new: &Item) -> Result<JobChange, ItemError> {
    let (pk, sk) = (text(new, "pk"), text(new, "sk"));
    let corrupt = |what: &str| ItemError::Corrupt { pk: pk.clone(), sk: sk.clone(), what: what.to_owned() };
    let schema: u32 = match new.get("schema") {
        Some(AttributeValue::N(schema)) => schema.parse().map_err(|_| corrupt("no schema"))?,
        _ => return Err(corrupt("no schema")),
    };
    if schema > SCHEMA {
        return Err(ItemError::NewerSchema { pk, sk, schema });
    }
    let receipt: Option<ReceiptId> = pk.parse().ok();
    let key = receipt.and_then(|receipt| key::parse_job(receipt, &sk));
    let key = key.ok_or_else(|| corrupt("not the key of a job"))?;
    let image: Image = serde_dynamo::from_item(new.clone()).map_err(|error| corrupt(&error.to_string()))?;
    let before: Option<Image> = serde_dynamo::from_item(old.clone()).ok();
    Ok(JobChange {
        key,
        old_status: before.map(|before| before.status),
        new_status: image.status,
        reason: image.reason,
    })
}

fn text(item: &Item, name: &str) -> String {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    }
}
