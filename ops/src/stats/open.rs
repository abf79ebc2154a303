//! The jobs that have not ended. The index says which they are and which of them wait for a person or a pause; whether one
//! is pending, processing or retrying only the job itself says.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::Status;
use hookbox_core::key::JobKey;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, OpenEntry, OpenQuery};

use super::indexes::{AT_ONCE, Connection, Count, Counted, Counts, PAGE};
use crate::failure::Failure;
use crate::search::FAR;
use crate::search::range::Range;

/// Jobs that are read at most. Where more of them wait for their turn, what they have in common is what matters.
const MOST_READ: usize = 10_000;

/// What one list, or all of one kind, came to.
#[derive(Default)]
struct Lists {
    of: BTreeMap<Connection, InList>,
    /// The jobs of the range by connection, as long as they may be read.
    jobs: BTreeMap<JobKey, Connection>,
    unreadable: Vec<String>,
}

/// The entries of one connection.
#[derive(Clone, Copy, Default)]
struct InList {
    in_range: u64,
    first_in_range: u64,
    earlier: u64,
    oldest: Option<Timestamp>,
}

/// The open jobs as the index lists them.
pub(super) struct OpenJobs {
    due: Lists,
    review: Lists,
    held: Lists,
}

impl OpenJobs {
    /// Lists them.
    pub(super) async fn list(count: Count<'_>) -> Result<Self, Failure> {
        let shards = || count.table.ledger.shards().all();
        let held = count.connections.iter().flat_map(|entry| {
            entry.operations.iter().flat_map(move |operation| {
                shards().map(move |shard| OpenQuery::Held {
                    provider: entry.provider.clone(),
                    account: entry.account.clone(),
                    operation: operation.clone(),
                    shard,
                })
            })
        });
        let mut due = count.lists(shards().map(|shard| OpenQuery::Due { shard }), None).await?;
        // What has gone from one list to another meanwhile is counted where it was seen last.
        let review = count.lists(shards().map(|shard| OpenQuery::Review { shard }), Some(&mut due)).await?;
        let held = count.lists(held, Some(&mut due)).await?;
        Ok(Self { due, review, held })
    }

    /// How many jobs are read to see how they stand: none when they are too many.
    pub(super) fn to_be_read(&self) -> u64 {
        let waiting: u64 = self.due.of.values().map(|list| list.in_range).sum();
        if waiting <= MOST_READ as u64 { waiting } else { 0 }
    }

    /// Reads those that are to be read, and adds all to what is counted.
    pub(super) async fn add_to(self, counted: &mut Counted, count: Count<'_>) -> Result<(), Failure> {
        self.review.add_to(counted, |counts, number| counts.open.review += number);
        self.held.add_to(counted, |counts, number| counts.open.held += number);
        self.due.add_to(counted, |counts, number| counts.open.unread += number);
        if self.to_be_read() > 0 { count.standings(self.due.jobs, counted).await } else { Ok(()) }
    }
}

