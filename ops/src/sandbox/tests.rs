use std::sync::Mutex;
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestClock;
use hookbox_providers::{Profiles, Request, Secret};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::terminal::Format;
use crate::testing::{Captured, clock, terminal};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Remembers how long it should have waited, and waits as long as the test wants.
#[derive(Clone, Debug, Default)]
struct Waits(Arc<Mutex<Vec<Duration>>>, Arc<Notify>);

impl AsyncSleep for Waits {
    fn sleep(&self, duration: Duration) -> Sleep {
        if duration.is_zero() {
            return Sleep::new(std::future::ready(()));
        }
        self.0.lock().unwrap().push(duration);
        let over = Arc::clone(&self.1);
        Sleep::new(async move { over.notified().await })
    }
}

struct Rehearsal {
    url: String,
    client: reqwest::Client,
    clock: TestClock,
    waits: Waits,
    captured: Captured,
}

impl Rehearsal {
    async fn with(secret: Option<&str>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (clock, waits) = (clock(), Waits::default());
        let (terminal, captured) = terminal(Format::Table);
        let reference = "env:SIGNING".parse().unwrap();
        let verifier = secret.map(|secret| Verifier::new(&reference, &secret.to_owned().into()).unwrap());
        let sleep = SharedAsyncSleep::new(waits.clone());
        let sandbox = Sandbox::new(verifier, Arc::new(clock.clone()), sleep, Arc::new(Mutex::new(terminal)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(Arc::new(sandbox).serve(listener));
        Self { url, client: reqwest::Client::new(), clock, waits, captured }
    }

    fn post(&self, path: &str, key: &str) -> reqwest::RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.url)).body("{}");
        request.header("idempotency-key", key).header("hookbox-event-id", "evt_1")
    }

    async fn call(&self, path: &str, key: &str) -> Option<StatusCode> {
        self.post(path, key).send().await.ok().map(|answer| answer.status())
    }

    /// A call that was signed with this secret when the clock showed another time.
    async fn signed(&self, secret: &str, ago: Duration, body: &'static str) -> (StatusCode, Value) {
        let at = self.clock.now().minus(ago);
        let profiles = Profiles::built_in();
        let profile = profiles.get(&"standard-webhooks".parse().unwrap()).unwrap().unwrap();
        let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: b"{}" };
        let secret = Secret::new(secret).unwrap();
        let signed = profile.configure(None, None).unwrap().sign(&request, Some("job-1"), &secret, at).unwrap();
        let mut request = self.post("/ok", "job-1").body(body);
        for (name, value) in signed.headers {
            request = request.header(name, value);
        }
        let answer = request.send().await.unwrap();
        (answer.status(), serde_json::from_str(&answer.text().await.unwrap()).unwrap())
    }

    async fn effects(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(format!("{}/effects{path}", self.url)).send().await.unwrap();
        (answer.status(), serde_json::from_str(&answer.text().await.unwrap()).unwrap())
    }
}

