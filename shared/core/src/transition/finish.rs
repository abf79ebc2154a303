//! Finish: the worker that holds the lease reports what its call came to.

use std::time::Duration;

use crate::job::{AttemptOutcome, AttemptResult, Job, LastError, Mode, ReviewReason, State};
use crate::outcome::{Outcome, Report};
use crate::retry::{Jitter, Schedule};
use crate::time::Timestamp;

use super::Refused;

/// What is needed to finish an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Finish<'a> {
    /// The time.
    pub now: Timestamp,
    /// What the operation reported.
    pub report: &'a Report,
    /// When failed attempts are made again.
    pub schedule: &'a Schedule,
    /// Randomness for the next delay.
    pub jitter: Jitter,
}

/// Ends the running attempt. A refused credential holds the job; see [`credential_refused`] for the attempt's fate.
pub fn finish(job: &Job, finish: Finish<'_>) -> Result<Job, Refused> {
    let State::Processing { .. } = job.state else {
        return Err(job.refuse("finish"));
    };
    let Finish { now, report, .. } = finish;
    match report.outcome {
        Outcome::Done => Ok(done(job, report, now)),
        Outcome::Transient { retry_after } => {
            Ok(again(&ended(job, AttemptOutcome::Transient, report, now), finish, retry_after))
        }
        Outcome::Permanent => Ok(permanent(job, report, now)),
        Outcome::CredentialRefused => Ok(credential_refused(job, report, now)),
        Outcome::Unknown => Ok(unknown(job, finish)),
    }
}

/// Gives the attempt back and makes the job due at once: its operation was resumed while the attempt was refused.
pub fn resumed_meanwhile(job: &Job, report: &Report, now: Timestamp) -> Result<Job, Refused> {
    let State::Processing { .. } = job.state else {
        return Err(job.refuse("finish"));
    };
    Ok(given_back(job, report).moved(State::Retrying { next_attempt_at: now }, now))
}

/// Ends an attempt that found nothing to send: the payload has expired.
pub fn payload_gone(job: &Job, report: &Report, now: Timestamp) -> Result<Job, Refused> {
    let State::Processing { .. } = job.state else {
        return Err(job.refuse("finish"));
    };
    let reason = if job.uncertain.is_some() { ReviewReason::Uncertain } else { ReviewReason::PayloadExpired };
    Ok(ended(job, AttemptOutcome::Permanent, report, now).moved(State::Review { reason }, now))
}

fn done(job: &Job, report: &Report, now: Timestamp) -> Job {
    let mut next = ended(job, AttemptOutcome::Done, report, now).moved(State::Completed { at: now }, now);
    next.uncertain = None;
    next.last_error = None;
    next
}

fn permanent(job: &Job, report: &Report, now: Timestamp) -> Job {
    // A refusal of this call says nothing of an earlier one whose outcome is unknown.
    let reason = if job.uncertain.is_some() { ReviewReason::Uncertain } else { ReviewReason::Permanent };
    ended(job, AttemptOutcome::Permanent, report, now).moved(State::Review { reason }, now)
}

fn credential_refused(job: &Job, report: &Report, now: Timestamp) -> Job {
    given_back(job, report).moved(State::Held, now)
}

fn unknown(job: &Job, finish: Finish<'_>) -> Job {
    let mut job = ended(job, AttemptOutcome::Uncertain, finish.report, finish.now);
    let mode = job.attempts.last().map_or(Mode::None, |attempt| attempt.mode).and(job.uncertain);
    job.uncertain = Some(mode);
    let next = again(&job, finish, None);
    let State::Retrying { next_attempt_at } = next.state else { return next };
    let repeatable = match mode {
        Mode::Key { until } => next_attempt_at < until,
        Mode::Reconcile => true,
        Mode::None => false,
    };
    if repeatable { next } else { job.moved(State::Review { reason: ReviewReason::Uncertain }, finish.now) }
}

/// The next state after an attempt that may be repeated: a later attempt, or a person when there is none left.
fn again(job: &Job, finish: Finish<'_>, retry_after: Option<Duration>) -> Job {
    match finish.schedule.delay(job.attempts.len(), finish.jitter) {
        Some(delay) => {
            let wait = delay.max(retry_after.unwrap_or_default());
            job.moved(State::Retrying { next_attempt_at: finish.now.plus(wait) }, finish.now)
        }
        None => {
            let reason = if job.uncertain.is_some() { ReviewReason::Uncertain } else { ReviewReason::Exhausted };
            job.moved(State::Review { reason }, finish.now)
        }
    }
}

/// The job with its running attempt ended; its state is left to the caller.
pub(super) fn ended(job: &Job, outcome: AttemptOutcome, report: &Report, now: Timestamp) -> Job {
    let mut job = job.clone();
    if let Some(running) = job.attempts.last_mut() {
        running.result = Some(AttemptResult { outcome, code: report.code.clone(), took: now.since(running.at) });
    }
    job.last_error = Some(last_error(report));
    job
}

/// The job without its running attempt: it was refused for a reason that has nothing to do with this job.
fn given_back(job: &Job, report: &Report) -> Job {
    let mut job = job.clone();
    job.attempts.pop();
    job.last_error = Some(last_error(report));
    job
}

fn last_error(report: &Report) -> LastError {
    LastError { code: report.code.clone(), detail: report.detail.clone() }
}
