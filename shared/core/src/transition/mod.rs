//! Every change of a job's state, one file a command. The table test beside this file shows the whole machine.
//!
//! A transition takes the job as it was read and gives the job as it is to be written, with the next version; it never
//! writes. What it refuses it says why. The writer makes the change conditional on the version that was read, so that of
//! two transitions from one state only one is ever stored.

pub mod claim;
pub mod dismiss;
pub mod erase;
pub mod expiry;
pub mod finish;
pub mod hold;
pub mod new_version;
pub mod postpone;
pub mod reconcile;
pub mod release;
pub mod replay;
pub mod review;
pub mod wake;

use crate::job::{Job, State, Status};
use crate::limits::{PENDING_OVERDUE, RETRY_OVERDUE, REVIEW_FIRST_NOTICE};
use crate::time::Timestamp;

/// A command that the job's state does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {command} a job that is {status}", status = status.as_str())]
pub struct Refused {
    /// What was asked for.
    pub command: &'static str,
    /// The state that does not allow it.
    pub status: Status,
}

impl Job {
    fn refuse(&self, command: &'static str) -> Refused {
        Refused { command, status: self.status() }
    }

    /// The job in its next state, with the time at which the sweeper will look at it.
    fn moved(&self, state: State, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.open_at = match state {
            State::Pending => Some(now.plus(PENDING_OVERDUE)),
            // A claim leaves the entry alone: rewriting the index on every claim would cost more than looking once.
            State::Processing { .. } => self.open_at,
            State::Retrying { next_attempt_at } => Some(next_attempt_at.plus(RETRY_OVERDUE)),
            State::Held => Some(now),
            State::Review { .. } => Some(now.plus(REVIEW_FIRST_NOTICE)),
            State::Completed { .. } | State::Dismissed { .. } => None,
        };
        next.state = state;
        next
    }
}

#[cfg(test)]
mod tests;
