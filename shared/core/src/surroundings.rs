//! What the core needs from outside and never takes itself: the time and randomness.

use std::fmt::Debug;

use crate::time::Timestamp;

/// Tells the time.
pub trait Clock: Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// Draws random numbers.
pub trait Random: Debug + Send + Sync {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}
