//! Replay: a person asks for the same effect again, in a new round with a new budget.

use crate::job::{Job, Mode, State};
use crate::time::Timestamp;

use super::Refused;

/// Why a job is not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReplayed {
    /// Its event was erased: there is nothing to send, and nobody to send it for.
    #[error("erased at {at}")]
    Erased {
        /// When.
        at: Timestamp,
    },
    /// The destination has forgotten the key: a repetition could be a second effect.
    #[error("the destination remembered the key only until {until}")]
    KeyExpired {
        /// Since then.
        until: Timestamp,
    },
    /// Its state allows no replay.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Whether a person has accepted that a repetition may be a second effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgottenKey {
    /// Refuse when the destination has forgotten the key.
    Refuse,
    /// Replay all the same.
    Accept,
}

/// Opens a new round for a job that waits for a person or has ended.
pub fn replay(job: &Job, forgotten: ForgottenKey, now: Timestamp) -> Result<Job, NotReplayed> {
    if let Some(at) = job.erased_at {
        return Err(NotReplayed::Erased { at });
    }
    match job.state {
        State::Review { .. } | State::Completed { .. } | State::Dismissed { .. } => {}
        State::Pending | State::Processing { .. } | State::Retrying { .. } | State::Held => {
            return Err(job.refuse("replay").into());
        }
    }
    let send_before = remembered_until(job).filter(|_| forgotten == ForgottenKey::Refuse);
    if let Some(until) = send_before.filter(|until| *until <= now) {
        return Err(NotReplayed::KeyExpired { until });
    }
    let mut next = job.moved(State::Pending, now);
    next.round += 1;
    next.attempts.clear();
    next.wakes = 0;
    next.send_before = send_before;
    // The person has decided: an unknown outcome that cannot be asked for is theirs now. What can be asked still is.
    next.uncertain = job.uncertain.filter(|mode| *mode == Mode::Reconcile);
    if forgotten == ForgottenKey::Accept {
        next.first_sent_at = None;
    }
    Ok(next)
}

/// Until when the destination remembers the key of the calls that were made, as far as they were made by key. What was
/// known before this round still holds, whatever was called in it.
fn remembered_until(job: &Job) -> Option<Timestamp> {
    let of_round = match job.uncertain.or(job.attempts.last().map(|attempt| attempt.mode)) {
        Some(Mode::Key { until }) => Some(until),
        Some(Mode::Reconcile | Mode::None) | None => None,
    };
    of_round.into_iter().chain(job.send_before).min()
}
