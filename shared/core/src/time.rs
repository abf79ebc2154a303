//! Points in time. Units are types, so that seconds and milliseconds never meet.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// A point in time as exactly as a provider writes it, to the nanosecond, within the years -9999 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExactTime(jiff::Timestamp);

/// A point in time in whole seconds since the Unix epoch: the unit of DynamoDB's time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochSeconds(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From seconds since the Unix epoch; saturates at the ends of the range.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The point `duration` later; saturates at the end of the range.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// The point `duration` earlier; saturates at the start of the range.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// How long `self` lies after `earlier`; zero when it does not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whether what was read at `self` may still be believed at `now` when it is believed for `age`. What was read in the
    /// future was read by a clock that has been set back since: nobody knows how old it is.
    pub fn is_fresh(self, age: Duration, now: Self) -> bool {
        self <= now && now.since(self) < age
    }

    /// From RFC 3339 text such as `2026-11-30T08:00:00.125Z` or with an offset; `None` when it is not.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Self(at.as_millisecond()))
    }

    /// The day in UTC as `YYYY-MM-DD`.
    pub fn day(self) -> String {
        self.to_string().chars().take_while(|c| *c != 'T').collect()
    }

    /// Rounded up to whole seconds, so that nothing expires early.
    pub fn to_epoch_seconds(self) -> EpochSeconds {
        EpochSeconds(self.0.div_euclid(1000) + i64::from(self.0.rem_euclid(1000) != 0))
    }
}

/// RFC 3339 in UTC with milliseconds. Points outside of the years -9999 to 9999 show as milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl ExactTime {
    /// From nanoseconds since the Unix epoch; `None` outside of the years -9999 to 9999.
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        jiff::Timestamp::from_nanosecond(nanos).ok().map(Self)
    }

    /// From RFC 3339 text such as `2026-11-30T08:00:00.123456789Z` or with an offset; `None` when it is not.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// From text as in e-mail (RFC 2822) such as `Mon, 30 Nov 2026 08:00:00 +0000`; `None` when it is not.
    pub fn parse_rfc2822(text: &str) -> Option<Self> {
        jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok().map(Self)
    }

    /// The millisecond that it lies in.
    pub fn to_timestamp(self) -> Timestamp {
        Timestamp(i64::try_from(self.0.as_nanosecond().div_euclid(1_000_000)).unwrap_or(i64::MAX))
    }
}

/// RFC 3339 in UTC with milliseconds, and with microseconds or nanoseconds where it has any.
impl fmt::Display for ExactTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.0;
        match at.subsec_nanosecond() {
            nanos if nanos % 1_000_000 == 0 => write!(f, "{at:.3}"),
            nanos if nanos % 1_000 == 0 => write!(f, "{at:.6}"),
            _ => write!(f, "{at:.9}"),
        }
    }
}

impl EpochSeconds {
    /// From seconds since the Unix epoch.
    pub const fn new(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since the Unix epoch.
    pub const fn get(self) -> i64 {
        self.0
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_goes_both_ways_and_the_day_is_utc() {
        let at = Timestamp::parse_rfc3339("2025-10-09T01:53:20.125+02:00").expect("valid");
        assert_eq!(at.to_string(), "2025-10-08T23:53:20.125Z");
        assert_eq!(at.day(), "2025-10-08");
        assert_eq!(Timestamp::parse_rfc3339("yesterday"), None);
    }

    #[test]
    fn an_exact_time_keeps_every_digit_and_lies_in_a_millisecond() {
        for (text, shown, millis) in [
            ("2025-10-09T10:53:20.123456789+02:00", "2025-10-09T08:53:20.123456789Z", 1_760_000_000_123),
            ("2025-10-09T08:53:20.1234560Z", "2025-10-09T08:53:20.123456Z", 1_760_000_000_123),
            ("2025-10-09T08:53:20.5Z", "2025-10-09T08:53:20.500Z", 1_760_000_000_500),
            ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999900Z", -1),
        ] {
            let at = ExactTime::parse_rfc3339(text).expect("valid");
            assert_eq!((at.to_string().as_str(), at.to_timestamp().as_millis()), (shown, millis));
        }
        let mail = ExactTime::parse_rfc2822("Thu, 09 Oct 2025 08:53:20 +0000").map(ExactTime::to_timestamp);
        assert_eq!(mail, Some(Timestamp::from_seconds(1_760_000_000)));
        assert_eq!((ExactTime::parse_rfc3339("x"), ExactTime::parse_rfc2822("x")), (None, None));
        assert_eq!(ExactTime::from_nanos(i128::MAX), None);
    }

    #[test]
    fn expiry_seconds_round_up() {
        assert_eq!(Timestamp::from_millis(1_001).to_epoch_seconds(), EpochSeconds::new(2));
        assert_eq!(Timestamp::from_millis(1_000).to_epoch_seconds(), EpochSeconds::new(1));
        assert_eq!(Timestamp::from_millis(-1).to_epoch_seconds(), EpochSeconds::new(0));
    }

    #[test]
    fn what_a_clock_read_before_it_was_set_back_is_not_fresh() {
        let (read, age) = (Timestamp::from_seconds(100), Duration::from_secs(10));
        let fresh = |at| read.is_fresh(age, Timestamp::from_seconds(at));
        assert_eq!((fresh(99), fresh(100), fresh(109), fresh(110)), (false, true, true, false));
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let end = Timestamp::from_millis(i64::MAX);
        assert_eq!(end.plus(Duration::from_secs(1)), end);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
    }
}
