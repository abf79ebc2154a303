//! What the indexes hold of an item. An index has no `schema`: it names candidates only, and a reader of the item
//! itself decides whether it can read it.

use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Item, key};
use crate::entries::{OpenEntry, ReceiptEntry};
use crate::error::ItemError;

#[derive(Deserialize)]
struct OpenItem {
    pk: ReceiptId,
    sk: String,
    open_at: Timestamp,
    received_at: Timestamp,
    provider: Provider,
    account: Account,
    kind: String,
}

#[derive(Deserialize)]
struct ReceiptEntryItem {
    pk: ReceiptId,
    provider: Provider,
    account: Account,
    event_id: Option<String>,
    kind: String,
    resource: Option<String>,
    state: String,
    received_at: Timestamp,
    #[serde(default)]
    operations: Vec<OperationName>,
}

impl OpenEntry {
    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: OpenItem = read(item)?;
        let Some(key) = key::parse_job(item.pk, &item.sk) else {
            let (pk, sk) = (item.pk.to_string(), item.sk);
            return Err(ItemError::Corrupt { pk, sk, what: "not the key of a job".to_owned() });
        };
        Ok(Self {
            key,
            open_at: item.open_at,
            received_at: item.received_at,
            provider: item.provider,
            account: item.account,
            kind: item.kind,
        })
    }
}

impl ReceiptEntry {
    /// An index by resource does not repeat it.
    pub(crate) fn from_item(item: Item, resource: Option<&str>) -> Result<Self, ItemError> {
        let item: ReceiptEntryItem = read(item)?;
        Ok(Self {
            id: item.pk,
            provider: item.provider,
            account: item.account,
            event_id: item.event_id,
            kind: item.kind,
            resource: resource.map(str::to_owned).or(item.resource),
            state: item.state,
            received_at: item.received_at,
            operations: item.operations,
        })
    }
}

fn read<T: DeserializeOwned>(item: Item) -> Result<T, ItemError> {
    let (pk, sk) = super::names(&item);
    serde_dynamo::aws_sdk_dynamodb_1::from_item(item).map_err(|error| ItemError::Corrupt {
        pk,
        sk,
        what: error.to_string(),
    })
}
