//! Writes of a job after its insert: each is conditional on the version that was read.

use hookbox_core::job::Job;

use crate::audit::Audit;
use crate::load::Loaded;
use crate::pause::Pause;
use crate::{Ledger, LedgerError};

/// What became of holding a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is held.
    Written,
    /// The pause is gone: nothing was written.
    Resumed,
}

impl Ledger {
    /// Writes `after` in place of `before`, and changes the expiry of the folder where that is due.
    ///
    /// [`LedgerError::ConditionFailed`] when the job is no longer at `before`'s version. Our own write whose answer was
    /// lost is recognised and is a success. `loaded` may be older than `before`: what has changed since is noticed.
    pub async fn write_job(&self, loaded: &Loaded, before: &Job, after: &Job) -> Result<(), LedgerError> {
        let _ = (loaded, before, after);
        unimplemented!()
    }

    /// Like [`write_job`](Self::write_job), with a person's deed recorded in the same transaction.
    pub async fn write_job_audited(
        &self,
        loaded: &Loaded,
        before: &Job,
        after: &Job,
        audit: &Audit,
    ) -> Result<(), LedgerError> {
        let _ = (loaded, before, after, audit);
        unimplemented!()
    }

    /// Like [`write_job`](Self::write_job) for a job that becomes held, but only while `pause` stands.
    pub async fn hold_job(
        &self,
        loaded: &Loaded,
        before: &Job,
        after: &Job,
        pause: &Pause,
    ) -> Result<Held, LedgerError> {
        let _ = (loaded, before, after, pause);
        unimplemented!()
    }

    /// Moves the job's entry in the open index from `before` to `after` and leaves its version alone. True only for the
    /// one writer that landed: false when the version or the entry's time is no longer as it was read.
    pub async fn move_entry(&self, before: &Job, after: &Job) -> Result<bool, LedgerError> {
        let _ = (before, after);
        unimplemented!()
    }

    /// Keeps everything of a folder with an open job from expiring. Nothing happens when no job is open any more.
    pub async fn keep(&self, loaded: &Loaded) -> Result<(), LedgerError> {
        let _ = loaded;
        unimplemented!()
    }
}
