//! One message: load the folder, decide, and claim immediately before the call.

use std::time::Duration;

use hookbox_core::integration::Operation as OperationConfig;
use hookbox_core::job::{Job, ReviewReason, Status};
use hookbox_core::key::JobKey;
use hookbox_core::limits::{CLAIM_MARGIN, LEASE_MARGIN, MAX_QUEUE_DELAY};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::time::Timestamp;
use hookbox_core::transition::Refused;
use hookbox_core::transition::claim::{Approach, Claim, Claimed, NotClaimed, claim, claimable};
use hookbox_core::transition::hold::hold;
use hookbox_core::transition::postpone::postpone;
use hookbox_core::transition::review::review;
use hookbox_ledger::{Configured, Held, ItemError, Ledger, LedgerError, Loaded, Pause};
use hookbox_queue::MessageError;
use hookbox_runtime::{Dimension, Metric, chain};

use crate::attempt::{GRACE, ask_limit};
use crate::builder::Worker;
use crate::settle::Taken;

/// How long a job waits whose operation has a configuration or a pause that cannot be read.
const UNREADABLE: Duration = Duration::from_secs(15 * 60);
/// How often a job is read and decided again because another writer was first.
const MAX_TRIES: usize = 4;

/// Why a message goes back to the queue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Returned {
    #[error("unparseable message")]
    Unparseable(#[source] MessageError),
    #[error("a consistent read does not find the job {0}")]
    NotFound(JobKey),
    #[error("the job cannot be read")]
    Unreadable(#[source] ItemError),
    #[error("too little time is left to claim the job {0}")]
    OutOfTime(JobKey),
    #[error("the job {0} was changed by others again and again")]
    Contended(JobKey),
    #[error("state could not be read or written")]
    Ledger(#[from] LedgerError),
    #[error("a rule of the state machine was broken")]
    Broken(#[from] Refused),
}

impl Returned {
    /// The reason why no worker of this version can ever act on the message, if there is one.
    pub(crate) fn unusable(&self) -> Option<&'static str> {
        match self {
            Self::Unparseable(_) => Some("unparseable"),
            Self::NotFound(_) => Some("not-found"),
            Self::Unreadable(ItemError::NewerSchema { .. }) => Some("newer-schema"),
            Self::Unreadable(ItemError::Corrupt { .. }) => Some("corrupt"),
            Self::OutOfTime(_) | Self::Contended(_) | Self::Ledger(_) | Self::Broken(_) => None,
        }
    }

    /// Whether an item was met that is corrupt or newer than this version.
    pub(crate) fn is_of_an_unreadable_item(&self) -> bool {
        use LedgerError::{Corrupt, NewerSchema};
        matches!(self, Self::Unreadable(_) | Self::Ledger(Corrupt { .. } | NewerSchema { .. }))
    }
}

/// What an acknowledged message came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing was to be done.
    Nothing,
    /// The job was written in this state.
    Written(Status),
    /// Another worker had taken over: our outcome was refused.
    Late,
}

/// One job of one invocation.
pub(crate) struct Run<'a> {
    pub(crate) worker: &'a Worker,
    /// Ends its calls with the invocation. What came of a call is written without that bound: late it is still right, if
    /// nobody has taken over.
    pub(crate) ledger: Ledger,
    deadline: Timestamp,
}

impl<'a> Run<'a> {
    pub(crate) fn new(worker: &'a Worker, deadline: Timestamp) -> Self {
        Self { worker, ledger: worker.ledger.until(deadline), deadline }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.worker.clock.now()
    }

    /// Does what the job needs now. Whoever loses a condition reads and decides again.
    pub(crate) async fn work(&self, key: &JobKey) -> Result<Ending, Returned> {
        for _ in 0..MAX_TRIES {
            match Box::pin(self.decide(key)).await {
                Ok(Some(ending)) => return Ok(ending),
                Ok(None) | Err(Returned::Ledger(LedgerError::ConditionFailed { .. })) => {}
                Err(returned) => return Err(returned),
            }
        }
        Err(Returned::Contended(key.clone()))
    }

