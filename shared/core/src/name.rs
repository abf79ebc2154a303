//! Names that become parts of keys: short, from a small alphabet, checked once at the border.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: use {rule}")]
pub struct InvalidName {
    what: &'static str,
    rule: &'static str,
    text: String,
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $rule:literal, $max:literal, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                let allowed: fn(u8) -> bool = $allowed;
                if text.is_empty() || text.len() > $max || !text.bytes().all(allowed) {
                    let shown = text.chars().take($max).collect();
                    return Err(InvalidName { what: $what, rule: $rule, text: shown });
                }
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// The name of a provider's profile, such as `stripe`.
    Provider,
    "provider name",
    "1 to 40 of a-z, 0-9 and -",
    40,
    |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
);
name!(
    /// The name of one connection to a provider: the path segment whose secrets verify its deliveries.
    Account,
    "account name",
    "1 to 128 of A-Z, a-z, 0-9, `.`, `_` and -",
    128,
    |b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')
);
name!(
    /// The name of one required effect of an event, such as `crm-upsert`.
    OperationName,
    "operation name",
    "1 to 40 of a-z, 0-9 and -",
    40,
    |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
);

name!(
    /// The name of one bulk operation, such as a replay of everything that failed in an hour.
    BulkId,
    "bulk id",
    "1 to 64 of a-z, 0-9 and -",
    64,
    |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_of_keys_is_never_part_of_a_name() {
        for bad in ["", "a#b", "a:b", "a/b", "Ä", "a b", &"x".repeat(129)] {
            assert!(bad.parse::<Account>().is_err(), "{bad}");
            assert!(bad.parse::<Provider>().is_err(), "{bad}");
            assert!(bad.parse::<OperationName>().is_err(), "{bad}");
            assert!(bad.parse::<BulkId>().is_err(), "{bad}");
        }
        assert!("acct_7.eu-west".parse::<Account>().is_ok());
        assert!("Stripe".parse::<Provider>().is_err());
    }

    #[test]
    fn a_name_from_json_is_checked_too() {
        assert!(serde_json::from_str::<OperationName>("\"deliver\"").is_ok());
        assert!(serde_json::from_str::<OperationName>("\"Deliver!\"").is_err());
    }
}
