//! What was seen of late: what is read again is not told again.

use std::collections::BTreeSet;
use std::time::Duration;

use hookbox_core::time::Timestamp;

/// How much is remembered at most.
const MOST: usize = 100_000;

/// The end of a list that grows, mostly at its end. What comes late comes within a time, so that far is read again.
#[derive(Debug)]
pub(super) struct Window<K> {
    /// From here on it is read again.
    from: Timestamp,
    /// How late something may come.
    late: Duration,
    seen: BTreeSet<(Timestamp, K)>,
    most: usize,
    /// Whether more came within the time than is remembered, so that what comes late may have been left out.
    pub(super) overrun: bool,
}

impl<K: Ord> Window<K> {
    /// Everything is read from `from` on.
    pub(super) fn new(from: Timestamp, late: Duration) -> Self {
        Self::remembering(from, late, MOST)
    }

    fn remembering(from: Timestamp, late: Duration, most: usize) -> Self {
        Self { from, late, seen: BTreeSet::new(), most, overrun: false }
    }

    /// From when on it is read.
    pub(super) fn from(&self) -> Timestamp {
        self.from
    }

    /// Whether it was not seen before; it is remembered then. What is read comes in the order of its times.
    pub(super) fn is_new(&mut self, at: Timestamp, key: K) -> bool {
        if at < self.from || !self.seen.insert((at, key)) {
            return false;
        }
        while self.seen.len() > self.most {
            let Some((oldest, _)) = self.seen.pop_first() else { break };
            // What is not remembered is not read again.
            self.from = self.from.max(Timestamp::from_millis(oldest.as_millis() + 1));
            self.overrun = true;
        }
        true
    }

    /// Everything up to `now` was read.
    pub(super) fn read_until(&mut self, now: Timestamp) {
        self.from = self.from.max(now.minus(self.late));
        while self.seen.first().is_some_and(|(at, _)| *at < self.from) {
            self.seen.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    const LATE: Duration = Duration::from_secs(10);

    #[test]
    fn what_comes_late_is_told_once_and_nothing_is_told_again() {
        let mut window = Window::new(at(0), LATE);
        assert!(window.is_new(at(5), "a") && window.is_new(at(6), "b") && !window.is_new(at(5), "a"));
        window.read_until(at(12));
        assert_eq!(window.from(), at(2));
        assert!(window.is_new(at(3), "late"), "it has happened before what was told, and is read again");
        assert!(!window.is_new(at(5), "a") && !window.is_new(at(3), "late"));
        window.read_until(at(15));
        assert!(!window.is_new(at(5), "a"), "as long as it is read");
        assert!(!window.is_new(at(4), "later"), "what is not read any more would be told twice");
        window.read_until(at(3));
        assert_eq!(window.from(), at(5), "a clock that is set back reads nothing again");
    }

    #[test]
    fn no_more_is_remembered_than_fits_and_what_is_forgotten_is_not_read_again() {
        let mut window = Window::remembering(at(0), LATE, 3);
        assert!((1..=3).all(|n| window.is_new(at(n), n)) && !window.overrun);
        assert!(window.is_new(at(4), 4) && window.overrun);
        assert!(window.from() > at(1) && window.from() <= at(2));
        assert!((1..=4).all(|n| !window.is_new(at(n), n)));
    }
}
