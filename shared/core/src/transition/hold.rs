//! Hold: a job that no worker has claimed waits while its operation is paused.

use crate::job::{Job, State};
use crate::time::Timestamp;

use super::Refused;

/// Holds a job that waits for an attempt. The writer checks in the same transaction that the pause still exists.
pub fn hold(job: &Job, now: Timestamp) -> Result<Job, Refused> {
    match job.state {
        State::Pending | State::Retrying { .. } => Ok(job.moved(State::Held, now)),
        // An expired lease is resolved by a claim, never by a pause: its outcome is unknown.
        State::Processing { .. }
        | State::Held
        | State::Review { .. }
        | State::Completed { .. }
        | State::Dismissed { .. } => Err(job.refuse("hold")),
    }
}
