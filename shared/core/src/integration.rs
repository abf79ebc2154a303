//! The configuration of one connection to a provider: how deliveries are verified and what each event requires.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::{InvalidPublicUrl, check_public_url, path_of};
use crate::limits::{
    DEFAULT_KEY_RETENTION, DEFAULT_OPERATION_TIMEOUT, DEFAULT_PAYLOAD_RETENTION, DEFAULT_RECEIPT_RETENTION,
    MAX_OPERATION_TIMEOUT, MAX_OPERATIONS, MIN_PAYLOAD_RETENTION,
};
use crate::name::{Account, OperationName, Provider};
use crate::retry::Schedule;

/// One connection to a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Integration {
    /// The provider's profile.
    pub provider: Provider,
    /// The path segment that deliveries of this connection come to.
    pub account: Account,
    /// The public address of this connection as its provider was given it, without a query: some providers sign it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Grows with every change that is applied, from 1.
    pub rev: u64,
    /// Where the secrets are that verify a delivery; several while one is rotated out.
    pub secrets: Vec<SecretRef>,
    /// Which of the profile's ways to verify is used, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Replaces parts of the profile's verification, in the profile's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Value>,
    /// Tenants whose events are taken; empty takes all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<String>,
    /// The effects that events require.
    pub operations: Vec<Operation>,
    /// How long receipts, jobs and payloads are kept.
    pub retention: Retention,
}

/// How long evidence is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// The payload, from the event's arrival.
    #[serde(with = "seconds")]
    pub payload: Duration,
    /// The receipt and its jobs, from the event's arrival.
    #[serde(with = "seconds")]
    pub receipt: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { payload: DEFAULT_PAYLOAD_RETENTION, receipt: DEFAULT_RECEIPT_RETENTION }
    }
}

/// One required effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name, which is part of the job key.
    pub name: OperationName,
    /// The kinds of event that require it; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// How long one call may take.
    #[serde(with = "seconds")]
    pub timeout: Duration,
    /// When failed attempts are made again.
    pub schedule: Schedule,
    /// What makes a repetition safe.
    pub idempotency: Idempotency,
    /// What is called.
    pub target: Target,
}

/// What makes it safe to repeat a call whose outcome nobody knows. There is no default: only the owner of the
/// destination can know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Idempotency {
    /// The destination does nothing twice for one idempotency key.
    Key {
        /// How long it remembers a key.
        #[serde(with = "seconds")]
        retention: Duration,
    },
    /// The destination can be asked whether the effect happened.
    Reconcile {
        /// `GET` address with `{job_key}`, `{event_id}` and `{resource}`, which are percent-encoded.
        url: String,
    },
    /// Nothing does: an unknown outcome goes to a person.
    None,
}

/// What an operation calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Target {
    /// `POST` to an address, signed as Standard Webhooks.
    Http {
        /// An absolute http or https address.
        url: String,
        /// The secret that we sign with.
        signing_secret: SecretRef,
        /// Statuses that this destination is known to send only when it did nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_done_statuses: Vec<u16>,
    },
    /// A message to another SQS queue.
    Sqs {
        /// The queue's address.
        queue_url: String,
    },
    /// An operation that a team links into its own worker.
    Custom {
        /// The name under which the worker's builder registered it.
        name: String,
        /// Whatever it needs, as it stands in the configuration.
        #[serde(default)]
        settings: Value,
    },
}

/// Below which parameters the functions may read when the stack states nothing (its parameter `SecretPrefix`).
pub const SECRET_PREFIX: &str = "/hookbox/";

/// Where a secret is found; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A parameter of the AWS Systems Manager Parameter Store.
    Ssm(String),
}

/// The text does not name a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a secret reference: write `ssm:/path/of/parameter` or `env:VARIABLE`, never the secret itself")]
pub struct InvalidSecretRef;

impl FromStr for SecretRef {
    type Err = InvalidSecretRef;

    fn from_str(text: &str) -> Result<Self, InvalidSecretRef> {
        let plain = |name: &str, extra: &[u8]| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || extra.contains(&b))
        };
        match text.split_once(':') {
            Some(("env", name)) if plain(name, b"_") => Ok(Self::Env(name.to_owned())),
            Some(("ssm", path)) if path.starts_with('/') && plain(path, b"/_.-") => Ok(Self::Ssm(path.to_owned())),
            _ => Err(InvalidSecretRef),
        }
    }
}

