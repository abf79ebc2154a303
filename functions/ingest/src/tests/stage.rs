//! An ingest function on a real ledger, and a provider that signs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{BoxFuture, FutureExt as _};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::{Faults, TestClock, TestTable};
use hookbox_providers::{Profiles, SampleValues, Secret};
use hookbox_runtime::{Documents, Fetch, FetchError, Metrics, Secrets};
use lambda_http::request::LambdaRequest;
use lambda_http::{Body, Request, Response};
use serde_json::{Value, json};

use super::{large, vectors};
use crate::{Ingest, request};

pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_764_500_000);
/// Values that must never be seen in an answer, a metric or an item.
pub(super) const SECRET: &str = "whsec_bmV2ZXItdG8tYmUtc2Vlbg==";
pub(super) const OLD_SECRET: &str = "whsec_b2xkLW5ldmVyLXRvLWJlLXNlZW4=";
const HEX_SECRET: &str = "6e657665722d746f2d62652d7365656e";
const BASIC_SECRET: &str = "hookbox:never-to-be-seen";
/// A key of Discord's, and its public half.
const SEED: &str = "0707070707070707070707070707070707070707070707070707070707070707";
const PUBLIC_KEY: &str = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

pub(super) struct Stage {
    pub(super) table: TestTable,
    pub(super) clock: TestClock,
    pub(super) faults: Faults,
    pub(super) elsewhere: Elsewhere,
    pub(super) ingest: Ingest,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let clock = TestClock::at(NOW);
        let table = TestTable::on(&clock).await;
        let faults = Faults::none();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let metrics = Metrics::to(
            Arc::new(clock.clone()),
            "ingest",
            Arc::new(move |line: &str| sink.lock().unwrap().push(line.to_owned())),
        );
        let secrets = Secrets::new(&table.config(), Arc::new(clock.clone())).with_environment(environment);
        let ledger = table.ledger_through(&faults);
        let elsewhere = Elsewhere::default();
        let documents = Documents::new(Arc::new(elsewhere.clone()), Arc::new(clock.clone()));
        let ingest = Ingest::new(ledger, Profiles::built_in(), secrets, documents, Arc::new(clock.clone()), metrics);
        Self { table, clock, faults, elsewhere, ingest, lines }
    }

    /// A stage with an integration of this provider called `demo`, one operation, and both secrets.
    pub(super) async fn with(provider: &str) -> Self {
        let stage = Self::new().await;
        stage.configure(&integration(provider)).await;
        stage
    }

    pub(super) async fn configure(&self, integration: &Integration) {
        self.table.ledger().put_integration(integration, None).await.expect("a new integration");
    }

    pub(super) async fn answer(&self, event: Value) -> Answer {
        let deadline = self.deadline();
        Answer::of(&self.ingest.handle(received(event), deadline).await)
    }

    pub(super) fn deadline(&self) -> Timestamp {
        use hookbox_core::surroundings::Clock as _;
        self.clock.now().plus(Duration::from_secs(10))
    }

    /// Metric names with their counts, in the order of their publication.
    pub(super) fn counted(&self, metric: &str) -> u64 {
        let lines = self.lines.lock().unwrap();
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        values.filter_map(|value| value[metric].as_u64()).sum()
    }

    /// The id of the only receipt that there is.
    pub(super) async fn only_receipt(&self) -> String {
        let items = self.table.items().await;
        let text = |item: &HashMap<String, aws_sdk_dynamodb::types::AttributeValue>, name: &str| {
            item[name].as_s().unwrap().clone()
        };
        let mut heads = items.iter().filter(|item| text(item, "sk") == "head").map(|item| text(item, "pk"));
        let id = heads.next().expect("a receipt");
        assert_eq!(heads.next(), None, "one only");
        id
    }

    /// The lines that publish a metric.
    pub(super) fn published(&self, metric: &str) -> Vec<Value> {
        let lines = self.lines.lock().unwrap();
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        values.filter(|value| value.get(metric).is_some()).collect()
    }

    /// The places of the secrets that verified, as the metric names them.
    pub(super) fn verified_with(&self) -> Vec<String> {
        self.published("DeliveriesVerified").iter().map(|line| line["Secret"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) fn lines(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

/// What can be fetched, and what was.
#[derive(Clone, Default)]
pub(super) struct Elsewhere {
    pub(super) documents: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    pub(super) fetched: Arc<Mutex<Vec<String>>>,
    /// The status of what cannot.
    pub(super) missing_is: Arc<AtomicU16>,
}

impl Fetch for Elsewhere {
    fn get<'a>(&'a self, url: &'a str, _: Duration) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        self.fetched.lock().unwrap().push(url.to_owned());
        let document = self.documents.lock().unwrap().get(url).cloned();
        std::future::ready(document.ok_or(FetchError::Status(self.missing_is.load(Ordering::SeqCst)))).boxed()
    }
}

fn environment(name: &str) -> Option<String> {
    match name {
        "SECRET" => Some(SECRET.to_owned()),
        "OLD_SECRET" => Some(OLD_SECRET.to_owned()),
        "HEX_SECRET" => Some(HEX_SECRET.to_owned()),
        "BASIC_SECRET" => Some(BASIC_SECRET.to_owned()),
        "PUBLIC_KEY" => Some(PUBLIC_KEY.to_owned()),
        "EMPTY" => Some(" ".to_owned()),
        other => vectors::variable(other).or_else(|| large::variable(other)),
    }
}

/// What a provider signs with, and the variables of what that is verified with.
fn secrets(provider: &str) -> (&'static str, &'static [&'static str]) {
    match provider {
        "adyen" => (HEX_SECRET, &["HEX_SECRET"]),
        "discord" => (SEED, &["PUBLIC_KEY"]),
        "thumbtack" => (BASIC_SECRET, &["BASIC_SECRET"]),
        _ => (SECRET, &["SECRET", "OLD_SECRET"]),
    }
}

/// The public address of the connection, as its provider was given it.
fn address(provider: &str) -> String {
    format!("https://hooks.example.com/hooks/{provider}/demo")
}

pub(super) fn integration(provider: &str) -> Integration {
    let target = Target::Http {
        url: "https://example.test/".into(),
        signing_secret: SecretRef::Env("SIGNING".into()),
        not_done_statuses: Vec::new(),
    };
    Integration {
        provider: provider.parse().unwrap(),
        account: "demo".parse().unwrap(),
        url: Some(address(provider)),
        rev: 1,
        secrets: secrets(provider).1.iter().map(|&name| SecretRef::Env(name.to_owned())).collect(),
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: vec![Operation::new("deliver".parse().unwrap(), Idempotency::key(), target)],
        retention: Retention::default(),
    }
}

/// The status and body of an answer.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) text: String,
}

impl Answer {
    fn of(response: &Response<Body>) -> Self {
        let headers = response.headers().iter();
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        Self {
            status: response.status().as_u16(),
            retry_after: headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.clone()),
            headers,
            text: String::from_utf8(response.body().to_vec()).expect("text"),
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn state(&self) -> String {
        self.json()["state"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn receipt(&self) -> String {
        self.json()["receiptId"].as_str().expect("a receipt").to_owned()
    }
}

/// A delivery as API Gateway hands it over.
pub(super) fn delivery(path: &str, headers: &[(String, String)], body: &[u8]) -> Value {
    let headers: serde_json::Map<String, Value> =
        headers.iter().map(|(name, value)| (name.to_lowercase(), value.as_str().into())).collect();
    json!({
        "version": "2.0",
        "routeKey": "POST /hooks/{provider}/{account}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {
            "requestId": "request-1", "stage": "$default", "timeEpoch": 0,
            "http": {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
        },
        "body": STANDARD.encode(body),
        "isBase64Encoded": true,
    })
}

/// What the function is given of such an event.
pub(super) fn received(event: Value) -> Request {
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event).expect("an event of API Gateway");
    let mut event = LambdaRequest::ApiGatewayV2(event);
    request::make_legal(&mut event);
    event.into()
}

/// A provider that signs with one of the secrets.
pub(super) struct Sender {
    provider: Provider,
    account: Account,
    variant: Option<String>,
    secret: &'static str,
}

impl Sender {
    pub(super) fn of(provider: &str) -> Self {
        let secret = secrets(provider).0;
        Self { provider: provider.parse().unwrap(), account: "demo".parse().unwrap(), variant: None, secret }
    }

    pub(super) fn with_secret(self, secret: &'static str) -> Self {
        Self { secret, ..self }
    }

    pub(super) fn in_the_way_of(self, variant: Option<&str>) -> Self {
        Self { variant: variant.map(str::to_owned), ..self }
    }

    /// A signed sample of an event with this id.
    pub(super) fn sample(&self, event_id: &str) -> Value {
        self.signed(&SampleValues { event_id: Some(event_id), occurred_at: NOW, ..SampleValues::default() })
    }

    pub(super) fn signed(&self, values: &SampleValues<'_>) -> Value {
        let profiles = Profiles::built_in();
        let profile = profiles.get(&self.provider).unwrap().expect("a profile").configure(None, None).unwrap();
        let sample = profile.sample(values).expect("a sample");
        self.body(&sample.body, &sample.headers, values.event_id)
    }

    /// Any body, signed.
    pub(super) fn body(&self, body: &[u8], headers: &[(String, String)], event_id: Option<&str>) -> Value {
        let profiles = Profiles::built_in();
        let profile = profiles.get(&self.provider).unwrap().expect("a profile");
        let profile = profile.configure(self.variant.as_deref(), None).unwrap();
        let address = address(self.provider.as_str());
        let url = Some(address.as_str());
        let request = hookbox_providers::Request { method: "POST", path_token: None, url, query: None, headers, body };
        let signed = profile.sign(&request, event_id, &Secret::new(self.secret).unwrap(), NOW).expect("signed");
        let mut path = format!("/hooks/{}/{}", self.provider, self.account);
        if let Some(token) = &signed.path_token {
            path = format!("{path}/{token}");
        }
        let body = signed.body.as_deref().unwrap_or(body);
        let mut event = delivery(&path, &[headers, &signed.headers].concat(), body);
        if let Some(query) = signed.query {
            event["rawQueryString"] = query.into();
        }
        event
    }
}
