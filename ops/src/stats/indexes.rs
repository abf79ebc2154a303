//! What the indexes count.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{DirectoryEntry, HistoryQuery};

use super::budget::Budget;
use super::open;
use super::sample::SAMPLE;
use crate::connection::Table;
use crate::failure::Failure;
use crate::search::ConnectionArgs;
use crate::search::range::Range;

/// Entries of one read: some 300 KB of the index, of which a part is sent.
pub(super) const PAGE: u32 = 1_000;
/// Lists that are read at once.
pub(super) const AT_ONCE: usize = 16;

/// A provider and the name of one of its connections.
pub(super) type Connection = (Provider, Account);

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) of: BTreeMap<Connection, Counts>,
    /// A random sample of the receipts: ids are digests, so the smallest ones are as good as any.
    pub(super) sampled: BTreeSet<ReceiptId>,
    pub(super) unreadable: Vec<String>,
}

/// Numbers of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) receipts: u64,
    /// Those of them that required nothing.
    pub(super) without_jobs: u64,
    /// The first jobs of the receipts.
    pub(super) jobs: u64,
    /// The first jobs of the receipts that have not ended.
    pub(super) first_open: u64,
    /// Jobs of the receipts that have not ended.
    pub(super) open: Open,
    /// Jobs of earlier events that have not ended.
    pub(super) earlier: u64,
    /// When the oldest event arrived of which a job has not ended, in the range or not.
    pub(super) oldest: Option<Timestamp>,
}

/// How open jobs stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) pending: u64,
    pub(super) processing: u64,
    pub(super) retrying: u64,
    /// Pending, processing or retrying: too many to read, or not to be read.
    pub(super) unread: u64,
    pub(super) held: u64,
    pub(super) review: u64,
}

/// A part of the index of receipts.
#[derive(Default)]
struct Part {
    counts: Counts,
    sampled: BTreeSet<ReceiptId>,
    unreadable: Vec<String>,
}

impl Counted {
    /// Receipts first: a job that ends meanwhile is then rather counted as ended, which it is, than as open.
    pub(super) async fn read(
        table: &Table,
        connections: &[DirectoryEntry],
        which: &ConnectionArgs,
        range: Range,
        budget: &Budget,
    ) -> Result<Self, Failure> {
        let mut counted = Self::default();
        for entry in connections {
            counted.of.insert((entry.provider.clone(), entry.account.clone()), Counts::default());
        }
        let until = Timestamp::from_millis(range.until.as_millis() - 1);
        let queries = connections.iter().flat_map(|entry| {
            range.days().flat_map(move |day| {
                table.ledger.shards().all().map(move |shard| HistoryQuery {
                    provider: entry.provider.clone(),
                    account: entry.account.clone(),
                    day,
                    shard,
                    since: range.since,
                    until,
                    earliest_first: true,
                })
            })
        });
        let reads = queries.map(|query| async move {
            let part = Part::read(table, &query, budget).await?;
            Ok::<_, Failure>(((query.provider, query.account), part))
        });
        let mut parts = stream::iter(reads).buffer_unordered(AT_ONCE);
        while let Some((connection, mut part)) = parts.try_next().await? {
            counted.of.entry(connection).or_default().add(&part.counts);
            counted.sampled.append(&mut part.sampled);
            keep_smallest(&mut counted.sampled);
            counted.unreadable.append(&mut part.unreadable);
        }
        drop(parts);
        open::read(table, connections, which, range, budget, &mut counted).await?;
        Ok(counted)
    }

    /// Of all connections together.
    pub(super) fn total(&self) -> Counts {
        let mut total = Counts::default();
        for counts in self.of.values() {
            total.add(counts);
        }
        total
    }
}

impl Part {
    async fn read(table: &Table, query: &HistoryQuery, budget: &Budget) -> Result<Self, Failure> {
        let mut part = Self::default();
        let mut after = None;
        loop {
            let page = table.ledger.history_counts(query, PAGE, after).await;
            let page = page.map_err(|error| table.failure("count receipts", &error))?;
            budget.spend(page.read_units)?;
            for receipt in &page.items {
                part.counts.receipts += 1;
                part.counts.without_jobs += u64::from(receipt.operations == 0);
                part.counts.jobs += receipt.operations as u64;
                if part.sampled.len() < SAMPLE || part.sampled.last().is_some_and(|last| receipt.id < *last) {
                    part.sampled.insert(receipt.id);
                    keep_smallest(&mut part.sampled);
                }
            }
            part.unreadable.extend(page.unreadable.iter().map(|entry| entry.error.to_string()));
            after = page.next;
            if after.is_none() {
                return Ok(part);
            }
        }
    }
}

fn keep_smallest(ids: &mut BTreeSet<ReceiptId>) {
    while ids.len() > SAMPLE {
        ids.pop_last();
    }
}

impl Counts {
    /// First jobs that are completed or dismissed. The indexes are a second apart at times.
    pub(super) fn ended(&self) -> u64 {
        self.jobs.saturating_sub(self.first_open)
    }

    fn add(&mut self, other: &Self) {
        // Destructured, so that a new count cannot be forgotten.
        let Self { receipts, without_jobs, jobs, first_open, open, earlier, oldest } = *other;
        let Open { pending, processing, retrying, unread, held, review } = open;
        self.receipts += receipts;
        self.without_jobs += without_jobs;
        self.jobs += jobs;
        self.first_open += first_open;
        self.open.pending += pending;
        self.open.processing += processing;
        self.open.retrying += retrying;
        self.open.unread += unread;
        self.open.held += held;
        self.open.review += review;
        self.earlier += earlier;
        self.oldest = self.oldest.into_iter().chain(oldest).min();
    }
}