impl TryFrom<String> for SecretRef {
    type Error = InvalidSecretRef;

    fn try_from(text: String) -> Result<Self, InvalidSecretRef> {
        text.parse()
    }
}

impl From<SecretRef> for String {
    fn from(secret: SecretRef) -> Self {
        secret.to_string()
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Ssm(path) => write!(f, "ssm:{path}"),
        }
    }
}

/// A configuration that cannot keep the promises, and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIntegration {
    /// Two operations of one name would share one job.
    #[error("operation `{0}` is named twice: every operation needs a name of its own")]
    DuplicateOperation(OperationName),
    /// More jobs than one transaction holds.
    #[error("{0} operations: at most {MAX_OPERATIONS} fit into one transaction")]
    TooManyOperations(usize),
    /// A call that cannot fit into the worker's invocation.
    #[error("operation `{0}`: timeout must be from 1 s to {max} s", max = MAX_OPERATION_TIMEOUT.as_secs())]
    Timeout(OperationName),
    /// The payload would expire before the last attempt.
    #[error("payload retention must be at least 3 days plus the longest retry schedule")]
    PayloadRetention,
    /// The evidence would expire before the payload.
    #[error("receipt retention must not be shorter than payload retention")]
    ReceiptRetention,
    /// What a provider signs could never be this address.
    #[error("{0}")]
    PublicUrl(#[from] InvalidPublicUrl),
    /// The address cannot be called.
    #[error("operation `{0}`: `url` must be an absolute http:// or https:// address")]
    Url(OperationName),
    /// A name that nothing is filled in for: the destination would be asked for something else, answer "not found", and
    /// the call would be made again.
    #[error("operation `{0}`: `reconcile_url` takes {{job_key}}, {{event_id}} and {{resource}}, and no other braces")]
    ReconcileName(OperationName),
    /// A status that can never mean that nothing was done.
    #[error("operation `{0}`: `not_done_statuses` takes statuses from 300 to 599")]
    NotDoneStatus(OperationName),
}

impl Integration {
    /// The public address that a request was sent to whose path goes on with `rest` after the account: nothing, a slash, or a
    /// secret segment. An address that does not end in our own path is somebody's in front of us, and is taken as it stands.
    /// Nothing of it comes from the request but `rest`, which the signature covers like the query.
    pub fn address(&self, rest: &str) -> Option<String> {
        let url = self.url.as_deref()?;
        let own = url.ends_with(&path_of(&self.provider, &self.account));
        Some(if own { format!("{url}{rest}") } else { url.to_owned() })
    }

    /// The operations that an event of this kind requires, in the configured order.
    pub fn operations_for(&self, kind: &str) -> Vec<OperationName> {
        self.operations
            .iter()
            .filter(|operation| operation.takes(kind))
            .map(|operation| operation.name.clone())
            .collect()
    }

    /// Whether events of this tenant are taken. With an allow-list an event without a tenant is not.
    pub fn takes_tenant(&self, tenant: Option<&str>) -> bool {
        self.tenants.is_empty() || tenant.is_some_and(|tenant| self.tenants.iter().any(|taken| taken == tenant))
    }

    /// The operation of this name.
    pub fn operation(&self, name: &OperationName) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == *name)
    }

    /// Checks everything that does not need the provider's profile.
    pub fn validate(&self) -> Result<(), InvalidIntegration> {
        self.url.as_deref().map_or(Ok(()), check_public_url)?;
        if self.operations.len() > MAX_OPERATIONS {
            return Err(InvalidIntegration::TooManyOperations(self.operations.len()));
        }
        for (i, operation) in self.operations.iter().enumerate() {
            if self.operations.iter().take(i).any(|other| other.name == operation.name) {
                return Err(InvalidIntegration::DuplicateOperation(operation.name.clone()));
            }
            operation.validate()?;
        }
        let schedule = self.operations.iter().map(|operation| operation.schedule.total()).max().unwrap_or_default();
        if self.retention.payload < MIN_PAYLOAD_RETENTION + schedule {
            return Err(InvalidIntegration::PayloadRetention);
        }
        if self.retention.receipt < self.retention.payload {
            return Err(InvalidIntegration::ReceiptRetention);
        }
        Ok(())
    }
}

