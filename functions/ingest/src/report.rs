//! What is said of a delivery in logs and metrics: names, ids and reasons; never a path, a signature or payload.

use std::collections::BTreeMap;

use hookbox_ledger::LedgerError;
use hookbox_providers::DecodeError;
use hookbox_runtime::{Dimension, Metric, Metrics, chain};

use crate::accept::{NotStored, Outcome};
use crate::answer::{Accepted, Refused};
use crate::authenticate::Untrusted;
use crate::endpoint::{Endpoint, EndpointError};
use crate::request::Incoming;

/// Secrets whose places the metric tells apart: a list is seldom longer than two, and each value costs.
const MOST_PLACES: usize = 9;

/// Tells of one delivery.
pub(crate) struct Report<'a> {
    metrics: &'a Metrics,
    request_id: &'a str,
}

/// Tells of a delivery whose endpoint is known.
pub(crate) struct EndpointReport<'a> {
    report: Report<'a>,
    provider: &'a str,
    account: &'a str,
}

impl<'a> Report<'a> {
    pub(crate) fn new(metrics: &'a Metrics, incoming: &'a Incoming) -> Self {
        Self { metrics, request_id: &incoming.request_id }
    }

    pub(crate) fn of(self, endpoint: &'a Endpoint) -> EndpointReport<'a> {
        let integration = &endpoint.integration;
        EndpointReport { provider: integration.provider.as_str(), account: integration.account.as_str(), report: self }
    }

    pub(crate) fn no_endpoint(&self, error: &EndpointError) -> Refused {
        let request_id = self.request_id;
        match error {
            // A path that leads nowhere may hold a secret in the wrong place, so nothing of it is logged.
            EndpointError::Unknown => {
                tracing::warn!(request_id, "unknown endpoint");
                self.metrics.count(Metric::UnknownIntegration, &[], 1);
                Refused::Unauthorized
            }
            EndpointError::NoProfile
            | EndpointError::Broken(_)
            | EndpointError::NoTenants
            | EndpointError::Unreadable(_) => {
                tracing::error!(request_id, error = chain(error), "the endpoint cannot be used");
                self.metrics.count(Metric::VerifierBroken, &[], 1);
                Refused::Unavailable
            }
        }
    }
}

impl EndpointReport<'_> {
    pub(crate) fn over_the_limit(&self, bytes: usize) -> Refused {
        let Self { provider, account, report: Report { request_id, .. } } = self;
        tracing::warn!(request_id, provider, account, bytes, "body over the limit");
        Refused::TooLarge
    }

    pub(crate) fn untrusted(&self, untrusted: &Untrusted) -> Refused {
        let Self { provider, account, report: Report { request_id, metrics } } = self;
        match untrusted {
            Untrusted::Invalid(reason) => {
                let dimensions = [(Dimension::Provider, *provider), (Dimension::Reason, reason.code())];
                tracing::warn!(request_id, provider, account, reason = reason.code(), "delivery not verified");
                metrics.count(Metric::VerificationFailed, &dimensions, 1);
                Refused::Unauthorized
            }
            Untrusted::TokenUsed => {
                tracing::error!(
                    request_id,
                    provider,
                    account,
                    "a signed token came again with another event: a forgery"
                );
                let dimensions = [(Dimension::Provider, *provider), (Dimension::Reason, "token-used")];
                metrics.count(Metric::VerificationFailed, &dimensions, 1);
                Refused::Unauthorized
            }
            Untrusted::NamedNotFetched(error) => {
                tracing::warn!(request_id, provider, account, error = chain(error), "a named document was not fetched");
                let dimensions = [(Dimension::Provider, *provider), (Dimension::Reason, "not-fetched")];
                metrics.count(Metric::VerificationFailed, &dimensions, 1);
                Refused::Unavailable
            }
            Untrusted::Misconfigured(_)
            | Untrusted::SecretUnreadable { .. }
            | Untrusted::SecretsTooSlow
            | Untrusted::NotFetched(_)
            | Untrusted::TooManyDocuments => {
                tracing::error!(request_id, provider, account, error = chain(untrusted), "verification cannot work");
                metrics.count(Metric::VerifierBroken, &[(Dimension::Provider, provider)], 1);
                Refused::Unavailable
            }
        }
    }

