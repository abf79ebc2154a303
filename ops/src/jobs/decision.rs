//! One decision about one job: looked at, asked for, written together with who made it and why.

use hookbox_core::job::{Job, Mode, State};
use hookbox_core::key::JobKey;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::replay::{ForgottenKey, NotReplayed, replay};
use hookbox_ledger::{Audit, LedgerError, Loaded, Stored, Subject};
use serde::Serialize;

use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure, Trouble};
use crate::terminal::{Format, Terminal};

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The same effect again.
    Replay(ForgottenKey),
    /// The effect is not needed.
    Dismiss,
}

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

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Replay(_) => "replay",
            Self::Dismiss => "dismiss",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Replay(_) => "replayed",
            Self::Dismiss => "dismissed",
        }
    }
}

impl Decision<'_> {
    fn attempted(&self) -> String {
        format!("{} the job {}", self.verb.name(), self.job)
    }

    /// Carries it out. A job that does not exist, and a no, are negative answers; what the job's state, its key or its
    /// payload forbids is [`Failure::Forbidden`].
    pub async fn carry_out(
        &self,
        table: &Table,
        clock: &dyn Clock,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let (loaded, before) = self.load(table).await?;
        let after = self.decide(&before, clock.now(), terminal)?;
        self.check_payload(table).await?;
        let (was, becomes) = (before.status().as_str(), after.status().as_str());
        if let Some(warning) = self.warning(&before) {
            terminal.note(&warning)?;
        }
        let question = format!("{} {}, which is {was}?", capitalised(self.verb.name()), self.job);
        let write = self.intent.allows(&question, &self.attempted(), terminal)?;
        if write {
            let audit = self.audit(&loaded, &before, &after, clock.now()).await?;
            let written = table.ledger.write_job_audited(&loaded, &before, &after, &audit).await;
            written.map_err(|error| self.not_written(&error, table))?;
        }
        if terminal.format() != Format::Table {
            let (job, decision, round) = (self.job.to_string(), self.verb.name(), after.round);
            terminal.say_json(&Report { job, decision, before: was, after: becomes, round, written: write })?;
        } else if write {
            terminal.say(format_args!("{} {}: {was} → {becomes}", self.verb.done(), self.job))?;
        } else {
            terminal.say(format_args!("would {} {}: {was} → {becomes}", self.verb.name(), self.job))?;
        }
        Ok(Answer::Yes)
    }

    async fn load(&self, table: &Table) -> Result<(Loaded, Job), Failure> {
        let loaded = table.ledger.load(&self.job.receipt).await;
        let loaded = loaded.map_err(|error| table.failure(&self.attempted(), &error))?;
        if let Some(error) = loaded.as_ref().and_then(|loaded| loaded.unreadable_job(self.job)) {
            return Err(Failure::CouldNotLook(Trouble::new(self.attempted(), error)));
        }
        let found = loaded.as_ref().and_then(|loaded| loaded.job(self.job)).cloned();
        loaded.zip(found).ok_or_else(|| {
            let trouble = Trouble::new(self.attempted(), "there is none");
            Failure::Refused(trouble.advise(format!("hookbox receipts show {}", self.job.receipt)))
        })
    }

    fn decide(&self, job: &Job, now: Timestamp, terminal: &Terminal) -> Result<Job, Failure> {
        match self.verb {
            Verb::Replay(forgotten) => replay(job, forgotten, now).map_err(|refused| self.no_replay(refused, terminal)),
            Verb::Dismiss => dismiss(job, now).map_err(|refused| {
                let trouble = Trouble::new(self.attempted(), format!("it is {}", refused.status.as_str()));
                Failure::Forbidden(trouble.advise("only a job in review can be dismissed"))
            }),
        }
    }

    fn no_replay(&self, refused: NotReplayed, terminal: &Terminal) -> Failure {
        Failure::Forbidden(match refused {
            NotReplayed::KeyExpired { until } => {
                let until = terminal.time(until);
                let why = format!("the destination remembered the job's key only until {until}");
                Trouble::new(self.attempted(), why)
                    .advise("look there whether the effect exists already")
                    .advise("--key-expired-ok replays all the same: it may be done a second time")
            }
            NotReplayed::Refused(refused) => {
                let why = format!("it is {}: it has not ended, and needs nobody's decision", refused.status.as_str());
                Trouble::new(self.attempted(), why)
                    .advise("a job can be replayed while it is in review, completed or dismissed")
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

    /// There must be something to send.
    async fn check_payload(&self, table: &Table) -> Result<(), Failure> {
        if self.verb == Verb::Dismiss {
            return Ok(());
        }
        match table.ledger.has_payload(&self.job.receipt).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let trouble = Trouble::new(self.attempted(), "its payload has expired: there is nothing to send");
                Err(Failure::Forbidden(trouble.advise("ask the provider to deliver the event again")))
            }
            Err(error) => Err(table.failure(&self.attempted(), &error)),
        }
    }

    async fn audit(&self, loaded: &Loaded, before: &Job, after: &Job, now: Timestamp) -> Result<Audit, Failure> {
        Ok(Audit {
            subject: Subject::Receipt(self.job.receipt),
            at: now,
            who: self.author.name().await?,
            what: self.verb.name().to_owned(),
            on: Some(self.job.to_string()),
            why: Some(self.reason.to_owned()),
            bulk: None,
            before: Some(summary(before)),
            after: Some(summary(after)),
            expires_at: loaded.receipt.as_ref().map(|receipt| now.plus(receipt.retention.receipt).to_epoch_seconds()),
        })
    }

    fn not_written(&self, error: &LedgerError, table: &Table) -> Failure {
        let LedgerError::ConditionFailed { stored } = error else { return table.failure(&self.attempted(), error) };
        let why = match stored {
            Stored::Job(job) => format!("it has changed in the meantime and is {} now", job.status().as_str()),
            _ => "it has changed in the meantime".to_owned(),
        };
        Failure::Forbidden(Trouble::new(self.attempted(), why).advise("look again and decide again"))
    }
}

/// What a round has come to: a replay clears its attempts.
fn summary(job: &Job) -> String {
    let mut summary = format!("{}, round {}", job.status().as_str(), job.round);
    if let State::Review { reason } = job.state {
        summary = format!("{summary}: {}", reason.as_str());
    }
    let attempts = job.attempts.iter().map(|attempt| {
        let result = attempt.result.as_ref();
        format!("{} {}", attempt.at, result.map_or("without an end", |result| result.code.as_str()))
    });
    let attempts: Vec<_> = attempts.collect();
    if attempts.is_empty() { summary } else { format!("{summary}; {}", attempts.join(", ")) }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
