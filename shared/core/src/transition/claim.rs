//! Claim: a worker takes the lease immediately before its call. The claim counts the attempt, and it alone resolves a
//! lease that expired.

use crate::integration::Operation;
use crate::job::{Attempt, AttemptOutcome, AttemptResult, Job, Mode, ReviewReason, State};
use crate::outcome::Code;
use crate::time::Timestamp;

use super::Refused;

/// What a worker needs to claim a job.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The time.
    pub now: Timestamp,
    /// When the worker is gone for certain.
    pub lease_expires_at: Timestamp,
    /// The operation as it is configured now.
    pub operation: &'a Operation,
    /// The revision of that configuration.
    pub config_rev: u64,
}

/// What a claim comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The lease is ours once the job is written; then the operation is called as `approach` says.
    Call {
        /// The job with one more attempt.
        job: Job,
        /// How to begin.
        approach: Approach,
    },
    /// No attempt may be made: the job goes to a person.
    Review(Job),
}

/// How a claimed attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// Make the call.
    Send,
    /// Ask first whether an earlier call had its effect.
    Reconcile,
}

/// Why a job cannot be claimed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotClaimed {
    /// Another worker holds the lease.
    #[error("leased until {until}")]
    Leased {
        /// When the lease ends.
        until: Timestamp,
    },
    /// Its time has not come.
    #[error("not due before {at}")]
    NotDue {
        /// Not before.
        at: Timestamp,
    },
    /// Its state allows no attempt.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Claims the job for one attempt.
pub fn claim(job: &Job, claim: Claim<'_>) -> Result<Claimed, NotClaimed> {
    claimable(job, claim.now)?;
    match job.state {
        State::Processing { .. } => Ok(attempt(&abandon(job, claim.now), claim)),
        _ => Ok(attempt(job, claim)),
    }
}

/// Whether the job can be claimed at `now`. It asks nothing of the configuration, which need not be read before.
pub fn claimable(job: &Job, now: Timestamp) -> Result<(), NotClaimed> {
    match job.state {
        State::Retrying { next_attempt_at } if next_attempt_at > now => Err(NotClaimed::NotDue { at: next_attempt_at }),
        State::Processing { lease_expires_at } if lease_expires_at > now => {
            Err(NotClaimed::Leased { until: lease_expires_at })
        }
        State::Pending | State::Retrying { .. } | State::Processing { .. } => Ok(()),
        State::Held | State::Review { .. } | State::Completed { .. } | State::Dismissed { .. } => {
            Err(job.refuse("claim").into())
        }
    }
}

/// The job with its running attempt recorded as one whose outcome nobody knows.
pub(super) fn abandon(job: &Job, now: Timestamp) -> Job {
    let mut job = job.clone();
    if let Some(running) = job.attempts.last_mut().filter(|attempt| attempt.result.is_none()) {
        let took = now.since(running.at);
        running.result =
            Some(AttemptResult { outcome: AttemptOutcome::Uncertain, code: Code::new("lease-expired"), took });
        // It may have got no further than asking about the one before.
        job.uncertain = Some(running.mode.and(job.uncertain));
    }
    job
}

fn attempt(job: &Job, claim: Claim<'_>) -> Claimed {
    // Between the claim and its arrival a call can be late, but never later than its worker is gone.
    let in_time = |until| claim.lease_expires_at <= until;
    let approach = match job.uncertain {
        None => Approach::Send,
        Some(Mode::Key { until }) if in_time(until) => Approach::Send,
        Some(Mode::Reconcile) => Approach::Reconcile,
        Some(Mode::Key { .. } | Mode::None) => {
            return Claimed::Review(job.moved(State::Review { reason: ReviewReason::Uncertain }, claim.now));
        }
    };
    if job.send_before.is_some_and(|until| !in_time(until)) {
        let reason = if job.uncertain.is_some() { ReviewReason::Uncertain } else { ReviewReason::KeyExpired };
        return Claimed::Review(job.moved(State::Review { reason }, claim.now));
    }
    if job.attempts.len() >= claim.operation.schedule.attempts() {
        let reason = if job.uncertain.is_some() { ReviewReason::Uncertain } else { ReviewReason::Exhausted };
        return Claimed::Review(job.moved(State::Review { reason }, claim.now));
    }
    let mut next = job.moved(State::Processing { lease_expires_at: claim.lease_expires_at }, claim.now);
    let first_sent_at = *next.first_sent_at.get_or_insert(claim.now);
    next.attempts.push(Attempt {
        at: claim.now,
        mode: Mode::of(&claim.operation.idempotency, first_sent_at),
        config_rev: claim.config_rev,
        result: None,
    });
    next.attempts_total += 1;
    next.wakes = 0;
    Claimed::Call { job: next, approach }
}