    /// A delivery that a secret of the integration has verified, whatever becomes of it.
    pub(crate) fn verified(&self, secret_index: usize) {
        let Self { provider, report: Report { metrics, .. }, .. } = self;
        let place = if secret_index < MOST_PLACES { secret_index.to_string() } else { format!("{MOST_PLACES}+") };
        let dimensions = [(Dimension::Provider, *provider), (Dimension::Secret, place.as_str())];
        metrics.count(Metric::DeliveriesVerified, &dimensions, 1);
    }

    pub(crate) fn undecodable(&self, error: &DecodeError) -> Refused {
        let Self { provider, account, report: Report { request_id, .. } } = self;
        tracing::warn!(request_id, provider, account, %error, "delivery refused");
        match error {
            DecodeError::Shape { .. } | DecodeError::TooManyEvents { .. } => Refused::Malformed(error.to_string()),
            DecodeError::Unsupported { .. } | DecodeError::NoStableKey => Refused::Unprocessable(error.to_string()),
            DecodeError::TooLarge { .. } => Refused::TooLarge,
        }
    }

    pub(crate) fn foreign_tenants(&self, events: usize) {
        let Self { provider, account, report: Report { request_id, metrics } } = self;
        tracing::warn!(request_id, provider, account, events, "events of a foreign tenant");
        let foreign = [(Dimension::Provider, *provider), (Dimension::Reason, "foreign-tenant")];
        metrics.count(Metric::VerificationFailed, &foreign, events as u64);
    }

    pub(crate) fn not_stored(&self, error: &NotStored) -> Refused {
        let Self { provider, account, report: Report { request_id, metrics } } = self;
        tracing::error!(request_id, provider, account, error = chain(error), "delivery not stored");
        match error {
            NotStored::Ledger(LedgerError::TooLarge { .. }) => Refused::TooLarge,
            NotStored::IdentityUsedUp => Refused::Unprocessable(error.to_string()),
            NotStored::Ledger(_) => {
                metrics.count(Metric::CommitFailed, &[(Dimension::Provider, provider)], 1);
                Refused::Unavailable
            }
        }
    }

    pub(crate) fn stored(&self, outcomes: &[Outcome], secret_index: usize) {
        let Self { provider, account, report: Report { request_id, metrics } } = self;
        let mut counts: BTreeMap<&str, (Metric, u64)> = BTreeMap::new();
        let mut count = |metric: Metric| counts.entry(metric.name()).or_insert((metric, 0)).1 += 1;
        let mut unnoted_receipts = outcomes.iter().filter_map(|one| Some((one.receipt, one.unnoted.as_ref()?)));
        if let Some((receipt, error)) = unnoted_receipts.next() {
            let others = unnoted_receipts.count();
            let error = chain(error);
            tracing::warn!(request_id, %receipt, others, error, "a further delivery could not be noted on its receipt");
        }
        for Outcome { accepted, receipt, weak, .. } in outcomes {
            let state = accepted.as_str();
            tracing::info!(request_id, provider, account, %receipt, state, weak, secret_index, "event received");
            if *accepted == Accepted::Conflict {
                tracing::warn!(request_id, provider, account, %receipt, "the same key came with another content");
            }
            count(metric_of(*accepted));
            if *weak {
                count(Metric::EventsWeak);
            }
        }
        for (metric, count) in counts.into_values() {
            metrics.count(metric, &[(Dimension::Provider, provider)], count);
        }
    }

    /// The delivery as a whole: its answer, and how long that took.
    pub(crate) fn answered(&self, outcome: &str, took_ms: u64) {
        let Self { provider, report: Report { metrics, .. }, .. } = self;
        metrics.count(Metric::Deliveries, &[(Dimension::Provider, provider), (Dimension::Outcome, outcome)], 1);
        metrics.measure(Metric::DeliveryDuration, &[(Dimension::Provider, provider)], took_ms);
    }
}

fn metric_of(accepted: Accepted) -> Metric {
    match accepted {
        Accepted::Created => Metric::EventsCreated,
        Accepted::Ignored | Accepted::Rejected => Metric::EventsWithoutJobs,
        Accepted::Duplicate => Metric::EventsDuplicate,
        Accepted::Conflict => Metric::EventsConflict,
    }
}
