//! Review: no attempt can be made, for a reason that is not the destination's.

use crate::job::{Job, LastError, ReviewReason, State};
use crate::outcome::{Code, ErrorText};
use crate::time::Timestamp;

use super::Refused;
use super::claim::abandon;

/// Gives a job to a person that waits for an attempt or whose lease has expired.
pub fn review(job: &Job, reason: ReviewReason, detail: &str, now: Timestamp) -> Result<Job, Refused> {
    let (job, reason) = match job.state {
        // What an earlier call may have done matters more than why there is no further one.
        State::Pending | State::Retrying { .. } if job.uncertain.is_some() => (job.clone(), ReviewReason::Uncertain),
        State::Pending | State::Retrying { .. } => (job.clone(), reason),
        // Its running attempt may have had its effect, whatever else is wrong.
        State::Processing { lease_expires_at } if lease_expires_at <= now => {
            (abandon(job, now), ReviewReason::Uncertain)
        }
        State::Processing { .. }
        | State::Held
        | State::Review { .. }
        | State::Completed { .. }
        | State::Dismissed { .. } => return Err(job.refuse("review")),
    };
    let mut next = job.moved(State::Review { reason }, now);
    next.last_error = Some(LastError { code: Code::new(reason.as_str()), detail: ErrorText::new(detail) });
    Ok(next)
}