    /// `None` when the ground has moved and the job must be read again.
    async fn decide(&self, key: &JobKey) -> Result<Option<Ending>, Returned> {
        let (loaded, job) = self.load(key).await?;
        match claimable(&job, self.now()) {
            Ok(()) => {}
            Err(reason) => return Ok(Some(self.leave(&job, reason).await)),
        }
        let configured =
            match self.ledger.integration_with_pauses(&job.provider, &job.account).await.map_err(Returned::from) {
                Ok(configured) => configured,
                Err(error) if error.is_of_an_unreadable_item() => {
                    return self.postpone(&loaded, &job, error).await.map(Some);
                }
                Err(error) => return Err(error),
            };
        let Some((configured, operation)) =
            configured.as_ref().and_then(|found| Some((found, found.integration.operation(&key.operation)?)))
        else {
            let detail = "the operation is no longer configured";
            let next = review(&job, ReviewReason::OperationRemoved, detail, self.now())?;
            return self.write(&loaded, &job, &next).await.map(Some);
        };
        match configured.pause(&key.operation) {
            Ok(Some(pause)) => self.hold(&loaded, &job, pause, configured, operation).await,
            Ok(None) => self.claim(&loaded, &job, configured, operation).await.map(Some),
            Err(error) => self.postpone(&loaded, &job, Returned::Unreadable(error)).await.map(Some),
        }
    }

    /// A pause or a configuration that this version cannot read stands all the same, and no job can be held under it: a
    /// newer version, or a person, will come. Until then the job waits and uses neither attempts nor wakes.
    async fn postpone(&self, loaded: &Loaded, job: &Job, unreadable: Returned) -> Result<Ending, Returned> {
        let now = self.now();
        let Ok(next) = postpone(job, now.plus(UNREADABLE), now) else {
            return Err(unreadable);
        };
        let error = chain(&unreadable);
        tracing::error!(receipt = %job.key.receipt, operation = %job.key.operation, error, "postponed");
        self.worker.metrics.count(Metric::ItemsUnreadable, &[], 1);
        self.write(loaded, job, &next).await
    }

    async fn load(&self, key: &JobKey) -> Result<(Loaded, Job), Returned> {
        let loaded = self.ledger.load(&key.receipt).await?.ok_or_else(|| Returned::NotFound(key.clone()))?;
        if let Some(job) = loaded.job(key).cloned() {
            return Ok((loaded, job));
        }
        Err(loaded
            .unreadable_job(key)
            .map_or_else(|| Returned::NotFound(key.clone()), |error| Returned::Unreadable(error.clone())))
    }

    /// Acknowledges a message whose job takes no attempt now.
    ///
    /// A lease of another worker: it will finish, or its lease will expire and its own message or the sweeper's wake-up
    /// finds that. Sending ours on would only multiply messages. A job that is not due gets its wake-up again, because
    /// this one is used up; a long wait is the sweeper's. Anything else has ended or waits for a person or a pause.
    async fn leave(&self, job: &Job, reason: NotClaimed) -> Ending {
        tracing::debug!(receipt = %job.key.receipt, operation = %job.key.operation, %reason, "nothing to do");
        if let NotClaimed::NotDue { at } = reason {
            self.wake_up(&job.key, at).await;
        }
        Ending::Nothing
    }

    /// Sends the wake-up of a retry. Failing to is no failure: the sweeper looks a minute after the time.
    pub(crate) async fn wake_up(&self, key: &JobKey, at: Timestamp) {
        let wait = at.since(self.now());
        if wait > MAX_QUEUE_DELAY {
            return;
        }
        if let Err(error) = self.worker.queue.send(key, wait).await {
            tracing::warn!(receipt = %key.receipt, operation = %key.operation, error = chain(&error), "wake-up not sent");
        }
    }

