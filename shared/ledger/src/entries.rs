//! The indexes: they name candidates and decide nothing.

use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;

use crate::Ledger;
use crate::error::{ItemError, LedgerError};
use crate::expression::{Expression, number, text};
use crate::item::{self, Item, index};
use crate::load::Unreadable;
use crate::table::{self, Index};
use crate::transact::Key;

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
    /// Receipts that arrived earlier are left out.
    pub since: Timestamp,
    /// Receipts that arrived later are left out.
    pub until: Timestamp,
    /// Whether the earliest come first, or the latest.
    pub earliest_first: bool,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The entries, in the order of the index.
    pub items: Vec<T>,
    /// Entries that this version cannot read.
    pub unreadable: Vec<Unreadable>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<Cursor>,
    /// The read units that it took, as DynamoDB bills them.
    pub read_units: f64,
}

/// Where a list goes on. It can be kept as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pk: String,
    sk: String,
    at: i64,
}

impl Cursor {
    /// The time of the entry after which it goes on.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.at)
    }
}

/// The text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct InvalidCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.at, self.pk, self.sk)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut parts = text.splitn(3, ' ');
        match (parts.next().and_then(|at| at.parse().ok()), parts.next(), parts.next()) {
            (Some(at), Some(pk), Some(sk)) => Ok(Self { pk: pk.to_owned(), sk: sk.to_owned(), at }),
            _ => Err(InvalidCursor),
        }
    }
}

/// A range of one partition of an index.
pub(crate) struct Range<'a> {
    pub(crate) index: &'static Index,
    pub(crate) pk: String,
    /// The earliest and the latest time of the range.
    pub(crate) between: Option<(Timestamp, Timestamp)>,
    pub(crate) earliest_first: bool,
    pub(crate) limit: u32,
    pub(crate) after: Option<&'a Cursor>,
    /// The attributes that are wanted; none is all.
    pub(crate) only: &'static [&'static str],
}

impl Ledger {
    /// Up to `limit` entries of an open list whose time is not after `until`, earliest first.
    pub async fn open_entries(
        &self,
        list: &OpenQuery,
        until: Timestamp,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<OpenEntry>, LedgerError> {
        let pk = match list {
            OpenQuery::Due { shard } => index::due(*shard),
            OpenQuery::Review { shard } => index::review(*shard),
            OpenQuery::Held { provider, account, operation, shard } => {
                index::held(provider, account, operation, *shard)
            }
        };
        let after = after.as_ref();
        let between = Some((Timestamp::from_millis(0), until));
        let range = Range { index: &table::OPEN, pk, between, earliest_first: true, limit, after, only: &[] };
        self.page(range, OpenEntry::from_item).await
    }

    /// Up to `limit` receipts of a day's shard, of the times and in the order that the query says.
    pub async fn history(
        &self,
        query: &HistoryQuery,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<ReceiptEntry>, LedgerError> {
        let pk = index::day(&query.provider, &query.account, query.day, query.shard);
        let after = after.as_ref();
        let HistoryQuery { since, until, earliest_first, .. } = *query;
        let range = Range {
            index: &table::HISTORY,
            pk,
            between: Some((since, until)),
            earliest_first,
            limit,
            after,
            only: &[],
        };
        self.page(range, |item| ReceiptEntry::from_item(item, None)).await
    }

    /// Up to `limit` receipts of a resource, latest first.
    pub async fn of_resource(
        &self,
        query: &ResourceQuery,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<ReceiptEntry>, LedgerError> {
        let pk = index::resource(&query.provider, &query.account, &query.resource);
        let after = after.as_ref();
        let range =
            Range { index: &table::RESOURCE, pk, between: None, earliest_first: false, limit, after, only: &[] };
        self.page(range, |item| ReceiptEntry::from_item(item, Some(&query.resource))).await
    }

    pub(crate) async fn page<T>(
        &self,
        range: Range<'_>,
        read: impl Fn(Item) -> Result<T, ItemError>,
    ) -> Result<Page<T>, LedgerError> {
        let mut condition = Expression::default().when_is(range.index.hash, text(range.pk.as_str()));
        if let Some((since, until)) = range.between {
            let name = condition.name(range.index.range);
            let (since, until) = (number(since.as_millis()), number(until.as_millis()));
            let (since, until) = (condition.value(since), condition.value(until));
            condition = condition.when(format!("{name} BETWEEN {since} AND {until}"));
        }
        let only: Vec<_> = range.only.iter().map(|attribute| condition.name(attribute)).collect();
        let only = Some(only.join(", ")).filter(|only| !only.is_empty());
        let start = range.after.map(|after| {
            let mut start = Key::new(&after.pk, &after.sk).into_attributes();
            start.insert(range.index.hash.to_owned(), text(range.pk.as_str()));
            start.insert(range.index.range.to_owned(), number(after.at));
            start
        });
        let mut tries = self.tries();
        let found = loop {
            let call = self
                .client
                .query()
                .table_name(self.table.as_ref())
                .index_name(range.index.name)
                .scan_index_forward(range.earliest_first)
                .limit(i32::try_from(range.limit.max(1)).unwrap_or(i32::MAX))
                .set_key_condition_expression(condition.condition())
                .set_expression_attribute_names(condition.names())
                .set_expression_attribute_values(condition.values())
                .set_projection_expression(only.clone())
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .set_exclusive_start_key(start.clone());
            match tries.make(call.send()).await {
                Ok(found) => break found,
                Err(failure) => tries.again(failure).await?,
            }
        };
        let next = found.last_evaluated_key.as_ref().and_then(|last| {
            let (pk, sk) = item::names(last);
            let at = last.get(range.index.range)?.as_n().ok()?.parse().ok()?;
            Some(Cursor { pk, sk, at })
        });
        let read_units = found.consumed_capacity.and_then(|consumed| consumed.capacity_units).unwrap_or_default();
        let mut page = Page { items: Vec::new(), unreadable: Vec::new(), next, read_units };
        for item in found.items.unwrap_or_default() {
            let (pk, sk) = item::names(&item);
            match read(item) {
                Ok(entry) => page.items.push(entry),
                Err(error) => page.unreadable.push(Unreadable { pk, sk, error }),
            }
        }
        Ok(page)
    }
}
