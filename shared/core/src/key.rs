//! Identity: the key of a receipt and the key of a job.
//!
//! A receipt's id *is* its idempotency key: the SHA-256 of a compact JSON array of strings. JSON quotes what it joins, so
//! no two different lists of parts give the same text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::Identity;
use crate::limits::MAX_SHARDS;
use crate::name::{Account, OperationName, Provider};

/// The id of a receipt, which is the idempotency key of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReceiptId(Digest);

/// The text is not a receipt id or a job key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    /// Not 64 hexadecimal digits.
    #[error("not a receipt id: expected 64 hexadecimal digits")]
    Receipt,
    /// Not of the form `receipt:operation:v1`.
    #[error("not a job key: expected `<receipt id>:<operation>:v<version>`")]
    Job,
}

impl ReceiptId {
    /// The key of an event within its provider and account.
    ///
    /// `after` continues a weak identity whose window has passed: the new receipt is the one after that receipt, and
    /// everybody who finds the same predecessor derives the same key.
    pub fn derive(provider: &Provider, account: &Account, identity: &Identity, after: Option<ReceiptId>) -> Self {
        let content;
        let predecessor;
        let mut parts: Vec<&str> = vec![provider.as_str(), account.as_str()];
        // An id of the provider's own is complete: a profile puts into it what it takes to tell two events apart.
        if let Identity::LeadEvent { tenant: Some(tenant), .. } | Identity::Content { tenant: Some(tenant), .. } =
            identity
        {
            parts.extend(["tenant", tenant]);
        }
        match identity {
            Identity::ProviderEvent { event_id } => parts.extend(["provider-event", event_id]),
            Identity::LeadEvent { resource, kind, version, .. } => {
                parts.extend(["lead-event", resource, kind]);
                parts.extend(version.as_deref());
            }
            Identity::Content { kind, version, digest, .. } => {
                content = digest.to_string();
                parts.extend(["event-digest", &content, kind]);
                parts.extend(version.as_deref());
            }
        }
        if let Some(receipt) = after {
            predecessor = receipt.to_string();
            parts.extend(["after", &predecessor]);
        }
        let array = serde_json::Value::from(parts).to_string();
        Self(Digest::of(array.as_bytes()))
    }

    /// The shard of this receipt among `shards`, from the first two bytes of the id.
    pub fn shard(&self, shards: Shards) -> u16 {
        let [high, low, ..] = self.0.as_bytes();
        u16::from_be_bytes([*high, *low]) & (shards.0 - 1)
    }
}

impl fmt::Display for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for ReceiptId {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        text.parse().map(Self).map_err(|_| InvalidKey::Receipt)
    }
}

/// Into how many partitions the indexes are spread: a power of two up to [`MAX_SHARDS`] that may grow and never shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards(u16);

impl Shards {
    /// `None` unless `count` is a power of two from 1 to [`MAX_SHARDS`].
    pub const fn new(count: u16) -> Option<Self> {
        if count.is_power_of_two() && count <= MAX_SHARDS { Some(Self(count)) } else { None }
    }

    /// Every shard, in order.
    pub fn all(self) -> impl Iterator<Item = u16> {
        0..self.0
    }

    /// How many there are.
    pub const fn count(self) -> u16 {
        self.0
    }
}

/// The key of a job, and the idempotency key that its destination sees: `receipt:operation:v1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobKey {
    /// The event's receipt.
    pub receipt: ReceiptId,
    /// The effect that the event requires.
    pub operation: OperationName,
    /// Which deliberate repetition of the effect this is, from 1.
    pub version: u16,
}

impl JobKey {
    /// The first version of an operation's job.
    pub fn first(receipt: ReceiptId, operation: OperationName) -> Self {
        Self { receipt, operation, version: 1 }
    }

    /// The key of the version after it; `None` after the last that there can be.
    pub fn following(&self) -> Option<Self> {
        Some(Self { version: self.version.checked_add(1)?, ..self.clone() })
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:v{}", self.receipt, self.operation, self.version)
    }
}

impl FromStr for JobKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let mut parts = text.splitn(3, ':');
        let (Some(receipt), Some(operation), Some(version)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(InvalidKey::Job);
        };
        let key = Self {
            receipt: receipt.parse().map_err(|_| InvalidKey::Job)?,
            operation: operation.parse().map_err(|_| InvalidKey::Job)?,
            version: version.strip_prefix('v').and_then(|v| v.parse().ok()).ok_or(InvalidKey::Job)?,
        };
        // One spelling a key: `v01`, `v+1` or upper-case digits would be second names of the same job.
        if key.version == 0 || key.to_string() != text { Err(InvalidKey::Job) } else { Ok(key) }
    }
}

