//! The rest of a bulk operation that was stopped, or whose process died.

use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_ledger::{Bulk, BulkState};

use super::Surroundings;
use super::course::{Course, Report, asked, in_words, position};
use super::plan::Plan;
use super::step::Verb;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{count, harmless};
use crate::terminal::{Format, Terminal};

/// A person's decision to go on with a bulk operation.
#[derive(Debug)]
pub struct Continuation<'a> {
    /// Which one.
    pub id: &'a BulkId,
    /// By which command: `replay` or `dismiss`.
    pub command: &'static str,
    /// At most so many jobs a second.
    pub rate: u32,
    /// Whether to ask.
    pub intent: Intent,
    /// Who decides.
    pub author: Author,
}

impl Continuation<'_> {
    /// Looks at what is left, asks, and carries it out under the reason that was given at its start. Jobs that the
    /// operation has written are not written again, however many processes go on with it.
    pub async fn carry_out(
        &self,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let (bulk, verb, jobs) = self.find(table, terminal).await?;
        let rest = jobs.get(position(&bulk)..).unwrap_or_default();
        let plan = Plan::make(verb, rest, Some(self.id), table, around.clock.now()).await?;
        let doing = verb.to(count(plan.fit.len() as u64, "job"));
        if terminal.format() == Format::Table {
            show(&bulk, terminal)?;
            plan.show(terminal)?;
        }
        // With nothing left to write, only its record is brought to its end.
        let asks = self.intent == Intent::DryRun || !plan.fit.is_empty();
        if asks && !self.intent.allows(&format!("Go on and {doing}?"), &doing, terminal)? {
            if terminal.format() != Format::Table {
                let (decision, bulk, jobs) = (verb.code(), Some(self.id), rest.len() as u64);
                let (counts, samples) = (&plan.counts(), &plan.samples());
                terminal.say_json(&Report { decision, bulk, state: "dry-run", jobs, counts, samples })?;
            }
            return Ok(Answer::Yes);
        }
        let (who, samples) = (self.author.name().await?, plan.samples());
        let bulk = Bulk { state: BulkState::Running, ..bulk };
        let mut course = Course { table, verb, who, rate: self.rate, jobs: &jobs, bulk, samples };
        // From here on it is ours: whoever else goes on with it notices at the next record.
        course.record(around.clock.now()).await?;
        course.run(&mut around, terminal).await
    }

    /// The operation with what is done and all its jobs.
    async fn find(&self, table: &Table, terminal: &Terminal) -> Result<(Bulk, Verb, Vec<JobKey>), Failure> {
        let attempted = format!("go on with {}", self.id);
        let because = |why: String| Trouble::new(&attempted, why);
        let found = table.ledger.bulk(self.id).await.map_err(|error| table.failure(&attempted, &error))?;
        let Some(bulk) = found else {
            let trouble = because("there is no such bulk operation".to_owned());
            return Err(Failure::Refused(
                trouble.advise("it is forgotten after 90 days; hookbox jobs show names the one that wrote a job"),
            ));
        };
        let Some(verb) = Verb::of_record(&bulk.what) else {
            let trouble = because(format!("this version does not know `{}`", bulk.what));
            return Err(Failure::CouldNotLook(trouble.advise("a newer version of this command")));
        };
        if verb.command() != self.command {
            let trouble = because(format!("it is no {}", self.command));
            return Err(Failure::Usage(trouble.advise(format!("hookbox {} --continue {}", verb.command(), self.id))));
        }
        if bulk.state == BulkState::Finished {
            let at = terminal.time(bulk.updated_at);
            let why = format!("it was finished at {at}: {}", in_words(&bulk.counts));
            return Err(Failure::Forbidden(because(why)));
        }
        let jobs = table.ledger.bulk_jobs(&bulk).await.map_err(|error| table.failure(&attempted, &error))?;
        let Some(jobs) = jobs else {
            let trouble = because("the list of its jobs is not whole any more".to_owned());
            return Err(Failure::Forbidden(trouble.advise(format!("ask for them again: {}", bulk.query))));
        };
        Ok((bulk, verb, jobs))
    }
}

/// What the operation is and how far it has come, for people.
fn show(bulk: &Bulk, terminal: &mut Terminal) -> std::io::Result<()> {
    let state = match bulk.state {
        BulkState::Running => "running, unless its process died",
        BulkState::Cancelled => "cancelled",
        BulkState::Finished => "finished",
    };
    // Another person's words.
    let (who, query) = (harmless(bulk.who.clone()), harmless(bulk.query.clone()));
    let (started, recorded) = (terminal.time(bulk.started_at), terminal.time(bulk.updated_at));
    terminal.say(format_args!("{}: started by {who} at {started}; {state}; recorded at {recorded}", bulk.id))?;
    terminal.say(format_args!("  of {} ({query}): {}", count(asked(bulk), "job"), in_words(&bulk.counts)))
}
