//! A worker with two operations of a team's own, and what they say of every kind of outcome.
//!
//! ```toml
//! [[integration.operation]]
//! name = "initial-response"
//! type = "initial-response"       # the name under which it is linked below
//! idempotency = "key"
//! timeout = "5s"
//!
//! [[integration.operation]]
//! name = "crm-upsert"
//! type = "crm-upsert"
//! idempotency = "reconcile"
//! reconcile_url = "https://crm.example/unused"
//! timeout = "10s"
//! ```
//!
//! Deploy the binary in place of the built-in worker; `http` and `sqs` are in it too.

#![expect(clippy::unused_async, reason = "the clients at the end stand for real ones")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookbox_core::outcome::{Outcome, Report};
use hookbox_worker::{Asked, Call, Operation, Question, Worker};
use serde::Deserialize;

/// Answers a new lead, in a store that takes the job key: it does nothing twice for one key.
pub(crate) struct InitialResponse {
    pub(crate) outbox: Outbox,
}

impl Operation for InitialResponse {
    async fn call(&self, call: &Call<'_>) -> Report {
        // What is wrong with the event stays wrong: nobody should try again.
        let Ok(lead) = serde_json::from_slice::<Lead>(&call.payload.body) else {
            return Report::new(Outcome::Permanent, "not-a-lead", "the payload is not a lead");
        };
        let text = format!("Thank you, {}!", lead.name);
        match self.outbox.put(&call.facts.job.to_string(), &text).await {
            Ok(()) => Report::done("sent"),
            // It was refused before anything happened, so a later attempt is safe under any idempotency.
            Err(OutboxError::Full) => {
                Report::new(Outcome::Transient { retry_after: Some(Duration::from_secs(30)) }, "outbox-full", "")
            }
        }
    }
}

/// Writes a lead into a CRM that knows no idempotency keys, but finds a contact by an external reference.
pub(crate) struct CrmUpsert {
    pub(crate) crm: Crm,
}

/// What the configuration says under `settings`.
#[derive(Deserialize)]
struct CrmSettings {
    #[serde(default)]
    list: Option<String>,
}

impl Operation for CrmUpsert {
    async fn call(&self, call: &Call<'_>) -> Report {
        let settings = match call.settings::<CrmSettings>() {
            Ok(settings) => settings,
            // The call was not made: transient, and the reason is shown.
            Err(report) => return report,
        };
        let list = settings.list.as_deref().unwrap_or("leads");
        // End before `call.timeout`, when the worker drops this future: we know better what has happened.
        let within = call.timeout.mul_f32(0.9);
        match tokio::time::timeout(within, self.crm.upsert(&call.facts.job.to_string(), list)).await {
            Ok(Ok(())) => Report::done("upserted"),
            Ok(Err(CrmError::TokenRevoked)) => {
                Report::new(Outcome::CredentialRefused, "crm-token", "the CRM's token was revoked")
            }
            Ok(Err(CrmError::Invalid(field))) => {
                Report::new(Outcome::Permanent, "crm-invalid", &format!("the CRM refuses the field {field}"))
            }
            // The request may have arrived. Saying "failed" here would be a lie, and a second contact.
            Ok(Err(CrmError::ConnectionLost)) => Report::new(Outcome::Unknown, "crm-connection", ""),
            Err(_) => Report::new(Outcome::Unknown, "crm-timeout", "the CRM did not answer in time"),
        }
    }

    /// Asked before a call is repeated whose outcome nobody knows.
    async fn ask(&self, question: &Question<'_>) -> Asked {
        match self.crm.find(&question.facts.job.to_string()).await {
            Ok(true) => Asked::Found,
            Ok(false) => Asked::Absent,
            Err(_) => Asked::NoAnswer(Report::new(Outcome::Transient { retry_after: None }, "crm-unreachable", "")),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    hookbox_runtime::telemetry::init();
    Worker::builder()
        .operation("initial-response", InitialResponse { outbox: Outbox::default() })
        .operation("crm-upsert", CrmUpsert { crm: Crm::default() })
        .build()
        .await?
        .run()
        .await
}

// The rest stands for the clients of two real systems.

#[derive(Deserialize)]
struct Lead {
    name: String,
}

/// Messages by their key.
#[derive(Clone, Default)]
pub(crate) struct Outbox(pub(crate) Arc<Mutex<HashMap<String, String>>>);

enum OutboxError {
    Full,
}

impl Outbox {
    async fn put(&self, key: &str, text: &str) -> Result<(), OutboxError> {
        let Ok(mut messages) = self.0.lock() else { return Err(OutboxError::Full) };
        if messages.len() >= 1_000 {
            return Err(OutboxError::Full);
        }
        messages.entry(key.to_owned()).or_insert_with(|| text.to_owned());
        Ok(())
    }
}

/// Contacts with their external reference; the same reference twice is two contacts.
#[derive(Clone, Default)]
pub(crate) struct Crm {
    pub(crate) contacts: Arc<Mutex<Vec<String>>>,
    /// The next contact is written, and its answer lost.
    pub(crate) loses_an_answer: Arc<AtomicBool>,
}

enum CrmError {
    TokenRevoked,
    Invalid(&'static str),
    ConnectionLost,
}

impl Crm {
    async fn upsert(&self, reference: &str, list: &str) -> Result<(), CrmError> {
        match list {
            "" => return Err(CrmError::Invalid("list")),
            "forbidden" => return Err(CrmError::TokenRevoked),
            _ => self.contacts.lock().map_err(|_| CrmError::ConnectionLost)?.push(reference.to_owned()),
        }
        if self.loses_an_answer.swap(false, Ordering::SeqCst) { Err(CrmError::ConnectionLost) } else { Ok(()) }
    }

    async fn find(&self, reference: &str) -> Result<bool, CrmError> {
        let contacts = self.contacts.lock().map_err(|_| CrmError::ConnectionLost)?;
        Ok(contacts.iter().any(|contact| contact == reference))
    }
}
