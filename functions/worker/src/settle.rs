//! The end of an attempt: what it came to is written under the version that the claim wrote, or not at all.

use hookbox_core::integration::Operation as OperationConfig;
use hookbox_core::job::{AttemptOutcome, Job, State};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::retry::Jitter;
use hookbox_core::transition::finish::{Finish, finish, payload_gone, resumed_meanwhile};
use hookbox_core::transition::reconcile::cannot_tell;
use hookbox_ledger::{Held, LedgerError, Loaded, Pause};
use hookbox_runtime::{Dimension, Metric};

use crate::job::{Ending, Returned, Run};

/// A job whose lease is ours.
pub(crate) struct Taken<'a> {
    /// Its folder as it was read before the claim.
    pub(crate) loaded: &'a Loaded,
    /// The job as the claim wrote it: what every later write is compared with.
    pub(crate) stored: Job,
    /// The job as it is known to be since.
    pub(crate) job: Job,
    /// Its operation as it was configured then.
    pub(crate) operation: &'a OperationConfig,
}

impl<'a> Taken<'a> {
    /// A job that has just been claimed.
    pub(crate) fn new(loaded: &'a Loaded, claimed: Job, operation: &'a OperationConfig) -> Self {
        Self { loaded, stored: claimed.clone(), job: claimed, operation }
    }
}

/// What an attempt came to.
pub(crate) enum Acted {
    /// The operation's report.
    Reported(Report),
    /// There was nothing to send.
    PayloadGone,
    /// The destination was asked and cannot say.
    CannotTell(Report),
}

impl Run<'_> {
    /// Writes the outcome.
    pub(crate) async fn settle(&self, taken: Taken<'_>, acted: Acted) -> Result<Ending, Returned> {
        let now = self.now();
        let (next, report) = match acted {
            Acted::Reported(report) if report.outcome == Outcome::CredentialRefused => {
                return self.pause_and_hold(&taken, &report).await;
            }
            Acted::Reported(report) => (self.finished(&taken, &report)?, report),
            Acted::CannotTell(report) => (cannot_tell(&taken.job, &report, now)?, report),
            Acted::PayloadGone => {
                let report = Report::new(Outcome::Permanent, "payload-expired", "the payload has expired");
                (payload_gone(&taken.job, &report, now)?, report)
            }
        };
        self.write_end(&taken, &next, &report).await
    }

    fn finished(&self, taken: &Taken<'_>, report: &Report) -> Result<Job, Returned> {
        let jitter = Jitter(self.worker.random.next_u64());
        let schedule = &taken.operation.schedule;
        Ok(finish(&taken.job, Finish { now: self.now(), report, schedule, jitter })?)
    }

    /// A refused credential would fail every other job of the operation too: it is paused, and its jobs wait.
    async fn pause_and_hold(&self, taken: &Taken<'_>, report: &Report) -> Result<Ending, Returned> {
        let Job { provider, account, key, .. } = &taken.job;
        let now = self.now();
        let pause = self.worker.ledger.put_pause(provider, account, &key.operation, &report.detail, now).await?;
        if pause.at == now {
            tracing::error!(%provider, %account, operation = %key.operation, code = %report.code, "credential refused: operation paused");
            self.worker.metrics.count(Metric::OperationPaused, &[(Dimension::Operation, key.operation.as_str())], 1);
        }
        self.hold_claimed(taken, report, &pause).await
    }

    /// Holds a claimed job and gives its attempt back, unless the pause is gone by now: then it is due at once.
    pub(crate) async fn hold_claimed(
        &self,
        taken: &Taken<'_>,
        report: &Report,
        pause: &Pause,
    ) -> Result<Ending, Returned> {
        let next = self.finished(taken, report)?;
        let held = self.worker.ledger.hold_job(taken.loaded, &taken.stored, &next, pause);
        match Box::pin(held).await {
            Ok(Held::Written) => Ok(self.held(&taken.job)),
            Ok(Held::Resumed) => {
                let next = resumed_meanwhile(&taken.job, report, self.now())?;
                self.write_end(taken, &next, report).await
            }
            Err(LedgerError::ConditionFailed { .. }) => Ok(self.late(taken, report)),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the end of the attempt. A failed condition means that the lease had expired and somebody has taken over:
    /// what came of that stands.
    async fn write_end(&self, taken: &Taken<'_>, next: &Job, report: &Report) -> Result<Ending, Returned> {
        let written = self.worker.ledger.write_job(taken.loaded, &taken.stored, next);
        match Box::pin(written).await {
            Ok(()) => {}
            Err(LedgerError::ConditionFailed { .. }) => return Ok(self.late(taken, report)),
            Err(error) => return Err(error.into()),
        }
        self.ended(next, report);
        if let State::Retrying { next_attempt_at } = next.state {
            self.wake_up(&next.key, next_attempt_at).await;
        }
        Ok(Ending::Written(next.status()))
    }

    fn late(&self, taken: &Taken<'_>, report: &Report) -> Ending {
        let key = &taken.job.key;
        tracing::error!(
            receipt = %key.receipt, operation = %key.operation, attempt = taken.job.attempts_total,
            outcome = ?report.outcome, code = %report.code,
            "late outcome refused: another worker has taken over"
        );
        self.worker.metrics.count(Metric::LateOutcomes, &[(Dimension::Operation, key.operation.as_str())], 1);
        Ending::Late
    }

    fn ended(&self, job: &Job, report: &Report) {
        let key = &job.key;
        let result = job.attempts.last().and_then(|attempt| attempt.result.as_ref());
        let ms = result.map_or(0, |result| u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX));
        let outcome = result.map_or("given-back", |result| outcome_name(result.outcome));
        tracing::info!(
            receipt = %key.receipt, operation = %key.operation, job = %key, provider = %job.provider,
            account = %job.account, kind = job.kind, attempt = job.attempts_total, outcome,
            status = job.status().as_str(), code = %report.code, ms,
            "attempt ended"
        );
        let operation = (Dimension::Operation, key.operation.as_str());
        let metrics = &self.worker.metrics;
        let by = [(Dimension::Provider, job.provider.as_str()), operation, (Dimension::Outcome, outcome)];
        metrics.count(Metric::Attempts, &by, 1);
        metrics.measure(Metric::AttemptDuration, &[operation], ms);
        if let State::Completed { at } = job.state {
            let took = u64::try_from(at.since(job.received_at).as_millis()).unwrap_or(u64::MAX);
            let of = [(Dimension::Provider, job.provider.as_str()), (Dimension::Account, job.account.as_str())];
            metrics.measure(Metric::CompletionDuration, &of, took);
        }
        self.written(job);
    }

    /// Counts a job that now waits for a person.
    pub(crate) fn written(&self, job: &Job) {
        if let State::Review { reason } = job.state {
            tracing::warn!(receipt = %job.key.receipt, operation = %job.key.operation, reason = reason.as_str(), "in review");
            self.worker.metrics.count(Metric::JobsToReview, &[(Dimension::Reason, reason.as_str())], 1);
        }
    }
}

fn outcome_name(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Done => "done",
        AttemptOutcome::Transient => "transient",
        AttemptOutcome::Uncertain => "uncertain",
        AttemptOutcome::Permanent => "permanent",
    }
}
