//! Durations as people write them in a profile: `10s`, `5m`, `36h`, `3d`.

use std::time::Duration;

use super::error::Flaw;

pub(crate) fn parse(text: &str) -> Result<Duration, Flaw> {
    let wrong = || Flaw::new(format!("`{text}` is not a duration: write a whole number and s, m, h or d, such as 5m"));
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    // 4,000 days are more than anything is kept.
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)) {
        Some(seconds) if seconds <= 4_000 * 86_400 => Ok(Duration::from_secs(seconds)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(parse("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(parse("3d"), Ok(Duration::from_hours(72)));
        for bad in ["", "5", "m", "-1s", "1.5h", "5 m", "5M", "999999999999999999999d", "5000d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
