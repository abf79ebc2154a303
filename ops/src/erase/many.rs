//! Receipts are looked at, shown, asked for once, and erased one after the other.

use std::collections::BTreeSet;

use futures_util::future::{Either, select};
use hookbox_core::key::ReceiptId;
use hookbox_ledger::{Audit, Bulk, BulkState, Erasure, Subject};

use super::found::{Found, failure, of_an_item};
use super::report;
use crate::bulk::{Counts, RECORD_EVERY, Undertaking, record};
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// What is done, as the audit calls it.
const WHAT: &str = "erase";

/// Receipts that a person wants to be erased.
#[derive(Debug)]
pub struct Erasing<'a> {
    /// The receipts.
    pub receipts: Vec<ReceiptId>,
    /// Why.
    pub reason: &'a str,
    /// What was asked for, for the record; nothing by which a person could be found.
    pub query: String,
    /// Whether to ask.
    pub intent: Intent,
    /// Who wants it.
    pub author: Author,
}

/// What is under way.
struct Course<'a> {
    /// What is to be erased.
    found: &'a Found,
    who: String,
    /// The record of several.
    bulk: Option<Bulk>,
    /// What became of those that were come to.
    done: Found,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Finished,
    Stopped,
}

impl Erasing<'_> {
    /// Carries it out. What cannot be erased now is said at the end, after all that can be was: a job in a worker's hand is
    /// [`Failure::Forbidden`], a receipt that does not exist [`Failure::Refused`]. Stopped in between, what was erased is
    /// erased, and the answer is negative.
    pub async fn carry_out(
        mut self,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let mut seen = BTreeSet::new();
        self.receipts.retain(|receipt| seen.insert(*receipt));
        let found = Found::look(&self.receipts, table, around.clock.now()).await?;
        if terminal.format() == Format::Table {
            found.show(self.receipts.len(), terminal)?;
        }
        let number = count(found.fit.len() as u64, "receipt");
        let question = format!("Erase {number} for good?");
        if found.fit.is_empty() || !self.intent.allows(&question, &format!("erase {number}"), terminal)? {
            let state = if found.fit.is_empty() { "nothing" } else { "dry-run" };
            report::say(None, state, &found, terminal)?;
            return found.rest(terminal).map_or(Ok(Answer::Yes), Err);
        }
        let mut course = self.begin(&found, table, &around).await?;
        let ended = self.through(&mut course, table, &mut around, terminal).await;
        let recorded = course.close(&ended, table, &around).await;
        let Course { bulk, done, .. } = course;
        let ended = ended.map_err(|failure| {
            failure.advise(format!("{} of {number} erased before: the same command goes on", done.fit.len()))
        })?;
        recorded?;
        let state = if ended == Ending::Finished { "finished" } else { "cancelled" };
        let all = found.and(&done);
        let shown = if terminal.format() == Format::Table { &done } else { &all };
        report::say(bulk.as_ref().map(|bulk| &bulk.id), state, shown, terminal)?;
        match (all.rest(terminal), ended) {
            (Some(rest), _) => Err(rest),
            (None, Ending::Finished) => Ok(Answer::Yes),
            (None, Ending::Stopped) => Ok(Answer::No),
        }
    }

    async fn begin<'a>(
        &self,
        found: &'a Found,
        table: &Table,
        around: &Surroundings<'_>,
    ) -> Result<Course<'a>, Failure> {
        let who = self.author.name().await?;
        let bulk = if found.fit.len() > 1 {
            let counts = Counts::from([("asked".to_owned(), found.fit.len() as u64)]);
            let (who, query) = (who.clone(), self.query.clone());
            let undertaking = Undertaking { code: WHAT, what: WHAT, who, why: self.reason, query, jobs: &[], counts };
            Some(undertaking.begin(table, around.random, around.clock.now()).await?)
        } else {
            None
        };
        Ok(Course { found, who, bulk, done: Found::default() })
    }

    async fn through(
        &self,
        course: &mut Course<'_>,
        table: &Table,
        around: &mut Surroundings<'_>,
        terminal: &Terminal,
    ) -> Result<Ending, Failure> {
        let progress = terminal.progress(course.found.fit.len() as u64, "erased");
        for (n, (receipt, _)) in (0..).zip(&course.found.fit) {
            if let Either::Left(_) = select(&mut around.stop, std::future::ready(())).await {
                return Ok(Ending::Stopped);
            }
            if let Some(bulk) = course.bulk.as_mut().filter(|_| n > 0 && n % RECORD_EVERY == 0) {
                record(bulk, table, around.clock.now()).await?;
            }
            let deed = Audit {
                subject: Subject::Receipt(*receipt),
                at: around.clock.now(),
                who: course.who.clone(),
                what: WHAT.to_owned(),
                on: None,
                why: Some(self.reason.to_owned()),
                bulk: course.bulk.as_ref().map(|bulk| bulk.id.to_string()),
                before: None,
                after: None,
                // With its folder: the ledger knows when.
                expires_at: None,
            };
            match table.ledger.erase(receipt, &deed).await {
                Ok(erasure) => course.take(*receipt, erasure),
                Err(error) if of_an_item(&error) => course.done.unreadable.push((*receipt, error.to_string())),
                Err(error) => return Err(failure(table, receipt, &error)),
            }
            progress.inc(1);
        }
        Ok(Ending::Finished)
    }
}

impl Course<'_> {
    fn take(&mut self, receipt: ReceiptId, erasure: Erasure) {
        if let (Some(bulk), Erasure::Takes(_)) = (&mut self.bulk, &erasure) {
            *bulk.counts.entry("erased".to_owned()).or_default() += 1;
            bulk.cursor = Some(receipt.to_string());
        }
        self.done.take(receipt, erasure);
    }

    /// Records how it ended.
    async fn close(
        &mut self,
        ended: &Result<Ending, Failure>,
        table: &Table,
        around: &Surroundings<'_>,
    ) -> Result<(), Failure> {
        let Self { bulk: Some(bulk), done, .. } = self else { return Ok(()) };
        let others =
            [("in-hand", done.in_hand.len()), ("missing", done.missing.len()), ("unreadable", done.unreadable.len())];
        for (name, number) in others.into_iter().filter(|(_, number)| *number > 0) {
            bulk.counts.insert(name.to_owned(), number as u64);
        }
        if matches!(ended, Ok(Ending::Finished)) {
            (bulk.state, bulk.cursor) = (BulkState::Finished, None);
        } else {
            bulk.state = BulkState::Cancelled;
        }
        record(bulk, table, around.clock.now()).await
    }
}
