//! A provider: it signs what it delivers, delivers again until it hears a success, and remembers what it was told.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use hookbox_core::event::Identity;
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_ingest::request::make_legal;
use hookbox_providers::{Configured, Profiles, Request, Secret};
use lambda_http::request::LambdaRequest;
use serde_json::{Value, json};

use super::process::PROVIDER_SECRET;
use super::world::{Connection, World};

/// The time that an invocation of ingest has, as `template.yaml` says.
pub(crate) const INVOCATION: Duration = Duration::from_secs(10);
/// For how long a token is sent again: within the tolerance of its time. After that the same events come under another.
const TOKEN_AGE: i64 = 8 * 3_600;

/// Stands in every payload, and must be seen at destinations only.
pub(crate) const PRIVATE: &str = "of-no-concern-to-any-log";

/// What is delivered at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) connection: Connection,
    pub(crate) events: Vec<Event>,
}

/// One event of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its id within the connection.
    pub(crate) id: u32,
    /// Which content it has: the same id with another content is a conflict.
    pub(crate) content: u8,
}

/// A delivery and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) delivery: Delivery,
    /// What was answered each time; `None` when no answer came.
    pub(crate) answers: Vec<Option<Answer>>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// What became of each event, by the answer.
    pub(crate) states: Vec<String>,
    /// When the delivery arrived.
    pub(crate) begun: Timestamp,
    /// Whether any call went wrong or took long while it was made.
    pub(crate) troubled: bool,
}

/// Everything that was delivered.
#[derive(Default)]
pub(crate) struct Provider {
    pub(crate) sent: Vec<Sent>,
    /// Every signature that was made.
    pub(crate) signatures: Vec<String>,
}

impl Delivery {
    /// One event with its first content.
    pub(crate) fn one(connection: Connection, id: u32) -> Self {
        Self { connection, events: vec![Event { id, content: 0 }] }
    }

    /// One event with another content.
    pub(crate) fn changed(connection: Connection, id: u32) -> Self {
        Self { connection, events: vec![Event { id, content: 1 }] }
    }

    /// Several events at once.
    pub(crate) fn batch(ids: impl IntoIterator<Item = u32>) -> Self {
        let events = ids.into_iter().map(|id| Event { id, content: 0 }).collect();
        Self { connection: Connection::Batch, events }
    }

    /// The body before it is signed, for the delivery at this place.
    fn body(&self, token: &str) -> Vec<u8> {
        let body = match self.connection {
            Connection::Single => single(self.events[0]),
            Connection::Batch => self.events.iter().map(|event| element(*event)).collect(),
            Connection::Token => under_a_token(self.events[0], token),
        };
        body.to_string().into_bytes()
    }
}

impl Sent {
    /// Whether the provider has heard a success.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.answers.iter().flatten().any(|answer| answer.status < 300)
    }
}

/// The receipt of an event.
pub(crate) fn receipt(connection: Connection, id: u32) -> ReceiptId {
    let event_id = match connection {
        Connection::Token => format!("mailgun:{}", name(id)),
        Connection::Single | Connection::Batch => name(id),
    };
    let identity = Identity::ProviderEvent { event_id };
    ReceiptId::derive(&connection.provider(), &connection.account(), &identity, None)
}

fn name(id: u32) -> String {
    format!("evt_{id}")
}

fn single(event: Event) -> Value {
    json!({
        "id": name(event.id), "object": "event", "type": "payment_intent.succeeded", "created": 1_764_500_000,
        "data": {"object": {"id": "pi_1", "content": event.content, "private": PRIVATE}},
    })
}

fn under_a_token(event: Event, token: &str) -> Value {
    json!({
        "signature": {"timestamp": "{signature.timestamp}", "token": token, "signature": "{signature}"},
        "event-data": {
            "id": name(event.id), "event": "delivered", "timestamp": 1_764_500_000, "recipient": "alice@example.com",
            "content": event.content, "private": PRIVATE,
        },
    })
}

fn element(event: Event) -> Value {
    let data = json!({"id": "lead-1", "private": PRIVATE});
    json!({"id": name(event.id), "type": "lead.created", "data": data, "content": event.content})
}

impl World {
    /// The provider delivers something for the first time.
    pub(crate) fn deliver(&self, delivery: &Delivery) {
        let place = {
            let mut provider = self.provider.lock().unwrap();
            provider.sent.push(Sent { delivery: delivery.clone(), answers: Vec::new() });
            provider.sent.len() - 1
        };
        self.send(place);
    }

    /// Everything without a success is delivered again. False when there was nothing.
    pub(crate) fn deliver_again(&self) -> bool {
        let open = self.undelivered();
        for place in &open {
            self.send(*place);
        }
        !open.is_empty()
    }

