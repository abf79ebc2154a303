//! When an event happened, as providers write it.

use hookbox_core::time::ExactTime;

use crate::profile::error::Flaw;

/// How a number is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    /// By its size: seconds up to the year 5138, then milliseconds, microseconds and nanoseconds.
    #[default]
    Either,
    Seconds,
    Millis,
}

impl Unit {
    pub(crate) fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None => Ok(Self::Either),
            Some("s") => Ok(Self::Seconds),
            Some("ms") => Ok(Self::Millis),
            Some(other) => Err(Flaw::new(format!("`{other}` is no unit of time; there are s and ms"))),
        }
    }

    /// Reads a number, RFC 3339 or the form of e-mails; a time without an offset, or with `UTC` in its place, is taken as
    /// UTC. `None` where it is none of them: an odd time is no reason to lose an event.
    pub(crate) fn read(self, text: &str) -> Option<ExactTime> {
        if !text.contains([':', ' ']) {
            return self.number(text);
        }
        let utc = text.strip_suffix(" UTC").unwrap_or(text);
        ExactTime::parse_rfc3339(text)
            .or_else(|| ExactTime::parse_rfc3339(&format!("{utc}Z")))
            .or_else(|| {
                text.rsplit_once(' ').and_then(|(at, offset)| ExactTime::parse_rfc3339(&format!("{at}{offset}")))
            })
            .or_else(|| ExactTime::parse_rfc2822(text))
    }

    /// In decimal, so that nothing is rounded.
    fn number(self, text: &str) -> Option<ExactTime> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse().ok()?),
            None => (text, 0),
        };
        let number = Decimal::read(digits, exponent)?;
        let power = match (self, number.times_ten_to(0)?) {
            (Self::Millis, _) | (Self::Either, 100_000_000_000..100_000_000_000_000) => 6,
            (Self::Either, 100_000_000_000_000..100_000_000_000_000_000) => 3,
            (Self::Either, 100_000_000_000_000_000..) => 0,
            (Self::Seconds | Self::Either, _) => 9,
        };
        ExactTime::from_nanos(number.times_ten_to(power)?)
    }
}

/// A number of digits, `digits` with the point `scale` places from their end.
struct Decimal {
    digits: i128,
    scale: i32,
}

impl Decimal {
    fn read(text: &str, exponent: i32) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("{whole}{fraction}");
        if !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Self { digits: all.parse().ok()?, scale })
    }

    /// The number times ten to this power, without what is behind the point then.
    fn times_ten_to(&self, power: i32) -> Option<i128> {
        let power = power.checked_sub(self.scale)?;
        let ten = 10_i128.checked_pow(power.unsigned_abs())?;
        if power < 0 { Some(self.digits / ten) } else { self.digits.checked_mul(ten) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_providers_write_them_to_the_last_digit() {
        for (text, shown) in [
            ("1760000000", Some("2025-10-09T08:53:20.000Z")),
            ("1760000000000", Some("2025-10-09T08:53:20.000Z")),
            ("1760000000123.456", Some("2025-10-09T08:53:20.123456Z")),
            ("1760000000123456", Some("2025-10-09T08:53:20.123456Z")),
            ("1760000000123456789", Some("2025-10-09T08:53:20.123456789Z")),
            ("1521472262.908181", Some("2018-03-19T15:11:02.908181Z")),
            ("1521472262.9", Some("2018-03-19T15:11:02.900Z")),
            ("1521472262.123456789123", Some("2018-03-19T15:11:02.123456789Z")),
            ("1.521472262908181e9", Some("2018-03-19T15:11:02.908181Z")),
            ("17600000000000e-4", Some("2025-10-09T08:53:20.000Z")),
            ("0", Some("1970-01-01T00:00:00.000Z")),
            ("2025-10-09T08:53:20.000Z", Some("2025-10-09T08:53:20.000Z")),
            ("2025-10-09T10:53:20+02:00", Some("2025-10-09T08:53:20.000Z")),
            ("2025-10-09T08:53:20.123456789Z", Some("2025-10-09T08:53:20.123456789Z")),
            ("2025-10-09 08:53:20 UTC", Some("2025-10-09T08:53:20.000Z")),
            ("2025-10-09 10:53:20.5 +0200", Some("2025-10-09T08:53:20.500Z")),
            ("2025-10-09T08:53:20.5", Some("2025-10-09T08:53:20.500Z")),
            ("Thu, 09 Oct 2025 08:53:20 +0000", Some("2025-10-09T08:53:20.000Z")),
            ("yesterday", None),
            ("999999999999999999999999999999", None),
            ("1e400", None),
            ("1e2147483647", None),
            ("1.2.3", None),
            (".", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(Unit::Either.read(text).map(|at| at.to_string()).as_deref(), shown, "{text}");
        }
        let millis = |unit: Unit, text| unit.read(text).map(|at| at.to_timestamp().as_millis());
        assert_eq!(millis(Unit::Seconds, "100000000000"), Some(100_000_000_000_000));
        assert_eq!(millis(Unit::Millis, "5"), Some(5));
    }
}
