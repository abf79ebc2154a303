//! Dismiss: a person decides that the effect is not needed.

use crate::job::{DismissReason, Job, State};
use crate::time::Timestamp;

use super::Refused;

/// Ends a job that waits for a person.
pub fn dismiss(job: &Job, now: Timestamp) -> Result<Job, Refused> {
    match job.state {
        State::Review { .. } => Ok(job.moved(State::Dismissed { at: now, reason: DismissReason::NotNeeded }, now)),
        _ => Err(job.refuse("dismiss")),
    }
}
