//! The built-in operation `http`: one signed `POST` of the event's bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookbox_core::integration::{Idempotency, SecretRef, Target};
use hookbox_core::key::JobKey;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::outcome::{Outcome, Report, of_http_status};
use hookbox_core::time::Timestamp;
use hookbox_destination::{Facts, Unsendable, delivery, question, unreserved};
use hookbox_runtime::{SecretText, Secrets};
use http::header::{HeaderMap, RETRY_AFTER};
use jiff::fmt::rfc2822;
use tokio::time::Instant;

use super::exchange::{Exchange, ExchangeError};
use super::{Asked, Call, Operation, Question, misconfigured};

/// How many different jobs in a row a destination refuses with 403 until its credential is taken for refused. One alone
/// may be about that job.
const FORBIDDEN_IN_A_ROW: usize = 3;

/// Calls a destination over HTTP.
pub struct HttpOperation {
    exchange: Arc<dyn Exchange>,
    secrets: Secrets,
    forbidden: Mutex<HashMap<Destination, Vec<JobKey>>>,
}

type Destination = (Provider, Account, OperationName);

impl HttpOperation {
    /// Calls over `exchange`, signed with secrets from `secrets`.
    pub fn new(exchange: Arc<dyn Exchange>, secrets: Secrets) -> Self {
        Self { exchange, secrets, forbidden: Mutex::default() }
    }

    async fn send(&self, call: &Call<'_>) -> Result<Report, Report> {
        let Target::Http { url, signing_secret, not_done_statuses } = &call.operation.target else {
            return Err(misconfigured("target", "not an http operation"));
        };
        let (secret, left) = self.secret(signing_secret, call.timeout).await;
        let secret = secret.map_err(|error| misconfigured("signing-secret", &error))?;
        let request = delivery(url, call.facts, call.payload, secret.expose(), call.now).map_err(unsendable)?;
        let answer = self.exchange.exchange(request, left).await.map_err(|error| failed(&error, ""))?;
        let status = answer.status();
        let outcome = of_http_status(status.as_u16(), retry_after(answer.headers(), call.now), not_done_statuses);
        let outcome = self.judged(call.facts, status, outcome);
        Ok(Report::new(outcome, &format!("http-{}", status.as_u16()), &answered(status)))
    }

    /// The signing secret, and what is left of `timeout` afterwards. Reading it has half of the time at most: when that
    /// is not enough, no call was made, and that is known.
    async fn secret(&self, reference: &SecretRef, timeout: Duration) -> (Result<SecretText, String>, Duration) {
        let begun = Instant::now();
        let read = tokio::time::timeout(timeout / 2, self.secrets.get(reference)).await;
        let secret = match read {
            Ok(secret) => secret.map_err(|error| error.to_string()),
            Err(_) => Err(format!("`{reference}` was not read in time")),
        };
        (secret, timeout.saturating_sub(begun.elapsed()))
    }

    /// 403 is about the job, until three different jobs in a row get it: then it is about us.
    fn judged(&self, facts: &Facts, status: http::StatusCode, outcome: Outcome) -> Outcome {
        let destination = (facts.provider.clone(), facts.account.clone(), facts.job.operation.clone());
        let mut forbidden = self.forbidden.lock().unwrap_or_else(PoisonError::into_inner);
        if status != http::StatusCode::FORBIDDEN || outcome != Outcome::Permanent {
            forbidden.remove(&destination);
            return outcome;
        }
        let jobs = forbidden.entry(destination.clone()).or_default();
        if !jobs.contains(&facts.job) {
            jobs.push(facts.job.clone());
        }
        if jobs.len() < FORBIDDEN_IN_A_ROW {
            return outcome;
        }
        forbidden.remove(&destination);
        Outcome::CredentialRefused
    }

