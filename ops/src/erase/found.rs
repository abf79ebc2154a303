//! How the receipts stand that are to be erased.

use std::io;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Erasure, LedgerError, Taken};

use crate::connection::Table;
use crate::failure::{Failure, Trouble};
use crate::layout::{Cell, Columns, count};
use crate::terminal::{Terminal, Tone};

/// Folders that are looked at at once.
const AT_ONCE: usize = 16;
/// Receipts that are named before it is asked.
const NAMED: usize = 20;
/// The IAM actions that it takes.
const ACTIONS: &str = "dynamodb:Query, PutItem, UpdateItem, DeleteItem and ConditionCheckItem on the table";

/// A job that a worker has in hand.
#[derive(Clone, Debug)]
pub(super) struct InHand {
    pub(super) receipt: ReceiptId,
    pub(super) job: JobKey,
    pub(super) until: Timestamp,
}

/// The receipts by how they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Those from which something is taken, and what.
    pub(super) fit: Vec<(ReceiptId, Taken)>,
    /// Those that were erased before, and when.
    pub(super) before: Vec<(ReceiptId, Timestamp)>,
    pub(super) in_hand: Vec<InHand>,
    pub(super) missing: Vec<ReceiptId>,
    /// Those of which something cannot be read, and why.
    pub(super) unreadable: Vec<(ReceiptId, String)>,
}

impl Found {
    /// Looks at each of them.
    pub(super) async fn look(receipts: &[ReceiptId], table: &Table, now: Timestamp) -> Result<Self, Failure> {
        let looks = receipts.iter().map(|id| async move {
            match table.ledger.erasure(id, now).await {
                Ok(erasure) => Ok((*id, Ok(erasure))),
                Err(error) if of_an_item(&error) => Ok((*id, Err(error.to_string()))),
                Err(error) => Err(failure(table, id, &error)),
            }
        });
        let looked: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let mut found = Self::default();
        for (id, looked) in looked {
            match looked {
                Ok(erasure) => found.take(id, erasure),
                Err(why) => found.unreadable.push((id, why)),
            }
        }
        Ok(found)
    }

    /// Files one of them by how it stands.
    pub(super) fn take(&mut self, receipt: ReceiptId, erasure: Erasure) {
        match erasure {
            Erasure::Missing => self.missing.push(receipt),
            Erasure::Before { at } => self.before.push((receipt, at)),
            Erasure::Leased { job, until } => self.in_hand.push(InHand { receipt, job, until }),
            Erasure::Takes(taken) => self.fit.push((receipt, taken)),
        }
    }

    /// Those that something was taken from since, and all others of before and since.
    pub(super) fn and(&self, since: &Self) -> Self {
        Self {
            fit: since.fit.clone(),
            before: [&self.before[..], &since.before].concat(),
            in_hand: [&self.in_hand[..], &since.in_hand].concat(),
            missing: [&self.missing[..], &since.missing].concat(),
            unreadable: [&self.unreadable[..], &since.unreadable].concat(),
        }
    }

    pub(super) fn open_jobs(&self) -> u64 {
        self.fit.iter().map(|(_, taken)| taken.open_jobs as u64).sum()
    }

    pub(super) fn payloads(&self) -> u64 {
        self.fit.iter().filter(|(_, taken)| taken.payload).count() as u64
    }

    /// Names them, before anything is written.
    pub(super) fn show(&self, asked: usize, terminal: &mut Terminal) -> io::Result<()> {
        terminal.say(format_args!(
            "would erase {} of {}: {} deleted, {} dismissed",
            self.fit.len(),
            count(asked as u64, "receipt"),
            count(self.payloads(), "payload"),
            count(self.open_jobs(), "job"),
        ))?;
        let mut columns = Columns::indented(2).headed(["RECEIPT", "OPEN JOBS", "PAYLOAD"]);
        for (receipt, taken) in self.fit.iter().take(NAMED) {
            let payload = if taken.payload { "yes" } else { "-" };
            columns.row([receipt.to_string().into(), taken.open_jobs.to_string().into(), payload.into()]);
        }
        if !self.fit.is_empty() {
            for line in columns.lines(terminal) {
                terminal.say(line)?;
            }
        }
        if self.fit.len() > NAMED {
            terminal.say(format_args!("  and {} more", self.fit.len() - NAMED))?;
        }
        self.show_others(terminal)
    }

    /// Names those that nothing is taken from.
    pub(super) fn show_others(&self, terminal: &mut Terminal) -> io::Result<()> {
        let mut columns = Columns::indented(2);
        for (receipt, at) in &self.before {
            columns.row([receipt.to_string().into(), format!("erased before, at {}", terminal.time(*at)).into()]);
        }
        for InHand { receipt, job, until } in &self.in_hand {
            let why = format!("a worker has {} in hand until {}", job.operation, terminal.time(*until));
            columns.row([receipt.to_string().into(), Cell::new(Tone::Bad, why)]);
        }
        for receipt in &self.missing {
            columns.row([receipt.to_string().into(), Cell::new(Tone::Quiet, "there is none")]);
        }
        for (receipt, why) in &self.unreadable {
            columns.row([receipt.to_string().into(), Cell::new(Tone::Bad, why)]);
        }
        columns.lines(terminal).into_iter().try_for_each(|line| terminal.say(line))
    }

    /// What keeps it from being all: what somebody has to do about.
    pub(super) fn rest(&self, terminal: &Terminal) -> Option<Failure> {
        if let Some((receipt, why)) = self.unreadable.first() {
            let number = count(self.unreadable.len() as u64, "receipt");
            let trouble = Trouble::new(format!("erase {number}"), format!("{receipt}: {why}"));
            return Some(Failure::CouldNotLook(trouble.advise("a newer version of this command")));
        }
        if let Some(last) = self.in_hand.iter().max_by_key(|in_hand| in_hand.until) {
            let number = count(self.in_hand.len() as u64, "receipt");
            let until = terminal.time(last.until);
            let trouble = Trouble::new(format!("erase {number}"), format!("a worker has {} in hand", last.job));
            return Some(Failure::Forbidden(trouble.advise(format!("the same command after {until}"))));
        }
        let missing = self.missing.first()?;
        let number = count(self.missing.len() as u64, "receipt");
        let trouble = Trouble::new(format!("erase {number}"), format!("there is no {missing}"));
        Some(Failure::Refused(trouble.advise("it may have expired, or belong to another table: --table, --region")))
    }
}

/// Whether the error is about an item of this one folder.
pub(super) fn of_an_item(error: &LedgerError) -> bool {
    matches!(error, LedgerError::NewerSchema { .. } | LedgerError::Corrupt { .. })
}

/// The table could not be used for this receipt.
pub(super) fn failure(table: &Table, receipt: &ReceiptId, error: &LedgerError) -> Failure {
    table.failure_of(&format!("erase the receipt {receipt}"), ACTIONS, error)
}
