//! Jobs by state, connection, kind, operation and error. The index names those that have not ended, and the receipts of a
//! range of time those that have.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::{Job, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::OperationName;
use hookbox_ledger::{DirectoryEntry, Loaded, OpenEntry, OpenQuery};

use super::merge::{Merged, Read};
use super::range::Range;
use super::receipts::{Order, ReceiptFilter, ReceiptSearch};
use super::{ConnectionArgs, FAR};
use crate::connection::Table;
use crate::failure::Failure;

/// Entries of the index in one read.
const PAGE: u32 = 200;
/// Folders that are read at once.
const AT_ONCE: usize = 16;

/// Which jobs are wanted.
#[derive(Clone, Debug)]
pub struct JobFilter {
    /// In one of these states.
    pub states: BTreeSet<Status>,
    /// Of which connections.
    pub connections: ConnectionArgs,
    /// When their events arrived. Those that have ended are looked for in it.
    pub range: Range,
    /// Of one of these kinds; none is all.
    pub kinds: Vec<String>,
    /// Of this operation.
    pub operation: Option<OperationName>,
    /// Whose last error has this code.
    pub error_code: Option<String>,
}

impl fmt::Display for JobFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states: Vec<_> = self.states.iter().map(|state| state.as_str()).collect();
        write!(f, "state {}", states.join(","))?;
        let ConnectionArgs { provider, account } = &self.connections;
        let texts = [
            ("provider", provider.as_ref().map(ToString::to_string)),
            ("account", account.as_ref().map(ToString::to_string)),
            ("operation", self.operation.as_ref().map(ToString::to_string)),
            ("kind", Some(self.kinds.join(",")).filter(|kinds| !kinds.is_empty())),
            ("error", self.error_code.clone()),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                write!(f, ", {name} {text}")?;
            }
        }
        write!(f, ", arrived from {} until {}", self.range.since, self.range.until)
    }
}

/// A job with its folder, as they were read.
#[derive(Clone, Debug)]
pub struct FoundJob {
    /// The job.
    pub job: Job,
    /// Its folder.
    pub folder: Loaded,
}

/// Jobs, one after the other, read as they are asked for.
pub struct JobSearch<'a> {
    table: &'a Table,
    filter: &'a JobFilter,
    open: Merged<'a, OpenEntry>,
    ended: Option<ReceiptSearch<'a>>,
    found: VecDeque<FoundJob>,
    seen: BTreeSet<JobKey>,
    unreadable: Vec<String>,
}

impl JobFilter {
    /// The receipts in which jobs of theirs that have ended are looked for; `None` when none of these is wanted.
    pub fn receipts(&self) -> Option<ReceiptFilter> {
        let ended = self.states.contains(&Status::Completed) || self.states.contains(&Status::Dismissed);
        ended.then(|| ReceiptFilter {
            connections: self.connections.clone(),
            range: self.range,
            kinds: self.kinds.clone(),
            resource: None,
            state: Some("accepted"),
        })
    }

    fn takes(&self, job: &Job) -> bool {
        self.states.contains(&job.status())
            && self.takes_entry(&job.key, &job.kind)
            && self.connections.take(&job.provider, &job.account)
            && self.range.holds(job.received_at)
            && self
                .error_code
                .as_ref()
                .is_none_or(|code| job.last_error.as_ref().is_some_and(|e| e.code.as_str() == code))
    }

    fn takes_entry(&self, key: &JobKey, kind: &String) -> bool {
        self.operation.as_ref().is_none_or(|operation| *operation == key.operation)
            && (self.kinds.is_empty() || self.kinds.contains(kind))
    }

