//! Erase: the event's data is to be deleted. What is left of the job is what it came to and when.

use crate::job::{DismissReason, Job, State};
use crate::outcome::Code;
use crate::time::Timestamp;

use super::claim::abandon;

/// A worker has the job: what it is doing cannot be taken back, and it still needs the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("leased until {until}")]
pub struct Leased {
    /// When the lease ends.
    pub until: Timestamp,
}

/// What the codes of its attempts become: a linked operation may put anything into them.
const CODE: &str = "erased";

/// Takes everything personal from the job, and ends it if it has not ended. The classes and times of its attempts stay;
/// an expired lease leaves one whose outcome nobody knows. It may be done again, and keeps its first time.
pub fn erase(job: &Job, now: Timestamp) -> Result<Job, Leased> {
    let state = match job.state {
        State::Processing { lease_expires_at } if lease_expires_at > now => {
            return Err(Leased { until: lease_expires_at });
        }
        State::Completed { .. } | State::Dismissed { .. } => job.state.clone(),
        State::Pending | State::Processing { .. } | State::Retrying { .. } | State::Held | State::Review { .. } => {
            State::Dismissed { at: now, reason: DismissReason::Erased }
        }
    };
    let mut next = abandon(job, now).moved(state, now);
    next.resource = None;
    next.last_error = None;
    next.erased_at = Some(job.erased_at.unwrap_or(now));
    for result in next.attempts.iter_mut().filter_map(|attempt| attempt.result.as_mut()) {
        result.code = Code::new(CODE);
    }
    Ok(next)
}