impl TryFrom<String> for JobKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        text.parse()
    }
}

impl From<JobKey> for String {
    fn from(key: JobKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    fn receipt(account: &str, identity: &Identity, after: Option<ReceiptId>) -> ReceiptId {
        let provider = "yelp".parse().expect("name");
        ReceiptId::derive(&provider, &account.parse().expect("name"), identity, after)
    }

    fn sha(text: &str) -> String {
        hex::encode(Sha256::digest(text.as_bytes()))
    }

    #[test]
    fn keys_are_the_digest_of_the_documented_array() {
        let by_id = Identity::ProviderEvent { event_id: "evt-\"1\"".into() };
        let expected = sha(r#"["yelp","a","provider-event","evt-\"1\""]"#);
        assert_eq!(receipt("a", &by_id, None).to_string(), expected);

        let lead = |tenant: Option<&str>, version: Option<&str>| Identity::LeadEvent {
            tenant: tenant.map(str::to_owned),
            resource: "lead-7".into(),
            kind: "lead.updated".into(),
            version: version.map(str::to_owned),
        };
        for (tenant, version, expected) in [
            (None, None, r#"["yelp","a","lead-event","lead-7","lead.updated"]"#),
            (None, Some("3"), r#"["yelp","a","lead-event","lead-7","lead.updated","3"]"#),
            (Some("b"), Some("3"), r#"["yelp","a","tenant","b","lead-event","lead-7","lead.updated","3"]"#),
        ] {
            assert_eq!(receipt("a", &lead(tenant, version), None).to_string(), sha(expected));
        }

        let content = |tenant: Option<&str>, version: Option<&str>| Identity::Content {
            tenant: tenant.map(str::to_owned),
            kind: "changes".into(),
            version: version.map(str::to_owned),
            digest: Digest::of(b"x"),
        };
        let x = Digest::of(b"x");
        let first = receipt("a", &content(None, None), None);
        assert_eq!(first.to_string(), sha(&format!(r#"["yelp","a","event-digest","{x}","changes"]"#)));
        assert_eq!(
            receipt("a", &content(Some("b"), Some("7")), Some(first)).to_string(),
            sha(&format!(r#"["yelp","a","tenant","b","event-digest","{x}","changes","7","after","{first}"]"#))
        );
    }

    #[test]
    fn parts_are_quoted_so_that_no_two_lists_collide() {
        let one = Identity::LeadEvent { tenant: None, resource: "a\",\"b".into(), kind: "c".into(), version: None };
        let two = Identity::LeadEvent { tenant: None, resource: "a".into(), kind: "b\",\"c".into(), version: None };
        assert_ne!(receipt("a", &one, None), receipt("a", &two, None));
        let same = Identity::ProviderEvent { event_id: "1".into() };
        assert_ne!(receipt("a", &same, None), receipt("b", &same, None), "accounts do not share ids");
    }

    #[test]
    fn a_job_key_has_one_spelling() {
        let id = ReceiptId(Digest::of(b"x"));
        let key = JobKey::first(id, "crm-upsert".parse().expect("name"));
        assert_eq!(key.to_string(), format!("{id}:crm-upsert:v1"));
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        let next = key.following().expect("2");
        assert_eq!(next.to_string(), format!("{id}:crm-upsert:v2"));
        assert_eq!(JobKey { version: u16::MAX, ..key }.following(), None);
        for bad in ["v01", "v0", "1", "v+1", "v1 ", "v70000", ""] {
            assert_eq!(format!("{id}:crm-upsert:{bad}").parse::<JobKey>(), Err(InvalidKey::Job), "{bad}");
        }
        let upper = id.to_string().to_uppercase();
        assert_eq!(format!("{upper}:crm-upsert:v1").parse::<JobKey>(), Err(InvalidKey::Job));
    }

    #[test]
    fn shards_are_a_power_of_two_so_that_growing_keeps_order() {
        assert!(Shards::new(3).is_none() && Shards::new(0).is_none() && Shards::new(2 * MAX_SHARDS).is_none());
        let (four, eight) = (Shards::new(4).expect("4"), Shards::new(8).expect("8"));
        for n in 0..200u32 {
            let id = ReceiptId(Digest::of(&n.to_be_bytes()));
            assert_eq!(id.shard(eight) % 4, id.shard(four), "a shard splits into two, it never mixes");
        }
    }
}
