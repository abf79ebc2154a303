//! What is decided about one job: looked at, then written together with who decided it and why.

use std::fmt::Display;

use hookbox_core::job::{Job, State, Status};
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::new_version::{NoNewVersion, new_version};
use hookbox_core::transition::replay::{ForgottenKey, NotReplayed, replay};
use hookbox_ledger::{Added, Audit, LedgerError, Loaded, Stored, Subject};

use crate::connection::Table;
use crate::failure::Failure;

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The same effect again, under the same key.
    Replay(ForgottenKey),
    /// The effect once more, as a new one under a key of its own.
    NewVersion,
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

/// A job that the decision fits.
#[derive(Debug)]
pub(super) struct Fit {
    loaded: Loaded,
    /// As it was read.
    pub(super) before: Job,
    /// As it will be, or the new version beside it.
    pub(super) after: Job,
}

/// Why a decision does not fit its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// There is none.
    Missing,
    /// This version cannot read it, or what would have to be known about it.
    Unreadable(String),
    /// The same bulk operation has written it already.
    DoneBefore,
    /// Its state does not allow it.
    State(Status),
    /// The destination has forgotten its key since then.
    KeyExpired(Timestamp),
    /// It has a newer version already.
    Superseded(JobKey),
    /// Its event has as many jobs as it can have.
    TooManyJobs,
    /// There is nothing to send.
    PayloadExpired,
    /// Its event was erased then.
    Erased(Timestamp),
    /// Somebody else was first; it is in this state now, where that is known.
    Changed(Option<Status>),
}

