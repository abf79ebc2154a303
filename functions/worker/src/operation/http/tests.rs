mod destination;

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;

use hookbox_core::digest::Digest;
use hookbox_core::event::Payload;
use hookbox_core::integration::Operation as OperationConfig;
use hookbox_core::integration::SecretRef;
use hookbox_runtime::SystemClock;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use self::destination::{Manner, answer, destination, read_request};
use super::super::exchange::Client;
use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_764_500_000);
/// Set by cargo for every test process.
const SECRET: &str = "env:CARGO_PKG_NAME";

fn operation(exchange: Arc<dyn Exchange>) -> HttpOperation {
    let config =
        aws_types::SdkConfig::builder().behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest()).build();
    HttpOperation::new(exchange, Secrets::new(&config, Arc::new(SystemClock)))
}

fn config(url: &str, idempotency: Idempotency, not_done: &[u16]) -> OperationConfig {
    let signing_secret = SECRET.parse().unwrap();
    let target = Target::Http { url: url.to_owned(), signing_secret, not_done_statuses: not_done.to_vec() };
    OperationConfig::new("deliver".parse().unwrap(), idempotency, target)
}

fn facts(event: &str) -> Facts {
    Facts {
        job: JobKey::first(Digest::of(event.as_bytes()).to_string().parse().unwrap(), "deliver".parse().unwrap()),
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        tenant: None,
        event_id: Some(event.to_owned()),
        kind: "k".into(),
        resource: None,
        occurred_at: None,
        received_at: NOW,
        event_version: None,
        attempt: 1,
    }
}

async fn call_with(operation: &HttpOperation, config: &OperationConfig, event: &str, timeout: Duration) -> Report {
    let payload = Payload { body: b"{}".to_vec(), content_type: None, headers: vec![], query: None };
    let call = Call { facts: &facts(event), payload: &payload, operation: config, timeout, now: NOW };
    operation.call(&call).await
}

async fn call(url: &str, timeout: Duration) -> Report {
    let operation = operation(Arc::new(Client::new().unwrap()));
    call_with(&operation, &config(url, Idempotency::None, &[]), "e", timeout).await
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_success_is_one_post_with_the_exact_bytes_and_a_length() {
    let destination = destination(answer("204 No Content")).await;
    assert_eq!(call(&destination.url, LONG).await, Report::done("http-204"));
    let request = String::from_utf8(destination.served.await.unwrap()).unwrap();
    assert!(request.starts_with("POST /in?token=hush HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\ncontent-length: 2\r\n") && request.ends_with("\r\n\r\n{}"), "{request}");
    assert!(request.contains(&format!("\r\nuser-agent: Hookbox/{}\r\n", env!("CARGO_PKG_VERSION"))), "{request}");
    assert!(!request.to_ascii_lowercase().contains("transfer-encoding"), "{request}");
}

#[tokio::test]
async fn answers_fall_into_their_class() {
    let transient = |seconds: Option<u64>| Outcome::Transient { retry_after: seconds.map(Duration::from_secs) };
    let cases = [
        ("200 OK", Outcome::Done, "http-200"),
        ("503 Service Unavailable\r\nRetry-After: 7", transient(Some(7)), "http-503"),
        // 30 seconds after `NOW`.
        ("429 Too Many Requests\r\nRetry-After: Sun, 30 Nov 2025 10:53:50 GMT", transient(Some(30)), "http-429"),
        ("429 Too Many Requests\r\nRetry-After: Sun, 30 Nov 2025 10:53:10 GMT", transient(Some(0)), "http-429"),
        ("429 Too Many Requests\r\nRetry-After: soon", transient(None), "http-429"),
        ("429 Too Many Requests\r\nRetry-After: 99999999999999999999", transient(Some(3600)), "http-429"),
        ("503 Service Unavailable\r\nRetry-After: -1", Outcome::Unknown, "http-503"),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", Outcome::Permanent, "http-302"),
        ("401 Unauthorized", Outcome::CredentialRefused, "http-401"),
        ("500 Internal Server Error", Outcome::Unknown, "http-500"),
        ("422 Unprocessable Content", Outcome::Permanent, "http-422"),
        ("101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade", Outcome::Unknown, "http-101"),
    ];
    for (head, outcome, code) in cases {
        let destination = destination(answer(head)).await;
        let report = call(&destination.url, LONG).await;
        assert_eq!((report.outcome, report.code.as_str()), (outcome, code), "{head}");
        assert!(!report.detail.as_str().contains("hush"));
    }
}

#[tokio::test]
async fn a_complete_2xx_head_decides_whatever_the_body_does() {
    let cut = Manner::Answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes".into());
    let endless = Manner::Flood("HTTP/1.1 200 OK\r\n\r\n".into());
    let informed = Manner::Answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into());
    for manner in [cut, endless, informed] {
        let destination = destination(manner).await;
        assert_eq!(call(&destination.url, LONG).await, Report::done("http-200"));
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_no_answer() {
    for head in ["", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nx: "] {
        let destination = destination(Manner::Flood(head.into())).await;
        let report = call(&destination.url, LONG).await;
        assert_eq!((report.outcome, report.code.as_str()), (Outcome::Unknown, "connection-lost"), "{head:?}");
    }
}

#[tokio::test]
async fn a_connection_that_was_never_made_is_transient() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // Accepted by the system and never answered: TLS does not come about.
    let report = call(&format!("https://user:hush@{address}/?hush"), SHORT).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Transient { retry_after: None }, "connect-timeout"));
    drop(listener);
    for url in [format!("http://user:hush@{address}/?hush"), "http://name.invalid/?hush".to_owned()] {
        let report = call(&url, LONG).await;
        assert_eq!((report.outcome, report.code.as_str()), (Outcome::Transient { retry_after: None }, "connect"));
        assert!(!report.detail.as_str().contains("hush"), "{}", report.detail);
    }
    // A destination that speaks no TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let plain = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let report = call(&url, LONG).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Transient { retry_after: None }, "connect"));
    plain.await.unwrap();
}