impl Operation {
    /// An operation with the default timeout and schedule, required by every kind.
    pub fn new(name: OperationName, idempotency: Idempotency, target: Target) -> Self {
        Self {
            name,
            kinds: Vec::new(),
            timeout: DEFAULT_OPERATION_TIMEOUT,
            schedule: Schedule::default(),
            idempotency,
            target,
        }
    }

    fn takes(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|taken| taken == kind)
    }

    fn validate(&self) -> Result<(), InvalidIntegration> {
        if self.timeout < Duration::from_secs(1) || self.timeout > MAX_OPERATION_TIMEOUT {
            return Err(InvalidIntegration::Timeout(self.name.clone()));
        }
        if let Target::Http { url, not_done_statuses, .. } = &self.target {
            if !is_absolute(url) {
                return Err(InvalidIntegration::Url(self.name.clone()));
            }
            if not_done_statuses.iter().any(|status| !(300..=599).contains(status)) {
                return Err(InvalidIntegration::NotDoneStatus(self.name.clone()));
            }
        }
        match &self.idempotency {
            Idempotency::Reconcile { url } if !is_absolute(url) => Err(InvalidIntegration::Url(self.name.clone())),
            Idempotency::Reconcile { url } if !names_are_known(url) => {
                Err(InvalidIntegration::ReconcileName(self.name.clone()))
            }
            _ => Ok(()),
        }
    }
}

impl Idempotency {
    /// A destination that remembers our key for as long as most do.
    pub fn key() -> Self {
        Self::Key { retention: DEFAULT_KEY_RETENTION }
    }
}

/// Whether every brace of the template belongs to a name that is filled in.
fn names_are_known(template: &str) -> bool {
    let filled =
        ["{job_key}", "{event_id}", "{resource}"].iter().fold(template.to_owned(), |text, name| text.replace(name, ""));
    !filled.contains(['{', '}'])
}

fn is_absolute(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) && !url.contains(|c: char| c.is_whitespace())
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        duration.as_secs().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: Option<&str>) -> Integration {
        Integration {
            provider: "square".parse().unwrap(),
            account: "main".parse().unwrap(),
            url: url.map(str::to_owned),
            rev: 1,
            secrets: Vec::new(),
            variant: None,
            verify: None,
            tenants: Vec::new(),
            operations: Vec::new(),
            retention: Retention::default(),
        }
    }

    #[test]
    fn an_address_goes_on_as_the_request_s_path_does_where_the_path_is_ours() {
        let own = at(Some("https://h.example/stage/hooks/square/main"));
        assert_eq!(own.address("").as_deref(), Some("https://h.example/stage/hooks/square/main"));
        assert_eq!(own.address("/s3cret").as_deref(), Some("https://h.example/stage/hooks/square/main/s3cret"));
        let slash = at(Some("https://h.example/hooks/square/main/"));
        assert_eq!(slash.address("/").as_deref(), Some("https://h.example/hooks/square/main/"));
        assert_eq!(at(Some("https://proxy.example/s")).address("/x").as_deref(), Some("https://proxy.example/s"));
        assert_eq!(at(None).address("/x"), None);
        assert_eq!(own.validate(), Ok(()));
        let query = at(Some("https://h.example/?a=1")).validate();
        assert_eq!(query, Err(InvalidIntegration::PublicUrl(InvalidPublicUrl::NotAnAddress)));
    }

    #[test]
    fn a_question_with_an_unknown_name_is_refused() {
        let valid = |url: &str| {
            let target = Target::Sqs { queue_url: "https://sqs.example/q".into() };
            Operation::new("x".parse().unwrap(), Idempotency::Reconcile { url: url.into() }, target).validate().is_ok()
        };
        assert!(valid("https://a.example/{job_key}?e={event_id}&r={resource}"));
        for url in [
            "https://a.example/{jobkey}",
            "https://a.example/{job_key",
            "https://a.example/{}",
            "https://a.example/{{job_key}}",
        ] {
            assert!(!valid(url), "{url}");
        }
    }
}
