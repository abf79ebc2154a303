//! What an operation's call came to, and the rule by which an HTTP answer is read.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_ERROR_CHARS, MAX_RETRY_AFTER};

/// The class of an outcome: it alone decides what happens to the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The effect happened.
    Done,
    /// The effect certainly did not happen and may work later.
    Transient {
        /// How long the destination asked us to wait.
        retry_after: Option<Duration>,
    },
    /// Nobody knows whether the effect happened.
    Unknown,
    /// The effect did not happen and will not, however often it is tried.
    Permanent,
    /// The destination refused our credential: every other job of the operation would be refused too.
    CredentialRefused,
}

/// What an operation reports of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The class.
    pub outcome: Outcome,
    /// A short stable code for grouping, such as `http-503`, `connect` or `timeout`.
    pub code: Code,
    /// A sentence for people, empty where there is nothing to add; never a secret, never payload.
    pub detail: ErrorText,
}

impl Report {
    /// A report of `outcome` under `code`.
    pub fn new(outcome: Outcome, code: &str, detail: &str) -> Self {
        Self { outcome, code: Code::new(code), detail: ErrorText::new(detail) }
    }

    /// The effect happened.
    pub fn done(code: &str) -> Self {
        Self::new(Outcome::Done, code, "")
    }
}

/// A short error code: at most 64 of a-z, 0-9 and `-`; anything else becomes `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Code(String);

impl Code {
    /// From any text.
    pub fn new(text: &str) -> Self {
        let keep = |c: char| {
            if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
        };
        Self(text.chars().take(64).map(keep).collect())
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An error text of at most 500 characters without control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ErrorText(String);

impl ErrorText {
    /// From any text: control characters become spaces, the rest is cut.
    pub fn new(text: &str) -> Self {
        Self(text.chars().take(MAX_ERROR_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ErrorText {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<ErrorText> for String {
    fn from(text: ErrorText) -> Self {
        text.0
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads an HTTP status. A complete 2xx head decides, whatever the body does.
///
/// `not_done` are the statuses that this destination is known to send only when it did nothing. 425 (RFC 8470), 429
/// (RFC 6585) and 503 with `Retry-After` (RFC 9110) say so by themselves.
pub fn of_http_status(status: u16, retry_after: Option<Duration>, not_done: &[u16]) -> Outcome {
    let retry_after = retry_after.map(|wait| wait.min(MAX_RETRY_AFTER));
    match status {
        200..=299 => Outcome::Done,
        425 | 429 => Outcome::Transient { retry_after },
        503 if retry_after.is_some() => Outcome::Transient { retry_after },
        status if not_done.contains(&status) => Outcome::Transient { retry_after },
        401 => Outcome::CredentialRefused,
        408 | 500..=599 => Outcome::Unknown,
        300..=499 => Outcome::Permanent,
        // Not a final status: the exchange was broken, so nobody knows.
        _ => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_fall_into_their_class() {
        let wait = Some(Duration::from_secs(7));
        let at = |status| of_http_status(status, None, &[]);
        for done in [200, 201, 202, 204, 299] {
            assert_eq!(at(done), Outcome::Done);
        }
        for transient in [425, 429] {
            assert_eq!(at(transient), Outcome::Transient { retry_after: None });
        }
        for unknown in [408, 500, 502, 503, 504, 599, 101, 999] {
            assert_eq!(at(unknown), Outcome::Unknown, "{unknown}");
        }
        for permanent in [301, 302, 307, 400, 403, 404, 409, 410, 422] {
            assert_eq!(at(permanent), Outcome::Permanent, "{permanent}");
        }
        assert_eq!(at(401), Outcome::CredentialRefused);
        assert_eq!(of_http_status(503, wait, &[]), Outcome::Transient { retry_after: wait });
        assert_eq!(of_http_status(500, None, &[500]), Outcome::Transient { retry_after: None });
        assert_eq!(of_http_status(200, None, &[200]), Outcome::Done, "a success cannot be declared undone");
    }

    #[test]
    fn a_destination_cannot_park_a_job_for_ever() {
        let century = Some(Duration::from_secs(3_000_000_000));
        assert_eq!(of_http_status(429, century, &[]), Outcome::Transient { retry_after: Some(MAX_RETRY_AFTER) });
    }

    #[test]
    fn error_texts_are_short_and_one_line() {
        let text = ErrorText::new(&format!("a\n\u{1b}[31m{}", "ü".repeat(900)));
        assert_eq!(text.as_str().chars().count(), MAX_ERROR_CHARS);
        assert!(!text.as_str().chars().any(char::is_control));
        assert_eq!(Code::new("HTTP 503!").as_str(), "http-503-");
    }
}
