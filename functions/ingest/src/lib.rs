//! The ingest function: HTTP request to receipt, jobs and payload to acknowledgement.
//!
//! The modules stand in the order in which a request meets them. Nothing is parsed before its bytes are verified, and
//! nothing is acknowledged before it is committed.

pub mod request;
pub mod endpoint;
pub mod authenticate;
pub mod accept;
mod report;
pub mod answer;

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::Event;
use hookbox_core::integration::Integration;
use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::Arrival;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, LedgerError, TokenUse};
use hookbox_providers::{Answer, Once, Profiles};
use hookbox_runtime::{Documents, Metrics, Secrets};
use lambda_http::{Body, Request, Response};

use accept::{Intake, Outcome};
use answer::{Refused, of_profile, refusal, refusal_for, success};
use authenticate::{EndpointSecrets, Trusted, Untrusted, fetch_timeout};
use endpoint::{Endpoint, EndpointError, Endpoints};
use report::{EndpointReport, Report};
use request::Incoming;

/// Time that is kept back of an invocation for the answer itself.
const ANSWER_MARGIN: Duration = Duration::from_millis(500);

/// The ingest function with everything that it needs, built once per process.
pub struct Ingest {
    ledger: Ledger,
    endpoints: Endpoints,
    secrets: Secrets,
    documents: Documents,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

impl Ingest {
    /// Assembles the function.
    pub fn new(
        ledger: Ledger,
        profiles: Profiles,
        secrets: Secrets,
        documents: Documents,
        clock: Arc<dyn Clock>,
        metrics: Metrics,
    ) -> Self {
        Self { ledger, endpoints: Endpoints::new(profiles), secrets, documents, clock, metrics }
    }

    /// Answers one request; `deadline` is the end of the invocation.
    pub async fn handle(&self, request: Request, deadline: Timestamp) -> Response<Body> {
        let incoming = Incoming::from_lambda(request);
        let now = self.clock.now();
        let report = Report::new(&self.metrics, &incoming);
        let deadline = deadline.minus(ANSWER_MARGIN);
        let endpoint = match self.find(&incoming, now, deadline).await {
            Ok(endpoint) => endpoint,
            // The answer that a known endpoint gives too, so that nobody can tell them apart.
            Err(EndpointError::Unknown) if incoming.is_over_the_limit() => return refusal(&Refused::TooLarge),
            Err(error) => return refusal(&report.no_endpoint(&error)),
        };
        let report = report.of(&endpoint);
        let deadline = endpoint.response_budget.map_or(deadline, |budget| deadline.min(now.plus(budget)));
        let response = match self.receive(&endpoint, &incoming, &report, now, deadline).await {
            Ok(response) => response,
            Err(refused) => refusal_for(&refused, endpoint.profile.refusal(), endpoint.retry_after),
        };
        let took = self.clock.now().since(now).as_millis();
        report.answered(response.status().as_str(), u64::try_from(took).unwrap_or(u64::MAX));
        response
    }

