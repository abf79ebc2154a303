//! A range of time, as people give it.

use std::str::FromStr;
use std::time::Duration;

use hookbox_core::time::Timestamp;

/// From when until when.
#[derive(Clone, Debug, clap::Args)]
pub struct RangeArgs {
    /// Events that arrived at this time or later: how long ago (`90m`, `24h`, `7d`), or when (RFC 3339, or a day in UTC)
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub since: When,
    /// Events that arrived before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
}

/// A point in time, or one relative to now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long ago.
    Ago(Duration),
    /// Then.
    At(Timestamp),
}

/// From `since` until before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first millisecond of it.
    pub since: Timestamp,
    /// The first millisecond after it.
    pub until: Timestamp,
}

impl When {
    /// The point in time, seen from `now`.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ago) => now.minus(ago),
            Self::At(at) => at,
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let day = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
        if let Some(at) = Timestamp::parse_rfc3339(text).or_else(day) {
            return Ok(Self::At(at));
        }
        let ago = humantime::parse_duration(text);
        ago.map(Self::Ago).map_err(|_| {
            "expected how long ago, such as 90m, 24h or 7d, or a time, such as 2026-11-30T08:00:00Z or 2026-11-30"
                .to_owned()
        })
    }
}

impl RangeArgs {
    /// The range as it is now.
    pub fn at(&self, now: Timestamp) -> Range {
        // What arrives while it is read counts too, with a clock of its own.
        let open = now.plus(Duration::from_secs(3_600));
        Range { since: self.since.at(now), until: self.until.map_or(open, |until| until.at(now)) }
    }
}

impl Range {
    /// Whether a time lies in it.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.since <= at && at < self.until
    }

    /// A time of each of its days (in UTC), the latest first.
    pub fn days(&self) -> impl Iterator<Item = Timestamp> + use<> {
        const DAY: i64 = 24 * 3_600 * 1_000;
        let is_empty = self.until <= self.since;
        let (first, last) = (self.since.as_millis().div_euclid(DAY), (self.until.as_millis() - 1).div_euclid(DAY));
        // One without a millisecond may begin and end on the same day.
        (first..=last).filter(move |_| !is_empty).rev().map(|day| Timestamp::from_millis(day * DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_time_is_given_as_people_say_it() {
        assert_eq!("90m".parse(), Ok(When::Ago(Duration::from_secs(5_400))));
        assert_eq!("2026-11-30".parse(), Ok(When::At(at("2026-11-30T00:00:00Z"))));
        assert_eq!("2026-11-30T10:00:00+02:00".parse(), Ok(When::At(at("2026-11-30T08:00:00Z"))));
        for bad in ["", "yesterday", "24", "-1h", "2026-13-01"] {
            let error = bad.parse::<When>().unwrap_err();
            assert!(error.contains("90m"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_range_knows_its_days_and_its_end_is_outside() {
        let range = Range { since: at("2026-11-29T23:59:59.999Z"), until: at("2026-12-01T00:00:00Z") };
        let days: Vec<_> = range.days().map(Timestamp::day).collect();
        assert_eq!(days, ["2026-11-30", "2026-11-29"]);
        assert!(range.holds(range.since) && !range.holds(range.until));
        let none = Range { since: range.until, until: range.since };
        assert_eq!(none.days().count(), 0);
        let nothing = Range { since: range.since, until: range.since };
        assert_eq!(
            nothing.days().count(),
            0,
            "an index is not asked for what lies between a time and the one before it"
        );
    }
}
