//! What the indexes count.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Cursor, DirectoryEntry, HistoryQuery};

use super::budget::{Budget, Estimate, FirstPage};
use super::open::OpenJobs;
use super::sample::SAMPLE;
use crate::connection::Table;
use crate::failure::Failure;
use crate::search::ConnectionArgs;
use crate::search::range::Range;

/// Entries of the first page of a list, by which the rest is estimated.
const FIRST_PAGE: u32 = 200;
/// Entries of any other page: some 300 KB of the index, of which a part is sent.
pub(super) const PAGE: u32 = 1_000;
/// Lists that are read at once.
pub(super) const AT_ONCE: usize = 16;

/// A provider and the name of one of its connections.
pub(super) type Connection = (Provider, Account);

/// What is to be counted.
#[derive(Clone, Copy)]
pub(super) struct Count<'a> {
    pub(super) table: &'a Table,
    pub(super) connections: &'a [DirectoryEntry],
    pub(super) which: &'a ConnectionArgs,
    pub(super) range: Range,
    /// How many receipts the metrics have counted in the range; `None` when they do not say it.
    pub(super) stored: Option<u64>,
    /// How many receipts are read afterwards.
    pub(super) sample: u64,
    pub(super) budget: &'a Budget,
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) of: BTreeMap<Connection, Counts>,
    /// A random sample of the receipts: ids are digests, so the smallest ones are as good as any.
    pub(super) sampled: BTreeSet<ReceiptId>,
    pub(super) estimate: Estimate,
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

/// A list of the index of receipts, as far as it was read.
struct List {
    query: HistoryQuery,
    counts: Counts,
    sampled: BTreeSet<ReceiptId>,
    unreadable: Vec<String>,
    /// Where it goes on.
    next: Option<Cursor>,
    read_units: f64,
}

impl Count<'_> {
    /// Counts, unless it would take too much: the open jobs and the first page of each list of receipts tell that.
    pub(super) async fn read(self) -> Result<Counted, Failure> {
        let mut counted = Counted::default();
        for entry in self.connections {
            counted.of.insert((entry.provider.clone(), entry.account.clone()), Counts::default());
        }
        let open = OpenJobs::list(self).await?;
        let begun = self.queries().into_iter().map(|query| List::begin(self, query));
        let lists: Vec<List> = stream::iter(begun).buffer_unordered(AT_ONCE).try_collect().await?;
        let pages: Vec<_> = lists.iter().map(List::first_page).collect();
        let entries: u64 = pages.iter().map(|page| page.entries).sum();
        let others = open.to_be_read() + self.sample.min(entries);
        counted.estimate = Estimate::of(self.budget.used(), &pages, self.stored, others);
        self.budget.allows(counted.estimate)?;
        let mut finished = stream::iter(lists.into_iter().map(|list| list.finish(self))).buffer_unordered(AT_ONCE);
        while let Some(list) = finished.try_next().await? {
            counted.take(list);
        }
        drop(finished);
        open.add_to(&mut counted, self).await?;
        Ok(counted)
    }

    /// One for each connection, day and shard.
    fn queries(self) -> Vec<HistoryQuery> {
        let until = Timestamp::from_millis(self.range.until.as_millis() - 1);
        let queries = self.connections.iter().flat_map(|entry| {
            self.range.days().flat_map(move |day| {
                self.table.ledger.shards().all().map(move |shard| HistoryQuery {
                    provider: entry.provider.clone(),
                    account: entry.account.clone(),
                    day,
                    shard,
                    since: self.range.since,
                    until,
                    earliest_first: true,
                })
            })
        });
        queries.collect()
    }
}

impl Counted {
    fn take(&mut self, mut list: List) {
        let HistoryQuery { provider, account, .. } = list.query;
        self.of.entry((provider, account)).or_default().add(&list.counts);
        self.sampled.append(&mut list.sampled);
        keep_smallest(&mut self.sampled);
        self.unreadable.append(&mut list.unreadable);
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

impl List {
    async fn begin(count: Count<'_>, query: HistoryQuery) -> Result<Self, Failure> {
        let mut list = Self {
            query,
            counts: Counts::default(),
            sampled: BTreeSet::new(),
            unreadable: Vec::new(),
            next: None,
            read_units: 0.0,
        };
        list.page(count, FIRST_PAGE).await?;
        Ok(list)
    }

    async fn finish(mut self, count: Count<'_>) -> Result<Self, Failure> {
        while self.next.is_some() {
            self.page(count, PAGE).await?;
        }
        Ok(self)
    }

    async fn page(&mut self, count: Count<'_>, limit: u32) -> Result<(), Failure> {
        let Count { table, budget, .. } = count;
        let page = table.ledger.history_counts(&self.query, limit, self.next.take()).await;
        let page = page.map_err(|error| table.failure("count receipts", &error))?;
        budget.spend(page.read_units)?;
        self.read_units += page.read_units;
        for receipt in &page.items {
            self.counts.receipts += 1;
            self.counts.without_jobs += u64::from(receipt.operations == 0);
            self.counts.jobs += receipt.operations as u64;
            if self.sampled.len() < SAMPLE || self.sampled.last().is_some_and(|last| receipt.id < *last) {
                self.sampled.insert(receipt.id);
                keep_smallest(&mut self.sampled);
            }
        }
        self.unreadable.extend(page.unreadable.iter().map(|entry| entry.error.to_string()));
        self.next = page.next;
        Ok(())
    }

    /// What was read so far.
    fn first_page(&self) -> FirstPage {
        const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 3_600);
        let HistoryQuery { day, since, until, .. } = self.query;
        let (since, until) = (since.max(day), until.min(day.plus(DAY)));
        let goes_on = self.next.as_ref().map(|next| (next.at().since(since), until.since(next.at())));
        FirstPage { entries: self.counts.receipts, read_units: self.read_units, goes_on }
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