    async fn find(
        &self,
        incoming: &Incoming,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Arc<Endpoint>, EndpointError> {
        let name = incoming.endpoint.as_ref().ok_or(EndpointError::Unknown)?;
        self.endpoints.find(&self.ledger.until(deadline), name, now).await
    }

    async fn receive(
        &self,
        endpoint: &Endpoint,
        incoming: &Incoming,
        report: &EndpointReport<'_>,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Response<Body>, Refused> {
        if incoming.is_over_the_limit() {
            return Err(report.over_the_limit(incoming.body.len()));
        }
        let address = endpoint.integration.address(&incoming.rest);
        let delivered = incoming.as_delivered(address.as_deref());
        let reading = EndpointSecrets::read(&self.secrets, endpoint);
        let secrets = tokio::time::timeout(deadline.since(now), reading).await;
        let secrets = secrets.map_err(|_| report.untrusted(&Untrusted::SecretsTooSlow))?;
        let trusted = secrets.authenticate(endpoint, &delivered, &self.documents, self.clock.as_ref(), deadline).await;
        let (secret_index, once) = match trusted.map_err(|untrusted| report.untrusted(&untrusted))? {
            Trusted::Delivery { secret_index, once } => (secret_index, once),
            Trusted::Handshake(answer) => return Ok(of_profile(&answer)),
            Trusted::Confirmation { url, tenant, answer } => {
                return self.confirm(endpoint, &url, tenant.as_deref(), &answer, report, deadline).await;
            }
        };
        if !endpoint.integration.secrets.is_empty() {
            report.verified(secret_index);
        }
        let mut delivery = endpoint.profile.decode(&delivered).map_err(|error| report.undecodable(&error))?;
        let came = delivery.events.len();
        if came == 0 {
            return Ok(acknowledge(endpoint, &delivered, &[]));
        }
        delivery.events.retain(|event| endpoint.integration.takes_tenant(event.tenant.as_deref()));
        if delivery.events.len() < came {
            report.foreign_tenants(came - delivery.events.len());
        }
        if delivery.events.is_empty() {
            return Err(Refused::ForeignTenant);
        }
        if let Some(once) = once {
            self.spend(endpoint, once, &delivery.events, now, deadline).await.map_err(|unspent| match unspent {
                Unspent::Used => report.untrusted(&Untrusted::TokenUsed),
                Unspent::Unknown(error) => report.not_stored(&error.into()),
            })?;
        }
        let arrival = Arrival {
            at: now,
            digest: delivery.digest,
            secret_index: u16::try_from(secret_index).unwrap_or(u16::MAX),
            request_id: incoming.request_id.clone(),
        };
        let intake = Intake {
            ledger: &self.ledger,
            clock: self.clock.as_ref(),
            integration: &endpoint.integration,
            arrival,
            deadline,
        };
        let outcomes = intake.accept(&delivery.events).await.map_err(|error| report.not_stored(&error))?;
        report.stored(&outcomes, secret_index);
        Ok(acknowledge(endpoint, &delivered, &outcomes))
    }

    /// Tells the provider that this endpoint wants the deliveries of a tenant that it takes.
    async fn confirm(
        &self,
        endpoint: &Endpoint,
        url: &str,
        tenant: Option<&str>,
        answer: &Answer,
        report: &EndpointReport<'_>,
        deadline: Timestamp,
    ) -> Result<Response<Body>, Refused> {
        if !endpoint.integration.takes_tenant(tenant) {
            report.foreign_tenants(1);
            return Err(Refused::ForeignTenant);
        }
        let visited = self.documents.visit(url, fetch_timeout(self.clock.now(), deadline)).await;
        visited.map_err(|error| report.untrusted(&Untrusted::NotFetched(error)))?;
        Ok(of_profile(answer))
    }

    /// Uses up what the signature may vouch for once only, for exactly these events.
    async fn spend(
        &self,
        endpoint: &Endpoint,
        once: Once,
        events: &[Event],
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<(), Unspent> {
        let Integration { provider, account, .. } = &endpoint.integration;
        let mut receipts: Vec<_> = events
            .iter()
            .map(|event| ReceiptId::derive(provider, account, &event.identity, None).to_string())
            .collect();
        receipts.sort_unstable();
        let identity = Digest::of(receipts.join(",").as_bytes());
        let expires_at = now.plus(once.remember_for).to_epoch_seconds();
        let ledger = self.ledger.until(deadline);
        match ledger.use_token(provider, account, once.token, identity, expires_at).await {
            Ok(TokenUse::Ours) => Ok(()),
            Ok(TokenUse::Another) => Err(Unspent::Used),
            Err(error) => Err(Unspent::Unknown(error)),
        }
    }
}

/// Why what a signature may vouch for once only does not vouch for a delivery.
enum Unspent {
    /// It was used for other events.
    Used,
    /// Nobody knows.
    Unknown(LedgerError),
}

fn acknowledge(
    endpoint: &Endpoint,
    delivered: &hookbox_providers::Request<'_>,
    outcomes: &[Outcome],
) -> Response<Body> {
    match endpoint.profile.acknowledgement(delivered) {
        Some(answer) => of_profile(answer),
        None => success(&outcomes.iter().map(|outcome| (outcome.accepted, outcome.receipt)).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests;
