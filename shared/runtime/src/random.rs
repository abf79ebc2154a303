//! The system's random numbers.

use hookbox_core::surroundings::Random;

/// The operating system's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    /// # Panics
    ///
    /// When the operating system has no random numbers to give: tokens that repeat would let one writer take another's
    /// write for its own, so the process must not go on.
    #[expect(clippy::disallowed_methods, reason = "the one place that draws random numbers")]
    #[expect(clippy::expect_used, reason = "without randomness no token is safe")]
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
        u64::from_ne_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_differ() {
        assert_ne!(SystemRandom.next_u64(), SystemRandom.next_u64());
    }
}
