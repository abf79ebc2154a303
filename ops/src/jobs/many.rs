//! The same decision about many jobs: counted first, asked for once, then written one by one.

use std::io;
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep as _, SharedAsyncSleep};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::surroundings::{Clock, Random};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Bulk, BulkState};
use serde::Serialize;

use super::decision::capitalised;
use super::step::{Step, Unfit, Verb};
use crate::bulk::{Counts, RECORD_EVERY, Undertaking, record};
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure};
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// Jobs that are looked at at once.
const AT_ONCE: usize = 16;
/// Jobs that are named before it is asked.
const SAMPLES: usize = 5;

/// A person's decision about many jobs.
#[derive(Debug)]
pub struct Many<'a> {
    /// The jobs.
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

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    decision: &'a str,
    /// `null` when nothing was written.
    bulk: Option<&'a BulkId>,
    /// `dry-run`, `finished` or `cancelled`.
    state: &'a str,
    /// How many were asked for.
    jobs: u64,
    /// How many there were of each result: what was (or would be) done, or why not.
    counts: &'a Counts,
    samples: Vec<&'a JobKey>,
}

/// What was found before it was asked.
struct Plan {
    fit: Vec<JobKey>,
    unfit: Counts,
}

impl Many<'_> {
    /// Counts, asks, and carries it out. Stopped in between, what was written is written, and nothing else is; the
    /// answer is negative then.
    pub async fn carry_out(
        &self,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let plan = self.plan(table, around.clock.now()).await?;
        let number = count(plan.fit.len() as u64, "job");
        let (verb, attempted) = (self.verb.name(), format!("{} {number}", self.verb.name()));
        if terminal.format() == Format::Table {
            self.show_plan(&plan, terminal)?;
        }
        if plan.fit.is_empty()
            || !self.intent.allows(&format!("{} {number}?", capitalised(verb)), &attempted, terminal)?
        {
            let mut counts = plan.unfit.clone();
            counts.insert(self.verb.done().to_owned(), plan.fit.len() as u64);
            self.answer(None, "dry-run", &counts, &plan, terminal)?;
            return Ok(Answer::Yes);
        }
        let mut bulk = self.begin(&plan, table, &around).await?;
        let done = self.through(&plan, &mut bulk, table, &mut around, terminal).await;
        if done.is_err() {
            bulk.state = BulkState::Cancelled;
        }
        let recorded = record(&mut bulk, table, around.clock.now()).await;
        let written = bulk.counts.get(self.verb.done()).copied().unwrap_or(0);
        done.map_err(|failure| {
            failure.advise(format!("{written} of {number} {} before, as {}", self.verb.done(), bulk.id))
        })?;
        recorded?;
        let (state, answer) = match bulk.state {
            BulkState::Finished => ("finished", Answer::Yes),
            BulkState::Running | BulkState::Cancelled => ("cancelled", Answer::No),
        };
        self.answer(Some(&bulk.id), state, &bulk.counts, &plan, terminal)?;
        Ok(answer)
    }

    async fn plan(&self, table: &Table, now: Timestamp) -> Result<Plan, Failure> {
        let looks = self.jobs.iter().map(|job| async move {
            let looked = self.step(job, None).look(table, now).await?;
            Ok::<_, Failure>((job, looked.map_err(|unfit| unfit.code())))
        });
        let looked: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let mut plan = Plan { fit: Vec::new(), unfit: Counts::new() };
        for (job, looked) in looked {
            match looked {
                Ok(_) => plan.fit.push(job.clone()),
                Err(code) => *plan.unfit.entry(code.to_owned()).or_default() += 1,
            }
        }
        Ok(plan)
    }

    fn step<'a>(&'a self, job: &'a JobKey, bulk: Option<&'a BulkId>) -> Step<'a> {
        Step { verb: self.verb, job, reason: self.reason, bulk }
    }

    async fn begin(&self, plan: &Plan, table: &Table, around: &Surroundings<'_>) -> Result<Bulk, Failure> {
        let mut counts = plan.unfit.clone();
        counts.insert("asked".to_owned(), self.jobs.len() as u64);
        let undertaking = Undertaking {
            what: self.verb.name(),
            who: self.author.name().await?,
            why: self.reason,
            query: self.query.clone(),
            counts,
        };
        undertaking.begin(table, around.random, around.clock.now()).await
    }

    async fn through(
        &self,
        plan: &Plan,
        bulk: &mut Bulk,
        table: &Table,
        around: &mut Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let progress = terminal.progress(plan.fit.len() as u64, self.verb.done());
        let (who, id) = (bulk.who.clone(), bulk.id.clone());
        let pause = Duration::from_secs(1) / self.rate.max(1);
        for (n, job) in (0..).zip(&plan.fit) {
            if n > 0 {
                match select(&mut around.stop, around.sleep.sleep(pause)).await {
                    Either::Left(_) => {
                        bulk.state = BulkState::Cancelled;
                        return Ok(());
                    }
                    Either::Right(_) => {}
                }
                if n % RECORD_EVERY == 0 {
                    record(bulk, table, around.clock.now()).await?;
                }
            }
            let result = self.one(&self.step(job, Some(&id)), &who, table, around.clock).await?;
            *bulk.counts.entry(result.to_owned()).or_default() += 1;
            bulk.cursor = Some(job.to_string());
            progress.inc(1);
        }
        bulk.state = BulkState::Finished;
        bulk.cursor = None;
        Ok(())
    }

    /// Decides about one job; gives the name of what came of it.
    async fn one(&self, step: &Step<'_>, who: &str, table: &Table, clock: &dyn Clock) -> Result<&'static str, Failure> {
        let fit = match step.look(table, clock.now()).await? {
            Ok(fit) => fit,
            Err(unfit) => return Ok(unfit.code()),
        };
        let written = step.write(&fit, who, table, clock.now()).await?;
        Ok(written.err().as_ref().map_or(self.verb.done(), Unfit::code))
    }

    fn show_plan(&self, plan: &Plan, terminal: &mut Terminal) -> io::Result<()> {
        let verb = self.verb.name();
        terminal.say(format_args!("would {verb} {} of {}", plan.fit.len(), count(self.jobs.len() as u64, "job")))?;
        for job in plan.fit.iter().take(SAMPLES) {
            terminal.say(format_args!("  {job}"))?;
        }
        if plan.fit.len() > SAMPLES {
            terminal.say(format_args!("  and {} more", plan.fit.len() - SAMPLES))?;
        }
        for (why, number) in &plan.unfit {
            terminal.say(format_args!("not {number}: {why}"))?;
        }
        Ok(())
    }

    fn answer(
        &self,
        bulk: Option<&BulkId>,
        state: &str,
        counts: &Counts,
        plan: &Plan,
        terminal: &mut Terminal,
    ) -> io::Result<()> {
        if terminal.format() != Format::Table {
            let (decision, jobs) = (self.verb.name(), self.jobs.len() as u64);
            let samples = plan.fit.iter().take(SAMPLES).collect();
            return terminal.say_json(&Report { decision, bulk, state, jobs, counts, samples });
        }
        let Some(bulk) = bulk else { return Ok(()) };
        let results = counts.iter().filter(|(name, _)| *name != "asked");
        let results: Vec<_> = results.map(|(name, number)| format!("{number} {name}")).collect();
        terminal.say(format_args!("{state}: {} ({bulk})", results.join(", ")))
    }
}
