//! The built-in operation `sqs`: the event as one message on another queue of the same region.

use std::error::Error;
use std::fmt::Write as _;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_sqs::operation::send_message::SendMessageError;
use aws_sdk_sqs::types::MessageAttributeValue;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_types::SdkConfig;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::digest::Digest;
use hookbox_core::event::Payload;
use hookbox_core::integration::Target;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_destination::{Facts, passed_on, visible};
use hookbox_runtime::chain;
use serde_json::{Map, Value, json};

use super::{Call, Operation, misconfigured};

/// The largest message with its attributes (SQS service quota: 1 MiB; a queue may allow less).
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// The longest message group (SQS service quota).
const MAX_GROUP_BYTES: usize = 128;
/// The facts that are attributes of their own, so that a consumer can filter on them. SQS takes ten attributes; with the
/// key, the encoding and the rest these are nine.
const OWN_ATTRIBUTES: [&str; 6] =
    ["hookbox-version", "hookbox-provider", "hookbox-account", "hookbox-kind", "hookbox-resource", "hookbox-receipt"];

/// Sends the event's bytes to a queue.
///
/// The body is the event as it stands, where `Hookbox-Encoding` is `text`. SQS takes only characters of XML 1.0 and at
/// least one: other bytes come as `base64`, and no bytes as `empty` (the body is then a placeholder). `Idempotency-Key`
/// is the job key. `Hookbox-Facts` is a JSON object of everything else: the other facts by the names of their headers,
/// `content-type`, `headers`, `query`. Values of the plain attributes are percent-encoded as in headers. A FIFO queue gets
/// the digest of the job key as deduplication id, and as group the resource, or else the receipt.
pub struct SqsOperation(Client);

impl SqsOperation {
    /// Sends with the configuration's client.
    pub fn new(config: &SdkConfig) -> Self {
        // A call that the SDK makes again on its own could be a second effect that nobody declared safe.
        let config = aws_sdk_sqs::config::Builder::from(config).retry_config(RetryConfig::disabled()).build();
        Self(Client::from_conf(config))
    }

    async fn send(&self, call: &Call<'_>) -> Result<Report, Report> {
        let Target::Sqs { queue_url } = &call.operation.target else {
            return Err(misconfigured("target", "not an sqs operation"));
        };
        let (encoding, body) = encoded(call.payload);
        let attributes = attributes(call.facts, call.payload, encoding);
        let size = body.len()
            + attributes.iter().map(|(name, value)| name.len() + value.len() + "String".len()).sum::<usize>();
        if size > MAX_MESSAGE_BYTES {
            let detail = format!("{size} bytes with attributes; SQS takes {MAX_MESSAGE_BYTES}");
            return Err(Report::new(Outcome::Permanent, "too-large", &detail));
        }
        let mut message = self.0.send_message().queue_url(queue_url).message_body(body);
        for (name, value) in attributes {
            message = message.message_attributes(name, attribute(value)?);
        }
        if queue_url.rsplit('.').next() == Some("fifo") {
            let id = Digest::of(call.facts.job.to_string().as_bytes());
            message = message.message_deduplication_id(id.to_string()).message_group_id(group(call.facts));
        }
        message.send().await.map_err(|error| failed(&error))?;
        Ok(Report::done("sqs-sent"))
    }
}

impl Operation for SqsOperation {
    async fn call(&self, call: &Call<'_>) -> Report {
        self.send(call).await.unwrap_or_else(|report| report)
    }
}

fn encoded(payload: &Payload) -> (&'static str, String) {
    match std::str::from_utf8(&payload.body) {
        Ok("") => ("empty", "-".to_owned()),
        Ok(text) if text.chars().all(is_xml) => ("text", text.to_owned()),
        _ => ("base64", STANDARD.encode(&payload.body)),
    }
}

fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn attributes(facts: &Facts, payload: &Payload, encoding: &str) -> Vec<(String, String)> {
    let mut attributes = vec![
        ("Idempotency-Key".to_owned(), facts.job.to_string()),
        ("Hookbox-Encoding".to_owned(), encoding.to_owned()),
    ];
    let mut rest = Map::new();
    for (name, fact) in facts.named() {
        if OWN_ATTRIBUTES.contains(&name) && !fact.is_empty() {
            attributes.push((capitalised(name), visible(&fact)));
        } else {
            rest.insert(name.to_owned(), fact.into());
        }
    }
    rest.insert("content-type".to_owned(), json!(payload.content_type));
    rest.insert("query".to_owned(), json!(payload.query));
    let headers = passed_on(payload)
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    rest.insert("headers".to_owned(), Value::Array(headers));
    attributes.push(("Hookbox-Facts".to_owned(), ascii_json(&Value::Object(rest))));
    attributes
}

/// `hookbox-event-id` → `Hookbox-Event-Id`: attribute names, unlike those of headers, are compared as they are written.
fn capitalised(name: &str) -> String {
    let word = |word: &str| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    name.split('-').map(word).collect::<Vec<String>>().join("-")
}

/// JSON with everything but ASCII escaped, because SQS takes fewer characters than JSON does.
fn ascii_json(value: &Value) -> String {
    let mut escaped = String::new();
    for c in value.to_string().chars() {
        if c.is_ascii() && c != '\u{7f}' {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a `String` cannot fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

fn attribute(value: String) -> Result<MessageAttributeValue, Report> {
    let attribute = MessageAttributeValue::builder().data_type("String").string_value(value).build();
    attribute.map_err(|error| Report::new(Outcome::Permanent, "attribute", &error.to_string()))
}

fn group(facts: &Facts) -> String {
    let fits =
        |text: &String| (1..=MAX_GROUP_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match &facts.resource {
        Some(resource) if fits(resource) => resource.clone(),
        Some(resource) => Digest::of(resource.as_bytes()).to_string(),
        None => facts.job.receipt.to_string(),
    }
}

fn failed(error: &SdkError<SendMessageError, HttpResponse>) -> Report {
    let transient = Outcome::Transient { retry_after: None };
    match error {
        SdkError::ConstructionFailure(_) => Report::new(Outcome::Permanent, "sqs-request", "not a request"),
        SdkError::DispatchFailure(failure) if failure.as_connector_error().is_some_and(|e| never_connected(e)) => {
            Report::new(transient, "connect", "no connection to SQS")
        }
        SdkError::DispatchFailure(failure) if failure.is_user() => {
            Report::new(transient, "sqs-credentials", "the request could not be signed or made")
        }
        SdkError::TimeoutError(_) => Report::new(Outcome::Unknown, "timeout", "SQS did not answer in time"),
        SdkError::DispatchFailure(failure) => {
            let detail = failure.as_connector_error().map(|error| chain(error)).unwrap_or_default();
            let code = if failure.is_timeout() { "timeout" } else { "connection-lost" };
            Report::new(Outcome::Unknown, code, &detail)
        }
        SdkError::ServiceError(answer) => {
            let code = answer.err().code().unwrap_or("none");
            let status = answer.raw().status().as_u16();
            Report::new(
                refused(status, code),
                &format!("sqs-{}", short(code)),
                &format!("SQS answered {status} {code}"),
            )
        }
        _ => Report::new(Outcome::Unknown, "sqs-answer", "SQS answered something else"),
    }
}

fn short(code: &str) -> &str {
    code.trim_start_matches("AWS.SimpleQueueService.")
}

fn refused(status: u16, code: &str) -> Outcome {
    match short(code) {
        "RequestThrottled"
        | "ThrottlingException"
        | "Throttling"
        | "OverLimit"
        | "KmsThrottled"
        | "ExpiredToken"
        | "ExpiredTokenException" => Outcome::Transient { retry_after: None },
        "AccessDenied"
        | "AccessDeniedException"
        | "KmsAccessDenied"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch" => Outcome::CredentialRefused,
        _ => match status {
            429 => Outcome::Transient { retry_after: None },
            400..=499 => Outcome::Permanent,
            _ => Outcome::Unknown,
        },
    }
}

/// Whether the failure is one of making the connection, so that nothing was sent.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(client) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            return client.is_connect();
        }
        next = error.source();
    }
    false
}
