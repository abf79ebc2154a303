//! When an event happened, as providers write it.

use hookbox_core::time::Timestamp;

use crate::profile::error::Flaw;

/// How a number is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Milliseconds where the number is large enough to be after 1973 as such, seconds otherwise.
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

    /// Reads a number or RFC 3339; a time without an offset, or with `UTC` in its place, is taken as UTC. `None` where it is neither: an odd time is
    /// no reason to lose an event.
    pub(crate) fn read(self, text: &str) -> Option<Timestamp> {
        if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return self.number(text);
        }
        let utc = text.strip_suffix(" UTC").unwrap_or(text);
        Timestamp::parse_rfc3339(text).or_else(|| Timestamp::parse_rfc3339(&format!("{utc}Z")))
    }

    /// In decimal, so that a fraction is not rounded twice.
    fn number(self, text: &str) -> Option<Timestamp> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let whole: i64 = whole.parse().ok()?;
        if self == Self::Millis || (self == Self::Either && whole >= 100_000_000_000) {
            return Some(Timestamp::from_millis(whole));
        }
        let millis = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        Some(Timestamp::from_millis(whole.checked_mul(1000)?.checked_add(millis)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_providers_write_them() {
        for (text, millis) in [
            ("1760000000", Some(1_760_000_000_000)),
            ("1760000000000", Some(1_760_000_000_000)),
            ("1521472262.908181", Some(1_521_472_262_908)),
            ("1521472262.9", Some(1_521_472_262_900)),
            ("2025-10-09T08:53:20.000Z", Some(1_760_000_000_000)),
            ("2025-10-09T10:53:20+02:00", Some(1_760_000_000_000)),
            ("2025-10-09T08:53:20.123456789Z", Some(1_760_000_000_123)),
            ("2025-10-09 08:53:20 UTC", Some(1_760_000_000_000)),
            ("2025-10-09T08:53:20.5", Some(1_760_000_000_500)),
            ("yesterday", None),
            ("99999999999999999999", None),
            ("1.2.3", None),
            (".", None),
        ] {
            assert_eq!(Unit::Either.read(text).map(Timestamp::as_millis), millis, "{text}");
        }
        assert_eq!(Unit::Seconds.read("100000000000").map(Timestamp::as_millis), Some(100_000_000_000_000));
        assert_eq!(Unit::Millis.read("5").map(Timestamp::as_millis), Some(5));
    }
}
