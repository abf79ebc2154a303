//! New version: a person asks for the effect of a job once more, on purpose and as a new one, under a key of its own.

use crate::job::{Job, State};
use crate::key::JobKey;
use crate::limits::{MAX_JOBS, PENDING_OVERDUE};
use crate::time::Timestamp;

use super::Refused;

/// Why a job gets no new version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNewVersion {
    /// Its event was erased: there is nothing to send, and nobody to send it for.
    #[error("erased at {at}")]
    Erased {
        /// When.
        at: Timestamp,
    },
    /// It has a newer one already, which may be what was asked for.
    #[error("there is a newer version of it: {newest}")]
    Superseded {
        /// The newest.
        newest: JobKey,
    },
    /// Its event has as many jobs as one can have.
    #[error("its event has {MAX_JOBS} jobs already")]
    TooMany,
    /// Its state allows none.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// The next version of a job that waits for a person or has ended: another job, in its first round. The job itself stays
/// as it is. `jobs` are all jobs of its event.
pub fn new_version(job: &Job, jobs: &[Job], now: Timestamp) -> Result<Job, NoNewVersion> {
    if let Some(at) = job.erased_at {
        return Err(NoNewVersion::Erased { at });
    }
    let versions = jobs.iter().map(|other| &other.key).filter(|key| key.operation == job.key.operation);
    if let Some(newest) = versions.max_by_key(|key| key.version).filter(|newest| newest.version > job.key.version) {
        return Err(NoNewVersion::Superseded { newest: newest.clone() });
    }
    match job.state {
        State::Review { .. } | State::Completed { .. } | State::Dismissed { .. } => {}
        State::Pending | State::Processing { .. } | State::Retrying { .. } | State::Held => {
            return Err(job.refuse("make a new version of").into());
        }
    }
    if jobs.len() >= MAX_JOBS {
        return Err(NoNewVersion::TooMany);
    }
    Ok(Job {
        key: job.key.following().ok_or(NoNewVersion::TooMany)?,
        state: State::Pending,
        version: 1,
        round: 1,
        attempts: Vec::new(),
        attempts_total: 0,
        // No call was made under the new key, so nothing of what is known of the old one's calls is true of it.
        first_sent_at: None,
        send_before: None,
        uncertain: None,
        wakes: 0,
        open_at: Some(now.plus(PENDING_OVERDUE)),
        last_error: None,
        ..job.clone()
    })
}
