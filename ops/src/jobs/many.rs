//! The same decision about many jobs: counted first, asked for once, then written one by one.

use std::collections::BTreeSet;

use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use futures_util::future::BoxFuture;
use hookbox_core::key::JobKey;
use hookbox_core::surroundings::{Clock, Random};
use hookbox_ledger::Bulk;

use super::course::{Course, Report};
use super::decision::capitalised;
use super::plan::Plan;
use super::step::Verb;
use crate::bulk::Undertaking;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure};
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// A person's decision about many jobs.
#[derive(Debug)]
pub struct Many<'a> {
    /// The jobs. One that is named twice is one.
    pub jobs: Vec<JobKey>,
    /// What is decided.
    pub verb: Verb,
    /// Why.
    pub reason: &'a str,
    /// What was asked for, for the record.
    pub query: String,
    /// At most so many jobs a second.
    pub rate: u32,
    /// Whether to ask.
    pub intent: Intent,
    /// Who decides.
    pub author: Author,
}

/// What surrounds a bulk operation.
pub struct Surroundings<'a> {
    /// Dates what is written.
    pub clock: &'a dyn Clock,
    /// Names the bulk operation.
    pub random: &'a dyn Random,
    /// Waits between two jobs.
    pub sleep: SharedAsyncSleep,
    /// Ends when a person wants it to stop.
    pub stop: BoxFuture<'a, ()>,
}

impl Many<'_> {
    /// Counts, asks, and carries it out. Stopped in between, what was written is written, and nothing else is; the
    /// answer is negative then, and a [`Continuation`](super::Continuation) goes on.
    pub async fn carry_out(
        &self,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let mut seen = BTreeSet::new();
        let jobs: Vec<_> = self.jobs.iter().filter(|job| seen.insert(*job)).cloned().collect();
        let plan = Plan::make(self.verb, &jobs, None, table, around.clock.now()).await?;
        let doing = self.verb.to(count(plan.fit.len() as u64, "job"));
        if terminal.format() == Format::Table {
            plan.show(terminal)?;
        }
        if plan.fit.is_empty() || !self.intent.allows(&format!("{}?", capitalised(&doing)), &doing, terminal)? {
            if terminal.format() != Format::Table {
                let (decision, jobs) = (self.verb.code(), jobs.len() as u64);
                let (counts, samples) = (&plan.counts(), &plan.samples());
                let state = if plan.fit.is_empty() { "nothing" } else { "dry-run" };
                terminal.say_json(&Report { decision, bulk: None, state, jobs, counts, samples })?;
            }
            // There are jobs, and none that it fits.
            let in_vain = plan.fit.is_empty() && !jobs.is_empty();
            return Ok(if in_vain { Answer::No } else { Answer::Yes });
        }
        let bulk = self.begin(&plan, jobs.len() as u64, table, &around).await?;
        let course = Course {
            table,
            verb: self.verb,
            who: bulk.who.clone(),
            rate: self.rate,
            jobs: &plan.fit,
            bulk,
            samples: plan.samples(),
        };
        course.run(&mut around, terminal).await
    }

    async fn begin(&self, plan: &Plan, asked: u64, table: &Table, around: &Surroundings<'_>) -> Result<Bulk, Failure> {
        let mut counts = plan.unfit.clone();
        counts.insert("asked".to_owned(), asked);
        let undertaking = Undertaking {
            code: self.verb.code(),
            what: self.verb.recorded(),
            who: self.author.name().await?,
            why: self.reason,
            query: self.query.clone(),
            jobs: &plan.fit,
            counts,
        };
        undertaking.begin(table, around.random, around.clock.now()).await
    }
}
