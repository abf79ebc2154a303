//! Release: the pause is gone, the job takes up its round where it stood.

use crate::job::{Job, State};
use crate::time::Timestamp;

use super::Refused;

/// Makes a held job pending again.
pub fn release(job: &Job, now: Timestamp) -> Result<Job, Refused> {
    match job.state {
        State::Held => {
            let mut next = job.moved(State::Pending, now);
            next.wakes = 0;
            Ok(next)
        }
        _ => Err(job.refuse("release")),
    }
}