impl Count<'_> {
    /// Reads these lists. A job that stands in `before` is taken out of it.
    async fn lists(
        self,
        queries: impl Iterator<Item = OpenQuery>,
        before: Option<&mut Lists>,
    ) -> Result<Lists, Failure> {
        let known = before.as_deref();
        let mut lists = Lists::default();
        let mut moved = Vec::new();
        let mut read = stream::iter(queries.map(|query| self.list(query, known))).buffer_unordered(AT_ONCE);
        while let Some((list, from)) = read.try_next().await? {
            lists.append(list);
            moved.extend(from);
        }
        drop(read);
        if let Some(before) = before {
            for key in &moved {
                before.remove(key);
            }
        }
        Ok(lists)
    }

    /// Reads one list; gives also those of its jobs that stand in `known`.
    async fn list(self, query: OpenQuery, known: Option<&Lists>) -> Result<(Lists, Vec<JobKey>), Failure> {
        let (mut list, mut moved) = (Lists::default(), Vec::new());
        let mut after = None;
        loop {
            let page = self.table.ledger.open_entries(&query, FAR, PAGE, after).await;
            let page = page.map_err(|error| self.table.failure("count open jobs", &error))?;
            self.budget.spend(page.read_units)?;
            list.unreadable.extend(page.unreadable.iter().map(|entry| entry.error.to_string()));
            for entry in page.items.into_iter().filter(|entry| self.which.take(&entry.provider, &entry.account)) {
                if known.is_some_and(|known| known.jobs.contains_key(&entry.key)) {
                    moved.push(entry.key.clone());
                }
                list.take(entry, self.range, known.is_none());
            }
            after = page.next;
            if after.is_none() {
                return Ok((list, moved));
            }
        }
    }

    /// Reads the jobs, and counts each as it stands.
    async fn standings(self, jobs: BTreeMap<JobKey, Connection>, counted: &mut Counted) -> Result<(), Failure> {
        let keys: Vec<JobKey> = jobs.keys().cloned().collect();
        let reads = keys.chunks(Ledger::STANDINGS_AT_ONCE).map(|keys| async move {
            let standings = self.table.ledger.standings(keys).await;
            let standings = standings.map_err(|error| self.table.failure("read the open jobs", &error))?;
            self.budget.spend(standings.read_units)?;
            Ok::<_, Failure>((keys, standings))
        });
        let mut read = stream::iter(reads).buffer_unordered(AT_ONCE);
        while let Some((keys, mut standings)) = read.try_next().await? {
            for key in keys {
                let Some(counts) = jobs.get(key).and_then(|connection| counted.of.get_mut(connection)) else {
                    continue;
                };
                if !standings.unreadable.iter().any(|item| item.pk == key.receipt.to_string()) {
                    counts.stands(key, standings.of.remove(key));
                }
            }
            counted.unreadable.extend(standings.unreadable.iter().map(|item| item.error.to_string()));
        }
        Ok(())
    }
}

impl Lists {
    fn take(&mut self, entry: OpenEntry, range: Range, keep: bool) {
        let OpenEntry { key, received_at, provider, account, .. } = entry;
        let connection = (provider, account);
        if !self.of.contains_key(&connection) {
            self.of.insert(connection.clone(), InList::default());
        }
        let Some(list) = self.of.get_mut(&connection) else { return };
        list.oldest = list.oldest.into_iter().chain([received_at]).min();
        list.earlier += u64::from(received_at < range.since);
        if range.holds(received_at) {
            list.in_range += 1;
            list.first_in_range += u64::from(key.version == 1);
            if keep && self.jobs.len() <= MOST_READ {
                self.jobs.insert(key, connection);
            }
        }
    }

    /// Takes one of the jobs of the range out.
    fn remove(&mut self, key: &JobKey) {
        let Some(list) = self.jobs.remove(key).and_then(|connection| self.of.get_mut(&connection)) else { return };
        list.in_range -= 1;
        list.first_in_range -= u64::from(key.version == 1);
    }

    fn append(&mut self, mut other: Self) {
        for (connection, list) in other.of {
            let InList { in_range, first_in_range, earlier, oldest } = list;
            let ours = self.of.entry(connection).or_default();
            ours.in_range += in_range;
            ours.first_in_range += first_in_range;
            ours.earlier += earlier;
            ours.oldest = ours.oldest.into_iter().chain(oldest).min();
        }
        if self.jobs.len() <= MOST_READ {
            self.jobs.append(&mut other.jobs);
        }
        self.unreadable.append(&mut other.unreadable);
    }

    fn add_to(&self, counted: &mut Counted, add: impl Fn(&mut Counts, u64)) {
        for (connection, list) in &self.of {
            let counts = counted.of.entry(connection.clone()).or_default();
            add(counts, list.in_range);
            counts.first_open += list.first_in_range;
            counts.earlier += list.earlier;
            counts.oldest = counts.oldest.into_iter().chain(list.oldest).min();
        }
        counted.unreadable.extend(self.unreadable.iter().cloned());
    }
}

impl Counts {
    /// One of the unread jobs was read: `None` when it is not there any more.
    fn stands(&mut self, key: &JobKey, status: Option<Status>) {
        self.open.unread -= 1;
        match status {
            Some(Status::Pending) => self.open.pending += 1,
            Some(Status::Processing) => self.open.processing += 1,
            Some(Status::Retrying) => self.open.retrying += 1,
            Some(Status::Held) => self.open.held += 1,
            Some(Status::Review) => self.open.review += 1,
            Some(Status::Completed | Status::Dismissed) | None => self.first_open -= u64::from(key.version == 1),
        }
    }
}
