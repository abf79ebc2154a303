//! Receipts by connection, time, kind, resource and state: from the indexes alone.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{DirectoryEntry, HistoryQuery, LedgerError, ReceiptEntry, ResourceQuery};

use super::ConnectionArgs;
use super::merge::{Merged, Read};
use super::range::Range;
use crate::connection::Table;
use crate::failure::Failure;

/// The most entries of one read.
const MAX_PAGE: u32 = 1_000;

/// Which receipts are wanted.
#[derive(Clone, Debug)]
pub struct ReceiptFilter {
    /// Of which connections.
    pub connections: ConnectionArgs,
    /// When they arrived.
    pub range: Range,
    /// Of one of these kinds; none is all.
    pub kinds: Vec<String>,
    /// About this resource.
    pub resource: Option<String>,
    /// In this state: `accepted`, `ignored` or `rejected`.
    pub state: Option<&'static str>,
}

/// In which order receipts come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they arrived.
    EarliestFirst,
    /// For people, who ask for what was just now.
    LatestFirst,
}

/// A place in a list of receipts. As text it goes on from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    at: Timestamp,
    id: ReceiptId,
}

impl Place {
    /// Behind this receipt.
    pub fn behind(entry: &ReceiptEntry) -> Self {
        Self { at: entry.received_at, id: entry.id }
    }

    /// At the receipt that arrived then.
    pub fn at(at: Timestamp, id: ReceiptId) -> Self {
        Self { at, id }
    }

    /// The time at which its receipt arrived.
    pub fn time(self) -> Timestamp {
        self.at
    }

    /// The first time that may follow it, where the latest come first.
    pub fn until(self) -> Timestamp {
        Timestamp::from_millis(self.at.as_millis() + 1)
    }

    /// Whether a receipt follows it, where the earliest come first.
    pub fn is_followed_by(self, entry: &ReceiptEntry) -> bool {
        (entry.received_at, entry.id) > (self.at, self.id)
    }

    /// Whether a receipt follows it, where the latest come first.
    pub fn is_before(self, entry: &ReceiptEntry) -> bool {
        (entry.received_at, entry.id) < (self.at, self.id)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.as_millis(), self.id)
    }
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let place = text.split_once('.').and_then(|(at, id)| {
            let at: i64 = at.parse().ok().filter(|at| (0..i64::MAX).contains(at))?;
            Some(Self { at: Timestamp::from_millis(at), id: id.parse().ok()? })
        });
        place.ok_or("expected the token with which an earlier list ended")
    }
}

/// Receipts, one after the other, read as they are asked for.
pub struct ReceiptSearch<'a> {
    table: &'a Table,
    filter: &'a ReceiptFilter,
    order: Order,
    connections: Vec<DirectoryEntry>,
    page: u32,
    days: VecDeque<Timestamp>,
    merged: Merged<'a, ReceiptEntry>,
    sorted: VecDeque<ReceiptEntry>,
    unreadable: Vec<String>,
}

impl<'a> ReceiptSearch<'a> {
    /// Begins. `expected` is about how many will be asked for.
    pub async fn begin(
        table: &'a Table,
        filter: &'a ReceiptFilter,
        order: Order,
        expected: usize,
    ) -> Result<Self, Failure> {
        let mut days: VecDeque<_> = filter.range.days().collect();
        if order == Order::EarliestFirst {
            days.make_contiguous().reverse();
        }
        let mut search = Self {
            table,
            filter,
            order,
            connections: filter.connections.of_directory(table).await?,
            page: u32::try_from(expected.saturating_add(1)).unwrap_or(MAX_PAGE).min(MAX_PAGE),
            days,
            merged: Merged::none(),
            sorted: VecDeque::new(),
            unreadable: Vec::new(),
        };
        if let Some(resource) = &filter.resource {
            search.days.clear();
            search.sorted = search.of_resource(resource).await?;
        }
        Ok(search)
    }

    /// The next one; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ReceiptEntry>, Failure> {
        if let Some(entry) = self.sorted.pop_front() {
            return Ok(Some(entry));
        }
        loop {
            while let Some(entry) = self.merged.next().await.map_err(|error| failure(self.table, &error))? {
                if self.takes(&entry) {
                    return Ok(Some(entry));
                }
            }
            self.unreadable.append(&mut self.merged.unreadable);
            let Some(day) = self.days.pop_front() else { return Ok(None) };
            self.merged = self.of_day(day);
        }
    }

    /// What was met so far that this version cannot read, and why.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().chain(&self.merged.unreadable).map(String::as_str)
    }

    fn takes(&self, entry: &ReceiptEntry) -> bool {
        let ReceiptFilter { kinds, state, range, .. } = self.filter;
        range.holds(entry.received_at)
            && (kinds.is_empty() || kinds.contains(&entry.kind))
            && state.is_none_or(|state| *state == *entry.state)
    }

    fn of_day(&self, day: Timestamp) -> Merged<'a, ReceiptEntry> {
        let Range { since, until } = self.filter.range;
        let until = Timestamp::from_millis(until.as_millis() - 1);
        let (table, page, earliest_first) = (self.table, self.page, self.order == Order::EarliestFirst);
        let reads = self.connections.iter().flat_map(|DirectoryEntry { provider, account, .. }| {
            table.ledger.shards().all().map(move |shard| {
                let (provider, account) = (provider.clone(), account.clone());
                let query = HistoryQuery { provider, account, day, shard, since, until, earliest_first };
                let read: Read<'a, _> = Box::new(move |after| {
                    let query = query.clone();
                    Box::pin(async move { table.ledger.history(&query, page, after).await })
                });
                read
            })
        });
        let earliest = |a: &ReceiptEntry, b: &ReceiptEntry| place(a).cmp(&place(b));
        Merged::new(reads, if earliest_first { earliest } else { |a, b| place(b).cmp(&place(a)) })
    }

    /// The index has them in the order in which they happened, so that all are read before the first can be told.
    async fn of_resource(&mut self, resource: &str) -> Result<VecDeque<ReceiptEntry>, Failure> {
        let table = self.table;
        let reads: Vec<_> = self.connections.iter().map(|entry| read_resource(table, entry, resource)).collect();
        let mut merged = Merged::new(reads, |_, _| Ordering::Equal);
        let mut found = Vec::new();
        while let Some(entry) = merged.next().await.map_err(|error| failure(table, &error))? {
            found.extend(Some(entry).filter(|entry| self.takes(entry)));
        }
        self.unreadable.append(&mut merged.unreadable);
        found.sort_by_key(place);
        if self.order == Order::LatestFirst {
            found.reverse();
        }
        Ok(found.into())
    }
}

/// Two that arrived at once are told apart by the id, so that a place is one.
fn place(entry: &ReceiptEntry) -> (Timestamp, ReceiptId) {
    (entry.received_at, entry.id)
}

fn read_resource<'a>(table: &'a Table, entry: &DirectoryEntry, resource: &str) -> Read<'a, ReceiptEntry> {
    let DirectoryEntry { provider, account, .. } = entry.clone();
    let query = ResourceQuery { provider, account, resource: resource.to_owned() };
    Box::new(move |after| {
        let query = query.clone();
        Box::pin(async move { table.ledger.of_resource(&query, MAX_PAGE, after).await })
    })
}

fn failure(table: &Table, error: &LedgerError) -> Failure {
    table.failure("list receipts", error)
}
