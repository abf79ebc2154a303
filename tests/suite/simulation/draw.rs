//! Choices that follow from a seed.

use std::sync::Arc;

use hookbox_core::surroundings::Random;
use hookbox_ledger::test_support::TestRandom;

/// Draws one choice after the other.
pub(crate) struct Draw(Arc<dyn Random>);

impl Draw {
    pub(crate) fn of(seed: u64) -> Self {
        // Neighbouring seeds would walk along the same numbers.
        Self(TestRandom::seeded(TestRandom::seeded(seed).next_u64()))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from(self.0.next_u64() % end).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
