//! The file as it is written. Every table refuses keys that it does not know; what belongs together is checked at the
//! border, where it becomes the core's [`Integration`](hookbox_core::integration::Integration).

use std::fmt;
use std::time::Duration;

use hookbox_core::integration::SecretRef;
use hookbox_core::name::{Account, OperationName, Provider};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use toml::Spanned;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The public address that all connections share, before `/hooks/…`.
    pub base_url: Option<Spanned<String>>,
    /// `[[integration]]`.
    #[serde(default)]
    pub integration: Vec<Spanned<IntegrationTable>>,
}

/// `[[integration]]`: one connection of one provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegrationTable {
    /// The name of a profile.
    pub provider: Spanned<Provider>,
    /// The path segment that its deliveries come to.
    pub account: Spanned<Account>,
    /// The address that the provider was given, where it is another one than `base_url` and the connection's path.
    pub url: Option<Spanned<String>>,
    /// References to the secrets that verify a delivery.
    pub secrets: Option<Spanned<Secrets>>,
    /// One of the profile's ways to verify.
    pub variant: Option<Spanned<String>>,
    /// Replaces parts of the profile's verification.
    pub verify: Option<Spanned<Value>>,
    /// Tenants whose events are taken.
    #[serde(default)]
    pub tenants: Vec<String>,
    /// How long payloads are kept.
    pub payload_retention: Option<Spanned<Period>>,
    /// How long receipts and jobs are kept.
    pub receipt_retention: Option<Spanned<Period>>,
    /// `[[integration.operation]]`.
    #[serde(default)]
    pub operation: Vec<Spanned<OperationTable>>,
}

/// `[[integration.operation]]`: one required effect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationTable {
    /// Its name.
    pub name: Spanned<OperationName>,
    /// `http`, `sqs` or the name of a team's own.
    #[serde(rename = "type")]
    pub target: Spanned<String>,
    /// What is called (`http`).
    pub url: Option<Spanned<String>>,
    /// What we sign with (`http`).
    pub signing_secret: Option<Spanned<SecretRef>>,
    /// Statuses that mean that nothing was done (`http`).
    pub not_done_statuses: Option<Spanned<Vec<u16>>>,
    /// The queue (`sqs`).
    pub queue_url: Option<Spanned<String>>,
    /// What a team's own operation needs.
    pub settings: Option<Spanned<Value>>,
    /// `key`, `reconcile` or `none`.
    pub idempotency: Option<Spanned<String>>,
    /// How long the destination remembers a key (`key`).
    pub key_retention: Option<Spanned<Period>>,
    /// Where it can be asked (`reconcile`).
    pub reconcile_url: Option<Spanned<String>>,
    /// How long one call may take.
    pub timeout: Option<Spanned<Period>>,
    /// The waits between attempts.
    pub schedule: Option<Spanned<Vec<Period>>>,
    /// The kinds that require it.
    #[serde(default)]
    pub kinds: Vec<Spanned<String>>,
}

/// A duration such as `24h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

/// A list of references to secrets. Its errors never repeat what was written: it could be the secret itself.
#[derive(Clone, Debug)]
pub struct Secrets(pub Vec<SecretRef>);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Period;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, such as \"10s\", \"5m\", \"24h\" or \"7d\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Period, E> {
                humantime::parse_duration(text).map(Period).map_err(|_| {
                    E::custom(format!("`{text}` is not a duration: write a number and its unit, such as \"10s\", \"5m\", \"24h\" or \"7d\""))
                })
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Period, E> {
                Err(E::custom(format!(
                    "a duration has a unit and stands in quotes: write \"{number}s\" for {number} seconds"
                )))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for Secrets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Secrets;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of references")
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<Secrets, E> {
                Err(E::custom("`secrets` is a list, so that one can be rotated: write secrets = [\"ssm:/hookbox/…\"]"))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Secrets, A::Error> {
                let mut secrets = Vec::new();
                while let Some(secret) = list.next_element()? {
                    secrets.push(secret);
                }
                Ok(Secrets(secrets))
            }
        }
        deserializer.deserialize_any(List)
    }
}