    async fn put_question(&self, asked: &Question<'_>) -> Result<Asked, Asked> {
        let url = address(asked)?;
        let (secret, left) = match &asked.operation.target {
            Target::Http { signing_secret, .. } => {
                let (secret, left) = self.secret(signing_secret, asked.timeout).await;
                (Some(secret.map_err(|error| no_answer("signing-secret", &error))?), left)
            }
            Target::Sqs { .. } | Target::Custom { .. } => (None, asked.timeout),
        };
        let request = question(&url, asked.facts, secret.as_ref().map(SecretText::expose), asked.now)
            .map_err(|error| cannot_tell("ask-address", &error.to_string()))?;
        let answer = self.exchange.exchange(request, left).await;
        let answer = answer.map_err(|error| Asked::NoAnswer(failed(&error, "ask-")))?;
        let status = answer.status();
        let outcome = of_http_status(status.as_u16(), retry_after(answer.headers(), asked.now), &[]);
        let report = Report::new(outcome, &format!("ask-http-{}", status.as_u16()), &answered(status));
        Ok(match outcome {
            Outcome::Done => Asked::Found,
            _ if status == http::StatusCode::NOT_FOUND => Asked::Absent,
            Outcome::Permanent => Asked::CannotTell(report),
            Outcome::Transient { .. } | Outcome::Unknown | Outcome::CredentialRefused => Asked::NoAnswer(report),
        })
    }
}

impl Operation for HttpOperation {
    async fn call(&self, call: &Call<'_>) -> Report {
        self.send(call).await.unwrap_or_else(|report| report)
    }

    /// `GET` at the configured address: 2xx is found, 404 is absent. An answer that a later one may contradict (408, 425,
    /// 429, 5xx) and none at all are asked for again by the schedule; any other cannot tell.
    async fn ask(&self, asked: &Question<'_>) -> Asked {
        self.put_question(asked).await.unwrap_or_else(|asked| asked)
    }
}

/// The template of the configuration with its names filled in. A value holds no brace once it is encoded, so the order
/// of the names does not matter.
fn address(asked: &Question<'_>) -> Result<String, Asked> {
    let Idempotency::Reconcile { url } = &asked.operation.idempotency else {
        // It was when the earlier call was made.
        return Err(cannot_tell("ask-address", "the operation is no longer configured to be asked"));
    };
    let mut filled = url.replace("{job_key}", &unreserved(&asked.facts.job.to_string()));
    for (name, value) in [("{event_id}", &asked.facts.event_id), ("{resource}", &asked.facts.resource)] {
        match value {
            Some(value) => filled = filled.replace(name, &unreserved(value)),
            None if filled.contains(name) => {
                return Err(cannot_tell("ask-address", &format!("the event has no value for {name}")));
            }
            None => {}
        }
    }
    Ok(filled)
}

fn answered(status: http::StatusCode) -> String {
    match status.as_u16() {
        200..=299 => String::new(),
        300..=399 => format!("answered {status}; redirects are not followed"),
        _ => format!("answered {status}"),
    }
}

fn unsendable(error: Unsendable) -> Report {
    match error {
        Unsendable::Secret(_) => misconfigured("signing-secret", &error.to_string()),
        Unsendable::Address => Report::new(Outcome::Permanent, "address", &error.to_string()),
    }
}

fn failed(error: &ExchangeError, prefix: &str) -> Report {
    let (outcome, code) = match error {
        ExchangeError::Unusable { .. } => (Outcome::Permanent, "address"),
        ExchangeError::NotSent { code, .. } => (Outcome::Transient { retry_after: None }, *code),
        ExchangeError::Unanswered { code, .. } => (Outcome::Unknown, *code),
    };
    Report::new(outcome, &format!("{prefix}{code}"), &error.to_string())
}

fn no_answer(code: &str, detail: &str) -> Asked {
    Asked::NoAnswer(misconfigured(code, detail))
}

fn cannot_tell(code: &str, detail: &str) -> Asked {
    Asked::CannotTell(Report::new(Outcome::Unknown, code, detail))
}

/// `Retry-After` as seconds or as an HTTP date (RFC 9110). The two obsolete forms of a date count as absent.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than a number holds are many, and cut anyway.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()).since(now))
}

#[cfg(test)]
mod tests;
