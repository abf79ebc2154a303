//! A decision about one job: looked at, asked for, written.

use hookbox_core::job::{Job, Mode, Status};
use hookbox_core::key::JobKey;
use hookbox_core::limits::MAX_JOBS;
use hookbox_core::surroundings::Clock;
use serde::Serialize;

use super::step::{Fit, Step, Unfit, Verb};
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
    /// The new version, where one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_job: Option<&'a JobKey>,
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
        let write = self.intent.allows(&self.question(was), &step.attempted(), terminal)?;
        if write {
            let who = self.author.name().await?;
            let written = step.write(&fit, &who, table, clock.now()).await?;
            written.map_err(|unfit| self.refusal(unfit, terminal))?;
        }
        if terminal.format() == Format::Table {
            terminal.say(self.said(&fit, write))?;
        } else {
            let (job, decision, round) = (self.job.to_string(), self.verb.code(), fit.after.round);
            let new_job = Some(&fit.after.key).filter(|key| *key != self.job);
            terminal.say_json(&Report {
                job,
                decision,
                before: was,
                after: becomes,
                round,
                new_job,
                written: write,
            })?;
        }
        Ok(Answer::Yes)
    }

    fn question(&self, was: &str) -> String {
        match self.verb {
            Verb::NewVersion => format!(
                "{} is {was}. As a new version its destination sees another key and does its work once more. Replay it?",
                self.job
            ),
            Verb::Replay(_) | Verb::Dismiss => {
                let question = self.verb.to(format_args!("{}, which is {was}", self.job));
                format!("{}?", capitalised(&question))
            }
        }
    }

    fn said(&self, Fit { before, after, .. }: &Fit, written: bool) -> String {
        let (was, becomes) = (before.status().as_str(), after.status().as_str());
        match self.verb {
            Verb::NewVersion => {
                let done = if written { "created" } else { "would create" };
                format!("{done} {}, {becomes}; {} stays as it is, {was}", after.key, before.key)
            }
            Verb::Replay(_) | Verb::Dismiss => {
                let done = if written { self.verb.done().to_owned() } else { format!("would {}", self.verb.code()) };
                format!("{done} {}: {was} → {becomes}", before.key)
            }
        }
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
            Unfit::Superseded(newest) => because(format!("there is a newer version of it: {newest}"))
                .advise(format!("name that one, if its effect is needed once more: hookbox jobs show {newest}")),
            Unfit::TooManyJobs => because(format!("its event has {MAX_JOBS} jobs already"))
                .advise("replay one of them: hookbox receipts show names them"),
            Unfit::DoneBefore => because("it was done before".to_owned()),
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
        if self.verb == Verb::NewVersion && job.status() == Status::Review {
            return Some(format!("{} stays in review: dismiss it when it is not needed any more", job.key));
        }
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
