//! What the provider is told. Nothing of the delivery is echoed.

use std::time::Duration;

use hookbox_core::key::ReceiptId;
use hookbox_providers::{Answer, Refusal};
use lambda_http::http::{HeaderName, HeaderValue, StatusCode, header};
use lambda_http::{Body, Response};
use serde_json::{Value, json};

/// What became of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A new receipt with its jobs.
    Created,
    /// A new receipt without jobs: a kind that the profile does not support.
    Ignored,
    /// A new receipt without jobs: an element of a batch that could not be read.
    Rejected,
    /// The receipt was there already.
    Duplicate,
    /// The receipt was there already, and this delivery's content differs.
    Conflict,
}

impl Accepted {
    /// The state as the answer and the metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
            Self::Duplicate => "duplicate",
            Self::Conflict => "conflict",
        }
    }

    fn already_processed(self) -> bool {
        matches!(self, Self::Duplicate | Self::Conflict)
    }
}

/// Why a delivery was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Unknown endpoint, or a signature that is bad, missing, stale or there twice: one answer for all of them, so that
    /// nobody can find out which endpoints exist.
    Unauthorized,
    /// Verified, but of a tenant that the integration does not take.
    ForeignTenant,
    /// The body is larger than can be stored.
    TooLarge,
    /// Not the documented shape; the path of the fault.
    Malformed(String),
    /// A kind that the profile refuses, or an event without a stable key; a sentence that says which.
    Unprocessable(String),
    /// Verification is not configured, or what was received is not known to be stored.
    Unavailable,
}

/// The success that a provider gets without wishes of its own.
pub fn success(receipts: &[(Accepted, ReceiptId)]) -> Response<Body> {
    let one = |(state, receipt): &(Accepted, ReceiptId)| json!({"state": state.as_str(), "receiptId": receipt.to_string(), "alreadyProcessed": state.already_processed()});
    let body = match receipts {
        [single] => {
            let mut body = one(single);
            if let Some(fields) = body.as_object_mut() {
                fields.insert("success".into(), Value::Bool(true));
            }
            body
        }
        many => json!({"success": true, "receipts": many.iter().map(one).collect::<Vec<_>>()}),
    };
    respond(StatusCode::OK, &body)
}

/// The answer that a profile prescribes, to a handshake or after everything is committed.
pub fn of_profile(answer: &Answer) -> Response<Body> {
    let body = if answer.body.is_empty() { Body::Empty } else { Body::Text(answer.body.clone()) };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let named = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let content_type = answer.content_type.iter().map(|value| ("content-type", value.as_str()));
    for (name, value) in named.chain(content_type) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The answer to a delivery that was not accepted.
pub fn refusal(refused: &Refused) -> Response<Body> {
    let (status, error) = match refused {
        Refused::Unauthorized => (StatusCode::UNAUTHORIZED, "the delivery could not be verified".to_owned()),
        Refused::ForeignTenant => (StatusCode::FORBIDDEN, "not a tenant of this endpoint".to_owned()),
        Refused::TooLarge => {
            (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than can be stored; nothing was stored".to_owned())
        }
        Refused::Malformed(path) => (StatusCode::BAD_REQUEST, format!("not the documented shape: {path}")),
        Refused::Unprocessable(reason) => (StatusCode::UNPROCESSABLE_ENTITY, reason.clone()),
        Refused::Unavailable => {
            (StatusCode::SERVICE_UNAVAILABLE, "not known to be stored; please deliver again".to_owned())
        }
    };
    respond(status, &json!({"success": false, "error": error}))
}

/// The same, as the provider wants to be told that there is no use in delivering again, or when to; `retry_after` is for
/// providers that honour it. Whatever else may yet be accepted, and what was said before anything was verified, gets the
/// ordinary answer.
pub fn refusal_for(refused: &Refused, wanted: Option<&Refusal>, retry_after: Option<Duration>) -> Response<Body> {
    let mut response = refusal(refused);
    if let (Refused::Unavailable, Some(wait)) = (refused, retry_after) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs()));
    }
    let permanent = matches!(refused, Refused::ForeignTenant | Refused::Malformed(_) | Refused::Unprocessable(_));
    let Some(wanted) = wanted.filter(|_| permanent) else { return response };
    if let Some(status) = wanted.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        *response.status_mut() = status;
    }
    for (name, value) in &wanted.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn respond(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::Text(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(response: &Response<Body>) -> Value {
        serde_json::from_slice(response.body()).expect("json")
    }

    fn receipt(n: u8) -> ReceiptId {
        format!("{n:064x}").parse().expect("id")
    }

    #[test]
    fn only_what_will_never_be_accepted_is_refused_as_the_provider_wants_it() {
        let wanted = Refusal { status: Some(406), headers: vec![("X-Slack-No-Retry".into(), "1".into())] };
        let of = |refused: &Refused| {
            let response = refusal_for(refused, Some(&wanted), None);
            (response.status().as_u16(), response.headers().contains_key("x-slack-no-retry"))
        };
        assert_eq!(of(&Refused::Malformed("$.a".into())), (406, true));
        assert_eq!(of(&Refused::Unprocessable("no".into())), (406, true));
        assert_eq!(of(&Refused::ForeignTenant), (406, true));
        assert_eq!(of(&Refused::Unauthorized), (401, false));
        assert_eq!(of(&Refused::Unavailable), (503, false));
        assert_eq!(of(&Refused::TooLarge), (413, false));
    }

    #[test]
    fn one_event_and_a_batch_have_their_documented_shapes() {
        let single = success(&[(Accepted::Duplicate, receipt(1))]);
        assert_eq!(
            body(&single),
            json!({"success": true, "state": "duplicate", "receiptId": receipt(1).to_string(), "alreadyProcessed": true})
        );
        let batch = body(&success(&[(Accepted::Created, receipt(1)), (Accepted::Ignored, receipt(2))]));
        assert_eq!(batch["success"], true);
        assert_eq!(batch["receipts"][0]["state"], "created");
        assert_eq!(batch["receipts"][1]["receiptId"], receipt(2).to_string());
        assert_eq!(body(&success(&[])), json!({"success": true, "receipts": []}));
    }

    #[test]
    fn only_a_fault_of_ours_asks_to_come_back_and_only_who_honours_it_is_told_when() {
        for (refused, status) in [
            (Refused::Unauthorized, 401),
            (Refused::ForeignTenant, 403),
            (Refused::TooLarge, 413),
            (Refused::Malformed("$.data".into()), 400),
            (Refused::Unprocessable("unsupported kind".into()), 422),
            (Refused::Unavailable, 503),
        ] {
            let response = refusal(&refused);
            assert_eq!(response.status(), status);
            assert!(!response.headers().contains_key(header::RETRY_AFTER));
            assert_eq!(body(&response)["success"], false);
            let response = refusal_for(&refused, None, Some(Duration::from_secs(5)));
            let wait = response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().expect("a number"));
            assert_eq!(wait, (status == 503).then_some("5"));
        }
    }
}
