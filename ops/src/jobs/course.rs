//! A bulk operation under way: one job after the other, recorded as it goes, so that it can go on after it was stopped.

use std::io;
use std::time::Duration;

use aws_smithy_async::rt::sleep::AsyncSleep as _;
use futures_util::future::{Either, select};
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Bulk, BulkState, LedgerError};
use serde::Serialize;

use super::Surroundings;
use super::plan::Counts;
use super::step::{Step, Unfit, Verb};
use crate::connection::Table;
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// After so many jobs it is recorded how far it has come.
const RECORD_EVERY: usize = 50;

/// A bulk operation under way.
pub(super) struct Course<'a> {
    pub(super) table: &'a Table,
    pub(super) verb: Verb,
    /// Who carries it out.
    pub(super) who: String,
    /// At most so many jobs a second.
    pub(super) rate: u32,
    /// All jobs of the operation.
    pub(super) jobs: &'a [JobKey],
    /// Its record, as it is stored.
    pub(super) bulk: Bulk,
    /// Some of its jobs, for the answer.
    pub(super) samples: Vec<JobKey>,
}

/// The answer for programs.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    pub(super) decision: &'a str,
    /// `null` when nothing was written.
    pub(super) bulk: Option<&'a BulkId>,
    /// `nothing`, `dry-run`, `finished` or `cancelled`.
    pub(super) state: &'a str,
    /// How many were asked for, or are left of one that is only looked at before it goes on.
    pub(super) jobs: u64,
    /// How many there were of each result: what was (or would be) done, or why not.
    pub(super) counts: &'a Counts,
    pub(super) samples: &'a [JobKey],
}

/// How many of its jobs a bulk operation is through with, as its record has it.
pub(super) fn position(bulk: &Bulk) -> usize {
    bulk.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0)
}

impl Course<'_> {
    /// Goes on to the end, or until it is stopped: then what was written is written, nothing else is, and the answer is
    /// negative.
    pub(super) async fn run(
        mut self,
        around: &mut Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        terminal.note(format_args!("{} begins; should it stop, {} goes on with it", self.bulk.id, self.goes_on()))?;
        let done = self.through(around, terminal).await;
        if let Err(Failure::Forbidden(overtaken)) = done {
            return Err(Failure::Forbidden(overtaken));
        }
        if done.is_err() {
            self.bulk.state = BulkState::Cancelled;
        }
        let recorded = self.record(around.clock.now()).await;
        let written = self.bulk.counts.get(self.verb.done()).copied().unwrap_or(0);
        done.map_err(|failure| {
            let number = count(self.bulk.jobs, "job");
            let before = format!("{written} of {number} {} before, as {}", self.verb.done(), self.bulk.id);
            failure.advise(format!("{} goes on: {before}", self.goes_on()))
        })?;
        recorded?;
        self.answer(terminal)
    }

    async fn through(&mut self, around: &mut Surroundings<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
        let begin = position(&self.bulk);
        let rest = self.jobs.get(begin..).unwrap_or_default();
        let progress = terminal.progress(rest.len() as u64, self.verb.done());
        let pause = Duration::from_secs(1) / self.rate.max(1);
        for (n, job) in rest.iter().enumerate() {
            if n > 0 {
                match select(&mut around.stop, around.sleep.sleep(pause)).await {
                    Either::Left(_) => {
                        self.bulk.state = BulkState::Cancelled;
                        return Ok(());
                    }
                    Either::Right(_) => {}
                }
                if n % RECORD_EVERY == 0 {
                    self.record(around.clock.now()).await?;
                }
            }
            let result = self.one(job, around.clock).await?;
            *self.bulk.counts.entry(result.to_owned()).or_default() += 1;
            self.bulk.cursor = Some((begin + n + 1).to_string());
            progress.inc(1);
        }
        self.bulk.state = BulkState::Finished;
        self.bulk.cursor = None;
        Ok(())
    }

    /// Decides about one job; gives the name of what came of it.
    async fn one(&self, job: &JobKey, clock: &dyn Clock) -> Result<&'static str, Failure> {
        let reason = self.bulk.why.as_deref().unwrap_or_default();
        let step = Step { verb: self.verb, job, reason, bulk: Some(&self.bulk.id) };
        let written = match step.look(self.table, clock.now()).await? {
            Ok(fit) => step.write(&fit, &self.who, self.table, clock.now()).await?,
            Err(unfit) => Err(unfit),
        };
        Ok(match written {
            // Whoever wrote it did not come to recording it.
            Ok(()) | Err(Unfit::DoneBefore) => self.verb.done(),
            Err(unfit) => unfit.code(),
        })
    }

    /// Records how far it has come, unless another process has taken it over.
    pub(super) async fn record(&mut self, now: Timestamp) -> Result<(), Failure> {
        let replaces = self.bulk.rev;
        self.bulk.rev += 1;
        self.bulk.updated_at = now;
        let attempted = format!("record how far {} has come", self.bulk.id);
        self.table.ledger.put_bulk(&self.bulk, Some(replaces)).await.map_err(|error| match error {
            LedgerError::ConditionFailed { .. } => {
                let trouble = Trouble::new(attempted, "another process goes on with it");
                Failure::Forbidden(trouble.advise("leave it to that one: no job is written twice"))
            }
            error => self.table.failure(&attempted, &error),
        })
    }

    fn goes_on(&self) -> String {
        format!("hookbox {} --continue {}", self.verb.command(), self.bulk.id)
    }

    fn answer(&self, terminal: &mut Terminal) -> Result<Answer, Failure> {
        let (state, answer) = match self.bulk.state {
            BulkState::Finished => ("finished", Answer::Yes),
            BulkState::Running | BulkState::Cancelled => ("cancelled", Answer::No),
        };
        let Bulk { id, counts, .. } = &self.bulk;
        if terminal.format() == Format::Table {
            self.say(state, terminal)?;
        } else {
            let (decision, jobs) = (self.verb.code(), asked(&self.bulk));
            terminal.say_json(&Report { decision, bulk: Some(id), state, jobs, counts, samples: &self.samples })?;
        }
        Ok(answer)
    }

    fn say(&self, state: &str, terminal: &mut Terminal) -> io::Result<()> {
        terminal.say(format_args!("{state}: {} ({})", in_words(&self.bulk.counts), self.bulk.id))?;
        if self.bulk.state == BulkState::Finished {
            return Ok(());
        }
        terminal.say(format_args!("{} goes on with the rest", self.goes_on()))
    }
}

/// How many jobs were asked for, those that it did not fit included.
pub(super) fn asked(bulk: &Bulk) -> u64 {
    bulk.counts.get("asked").copied().unwrap_or(bulk.jobs)
}

/// `8 replayed, 1 retrying`.
pub(super) fn in_words(counts: &Counts) -> String {
    let results = counts.iter().filter(|(name, _)| *name != "asked");
    let results: Vec<_> = results.map(|(name, number)| format!("{number} {name}")).collect();
    if results.is_empty() { "nothing done".to_owned() } else { results.join(", ") }
}
