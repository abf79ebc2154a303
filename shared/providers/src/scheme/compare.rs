//! Comparisons whose time tells nothing about what they compare.

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::verdict::Reason;

/// Remembers the first of several candidates that matched, without stopping at it.
pub(super) struct Search {
    found: Choice,
    index: u32,
}

impl Search {
    pub(super) fn new() -> Self {
        Self { found: Choice::from(0), index: 0 }
    }

    /// Takes note of whether the candidate at `index` matched.
    pub(super) fn note(&mut self, index: usize, matched: Choice) {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        self.index.conditional_assign(&index, matched & !self.found);
        self.found |= matched;
    }

    /// The first candidate that matched.
    pub(super) fn matched(self) -> Result<usize, Reason> {
        self.result().ok_or(Reason::SignatureMismatch)
    }

    pub(super) fn result(self) -> Option<usize> {
        bool::from(self.found).then_some(self.index as usize)
    }
}

/// Whether two MACs are the same bytes. Their length is public: the algorithm's, or the sender's.
pub(super) fn same_mac(one: &[u8], other: &[u8]) -> Choice {
    one.ct_eq(other)
}

/// Whether two texts are the same. Both are hashed first, so that neither length nor content shows.
pub(super) fn same_text(one: &[u8], other: &[u8]) -> Choice {
    Sha256::digest(one).as_slice().ct_eq(Sha256::digest(other).as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_is_kept_and_none_is_none() {
        let mut search = Search::new();
        for (index, matched) in [0, 1, 0, 1].into_iter().enumerate() {
            search.note(index, Choice::from(matched));
        }
        assert_eq!(search.result(), Some(1));
        assert_eq!(Search::new().result(), None);
        assert!(bool::from(same_text(b"a", b"a")) && !bool::from(same_text(b"a", b"ab")));
        assert!(!bool::from(same_mac(b"a", b"ab")), "another length is no match and no panic");
    }
}
