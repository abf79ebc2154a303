//! The receipt's item.

use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, IdentityWindow};
use hookbox_core::integration::Retention;
use hookbox_core::key::{ReceiptId, Shards};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::receipt::{Arrival, Conflict, Receipt};
use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, index, key};
use crate::error::ItemError;

#[derive(Serialize, Deserialize)]
struct ReceiptItem {
    pk: ReceiptId,
    sk: String,
    schema: u32,
    provider: Provider,
    account: Account,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_version: Option<String>,
    received_at: Timestamp,
    state: StateItem,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<OperationName>,
    #[serde(with = "super::digest")]
    delivery_digest: Digest,
    #[serde(with = "super::digest")]
    event_digest: Digest,
    /// In milliseconds; its presence marks a weak identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    weak_window: Option<u64>,
    config_rev: u64,
    /// In seconds.
    keep_payload: u64,
    /// In seconds.
    keep_receipt: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<EpochSeconds>,
    version: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    duplicate_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_duplicate_at: Option<Timestamp>,
    #[serde(default)]
    arrivals: Vec<ArrivalItem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<ConflictItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    erased_at: Option<Timestamp>,
    token: String,
    chunks: usize,
    /// Never read: the indexes are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    history_pk: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_pk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StateItem {
    Accepted,
    Ignored,
    Rejected,
}

#[derive(Serialize, Deserialize)]
struct ArrivalItem {
    at: Timestamp,
    #[serde(with = "super::digest")]
    digest: Digest,
    secret: u16,
    request: String,
}

#[derive(Serialize, Deserialize)]
struct ConflictItem {
    at: Timestamp,
    #[serde(with = "super::digest")]
    event: Digest,
    #[serde(with = "super::digest")]
    delivery: Digest,
    request: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A receipt with what only the ledger needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredReceipt {
    /// The receipt.
    pub(crate) receipt: Receipt,
    /// The token of the transaction that stored it.
    pub(crate) token: String,
    /// How many chunks its payload has.
    pub(crate) chunks: usize,
}

impl StoredReceipt {
    pub(crate) fn to_item(&self, shards: Shards) -> Result<Item, ItemError> {
        let Self { receipt, token, chunks } = self;
        let (state, state_reason) = match &receipt.disposition {
            Disposition::Accepted => (StateItem::Accepted, None),
            Disposition::Ignored(reason) => (StateItem::Ignored, Some(reason.clone())),
            Disposition::Rejected(reason) => (StateItem::Rejected, Some(reason.clone())),
        };
        let resource_pk =
            receipt.resource.as_ref().map(|name| index::resource(&receipt.provider, &receipt.account, name));
        super::write(&ReceiptItem {
            pk: receipt.id,
            sk: key::HEAD.to_owned(),
            schema: SCHEMA,
            provider: receipt.provider.clone(),
            account: receipt.account.clone(),
            tenant: receipt.tenant.clone(),
            event_id: receipt.event_id.clone(),
            kind: receipt.kind.clone(),
            resource: receipt.resource.clone(),
            occurred_at: receipt.occurred_at,
            event_version: receipt.event_version.clone(),
            received_at: receipt.received_at,
            state,
            state_reason,
            operations: receipt.operations.clone(),
            delivery_digest: receipt.delivery_digest,
            event_digest: receipt.event_digest,
            weak_window: receipt.window.map(|IdentityWindow(window)| millis(window)),
            config_rev: receipt.config_rev,
            keep_payload: receipt.retention.payload.as_secs(),
            keep_receipt: receipt.retention.receipt.as_secs(),
            expires_at: receipt.expires_at,
            version: receipt.version,
            duplicate_count: receipt.duplicate_count,
            last_duplicate_at: receipt.last_duplicate_at,
            arrivals: receipt.arrivals.iter().map(ArrivalItem::from).collect(),
            conflicts: receipt.conflicts.iter().map(ConflictItem::from).collect(),
            erased_at: receipt.erased_at,
            token: token.clone(),
            chunks: *chunks,
            history_pk: index::history(receipt, shards),
            resource_at: resource_pk.as_ref().map(|_| receipt.occurred_at.unwrap_or(receipt.received_at)),
            resource_pk,
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: ReceiptItem = super::read(item)?;
        let reason = item.state_reason.unwrap_or_default();
        let receipt = Receipt {
            id: item.pk,
            provider: item.provider,
            account: item.account,
            tenant: item.tenant,
            event_id: item.event_id,
            kind: item.kind,
            resource: item.resource,
            occurred_at: item.occurred_at,
            event_version: item.event_version,
            received_at: item.received_at,
            disposition: match item.state {
                StateItem::Accepted => Disposition::Accepted,
                StateItem::Ignored => Disposition::Ignored(reason),
                StateItem::Rejected => Disposition::Rejected(reason),
            },
            operations: item.operations,
            delivery_digest: item.delivery_digest,
            event_digest: item.event_digest,
            window: item.weak_window.map(|window| IdentityWindow(Duration::from_millis(window))),
            config_rev: item.config_rev,
            retention: Retention {
                payload: Duration::from_secs(item.keep_payload),
                receipt: Duration::from_secs(item.keep_receipt),
            },
            expires_at: item.expires_at,
            version: item.version,
            duplicate_count: item.duplicate_count,
            last_duplicate_at: item.last_duplicate_at,
            arrivals: item.arrivals.into_iter().map(Arrival::from).collect(),
            conflicts: item.conflicts.into_iter().map(Conflict::from).collect(),
            erased_at: item.erased_at,
        };
        Ok(Self { receipt, token: item.token, chunks: item.chunks })
    }
}

/// The item of one arrival, for a list that is appended to.
pub(crate) fn arrival(arrival: &Arrival) -> Result<Item, ItemError> {
    super::write(&ArrivalItem::from(arrival))
}

/// The item of one conflict, for a list that is appended to.
pub(crate) fn conflict(conflict: &Conflict) -> Result<Item, ItemError> {
    super::write(&ConflictItem::from(conflict))
}

impl From<&Arrival> for ArrivalItem {
    fn from(arrival: &Arrival) -> Self {
        let Arrival { at, digest, secret_index, request_id } = arrival;
        Self { at: *at, digest: *digest, secret: *secret_index, request: request_id.clone() }
    }
}

impl From<ArrivalItem> for Arrival {
    fn from(item: ArrivalItem) -> Self {
        Self { at: item.at, digest: item.digest, secret_index: item.secret, request_id: item.request }
    }
}

impl From<&Conflict> for ConflictItem {
    fn from(conflict: &Conflict) -> Self {
        let Conflict { at, event_digest, delivery_digest, request_id } = conflict;
        Self { at: *at, event: *event_digest, delivery: *delivery_digest, request: request_id.clone() }
    }
}

impl From<ConflictItem> for Conflict {
    fn from(item: ConflictItem) -> Self {
        Self { at: item.at, event_digest: item.event, delivery_digest: item.delivery, request_id: item.request }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