    /// Holds a job whose operation is paused. An expired lease is resolved by a claim first, as always; the attempt is
    /// given back unused.
    async fn hold(
        &self,
        loaded: &Loaded,
        job: &Job,
        pause: &Pause,
        configured: &Configured,
        operation: &OperationConfig,
    ) -> Result<Option<Ending>, Returned> {
        if job.status() != Status::Processing {
            let next = hold(job, self.now())?;
            return match Box::pin(self.ledger.hold_job(loaded, job, &next, pause)).await? {
                Held::Written => Ok(Some(self.held(job))),
                Held::Resumed => Ok(None),
            };
        }
        match self.claimed(job, configured, operation)? {
            Claimed::Review(next) => self.write(loaded, job, &next).await.map(Some),
            Claimed::Call { job: claimed, .. } => {
                self.put(loaded, job, &claimed).await?;
                let report = Report::new(Outcome::CredentialRefused, "paused", pause.reason.as_str());
                let taken = Taken::new(loaded, claimed, operation);
                self.hold_claimed(&taken, &report, pause).await.map(Some)
            }
        }
    }

    async fn claim(
        &self,
        loaded: &Loaded,
        job: &Job,
        configured: &Configured,
        operation: &OperationConfig,
    ) -> Result<Ending, Returned> {
        let out_of_time = || Returned::OutOfTime(job.key.clone());
        let spare = self.spare(operation).ok_or_else(out_of_time)?;
        let (claimed, approach) = match self.claimed(job, configured, operation)? {
            Claimed::Review(next) => return self.write(loaded, job, &next).await,
            Claimed::Call { job, approach } => (job, approach),
        };
        let ask = match approach {
            Approach::Send => None,
            Approach::Reconcile => Some(ask_limit(spare, operation.timeout).ok_or_else(out_of_time)?),
        };
        Box::pin(self.before_the_call(operation).write_job(loaded, job, &claimed)).await?;
        Box::pin(self.attempt(Taken::new(loaded, claimed, operation), ask)).await
    }

    /// The ledger for what comes before a call: in time for the call to have its whole timeout.
    pub(crate) fn before_the_call(&self, operation: &OperationConfig) -> Ledger {
        self.worker.ledger.until(self.deadline.minus(operation.timeout + GRACE * 2))
    }

    /// The time that is left of the invocation.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.since(self.now())
    }

    /// The time that is left beyond the operation's timeout and the margin for writing; `None` when it is not enough.
    fn spare(&self, operation: &OperationConfig) -> Option<Duration> {
        self.left().checked_sub(operation.timeout + CLAIM_MARGIN)
    }

    fn claimed(&self, job: &Job, configured: &Configured, operation: &OperationConfig) -> Result<Claimed, Returned> {
        let command = Claim {
            now: self.now(),
            lease_expires_at: self.deadline.plus(LEASE_MARGIN),
            operation,
            config_rev: configured.integration.rev,
        };
        claim(job, command).map_err(|reason| match reason {
            NotClaimed::Refused(refused) => Returned::Broken(refused),
            // A moment ago it could be claimed: the clock has gone backwards.
            NotClaimed::NotDue { .. } | NotClaimed::Leased { .. } => Returned::Contended(job.key.clone()),
        })
    }

    /// Writes a job that no call was made for.
    async fn write(&self, loaded: &Loaded, before: &Job, after: &Job) -> Result<Ending, Returned> {
        self.put(loaded, before, after).await?;
        self.written(after);
        Ok(Ending::Written(after.status()))
    }

    // Boxed, because the future of a call to DynamoDB is large and stands in the future of every message.
    async fn put(&self, loaded: &Loaded, before: &Job, after: &Job) -> Result<(), LedgerError> {
        Box::pin(self.ledger.write_job(loaded, before, after)).await
    }

    pub(crate) fn held(&self, job: &Job) -> Ending {
        tracing::info!(
            receipt = %job.key.receipt, operation = %job.key.operation, job = %job.key, provider = %job.provider,
            account = %job.account, kind = job.kind, attempt = job.attempts_total, outcome = "held",
            status = Status::Held.as_str(),
            "held"
        );
        self.worker.metrics.count(Metric::JobsHeld, &[(Dimension::Provider, job.provider.as_str())], 1);
        Ending::Written(Status::Held)
    }
}
