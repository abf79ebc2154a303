//! What is true of every stored job, whatever has happened to it.

use crate::job::{Job, State};
use crate::limits::MAX_WAKES;

/// The first rule that the job breaks, or `None`. `max_attempts` is the bound of one round.
pub fn broken(job: &Job, max_attempts: usize) -> Option<&'static str> {
    let running = job.attempts.iter().filter(|attempt| attempt.result.is_none()).count();
    let processing = matches!(job.state, State::Processing { .. });
    let rules = [
        (job.attempts.len() <= max_attempts, "a round has at most its scheduled attempts"),
        (job.attempts_total as usize >= job.attempts.len(), "the total counts this round too"),
        (job.has_ended() == job.open_at.is_none(), "a job is in the open index exactly until it has ended"),
        (job.wakes <= MAX_WAKES, "wake-ups without a claim are bounded"),
        (!processing || running == 1, "a leased job has one running attempt"),
        (running <= 1, "no job has two running attempts"),
        (job.attempts.is_empty() || job.first_sent_at.is_some(), "an attempt leaves its first time behind"),
        (job.version >= 1 && job.round >= 1, "versions and rounds begin at 1"),
        (job.erased_at.is_none() || (job.has_ended() && running == 0), "what is erased has ended"),
        (!matches!(job.state, State::Completed { .. }) || job.uncertain.is_none(), "a completed job is not uncertain"),
    ];
    rules.into_iter().find_map(|(holds, rule)| (!holds).then_some(rule))
}