impl Verb {
    /// Its short name: in the audit, in the names of bulk operations and for programs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Replay(_) => "replay",
            Self::NewVersion => "new-version",
            Self::Dismiss => "dismiss",
        }
    }

    /// The command that decides so.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Replay(_) | Self::NewVersion => "replay",
            Self::Dismiss => "dismiss",
        }
    }

    /// What is done to `what`, in words.
    pub(super) fn to(self, what: impl Display) -> String {
        match self {
            Self::Replay(_) => format!("replay {what}"),
            Self::NewVersion => format!("replay {what} as a new version"),
            Self::Dismiss => format!("dismiss {what}"),
        }
    }

    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Replay(_) => "replayed",
            Self::NewVersion => "created",
            Self::Dismiss => "dismissed",
        }
    }

    /// As the record of a bulk operation has it: all that is needed to go on with it.
    pub(super) fn recorded(self) -> &'static str {
        match self {
            Self::Replay(ForgottenKey::Accept) => "replay key-expired-ok",
            Self::Replay(ForgottenKey::Refuse) | Self::NewVersion | Self::Dismiss => self.code(),
        }
    }

    /// The one that is recorded so; `None` for one that this version does not know.
    pub(super) fn of_record(text: &str) -> Option<Self> {
        let all =
            [Self::Replay(ForgottenKey::Refuse), Self::Replay(ForgottenKey::Accept), Self::NewVersion, Self::Dismiss];
        all.into_iter().find(|verb| verb.recorded() == text)
    }

    fn of(self, job: &Job, jobs: &[Job], now: Timestamp) -> Result<Job, Unfit> {
        match self {
            Self::Dismiss => dismiss(job, now).map_err(|refused| Unfit::State(refused.status)),
            Self::Replay(forgotten) => replay(job, forgotten, now).map_err(|refused| match refused {
                NotReplayed::Erased { at } => Unfit::Erased(at),
                NotReplayed::KeyExpired { until } => Unfit::KeyExpired(until),
                NotReplayed::Refused(refused) => Unfit::State(refused.status),
            }),
            Self::NewVersion => new_version(job, jobs, now).map_err(|refused| match refused {
                NoNewVersion::Erased { at } => Unfit::Erased(at),
                NoNewVersion::Superseded { newest } => Unfit::Superseded(newest),
                NoNewVersion::TooMany => Unfit::TooManyJobs,
                NoNewVersion::Refused(refused) => Unfit::State(refused.status),
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
            Self::DoneBefore => "done-before",
            Self::State(status) => status.as_str(),
            Self::KeyExpired(_) => "key-expired",
            Self::Superseded(_) => "superseded",
            Self::TooManyJobs => "too-many-jobs",
            Self::PayloadExpired => "payload-expired",
            Self::Erased(_) => "erased",
            Self::Changed(_) => "changed",
        }
    }
}

impl Step<'_> {
    pub(super) fn attempted(&self) -> String {
        self.verb.to(format_args!("the job {}", self.job))
    }

    /// Reads the job and sees whether the decision fits it.
    pub(super) async fn look(&self, table: &Table, now: Timestamp) -> Result<Result<Fit, Unfit>, Failure> {
        let loaded = table.ledger.load(&self.job.receipt).await;
        let loaded = loaded.map_err(|error| table.failure(&self.attempted(), &error))?;
        let Some(loaded) = loaded else { return Ok(Err(Unfit::Missing)) };
        if let Some(unfit) = self.unfit(&loaded) {
            return Ok(Err(unfit));
        }
        let Some(before) = loaded.job(self.job).cloned() else { return Ok(Err(Unfit::Missing)) };
        let after = match self.verb.of(&before, &loaded.jobs, now) {
            Ok(after) => after,
            Err(unfit) => return Ok(Err(unfit)),
        };
        if matches!(self.verb, Verb::Replay(_) | Verb::NewVersion) {
            let has_payload = table.ledger.has_payload(&self.job.receipt).await;
            if !has_payload.map_err(|error| table.failure(&self.attempted(), &error))? {
                return Ok(Err(Unfit::PayloadExpired));
            }
        }
        Ok(Ok(Fit { loaded, before, after }))
    }

    /// What of the folder forbids it, whatever the job says.
    fn unfit(&self, loaded: &Loaded) -> Option<Unfit> {
        let versions = || loaded.unreadable_version(&self.job.operation).filter(|_| self.verb == Verb::NewVersion);
        let records = || loaded.unreadable_record().filter(|_| self.bulk.is_some());
        if let Some(error) = loaded.unreadable_job(self.job).or_else(versions).or_else(records) {
            return Some(Unfit::Unreadable(error.to_string()));
        }
        let (bulk, on) = (self.bulk?.to_string(), self.written()?.to_string());
        // Its record was written with the job, so it knows what the record of the bulk operation may not know yet.
        let done = loaded.audit.iter().any(|deed| deed.bulk.as_ref() == Some(&bulk) && deed.on.as_ref() == Some(&on));
        done.then_some(Unfit::DoneBefore)
    }

    /// The job that is written.
    fn written(&self) -> Option<JobKey> {
        if self.verb == Verb::NewVersion { self.job.following() } else { Some(self.job.clone()) }
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
        let came_from = if before.key == after.key {
            summary(before)
        } else {
            format!("v{}: {}", before.key.version, summary(before))
        };
        let audit = Audit {
            subject: Subject::Receipt(self.job.receipt),
            at: now,
            who: who.to_owned(),
            what: self.verb.code().to_owned(),
            on: Some(after.key.to_string()),
            why: Some(self.reason.to_owned()),
            bulk: self.bulk.map(ToString::to_string),
            before: Some(came_from),
            after: Some(summary(after)),
            // With its folder: the ledger knows when.
            expires_at: None,
        };
        let written = match self.verb {
            Verb::NewVersion => table.ledger.add_job(loaded, before, after, &audit).await,
            Verb::Replay(_) | Verb::Dismiss => {
                table.ledger.write_job_audited(loaded, before, after, &audit).await.map(|()| Added::Written)
            }
        };
        match written {
            Ok(Added::Written) => Ok(Ok(())),
            Ok(Added::PayloadExpired) => Ok(Err(Unfit::PayloadExpired)),
            Err(LedgerError::ConditionFailed { stored: Stored::Job(job) }) if job.key != before.key => {
                Ok(Err(Unfit::Superseded(job.key)))
            }
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
