//! Expiry: nothing of an open, held or reviewed job expires, and evidence outlives work.

use crate::job::{Job, State};

/// What a change of one job does to the expiry of its receipt and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryChange {
    /// Nothing: the expiry written at ingest stands.
    Keep,
    /// Remove it: a person or a pause may take longer than any retention.
    Remove,
    /// Set it again: the last open job has ended.
    Restore,
}

/// What writing `after` does to the expiry, given the other jobs of its folder and whether the receipt expires now.
pub fn change(after: &Job, others: &[Job], receipt_expires: bool) -> ExpiryChange {
    let kept_open = |job: &Job| matches!(job.state, State::Held | State::Review { .. });
    if kept_open(after) {
        return if receipt_expires { ExpiryChange::Remove } else { ExpiryChange::Keep };
    }
    let last_ended = after.has_ended() && others.iter().filter(|job| job.key != after.key).all(Job::has_ended);
    if last_ended && !receipt_expires { ExpiryChange::Restore } else { ExpiryChange::Keep }
}