    /// The latest delivery comes once more, whatever was answered to it.
    pub(crate) fn deliver_twice(&self) {
        let latest = self.provider.lock().unwrap().sent.len().checked_sub(1);
        if let Some(latest) = latest {
            self.send(latest);
        }
    }

    /// The places of the deliveries without a success.
    pub(crate) fn undelivered(&self) -> Vec<usize> {
        let provider = self.provider.lock().unwrap();
        (0..provider.sent.len()).filter(|place| !provider.sent[*place].is_acknowledged()).collect()
    }

    fn send(&self, place: usize) {
        let delivery = self.provider.lock().unwrap().sent[place].delivery.clone();
        let request = self.signed(place, &delivery);
        let stored = self.stored_before(&delivery);
        let (ingest, first, begun) = (self.ingest(), self.faults.count(), self.now());
        let answer = self.run(ingest.handle(request, self.now().plus(INVOCATION)));
        let faulty = self.faults.log()[first..].iter().any(|effect| effect.fault.is_some());
        let troubled = faulty || self.now().since(begun) >= Duration::from_secs(1);
        let answer =
            answer.map(|answer| Answer::read(answer.status().as_u16(), answer.body().to_vec(), begun, troubled));
        self.provider.lock().unwrap().sent[place].answers.push(answer.clone());
        self.follow();
        self.look_at_answer(&delivery, &stored, answer.as_ref());
    }

    /// Those of the delivery's events that have a receipt.
    fn stored_before(&self, delivery: &Delivery) -> BTreeSet<u32> {
        let copy = self.copy.lock().unwrap();
        let stored = |id: &u32| copy.folder(&receipt(delivery.connection, *id).to_string()).contains_key("head");
        delivery.events.iter().map(|event| event.id).filter(stored).collect()
    }

    fn signed(&self, place: usize, delivery: &Delivery) -> lambda_http::Request {
        let connection = delivery.connection;
        let age = self.now().to_epoch_seconds().get() / TOKEN_AGE;
        let body = delivery.body(&format!("token-{place}-{age}"));
        let content = ("content-type".to_owned(), "application/json".to_owned());
        let unsigned = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: &body };
        let secret = Secret::new(PROVIDER_SECRET).unwrap();
        let at = match connection {
            Connection::Token => Timestamp::from_seconds(age * TOKEN_AGE),
            Connection::Single | Connection::Batch => self.now(),
        };
        let signed = profiles()[connection as usize].sign(&unsigned, None, &secret, at).unwrap();
        let body = signed.body.unwrap_or(body);
        let signatures = signed.headers.iter().filter_map(|(_, value)| value.rsplit('=').next().map(str::to_owned));
        let in_body: Value = serde_json::from_slice(&body).unwrap();
        let in_body = in_body["signature"]["signature"].as_str().map(str::to_owned);
        self.provider.lock().unwrap().signatures.extend(signatures.chain(in_body));
        let headers: serde_json::Map<String, Value> = signed
            .headers
            .into_iter()
            .chain([content])
            .map(|(name, value)| (name.to_lowercase(), value.into()))
            .collect();
        let path = format!("/hooks/{}/{}", connection.provider(), connection.account());
        let event = json!({
            "version": "2.0", "routeKey": "POST /hooks/{provider}/{account}", "rawPath": path, "rawQueryString": "",
            "headers": headers, "body": String::from_utf8(body).unwrap(), "isBase64Encoded": false,
            "requestContext": {
                "requestId": "request-1", "stage": "$default", "timeEpoch": 0,
                "http": {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            },
        });
        let event: ApiGatewayV2httpRequest = serde_json::from_value(event).unwrap();
        let mut event = LambdaRequest::ApiGatewayV2(event);
        make_legal(&mut event);
        event.into()
    }
}

impl Answer {
    fn read(status: u16, body: Vec<u8>, begun: Timestamp, troubled: bool) -> Self {
        let text = String::from_utf8(body).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        let told = |part: &Value| part["state"].as_str().unwrap_or_default().to_owned();
        let of_events = match json["receipts"].as_array() {
            Some(receipts) => receipts.iter().map(told).collect(),
            None => vec![told(&json)],
        };
        Self { status, text, states: of_events, begun, troubled }
    }
}

/// The profiles of the connections, by their numbers. Reading them takes longer than a delivery.
fn profiles() -> &'static [Configured; 3] {
    static PROFILES: LazyLock<[Configured; 3]> = LazyLock::new(|| {
        let profiles = Profiles::built_in();
        Connection::ALL.map(|connection| {
            let profile = profiles.get(&connection.provider()).unwrap().unwrap();
            profile.configure(None, connection.verify().as_ref()).unwrap()
        })
    });
    &PROFILES
}
