//! Counting what will expire and what will not, with a bound on what is read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hookbox_core::integration::Retention;
use hookbox_core::job::Status;
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{DirectoryEntry, Ledger, LedgerError};

use crate::connection::Table;
use crate::failure::Failure;
use crate::search::jobs::{JobFilter, JobSearch};
use crate::search::range::Range;
use crate::search::receipts::{Order, ReceiptFilter, ReceiptSearch};
use crate::search::{ConnectionArgs, FAR};

/// The IAM actions that it takes.
const ACTIONS: &str =
    "dynamodb:Query, GetItem and BatchGetItem on the table, Query on its indexes `open` and `history`";

/// What is to be known.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What expires within this time from now.
    pub within: Duration,
    /// Of which connections.
    pub connections: ConnectionArgs,
    /// The most receipts that are read.
    pub reads: u64,
}

/// What will expire, and what will not.
#[derive(Clone, Debug)]
pub struct Survey {
    pub(super) within: Duration,
    pub(super) until: Timestamp,
    /// How many receipts were read, and how many might have been.
    pub(super) reads: Reads,
    pub(super) connections: Vec<Connection>,
    pub(super) unreadable: Vec<String>,
}

/// What is counted of one connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) provider: Provider,
    pub(super) account: Account,
    /// How long things are kept; `None` for a connection that was retired.
    pub(super) retention: Option<Retention>,
    /// How many receipts expire.
    pub(super) receipts: u64,
    /// How many payloads do.
    pub(super) payloads: u64,
    pub(super) kept: Kept,
}

/// Folders that do not expire, by the first reason that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// A job waits for a person.
    pub(super) review: u64,
    /// A job waits for its operation to be resumed.
    pub(super) held: u64,
    /// A job has been open for long, or was replayed.
    pub(super) open: u64,
}

/// A bound on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) made: u64,
    pub(super) limit: u64,
    /// Whether everything was read that was to be.
    pub(super) complete: bool,
}

impl Reads {
    /// Whether one more may be read.
    fn more(&mut self) -> bool {
        if self.made >= self.limit {
            self.complete = false;
            return false;
        }
        self.made += 1;
        true
    }
}

impl Survey {
    /// Counts, as things stand at `now`.
    pub async fn make(wanted: &Wanted, table: &Table, now: Timestamp) -> Result<Self, Failure> {
        let mut survey = Self {
            within: wanted.within,
            until: now.plus(wanted.within),
            reads: Reads { made: 0, limit: wanted.reads, complete: true },
            connections: Vec::new(),
            unreadable: Vec::new(),
        };
        let mut kept = survey.kept(&wanted.connections, table).await?;
        for DirectoryEntry { provider, account, .. } in wanted.connections.of_directory(table).await? {
            let integration = table.ledger.integration(&provider, &account).await;
            let attempted = format!("read the integration {provider}/{account}");
            let integration = integration.map_err(|error| table.failure_of(&attempted, ACTIONS, &error))?;
            let kept = kept.remove(&(provider.clone(), account.clone())).unwrap_or_default();
            let retention = integration.map(|integration| integration.retention);
            let mut connection = Connection { provider, account, retention, receipts: 0, payloads: 0, kept };
            if let Some(Retention { payload, receipt }) = retention {
                let until = survey.until;
                connection.receipts = survey
                    .expiring(&connection, receipt, table, now, |receipt| {
                        receipt.expires_at.is_some_and(|at| Timestamp::from_seconds(at.get()) <= until)
                    })
                    .await?;
                connection.payloads = survey
                    .expiring(&connection, payload, table, now, |receipt| {
                        receipt.erased_at.is_none() && receipt.expires_at.is_some()
                    })
                    .await?;
            }
            survey.connections.push(connection);
        }
        Ok(survey)
    }

    /// Folders with jobs that have not ended, and do not expire for that.
    async fn kept(
        &mut self,
        connections: &ConnectionArgs,
        table: &Table,
    ) -> Result<BTreeMap<(Provider, Account), Kept>, Failure> {
        let filter = JobFilter {
            states: crate::jobs::OPEN.into(),
            connections: connections.clone(),
            range: Range { since: Timestamp::from_millis(0), until: FAR },
            kinds: Vec::new(),
            operation: None,
            error_code: None,
        };
        let mut search = JobSearch::begin(table, &filter, None).await?;
        let mut kept: BTreeMap<_, Kept> = BTreeMap::new();
        let mut seen: BTreeSet<ReceiptId> = BTreeSet::new();
        while let Some(found) = search.next().await? {
            if !seen.insert(found.folder.id) {
                continue;
            }
            if !self.reads.more() {
                break;
            }
            if found.folder.receipt.as_ref().is_some_and(|receipt| receipt.expires_at.is_some()) {
                continue;
            }
            let has = |status| found.folder.jobs.iter().any(|job| job.status() == status);
            let kept = kept.entry((found.job.provider, found.job.account)).or_default();
            match (has(Status::Review), has(Status::Held)) {
                (true, _) => kept.review += 1,
                (false, true) => kept.held += 1,
                (false, false) => kept.open += 1,
            }
        }
        self.unreadable.extend(search.unreadable().map(str::to_owned));
        Ok(kept)
    }

    /// How many of the receipts of a connection that arrived so long ago that this retention ends within the time are as
    /// `expires` says.
    async fn expiring(
        &mut self,
        connection: &Connection,
        retention: Duration,
        table: &Table,
        now: Timestamp,
        expires: impl Fn(&Receipt) -> bool,
    ) -> Result<u64, Failure> {
        let Connection { provider, account, .. } = connection;
        let since = now.minus(retention);
        let connections = ConnectionArgs { provider: Some(provider.clone()), account: Some(account.clone()) };
        let range = Range { since, until: since.plus(self.within).min(now) };
        let filter = ReceiptFilter { connections, range, kinds: Vec::new(), resource: None, state: None };
        let mut search = ReceiptSearch::begin(table, &filter, Order::EarliestFirst, usize::MAX).await?;
        let mut number = 0;
        loop {
            let mut ids = Vec::new();
            while ids.len() < Ledger::KNOWN_AT_ONCE {
                let Some(entry) = search.next().await? else { break };
                if !self.reads.more() {
                    break;
                }
                ids.push(entry.id);
            }
            if ids.is_empty() {
                break;
            }
            let known = table.ledger.known(&ids).await;
            let failure = |error: &LedgerError| table.failure_of("read receipts", ACTIONS, error);
            number +=
                known.map_err(|error| failure(&error))?.values().filter(|receipt| expires(receipt)).count() as u64;
        }
        self.unreadable.extend(search.unreadable().map(str::to_owned));
        Ok(number)
    }
}
