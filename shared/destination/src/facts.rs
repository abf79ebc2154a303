//! What a destination is told about the event beside its bytes: enough to verify, deduplicate and order what we send.

use std::fmt::Write as _;

use hookbox_core::job::Job;
use hookbox_core::key::JobKey;
use hookbox_core::name::{Account, Provider};
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;

/// What is known of the event and of this attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The job's key, which is the idempotency key: the same for every attempt of one effect.
    pub job: JobKey,
    /// The provider's profile.
    pub provider: Provider,
    /// The connection that the event came through.
    pub account: Account,
    /// Whose event it is where one connection serves many.
    pub tenant: Option<String>,
    /// The provider's own id of the event.
    pub event_id: Option<String>,
    /// What happened, in the provider's words.
    pub kind: String,
    /// What it happened to.
    pub resource: Option<String>,
    /// When it happened, by the provider's clock.
    pub occurred_at: Option<Timestamp>,
    /// When its first delivery arrived.
    pub received_at: Timestamp,
    /// The provider's version of the resource.
    pub event_version: Option<String>,
    /// The number of this call among all calls of the job, from 1.
    pub attempt: u32,
}

impl Facts {
    /// The facts of an event, as the call number `attempt` of this job would tell them.
    pub fn of_receipt(receipt: &Receipt, job: JobKey, attempt: u32) -> Self {
        Self {
            job,
            provider: receipt.provider.clone(),
            account: receipt.account.clone(),
            tenant: receipt.tenant.clone(),
            event_id: receipt.event_id.clone(),
            kind: receipt.kind.clone(),
            resource: receipt.resource.clone(),
            occurred_at: receipt.occurred_at,
            received_at: receipt.received_at,
            event_version: receipt.event_version.clone(),
            attempt,
        }
    }

    /// The facts of a claimed job. Tenant, event id and version are the receipt's; they are missing when the receipt is.
    pub fn of(job: &Job, receipt: Option<&Receipt>) -> Self {
        Self {
            job: job.key.clone(),
            provider: job.provider.clone(),
            account: job.account.clone(),
            tenant: receipt.and_then(|receipt| receipt.tenant.clone()),
            event_id: receipt.and_then(|receipt| receipt.event_id.clone()),
            kind: job.kind.clone(),
            resource: job.resource.clone(),
            occurred_at: job.occurred_at,
            received_at: job.received_at,
            event_version: receipt.and_then(|receipt| receipt.event_version.clone()),
            attempt: job.attempts_total,
        }
    }

    /// The facts under the names that destinations see, without those that are unknown.
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let facts = [
            ("hookbox-version", Some("1".to_owned())),
            ("hookbox-provider", Some(self.provider.to_string())),
            ("hookbox-account", Some(self.account.to_string())),
            ("hookbox-tenant", self.tenant.clone()),
            ("hookbox-event-id", self.event_id.clone()),
            ("hookbox-kind", Some(self.kind.clone())),
            ("hookbox-resource", self.resource.clone()),
            ("hookbox-occurred-at", self.occurred_at.map(|at| at.to_string())),
            ("hookbox-received-at", Some(self.received_at.to_string())),
            ("hookbox-event-version", self.event_version.clone()),
            ("hookbox-receipt", Some(self.job.receipt.to_string())),
            ("hookbox-attempt", Some(self.attempt.to_string())),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
    }
}

/// Percent-encodes everything but visible ASCII, and `%` itself: reversible, and readable where nothing is unusual.
pub fn visible(text: &str) -> String {
    percent_encoded(text, |byte| byte.is_ascii_graphic() && byte != b'%')
}

/// Percent-encodes everything but the unreserved characters of RFC 3986, for any part of an address.
pub fn unreserved(text: &str) -> String {
    percent_encoded(text, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

fn percent_encoded(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_bytes_are_encoded_and_the_rest_stays_readable() {
        assert_eq!(visible("payment_intent.succeeded"), "payment_intent.succeeded");
        assert_eq!(visible("Größe 100%\r\n"), "Gr%C3%B6%C3%9Fe%20100%25%0D%0A");
        assert_eq!(unreserved("a:b/c?{resource}~"), "a%3Ab%2Fc%3F%7Bresource%7D~");
    }
}
