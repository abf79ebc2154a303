//! A secret that a request is verified with. It shows nothing of itself.

use std::fmt;

/// One secret of an integration, as text: a signing key, a password or a token.
#[derive(Clone)]
pub struct Secret(String);

/// An empty secret verifies everything that anybody signs with it, so there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is empty")]
pub struct EmptySecret;

/// How the token of a handshake begins.
const VERIFY_TOKEN: &str = "verify_token:";

impl Secret {
    /// Takes the text as it is; only an empty or blank one is refused, and a token of a handshake that is: it would count as
    /// a key, and everybody knows it. How a scheme reads it (as text, as hexadecimal
    /// digits, as base64) is the profile's business.
    pub fn new(text: impl Into<String>) -> Result<Self, EmptySecret> {
        let text = text.into();
        if text.strip_prefix(VERIFY_TOKEN).unwrap_or(&text).trim().is_empty() {
            Err(EmptySecret)
        } else {
            Ok(Self(text))
        }
    }

    /// The token of a handshake, if the secret is one: those begin with `verify_token:`. They go through addresses and
    /// their logs, so that they never count as a key.
    pub(crate) fn verify_token(&self) -> Option<&str> {
        self.0.strip_prefix(VERIFY_TOKEN).map(str::trim).filter(|token| !token.is_empty())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_empty_secret_is_refused_and_a_full_one_is_never_shown() {
        assert_eq!(Secret::new("").unwrap_err(), EmptySecret);
        assert_eq!(Secret::new(" \n").unwrap_err(), EmptySecret);
        assert_eq!(Secret::new("verify_token: ").unwrap_err(), EmptySecret);
        assert_eq!(format!("{:?}", Secret::new("whsec_x").unwrap()), "Secret(…)");
    }
}