#[tokio::test]
async fn whatever_happens_after_the_request_has_begun_is_unknown() {
    let hanging = destination(Manner::Hang).await;
    let report = call(&hanging.url, SHORT).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Unknown, "timeout"));
    assert!(!report.detail.as_str().contains("hush"), "{}", report.detail);

    let dropping = destination(Manner::Drop).await;
    let report = call(&dropping.url, LONG).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Unknown, "connection-lost"));
    assert!(!report.detail.as_str().contains("hush"), "{}", report.detail);
    assert!(!dropping.served.await.unwrap().is_empty(), "the destination had read it");

    let half = destination(Manner::Answer("HTTP/1.1 200 O".into())).await;
    assert_eq!(call(&half.url, LONG).await.outcome, Outcome::Unknown, "half a head decides nothing");
}

#[tokio::test]
async fn every_call_has_a_connection_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let mut connections = Vec::new();
        for _ in 0..2 {
            let (mut connection, _) = listener.accept().await.unwrap();
            read_request(&mut connection).await;
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            connections.push(connection);
        }
    });
    let operation = operation(Arc::new(Client::new().unwrap()));
    let config = config(&url, Idempotency::None, &[]);
    for event in ["a", "b"] {
        assert_eq!(call_with(&operation, &config, event, LONG).await, Report::done("http-200"));
    }
    served.await.unwrap();
}

#[tokio::test]
async fn a_request_without_bytes_that_was_sent_is_unknown_too() {
    let hanging = destination(Manner::Hang).await;
    let operation = operation(Arc::new(Client::new().unwrap()));
    let config = config(&hanging.url, Idempotency::None, &[]);
    let payload = Payload { body: Vec::new(), content_type: None, headers: vec![], query: Some("a=1".into()) };
    let call = Call { facts: &facts("e"), payload: &payload, operation: &config, timeout: SHORT, now: NOW };
    assert_eq!(operation.call(&call).await.outcome, Outcome::Unknown);
}

#[tokio::test]
async fn what_is_wrong_with_the_configuration_makes_no_call() {
    let operation = operation(Arc::new(Script::default()));
    let mut config = config("http://a.example/", Idempotency::None, &[]);
    let Target::Http { signing_secret, .. } = &mut config.target else { unreachable!() };
    *signing_secret = SecretRef::Env("HOOKBOX_TEST_NOT_SET".into());
    let report = call_with(&operation, &config, "e", LONG).await;
    let transient = Outcome::Transient { retry_after: None };
    assert_eq!((report.outcome, report.code.as_str()), (transient, "signing-secret"));
    let Target::Http { signing_secret, .. } = &mut config.target else { unreachable!() };
    *signing_secret = SECRET.parse().unwrap();
    let Target::Http { url, .. } = &mut config.target else { unreachable!() };
    *url = "http://exa mple/".into();
    let report = call_with(&operation, &config, "e", LONG).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Permanent, "address"));
}

