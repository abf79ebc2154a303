//! The indexes: they name candidates and decide nothing.

use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;

use crate::load::Unreadable;
use crate::{Ledger, LedgerError};

/// A list of open jobs within the `open` index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenQuery {
    /// Jobs that wait for an attempt or have one running.
    Due {
        /// The shard.
        shard: u16,
    },
    /// Jobs that wait for a person.
    Review {
        /// The shard.
        shard: u16,
    },
    /// Jobs that wait for their operation to be resumed.
    Held {
        /// The provider's profile.
        provider: Provider,
        /// The connection.
        account: Account,
        /// The paused operation.
        operation: OperationName,
        /// The shard.
        shard: u16,
    },
}

/// An open job as the index has it: read the job before deciding anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEntry {
    /// The job.
    pub key: JobKey,
    /// When it is to be looked at.
    pub open_at: Timestamp,
    /// When its event arrived.
    pub received_at: Timestamp,
    /// The provider of its event.
    pub provider: Provider,
    /// The connection of its event.
    pub account: Account,
    /// The kind of its event.
    pub kind: String,
}

/// The receipts of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// Any time of the day (in UTC).
    pub day: Timestamp,
    /// The shard.
    pub shard: u16,
}

/// The receipts of one resource, such as a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceQuery {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// The provider's id of the resource.
    pub resource: String,
}

/// A receipt as the indexes have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptEntry {
    /// The receipt.
    pub id: ReceiptId,
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// The provider's own id of the event.
    pub event_id: Option<String>,
    /// What happened.
    pub kind: String,
    /// What it happened to.
    pub resource: Option<String>,
    /// `accepted`, `ignored` or `rejected`.
    pub state: String,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The operations that it required.
    pub operations: Vec<OperationName>,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the order of the index.
    pub items: Vec<T>,
    /// Entries that this version cannot read.
    pub unreadable: Vec<Unreadable>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// Where a list goes on. It can be kept as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) String);

impl Ledger {
    /// Up to `limit` entries of an open list whose time is not after `until`, earliest first.
    pub async fn open_entries(
        &self,
        list: &OpenQuery,
        until: Timestamp,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<OpenEntry>, LedgerError> {
        let _ = (list, until, limit, after);
        unimplemented!()
    }

    /// Up to `limit` receipts of a day's shard, latest first.
    pub async fn history(
        &self,
        query: &HistoryQuery,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<ReceiptEntry>, LedgerError> {
        let _ = (query, limit, after);
        unimplemented!()
    }

    /// Up to `limit` receipts of a resource, latest first.
    pub async fn of_resource(
        &self,
        query: &ResourceQuery,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<ReceiptEntry>, LedgerError> {
        let _ = (query, limit, after);
        unimplemented!()
    }
}
