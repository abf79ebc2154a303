//! Secrets against an endpoint that answers what the Parameter Store should not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{fmt, io};

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use hookbox_core::integration::SecretRef;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_runtime::{SecretError, SecretText, Secrets, telemetry};
use serde_json::{Value, json};
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const SECRET: &str = "whsec_dGhlIHNlY3JldA";

#[derive(Debug, Default)]
struct VirtualClock(AtomicI64);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

struct Store {
    _server: MockServer,
    clock: Arc<VirtualClock>,
    reads: Arc<AtomicUsize>,
    secrets: Secrets,
}

impl Store {
    async fn answering(answer: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        let server = MockServer::start().await;
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        Mock::given(method("POST"))
            .and(header("x-amz-target", "AmazonSSM.GetParameter"))
            .respond_with(move |request: &Request| {
                counted.fetch_add(1, Ordering::SeqCst);
                answer(&request.body_json().unwrap())
            })
            .mount(&server)
            .await;
        let clock = Arc::new(VirtualClock::default());
        let secrets = Secrets::new(&config(&server.uri()), Arc::clone(&clock) as Arc<dyn Clock>);
        Self { _server: server, clock, reads, secrets }
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

fn config(endpoint: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-west-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(Credentials::from_keys("a", "b", None)))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build()
}

fn value(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"Parameter": {"Name": "/hookbox/a", "Value": text}}))
}

fn refusal(status: u16, code: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"__type": code, "message": "no"}))
}

fn reference(text: &str) -> SecretRef {
    text.parse().unwrap()
}

fn assert_hidden(shown: &impl fmt::Debug, more: &str) {
    let text = format!("{shown:?} {shown:#?} {more}");
    assert!(!text.contains("dGhl"), "{text}");
}

#[tokio::test]
async fn a_parameter_is_read_decrypted_and_believed_for_five_minutes() {
    let store = Store::answering(|asked| {
        assert_eq!(*asked, json!({"Name": "/hookbox/a", "WithDecryption": true}));
        value(SECRET)
    })
    .await;
    let read = reference("ssm:/hookbox/a");
    for (millis, reads) in [(0, 1), (299_999, 1), (300_000, 2), (599_999, 2), (600_000, 3)] {
        store.clock.0.store(millis, Ordering::SeqCst);
        assert_eq!(store.secrets.get(&read).await.unwrap().expose(), SECRET);
        assert_eq!(store.reads(), reads, "at {millis} ms");
    }
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_read() {
    let store = Store::answering(|_| value(SECRET)).await;
    let read = reference("ssm:/hookbox/a");
    let clone = store.secrets.clone();
    let (one, two, three) = tokio::join!(store.secrets.get(&read), store.secrets.get(&read), clone.get(&read));
    assert_eq!([one, two, three].map(Result::unwrap), [(); 3].map(|()| SecretText::from(SECRET.to_owned())));
    assert_eq!(store.reads(), 1);
}

#[tokio::test]
async fn an_empty_or_blank_secret_is_refused_and_never_remembered() {
    for nothing in [" ", "\n", "\t \r\n", ""] {
        let store = Store::answering(move |_| value(nothing)).await;
        let read = reference("ssm:/hookbox/a");
        for reads in 1..=2 {
            let error = store.secrets.get(&read).await.unwrap_err();
            assert_eq!(error, SecretError::Empty { reference: read.clone() });
            assert_eq!(store.reads(), reads);
        }
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_line_break_at_the_end_is_dropped_with_a_warning_that_does_not_show_the_secret() {
    let lines = Lines::default();
    let writer = lines.clone();
    let _logs = tracing::subscriber::set_default(telemetry::subscriber(Some("trace"), move || writer.clone()));
    let store = Store::answering(|_| value(&format!(" {SECRET}\r\n"))).await;
    let secret = store.secrets.get(&reference("ssm:/hookbox/a")).await.unwrap();
    assert_eq!(secret.expose(), format!(" {SECRET}"), "only the line break goes");
    assert_hidden(&secret, "");
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("ssm:/hookbox/a") && log.contains("line break"), "{log}");
    assert_hidden(&store.secrets, &log);
}

#[tokio::test]
async fn errors_are_told_apart_and_show_nothing_of_an_answer() {
    let read = reference("ssm:/hookbox/a");
    let cases = [
        (refusal(400, "ParameterNotFound"), "`ssm:/hookbox/a` does not exist"),
        (refusal(400, "AccessDeniedException"), "`ssm:/hookbox/a` may not be read"),
        (refusal(400, "ThrottlingException"), "the Parameter Store answered ThrottlingException"),
        (refusal(500, "InternalServerError"), "the Parameter Store answered InternalServerError"),
        (
            ResponseTemplate::new(200).set_body_string(format!("{{\"Parameter\":{{\"Value\":\"{SECRET}")),
            "not understood",
        ),
        (ResponseTemplate::new(200).set_body_json(json!({"Parameter": {"Value": [SECRET]}})), "not understood"),
        (ResponseTemplate::new(200).set_body_json(json!({"Parameter": {"Name": SECRET}})), "holds no value"),
        (ResponseTemplate::new(500).set_body_string(SECRET), "not understood"),
    ];
    for (answer, expected) in cases {
        let store = Store::answering(move |_| answer.clone()).await;
        let error = store.secrets.get(&read).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_hidden(&error, &error.to_string());
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_unavailable() {
    let away = Secrets::new(&config("http://127.0.0.1:1"), Arc::new(VirtualClock::default()));
    let error = away.get(&reference("ssm:/hookbox/a")).await.unwrap_err();
    assert!(matches!(error, SecretError::Unavailable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("Connection refused") && !text.contains(['{', '"']), "words, not a dump of types: {text}");
}

#[tokio::test]
async fn an_environment_secret_is_read_from_the_environment_only() {
    let store = Store::answering(|_| value(SECRET)).await;
    // Cargo sets it for tests.
    assert_eq!(store.secrets.get(&reference("env:CARGO_PKG_NAME")).await.unwrap().expose(), "hookbox-runtime");
    let missing = reference("env:HOOKBOX_NOT_SET");
    assert_eq!(store.secrets.get(&missing).await.unwrap_err(), SecretError::NotFound { reference: missing.clone() });
    assert_eq!(store.reads(), 0);
}
