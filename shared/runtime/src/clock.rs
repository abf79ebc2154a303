//! The system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
    fn now(&self) -> Timestamp {
        // A clock before 1970 is broken; the epoch itself is the least wrong answer.
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(0).plus(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_in_this_century() {
        let now = SystemClock.now().to_string();
        assert!(now.starts_with("20"), "{now}");
    }
}
