//! A decision about one job: looked at, asked for, written.

use hookbox_core::job::{Job, Mode};
use hookbox_core::key::JobKey;
use hookbox_core::surroundings::Clock;
use serde::Serialize;

use super::step::{Step, Unfit, Verb};
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure, Trouble};
use crate::terminal::{Format, Terminal};

/// A person's decision about one job.
#[derive(Clone, Debug)]
pub struct Decision<'a> {
    /// The job.
    pub job: &'a JobKey,
    /// What is decided.
    pub verb: Verb,
    /// Why.
    pub reason: &'a str,
    /// Whether to ask.
    pub intent: Intent,
    /// Who decides.
    pub author: Author,
}

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    job: String,
    decision: &'a str,
    before: &'a str,
    after: &'a str,
    round: u32,
    written: bool,
}

impl Decision<'_> {
    /// Carries it out. A job that does not exist, and a no, are negative answers; what the job's state, its key or its
    /// payload forbids is [`Failure::Forbidden`].
    pub async fn carry_out(
        &self,
        table: &Table,
        clock: &dyn Clock,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let step = Step { verb: self.verb, job: self.job, reason: self.reason, bulk: None };
        let fit = step.look(table, clock.now()).await?.map_err(|unfit| self.refusal(unfit, terminal))?;
        let (was, becomes) = (fit.before.status().as_str(), fit.after.status().as_str());
        if let Some(warning) = self.warning(&fit.before) {
            terminal.note(&warning)?;
        }
        let question = format!("{} {}, which is {was}?", capitalised(self.verb.name()), self.job);
        let write = self.intent.allows(&question, &step.attempted(), terminal)?;
        if write {
            let who = self.author.name().await?;
            let written = step.write(&fit, &who, table, clock.now()).await?;
            written.map_err(|unfit| self.refusal(unfit, terminal))?;
        }
        if terminal.format() != Format::Table {
            let (job, decision, round) = (self.job.to_string(), self.verb.name(), fit.after.round);
            terminal.say_json(&Report { job, decision, before: was, after: becomes, round, written: write })?;
        } else if write {
            terminal.say(format_args!("{} {}: {was} → {becomes}", self.verb.done(), self.job))?;
        } else {
            terminal.say(format_args!("would {} {}: {was} → {becomes}", self.verb.name(), self.job))?;
        }
        Ok(Answer::Yes)
    }

    /// What it means that the decision does not fit.
    fn refusal(&self, unfit: Unfit, terminal: &Terminal) -> Failure {
        let attempted = Step { verb: self.verb, job: self.job, reason: self.reason, bulk: None }.attempted();
        let because = |why: String| Trouble::new(&attempted, why);
        Failure::Forbidden(match unfit {
            Unfit::Missing => {
                let trouble = because("there is none".to_owned());
                return Failure::Refused(trouble.advise(format!("hookbox receipts show {}", self.job.receipt)));
            }
            Unfit::Unreadable(why) => return Failure::CouldNotLook(because(why)),
            Unfit::State(status) if self.verb == Verb::Dismiss => {
                because(format!("it is {}", status.as_str())).advise("only a job in review can be dismissed")
            }
            Unfit::State(status) => {
                because(format!("it is {}: it has not ended, and needs nobody's decision", status.as_str()))
                    .advise("a job can be replayed while it is in review, completed or dismissed")
            }
            Unfit::KeyExpired(until) => {
                let until = terminal.time(until);
                because(format!("the destination remembered the job's key only until {until}"))
                    .advise("look there whether the effect exists already")
                    .advise("--key-expired-ok replays all the same: it may be done a second time")
            }
            Unfit::PayloadExpired => because("its payload has expired: there is nothing to send".to_owned())
                .advise("ask the provider to deliver the event again"),
            Unfit::Erased(at) => {
                let at = terminal.time(at);
                because(format!("its event was erased at {at}: its payload and everything personal are gone for good"))
                    .advise("do by hand what is still to be done; a redelivery by the provider brings nothing back")
            }
            Unfit::Changed(status) => {
                let now = status.map_or_else(String::new, |status| format!(" and is {} now", status.as_str()));
                because(format!("it has changed in the meantime{now}")).advise("look again and decide again")
            }
        })
    }

    /// What a person should know who does not know it.
    fn warning(&self, job: &Job) -> Option<String> {
        let unknown = matches!(self.verb, Verb::Replay(_)) && job.uncertain == Some(Mode::None);
        unknown.then(|| {
            format!(
                "warning: nobody knows what came of an earlier call of {}, and nothing keeps the destination from doing its work a second time",
                job.key
            )
        })
    }
}

pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
