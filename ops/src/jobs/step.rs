//! What is decided about one job: looked at, then written together with who decided it and why.

use hookbox_core::job::{Job, State, Status};
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::replay::{ForgottenKey, NotReplayed, replay};
use hookbox_ledger::{Audit, LedgerError, Loaded, Stored, Subject};

use crate::connection::Table;
use crate::failure::Failure;

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The same effect again.
    Replay(ForgottenKey),
    /// The effect is not needed.
    Dismiss,
}

/// What is decided about one job, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) verb: Verb,
    pub(super) job: &'a JobKey,
    pub(super) reason: &'a str,
    /// The bulk operation that it is part of.
    pub(super) bulk: Option<&'a BulkId>,
}

/// A job that the decision fits, as it was read and as it will be.
#[derive(Debug)]
pub(super) struct Fit {
    loaded: Loaded,
    pub(super) before: Job,
    pub(super) after: Job,
}

/// Why a decision does not fit its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// There is none.
    Missing,
    /// This version cannot read it.
    Unreadable(String),
    /// Its state does not allow it.
    State(Status),
    /// The destination has forgotten its key since then.
    KeyExpired(Timestamp),
    /// There is nothing to send.
    PayloadExpired,
    /// Its event was erased then.
    Erased(Timestamp),
    /// Somebody else was first; it is in this state now, where that is known.
    Changed(Option<Status>),
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Replay(_) => "replay",
            Self::Dismiss => "dismiss",
        }
    }

    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Replay(_) => "replayed",
            Self::Dismiss => "dismissed",
        }
    }

    fn of(self, job: &Job, now: Timestamp) -> Result<Job, Unfit> {
        match self {
            Self::Dismiss => dismiss(job, now).map_err(|refused| Unfit::State(refused.status)),
            Self::Replay(forgotten) => replay(job, forgotten, now).map_err(|refused| match refused {
                NotReplayed::Erased { at } => Unfit::Erased(at),
                NotReplayed::KeyExpired { until } => Unfit::KeyExpired(until),
                NotReplayed::Refused(refused) => Unfit::State(refused.status),
            }),
        }
    }
}

impl Unfit {
    /// A short name, by which they are counted.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unreadable(_) => "unreadable",
            Self::State(status) => status.as_str(),
            Self::KeyExpired(_) => "key-expired",
            Self::PayloadExpired => "payload-expired",
            Self::Erased(_) => "erased",
            Self::Changed(_) => "changed",
        }
    }
}

impl Step<'_> {
    pub(super) fn attempted(&self) -> String {
        format!("{} the job {}", self.verb.name(), self.job)
    }

    /// Reads the job and sees whether the decision fits it.
    pub(super) async fn look(&self, table: &Table, now: Timestamp) -> Result<Result<Fit, Unfit>, Failure> {
        let loaded = table.ledger.load(&self.job.receipt).await;
        let loaded = loaded.map_err(|error| table.failure(&self.attempted(), &error))?;
        let Some(loaded) = loaded else { return Ok(Err(Unfit::Missing)) };
        if let Some(error) = loaded.unreadable_job(self.job) {
            return Ok(Err(Unfit::Unreadable(error.to_string())));
        }
        let Some(before) = loaded.job(self.job).cloned() else { return Ok(Err(Unfit::Missing)) };
        let after = match self.verb.of(&before, now) {
            Ok(after) => after,
            Err(unfit) => return Ok(Err(unfit)),
        };
        if matches!(self.verb, Verb::Replay(_)) {
            let has_payload = table.ledger.has_payload(&self.job.receipt).await;
            if !has_payload.map_err(|error| table.failure(&self.attempted(), &error))? {
                return Ok(Err(Unfit::PayloadExpired));
            }
        }
        Ok(Ok(Fit { loaded, before, after }))
    }

    /// Writes it, unless the job has changed since.
    pub(super) async fn write(
        &self,
        fit: &Fit,
        who: &str,
        table: &Table,
        now: Timestamp,
    ) -> Result<Result<(), Unfit>, Failure> {
        let Fit { loaded, before, after } = fit;
        let audit = Audit {
            subject: Subject::Receipt(self.job.receipt),
            at: now,
            who: who.to_owned(),
            what: self.verb.name().to_owned(),
            on: Some(self.job.to_string()),
            why: Some(self.reason.to_owned()),
            bulk: self.bulk.map(ToString::to_string),
            before: Some(summary(before)),
            after: Some(summary(after)),
            // With its folder: the ledger knows when.
            expires_at: None,
        };
        match table.ledger.write_job_audited(loaded, before, after, &audit).await {
            Ok(()) => Ok(Ok(())),
            Err(LedgerError::ConditionFailed { stored: Stored::Job(job) }) => {
                Ok(Err(Unfit::Changed(Some(job.status()))))
            }
            Err(LedgerError::ConditionFailed { .. }) => Ok(Err(Unfit::Changed(None))),
            Err(error) => Err(table.failure(&self.attempted(), &error)),
        }
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
