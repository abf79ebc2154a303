//! SQS inside the test process: it remembers what was sent and answers badly when it is told to.
//!
//! It needs no socket and no time: a call is done when it is polled once, and pauses are over at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::config::{AsyncSleep, BehaviorVersion, IdentityCache, Region, Sleep, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use serde_json::{Value, json};

use crate::message::Message;
use crate::queue::{Depth, Queue};

/// Queues inside the test process.
#[derive(Clone, Default)]
pub struct TestQueues {
    state: Arc<Mutex<State>>,
}

/// A call as SQS gets it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number, from 1.
    pub number: usize,
    /// Such as `SendMessageBatch`.
    pub operation: String,
    /// The queue's address.
    pub url: String,
    /// The whole request.
    pub body: Value,
}

/// A message that a queue holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What it says.
    pub body: String,
    /// In seconds.
    pub delay: u64,
}

/// What an adversary answers to a call; `None` leaves the answer to the queue.
pub type Adversary = dyn FnMut(&Call) -> Option<Badly> + Send;

/// A bad answer.
#[derive(Clone, Debug)]
pub enum Badly {
    /// An error of SQS with this status and code.
    Refuse(u16, &'static str),
    /// Of a batch, the entries at these indexes fail with this code; the others are taken.
    Entries(Vec<usize>, &'static str),
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    sent: BTreeMap<String, Vec<Sent>>,
    depth: BTreeMap<String, u64>,
    adversary: Option<Box<Adversary>>,
}

impl fmt::Debug for TestQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestQueues").finish_non_exhaustive()
    }
}

impl TestQueues {
    /// Empty queues under whatever address they are asked for.
    pub fn new() -> Self {
        Self::default()
    }

    /// A configuration for clients of these queues.
    pub fn config(&self) -> SdkConfig {
        let queues = self.clone();
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "test")))
            .identity_cache(IdentityCache::no_cache())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .endpoint_url("http://sqs.invalid")
            .sleep_impl(NoSleep)
            .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(queues.clone())))
            .build()
    }

    /// The queue of this name.
    pub fn queue(&self, name: &str) -> Queue {
        Queue::new(&self.config(), format!("http://sqs.invalid/1/{name}"))
    }

    /// Answers badly from now on.
    pub fn answer(&self, adversary: impl FnMut(&Call) -> Option<Badly> + Send + 'static) {
        self.state.lock().unwrap().adversary = Some(Box::new(adversary));
    }

    /// Answers well again.
    pub fn recover(&self) {
        self.state.lock().unwrap().adversary = None;
    }

    /// Claims that so many messages wait besides those that were sent.
    pub fn set_waiting(&self, name: &str, messages: u64) {
        self.state.lock().unwrap().depth.insert(name.to_owned(), messages);
    }

    /// What the queue holds, oldest first.
    pub fn sent(&self, name: &str) -> Vec<Sent> {
        self.state.lock().unwrap().sent.get(name).cloned().unwrap_or_default()
    }

    /// What the queue holds, read.
    pub fn messages(&self, name: &str) -> Vec<Message> {
        self.sent(name).iter().map(|sent| Message::parse(&sent.body).unwrap()).collect()
    }

    /// Takes everything out of the queue.
    pub fn take(&self, name: &str) -> Vec<Message> {
        let messages = self.messages(name);
        self.state.lock().unwrap().sent.remove(name);
        messages
    }

    /// Every call so far.
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }

    fn respond(&self, request: &HttpRequest) -> (u16, Value) {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
        let state = &mut *self.state.lock().unwrap();
        let call = Call {
            number: state.calls.len() + 1,
            operation: target.rsplit('.').next().unwrap_or_default().to_owned(),
            url: body["QueueUrl"].as_str().unwrap_or_default().to_owned(),
            body,
        };
        state.calls.push(call.clone());
        let name = call.url.rsplit('/').next().unwrap_or_default().to_owned();
        match state.adversary.as_mut().and_then(|adversary| adversary(&call)) {
            Some(Badly::Refuse(status, code)) => (status, json!({"__type": format!("com.amazonaws.sqs#{code}")})),
            Some(Badly::Entries(failing, code)) => state.take_batch(&name, &call.body, &failing, code),
            None => match call.operation.as_str() {
                "SendMessage" => state.take_message(&name, &call.body),
                "SendMessageBatch" => state.take_batch(&name, &call.body, &[], ""),
                "GetQueueAttributes" => state.attributes(&name),
                other => panic!("the test queue does not know {other}"),
            },
        }
    }
}

impl State {
    fn take_message(&mut self, name: &str, body: &Value) -> (u16, Value) {
        let sent = Sent {
            body: body["MessageBody"].as_str().unwrap().to_owned(),
            delay: body["DelaySeconds"].as_u64().unwrap_or(0),
        };
        self.sent.entry(name.to_owned()).or_default().push(sent);
        (200, json!({"MessageId": "m", "MD5OfMessageBody": "0"}))
    }

    fn take_batch(&mut self, name: &str, body: &Value, failing: &[usize], code: &str) -> (u16, Value) {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for (i, entry) in body["Entries"].as_array().unwrap().iter().enumerate() {
            if failing.contains(&i) {
                failed.push(json!({"Id": entry["Id"], "Code": code, "SenderFault": code != "InternalError"}));
            } else {
                self.take_message(name, entry);
                successful.push(json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "0"}));
            }
        }
        assert!((1..=10).contains(&(successful.len() + failed.len())), "SQS takes one to ten entries");
        (200, json!({"Successful": successful, "Failed": failed}))
    }

    fn attributes(&self, name: &str) -> (u16, Value) {
        let held = self.sent.get(name).map_or(0, Vec::len) as u64;
        let depth = Depth { visible: held + self.depth.get(name).copied().unwrap_or(0), ..Depth::default() };
        let attributes = json!({
            "ApproximateNumberOfMessages": depth.visible.to_string(),
            "ApproximateNumberOfMessagesNotVisible": depth.in_flight.to_string(),
            "ApproximateNumberOfMessagesDelayed": depth.delayed.to_string(),
        });
        (200, json!({"Attributes": attributes}))
    }
}

impl HttpConnector for TestQueues {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let queues = self.clone();
        // Done when it is polled, not when it is made.
        HttpConnectorFuture::new(async move {
            let (status, body) = queues.respond(&request);
            let mut response =
                HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::from(body.to_string()));
            response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
            Ok(response)
        })
    }
}

/// Pauses are over at once; what is longer is a timeout of the SDK and never comes.
#[derive(Debug)]
struct NoSleep;

impl AsyncSleep for NoSleep {
    fn sleep(&self, duration: Duration) -> Sleep {
        if duration < Duration::from_secs(1) {
            Sleep::new(std::future::ready(()))
        } else {
            Sleep::new(std::future::pending())
        }
    }
}
