//! Expiry: nothing of a held, reviewed or reopened job expires, and evidence outlives work.

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

/// What writing `after` in place of `before` does to the expiry, given the jobs of its folder and whether the receipt
/// expires now.
pub fn change(before: &Job, after: &Job, jobs: &[Job], receipt_expires: bool) -> ExpiryChange {
    if must_not_expire(before, after) {
        return if receipt_expires { ExpiryChange::Remove } else { ExpiryChange::Keep };
    }
    let last_ended = after.has_ended() && jobs.iter().filter(|job| job.key != after.key).all(Job::has_ended);
    if last_ended && !receipt_expires { ExpiryChange::Restore } else { ExpiryChange::Keep }
}

/// Whether the folder must not expire from this change on. A job that is replayed may have little left of its
/// retention, and needs its payload once more.
pub fn must_not_expire(before: &Job, after: &Job) -> bool {
    let waits = matches!(after.state, State::Held | State::Review { .. });
    let reopened = before.has_ended() && !after.has_ended();
    waits || reopened
}
