//! What reading the indexes takes: estimated before most of it is read, and counted as it is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{as_count, as_number};
use crate::failure::{Failure, Trouble};

/// Read units that counting is expected to take in all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) read_units: f64,
}

/// The first page of a list that may go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FirstPage {
    pub(super) entries: u64,
    pub(super) read_units: f64,
    /// What it covers of the time of the list, and how much is left; `None` when it is all of the list.
    pub(super) goes_on: Option<(Duration, Duration)>,
}

/// The most read units, and those that are used.
#[derive(Debug)]
pub(super) struct Budget {
    most: u32,
    /// In halves: less than half a unit is never billed.
    used: AtomicU64,
}

impl Estimate {
    /// What is used so far, and the rest of the lists with these first pages: as many entries as there are `stored`, or
    /// without that number as many as there are in the time of the first page. `others` are units of anything else.
    pub(super) fn of(used: f64, pages: &[FirstPage], stored: Option<u64>, others: u64) -> Self {
        let begun = || pages.iter().filter(|page| page.goes_on.is_some());
        let left = match stored {
            None => begun().map(FirstPage::left).sum(),
            Some(stored) => {
                let left = stored.saturating_sub(pages.iter().map(|page| page.entries).sum());
                let units: f64 = begun().map(|page| page.read_units).sum();
                as_number(left) * units / as_number(begun().map(|page| page.entries).sum::<u64>().max(1))
            }
        };
        Self { read_units: (used + left + as_number(others)).ceil() }
    }
}

impl FirstPage {
    /// Units of the rest, if it goes on as it began.
    fn left(&self) -> f64 {
        self.goes_on.map_or(0.0, |(covered, left)| {
            self.read_units * left.as_secs_f64() / covered.max(Duration::from_secs(1)).as_secs_f64()
        })
    }
}

impl Budget {
    pub(super) fn of(most: u32) -> Self {
        Self { most, used: AtomicU64::new(0) }
    }

    /// Refuses what is expected to take more.
    pub(super) fn allows(&self, estimate: Estimate) -> Result<(), Failure> {
        let Estimate { read_units } = estimate;
        if read_units <= f64::from(self.most) {
            return Ok(());
        }
        let why = format!("it would take about {read_units} read units, {} of them are used", self.used());
        Err(self.refusal(&why, read_units))
    }

    /// Counts what a read took. Fails when it is more than may be taken in all.
    pub(super) fn spend(&self, read_units: f64) -> Result<(), Failure> {
        self.used.fetch_add(as_count(read_units * 2.0), Ordering::Relaxed);
        if self.used() <= f64::from(self.most) {
            return Ok(());
        }
        Err(self.refusal(&format!("it has taken {} read units and is not done", self.used()), self.used() * 2.0))
    }

    /// Read units that were used.
    pub(super) fn used(&self) -> f64 {
        as_number(self.used.load(Ordering::Relaxed)) / 2.0
    }

    fn refusal(&self, why: &str, enough: f64) -> Failure {
        let why = format!("{why}, and --max-read-units is {}", self.most);
        let trouble = Trouble::new("count receipts and jobs", why)
            .advise("--metrics-only, which reads no index")
            .advise("a shorter range (--since, --until), or one connection (--provider, --account)")
            .advise(format!("--max-read-units {}", as_count(enough)));
        Failure::Forbidden(trouble)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn of(pages: &[FirstPage], stored: Option<u64>, others: u64) -> u64 {
        as_count(Estimate::of(10.0, pages, stored, others).read_units)
    }

    #[test]
    fn the_rest_of_a_list_is_as_long_as_the_metrics_or_its_beginning_say() {
        let whole = FirstPage { entries: 20, read_units: 1.0, goes_on: None };
        let begun = FirstPage { entries: 200, read_units: 9.0, goes_on: Some((HOUR, HOUR * 23)) };
        assert_eq!(of(&[], None, 7), 17);
        assert_eq!(of(&[whole, whole], Some(5_000), 0), 10, "what has ended does not go on");
        assert_eq!(of(&[whole, begun], None, 0), 10 + 9 * 23);
        assert_eq!(of(&[whole, begun], Some(2_420), 0), 109, "2,200 at 9 units for 200");
        assert_eq!(of(&[whole, begun], Some(0), 3), 13, "metrics may be behind");
        let burst = FirstPage { goes_on: Some((Duration::ZERO, HOUR)), ..begun };
        assert_eq!(of(&[burst], None, 0), 10 + 9 * 3_600);
    }
}
