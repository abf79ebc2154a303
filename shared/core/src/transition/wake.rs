//! Wake: the sweeper meets a job whose time to be looked at has come.

use std::time::Duration;

use crate::job::{Job, ReviewReason, State, Status};
use crate::limits::{BACKLOG_PATIENCE, MAX_WAKE_INTERVAL, MAX_WAKES, REVIEW_NOTICE_INTERVAL};
use crate::time::Timestamp;

use super::review::review;

/// What the sweeper does about a job. Every write is conditional on the version *and* the entry's time that were read;
/// only the sweeper whose write landed may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Write the moved entry, then send the job's key to the work queue.
    Send(Job),
    /// Write the moved entry, then post the notice to the dead-letter queue.
    Notify(Job),
    /// Write the moved entry and send nothing.
    Move(Job),
    /// Too many wake-ups without a claim: write the job into review.
    Review(Job),
    /// Its pause decides, see [`super::release`].
    Held,
    /// Nothing to do: it has ended, or it is not yet time.
    Leave,
}

/// How full the work queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// Messages are worked on as they come.
    No,
    /// Messages wait: a pending job's own message is most likely among them, and another would only make it longer.
    Yes,
}

/// Decides what the sweeper does about a job that it read consistently at `now`.
pub fn wake(job: &Job, backlog: Backlog, now: Timestamp) -> Wake {
    match (&job.state, job.open_at) {
        (State::Completed { .. } | State::Dismissed { .. }, _) | (_, None) => Wake::Leave,
        (_, Some(open_at)) if open_at > now => Wake::Leave,
        (State::Held, _) => Wake::Held,
        (State::Review { .. }, _) => Wake::Notify(entry_moved(job, now.plus(REVIEW_NOTICE_INTERVAL))),
        (State::Processing { lease_expires_at }, _) if *lease_expires_at > now => {
            Wake::Move(entry_moved(job, *lease_expires_at))
        }
        (State::Retrying { next_attempt_at }, _) if *next_attempt_at > now => {
            Wake::Move(entry_moved(job, *next_attempt_at))
        }
        (State::Pending, _) if backlog == Backlog::Yes && now.since(job.received_at) < BACKLOG_PATIENCE => {
            Wake::Move(entry_moved(job, now.plus(interval(job.wakes))))
        }
        (State::Pending | State::Retrying { .. } | State::Processing { .. }, _) => due(job, now),
    }
}

fn due(job: &Job, now: Timestamp) -> Wake {
    if job.wakes >= MAX_WAKES {
        let detail = format!("woken {MAX_WAKES} times while {} and never claimed", job.status().as_str());
        if let Ok(next) = review(job, ReviewReason::NeverClaimed, &detail, now) {
            return Wake::Review(next);
        }
    }
    let mut next = entry_moved(job, now.plus(interval(job.wakes)));
    next.wakes += 1;
    Wake::Send(next)
}

/// The version stays: a wake-up must not disturb a worker that has claimed in between.
fn entry_moved(job: &Job, open_at: Timestamp) -> Job {
    Job { open_at: Some(open_at), ..job.clone() }
}

/// 1, 2, 4 … minutes, at most an hour.
fn interval(wakes: u32) -> Duration {
    Duration::from_secs(60 << wakes.min(6)).min(MAX_WAKE_INTERVAL)
}

/// Under which list of the `open` index a job of this status stands; `None` for one that has ended.
pub fn open_list(status: Status) -> Option<OpenList> {
    match status {
        Status::Pending | Status::Processing | Status::Retrying => Some(OpenList::Due),
        Status::Review => Some(OpenList::Review),
        Status::Held => Some(OpenList::Held),
        Status::Completed | Status::Dismissed => None,
    }
}

/// The lists of open jobs that the sweeper reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenList {
    /// Waits for an attempt or has one running.
    Due,
    /// Waits for a person.
    Review,
    /// Waits for its operation to be resumed.
    Held,
}
