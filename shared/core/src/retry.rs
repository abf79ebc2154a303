//! When a failed attempt is made again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{DEFAULT_SCHEDULE, MAX_JITTER, MAX_RETRY_DELAY, MAX_SCHEDULE};

/// The delays between the attempts of one round; with `n` delays a round has `n + 1` attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Schedule(Vec<Duration>);

/// A schedule that is too long or waits too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a retry schedule has at most {MAX_SCHEDULE} delays of at most 24 h each")]
pub struct InvalidSchedule;

impl Schedule {
    /// A schedule of these delays.
    pub fn new(delays: Vec<Duration>) -> Result<Self, InvalidSchedule> {
        if delays.len() > MAX_SCHEDULE || delays.iter().any(|delay| *delay > MAX_RETRY_DELAY) {
            return Err(InvalidSchedule);
        }
        Ok(Self(delays))
    }

    /// The delays.
    pub fn delays(&self) -> &[Duration] {
        &self.0
    }

    /// How many attempts one round has.
    pub fn attempts(&self) -> usize {
        self.0.len() + 1
    }

    /// The longest time that all delays of one round take together.
    pub fn total(&self) -> Duration {
        self.0.iter().map(|delay| *delay + MAX_JITTER).sum()
    }

    /// How long to wait after `made` attempts of this round, or `None` when they are used up.
    pub fn delay(&self, made: usize, jitter: Jitter) -> Option<Duration> {
        let base = *self.0.get(made.checked_sub(1)?)?;
        Some(base + jitter.of(base))
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self(DEFAULT_SCHEDULE.to_vec())
    }
}

impl TryFrom<Vec<u64>> for Schedule {
    type Error = InvalidSchedule;

    fn try_from(millis: Vec<u64>) -> Result<Self, InvalidSchedule> {
        Self::new(millis.into_iter().map(Duration::from_millis).collect())
    }
}

impl From<Schedule> for Vec<u64> {
    fn from(schedule: Schedule) -> Self {
        schedule.0.iter().map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)).collect()
    }
}

/// Randomness for one delay, drawn by the caller: 64 random bits.
#[derive(Clone, Copy, Debug)]
pub struct Jitter(pub u64);

impl Jitter {
    /// The extra delay: evenly spread from nothing to the smaller of one second and a quarter of `base`.
    fn of(self, base: Duration) -> Duration {
        let most = u64::try_from(MAX_JITTER.min(base / 4).as_millis()).unwrap_or(0);
        Duration::from_millis(self.0 % (most + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_is_five_attempts() {
        let schedule = Schedule::default();
        assert_eq!(schedule.attempts(), 5);
        let waits: Vec<_> = (0..=5).map(|made| schedule.delay(made, Jitter(0)).map(|d| d.as_secs())).collect();
        assert_eq!(waits, [None, Some(1), Some(5), Some(30), Some(120), None]);
    }

    proptest! {
        #[test]
        fn jitter_stays_within_its_bound(bits: u64, base_ms in 0u64..200_000) {
            let schedule = Schedule::new(vec![Duration::from_millis(base_ms)]).expect("valid");
            let delay = schedule.delay(1, Jitter(bits)).expect("one delay").as_millis();
            prop_assert!(delay >= u128::from(base_ms));
            prop_assert!(delay <= u128::from(base_ms + (base_ms / 4).min(1_000)));
        }
    }
}