    /// The lists of the index that hold them.
    async fn lists(&self, table: &Table) -> Result<Vec<OpenQuery>, Failure> {
        let shards = table.ledger.shards();
        let wants = |states: &[Status]| states.iter().any(|state| self.states.contains(state));
        let mut lists = Vec::new();
        if wants(&[Status::Pending, Status::Processing, Status::Retrying]) {
            lists.extend(shards.all().map(|shard| OpenQuery::Due { shard }));
        }
        if wants(&[Status::Review]) {
            lists.extend(shards.all().map(|shard| OpenQuery::Review { shard }));
        }
        if wants(&[Status::Held]) {
            for DirectoryEntry { provider, account, operations, .. } in self.connections.of_directory(table).await? {
                let wanted = operations.iter().filter(|name| self.operation.as_ref().is_none_or(|only| only == *name));
                for operation in wanted {
                    lists.extend(shards.all().map(|shard| OpenQuery::Held {
                        provider: provider.clone(),
                        account: account.clone(),
                        operation: operation.clone(),
                        shard,
                    }));
                }
            }
        }
        Ok(lists)
    }
}

impl<'a> JobSearch<'a> {
    /// Begins. `receipts` is what [`JobFilter::receipts`] gave.
    pub async fn begin(
        table: &'a Table,
        filter: &'a JobFilter,
        receipts: Option<&'a ReceiptFilter>,
    ) -> Result<Self, Failure> {
        let lists = filter.lists(table).await?;
        let ended = match receipts {
            Some(receipts) => Some(ReceiptSearch::begin(table, receipts, Order::EarliestFirst, usize::MAX).await?),
            None => None,
        };
        // By the time at which each is to be looked at: the index knows no other order.
        let open = Merged::new(lists.into_iter().map(|list| read(table, list)), |a, b| a.open_at.cmp(&b.open_at));
        let (found, seen, unreadable) = (VecDeque::new(), BTreeSet::new(), Vec::new());
        Ok(Self { table, filter, open, ended, found, seen, unreadable })
    }

    /// The next one; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<FoundJob>, Failure> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Some(found));
            }
            let candidates = self.candidates().await?;
            if candidates.is_empty() {
                return Ok(None);
            }
            self.load(candidates).await?;
        }
    }

    /// What was met so far that this version cannot read, and why.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        let indexed = self.ended.iter().flat_map(ReceiptSearch::unreadable);
        self.unreadable.iter().chain(&self.open.unreadable).map(String::as_str).chain(indexed)
    }

    /// The next receipts that may have such jobs; none at the end.
    async fn candidates(&mut self) -> Result<Vec<ReceiptId>, Failure> {
        let mut candidates = Vec::new();
        while candidates.len() < AT_ONCE {
            let entry = self.open.next().await;
            let Some(entry) = entry.map_err(|error| self.table.failure("list jobs", &error))? else { break };
            let of_ours = self.filter.connections.take(&entry.provider, &entry.account);
            if of_ours && self.filter.range.holds(entry.received_at) && self.filter.takes_entry(&entry.key, &entry.kind)
            {
                candidates.push(entry.key.receipt);
            }
        }
        while candidates.len() < AT_ONCE {
            let Some(ended) = &mut self.ended else { break };
            let Some(entry) = ended.next().await? else { break };
            let operation = self.filter.operation.as_ref();
            if operation.map_or(!entry.operations.is_empty(), |only| entry.operations.contains(only)) {
                candidates.push(entry.id);
            }
        }
        candidates.dedup();
        Ok(candidates)
    }

    async fn load(&mut self, candidates: Vec<ReceiptId>) -> Result<(), Failure> {
        let table = self.table;
        let read = |id: ReceiptId| async move {
            table.ledger.load(&id).await.map_err(|error| table.failure(&format!("read the receipt {id}"), &error))
        };
        let folders: Vec<Option<Loaded>> = stream::iter(candidates).map(read).buffered(AT_ONCE).try_collect().await?;
        for folder in folders.into_iter().flatten() {
            self.unreadable.extend(folder.unreadable.iter().map(|item| item.error.to_string()));
            for job in folder.jobs.iter().filter(|job| self.filter.takes(job)) {
                if self.seen.insert(job.key.clone()) {
                    self.found.push_back(FoundJob { job: job.clone(), folder: folder.clone() });
                }
            }
        }
        Ok(())
    }
}

fn read(table: &Table, list: OpenQuery) -> Read<'_, OpenEntry> {
    Box::new(move |after| {
        let list = list.clone();
        Box::pin(async move { table.ledger.open_entries(&list, FAR, PAGE, after).await })
    })
}