/// Answers by path, without a socket.
#[derive(Default)]
struct Script {
    statuses: Mutex<HashMap<String, u16>>,
    asked: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl Exchange for Script {
    fn exchange(
        &self,
        request: http::Request<bytes::Bytes>,
        _: Duration,
    ) -> futures_util::future::BoxFuture<'_, Result<http::Response<()>, ExchangeError>> {
        self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        self.asked.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
        let status = self.statuses.lock().unwrap().get(request.uri().path()).copied();
        let answer = match status {
            Some(status) => Ok(http::Response::builder().status(status).body(()).unwrap()),
            None => Err(ExchangeError::NotSent { code: "connect", detail: "no such path".into() }),
        };
        Box::pin(async { answer })
    }
}

fn script(statuses: &[(&str, u16)]) -> Arc<Script> {
    let script = Script::default();
    script.statuses.lock().unwrap().extend(statuses.iter().map(|(path, status)| ((*path).to_owned(), *status)));
    Arc::new(script)
}

#[tokio::test]
async fn three_different_jobs_refused_with_403_in_a_row_are_a_refused_credential() {
    use Outcome::{CredentialRefused, Done, Permanent};
    let script = script(&[("/no", 403), ("/yes", 200)]);
    let operation = operation(script);
    let no = config("http://a.example/no", Idempotency::None, &[]);
    let yes = config("http://a.example/yes", Idempotency::None, &[]);
    let mut seen = Vec::new();
    for (config, event) in
        [(&no, "a"), (&no, "a"), (&no, "a"), (&no, "b"), (&yes, "c"), (&no, "d"), (&no, "e"), (&no, "f"), (&no, "g")]
    {
        seen.push(call_with(&operation, config, event, LONG).await.outcome);
    }
    let expected =
        [Permanent, Permanent, Permanent, Permanent, Done, Permanent, Permanent, CredentialRefused, Permanent];
    assert_eq!(seen, expected, "one job alone, however often, and a success in between, do not count");
}

#[tokio::test]
async fn a_status_that_is_declared_undone_is_transient() {
    let operation = operation(script(&[("/busy", 500)]));
    let config = config("http://a.example/busy", Idempotency::None, &[500]);
    assert_eq!(call_with(&operation, &config, "e", LONG).await.outcome, Outcome::Transient { retry_after: None });
}

async fn ask(script: &Arc<Script>, url: &str, facts: &Facts) -> Asked {
    let operation = operation(script.clone());
    let config = config("http://a.example/in", Idempotency::Reconcile { url: url.to_owned() }, &[]);
    operation.ask(&Question { facts, operation: &config, timeout: LONG, now: NOW }).await
}

#[tokio::test]
async fn the_address_of_a_question_is_filled_in_percent_encoded() {
    let script = script(&[]);
    let facts = Facts { resource: Some("{event_id}/ü".into()), ..facts("e 1") };
    ask(&script, "http://a.example/{job_key}?e={event_id}&r={resource}", &facts).await;
    let receipt = facts.job.receipt;
    let expected = format!("GET http://a.example/{receipt}%3Adeliver%3Av1?e=e%201&r=%7Bevent_id%7D%2F%C3%BC");
    assert_eq!(script.asked.lock().unwrap().as_slice(), [expected]);
}

#[tokio::test]
async fn an_answer_to_a_question_is_found_absent_or_not_known() {
    let script = script(&[
        ("/200", 200),
        ("/404", 404),
        ("/400", 400),
        ("/302", 302),
        ("/500", 500),
        ("/429", 429),
        ("/401", 401),
    ]);
    let asked = async |path: &str| ask(&script, &format!("http://a.example{path}"), &facts("e")).await;
    assert_eq!(asked("/200").await, Asked::Found);
    assert_eq!(asked("/404").await, Asked::Absent);
    for cannot_tell in ["/400", "/302"] {
        assert!(matches!(asked(cannot_tell).await, Asked::CannotTell(_)), "{cannot_tell}");
    }
    for later in ["/500", "/429", "/401", "/unreachable"] {
        assert!(matches!(asked(later).await, Asked::NoAnswer(_)), "{later}");
    }
    let unfillable = ask(&script, "http://a.example/{resource}", &facts("e")).await;
    assert!(matches!(unfillable, Asked::CannotTell(_)), "the event has no resource");
}
