//! Postpone: nothing can be attempted now, for a reason that has nothing to do with the job. No attempt is used.

use crate::job::{Job, State};
use crate::time::Timestamp;

use super::Refused;

/// Makes a job that waits for an attempt due at `until`. A worker has looked at it, so wakes are counted anew.
pub fn postpone(job: &Job, until: Timestamp, now: Timestamp) -> Result<Job, Refused> {
    match job.state {
        State::Pending | State::Retrying { .. } => {
            let mut next = job.moved(State::Retrying { next_attempt_at: until }, now);
            next.wakes = 0;
            Ok(next)
        }
        // An expired lease is resolved by a claim: its outcome is unknown.
        State::Processing { .. }
        | State::Held
        | State::Review { .. }
        | State::Completed { .. }
        | State::Dismissed { .. } => Err(job.refuse("postpone")),
    }
}