#[tokio::test]
async fn an_effect_happens_once_for_each_key() {
    let sandbox = Rehearsal::with(None).await;
    for key in ["a", "a", "b"] {
        assert_eq!(sandbox.call("/ok", key).await, Some(StatusCode::OK));
    }
    let entry = |calls: u64| json!({"calls": calls, "effects": 1, "event_id": "evt_1"});
    let expected = json!({"calls": 3, "effects": 2, "refused": 0, "by_key": {"a": entry(2), "b": entry(1)}});
    assert_eq!(sandbox.effects("").await, (StatusCode::OK, expected));
    assert_eq!(sandbox.effects("/a").await, (StatusCode::OK, entry(2)));
    assert_eq!(sandbox.effects("/c").await.0, StatusCode::NOT_FOUND);
    insta::assert_snapshot!(sandbox.captured.notes(), @r"
    2026-11-30 08:00:00.125 UTC  200  /ok  call 1  effect  evt_1  a
    2026-11-30 08:00:00.125 UTC  200  /ok  call 2  already done  evt_1  a
    2026-11-30 08:00:00.125 UTC  200  /ok  call 1  effect  evt_1  b
    ");
}

#[tokio::test]
async fn it_fails_as_often_as_it_is_told() {
    let sandbox = Rehearsal::with(None).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(sandbox.call("/fail/2", "a").await.unwrap().as_u16());
    }
    assert_eq!(statuses, [503, 503, 200, 200]);
    assert_eq!(sandbox.effects("").await.1["effects"], 1);
    assert_eq!(sandbox.call("/down", "b").await, Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(sandbox.effects("/b").await.0, StatusCode::NOT_FOUND, "called, and nothing happened");
    assert_eq!(sandbox.call("/broken", "c").await, Some(StatusCode::BAD_REQUEST));
    assert_eq!(sandbox.call("/unauthorized", "d").await, Some(StatusCode::UNAUTHORIZED));
    assert_eq!(sandbox.effects("").await.1["effects"], 1);
}

#[tokio::test]
async fn it_does_the_work_and_hangs_up() {
    let sandbox = Rehearsal::with(None).await;
    let cut = sandbox.post("/drop", "a").send().await.unwrap_err();
    assert!(cut.is_request() && !cut.is_timeout() && !cut.is_connect(), "{cut:?}");
    assert_eq!(sandbox.effects("").await.1["by_key"]["a"]["effects"], 1);
    assert_eq!(sandbox.call("/drop", "a").await, Some(StatusCode::OK));
    assert_eq!(sandbox.effects("").await.1["by_key"]["a"], json!({"calls": 2, "effects": 1, "event_id": "evt_1"}));
    assert!(sandbox.captured.notes().contains("cut  /drop  call 1  effect"), "{}", sandbox.captured.notes());
}

#[tokio::test]
async fn a_slow_answer_waits_after_the_effect() {
    let sandbox = Rehearsal::with(None).await;
    let look = async {
        while sandbox.waits.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let effects = sandbox.effects("").await.1["effects"].clone();
        sandbox.waits.1.notify_one();
        effects
    };
    let both = futures_util::future::join(sandbox.call("/slow/5s", "a"), look);
    let (status, effects) = tokio::time::timeout(Duration::from_secs(20), both).await.expect("a wait");
    assert_eq!((status, effects), (Some(StatusCode::OK), json!(1)), "the effect was there before the answer");
    assert_eq!(*sandbox.waits.0.lock().unwrap(), [Duration::from_secs(5)]);
}

#[tokio::test]
async fn only_what_we_signed_lately_is_taken() {
    for secret in [SECRET, "any text at all"] {
        let sandbox = Rehearsal::with(Some(secret)).await;
        // The worker takes the text of a secret without `whsec_` as the key; the profile wants it as base64.
        let as_base64 = if secret == SECRET { SECRET } else { "whsec_YW55IHRleHQgYXQgYWxs" };
        let (now, old) = (Duration::ZERO, Duration::from_secs(301));
        assert_eq!(sandbox.signed(as_base64, now, "{}").await.0, StatusCode::OK);
        assert_eq!(sandbox.signed(as_base64, Duration::from_secs(299), "{}").await.0, StatusCode::OK);
        let refused = [
            sandbox.signed(as_base64, old, "{}").await,
            sandbox.signed(as_base64, now, "{\"changed\":1}").await,
            sandbox.signed("whsec_AAAA", now, "{}").await,
        ];
        let reasons = refused.map(|(status, body)| {
            assert_eq!(status, StatusCode::UNAUTHORIZED);
            body["reason"].as_str().unwrap().to_owned()
        });
        let mismatch = "the signature does not match";
        assert_eq!(reasons, ["the signature is too old", mismatch, mismatch]);
        assert_eq!(sandbox.call("/ok", "job-1").await, Some(StatusCode::UNAUTHORIZED), "not signed at all");
        let effects = sandbox.effects("").await.1;
        assert_eq!((&effects["calls"], &effects["effects"], &effects["refused"]), (&json!(2), &json!(1), &json!(4)));
    }
}

#[tokio::test]
async fn what_it_does_not_understand_is_refused_with_a_reason() {
    let sandbox = Rehearsal::with(None).await;
    let without_key = sandbox.client.post(format!("{}/ok", sandbox.url)).send().await.unwrap();
    assert_eq!(without_key.status(), StatusCode::BAD_REQUEST);
    assert_eq!(without_key.text().await.unwrap(), "{\"reason\":\"the Idempotency-Key is missing\"}\n");
    assert_eq!(sandbox.call("/okay", "a").await, Some(StatusCode::NOT_FOUND));
    let put = sandbox.client.put(format!("{}/ok", sandbox.url)).send().await.unwrap();
    assert_eq!(put.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(sandbox.effects("").await.1["refused"], 3);
}

#[tokio::test]
async fn other_machines_reach_it_only_when_that_is_wanted() {
    let (terminal, captured) = terminal(Format::Table);
    let args = SandboxArgs {
        listen: "0.0.0.0:0".parse().unwrap(),
        secret: None,
        allow_non_loopback: false,
        aws: AwsArgs::default(),
    };
    let sleep = SharedAsyncSleep::new(Waits::default());
    let refused = run(args, Arc::new(clock()), sleep, terminal).await.unwrap_err();
    assert_eq!(refused.code(), 2);
    insta::assert_snapshot!(refused, @r"
    could not listen on 0.0.0.0:0
      why: other machines could reach it there, and it does whatever it is asked for
      try: listen on 127.0.0.1, or say --allow-non-loopback when the network is yours
    ");
    assert_eq!(captured.out(), "");
}

#[tokio::test]
async fn an_effect_is_found_as_the_worker_asks_for_it() {
    let rehearsal = Rehearsal::with(None).await;
    let key = format!("{}:crm-upsert:v1", "0".repeat(64));
    rehearsal.post("/ok", &key).send().await.unwrap();
    let encoded = key.replace(':', "%3A");
    for (asked, found) in [(key.as_str(), StatusCode::OK), (&encoded, StatusCode::OK), ("none", StatusCode::NOT_FOUND)]
    {
        let answer = rehearsal.client.get(format!("{}/effects/{asked}", rehearsal.url)).send().await.unwrap();
        assert_eq!(answer.status(), found, "{asked}");
    }
}
