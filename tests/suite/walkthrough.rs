//! The real template and the real binaries on a local AWS, from a signed delivery to a completed job.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use hookbox_core::job::{AttemptOutcome, Job, Status};
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, Loaded};
use hookbox_providers::{Profiles, Request, Secret};
use serde_json::{Value, json};

use crate::hookbox::{Sandbox, hookbox};
use crate::local_aws::{LocalAws, http};

const SECRET: &str = "whsec_ZW5kLXRvLWVuZC10ZXN0LXNlY3JldA==";
const SECRET_NAME: &str = "/hookbox/e2e/provider";
const SIGNING_NAME: &str = "/hookbox/e2e/signing";
/// How long anything may take that happens by itself: the sweeper comes once a minute.
const PATIENCE: Duration = Duration::from_secs(300);
/// Just above the longest lease (the worker's timeout of 60 s and the margin of 15 s), so that the message of a killed
/// worker comes back while the test watches instead of after six minutes.
const SHORT_VISIBILITY_SECONDS: u64 = 80;

struct Stage {
    aws: LocalAws,
    ledger: Ledger,
    sandbox: Sandbox,
}

impl Stage {
    fn set() -> Self {
        let aws = LocalAws::start("e2e");
        aws.secret(SECRET_NAME, SECRET);
        aws.secret(SIGNING_NAME, "whsec_c2lnbmluZy1zZWNyZXQtb2YtdGhlLXRlc3Q=");
        let sandbox = Sandbox::start(&aws, &format!("ssm:{SIGNING_NAME}"));
        let file = aws.directory().join("hookbox.toml");
        std::fs::write(&file, configuration(&sandbox.url)).expect("written");
        let (code, _) = hookbox(&aws, &["apply", file.to_str().expect("a path"), "--yes"]);
        assert_eq!(code, 0, "the configuration is applied");
        let ledger = aws.ledger();
        Self { aws, ledger, sandbox }
    }

    async fn deliver(&self, account: &str, event_id: &str, note: &str) -> Delivered {
        self.post(&self.aws.hook("stripe", account), event_id, note).await
    }

    async fn post(&self, url: &str, event_id: &str, note: &str) -> Delivered {
        let body = json!({
            "id": event_id, "object": "event", "type": "payment_intent.succeeded", "created": 1_764_500_000,
            "data": {"object": {"id": "pi_1", "note": note}},
        });
        let body = body.to_string();
        let answer = http().post(url).headers(signature(&body)).body(body).send().await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.bytes().await.expect("a body");
        Delivered { status, body: serde_json::from_slice(&body).unwrap_or_default() }
    }

    /// The folder once its only job has come to its end.
    async fn settled(&self, receipt: ReceiptId) -> (Loaded, Job) {
        let look = || async {
            let folder = self.ledger.load(&receipt).await.ok().flatten()?;
            let [job] = folder.jobs.as_slice() else { panic!("one job, not {:?}", folder.jobs) };
            let job = job.clone();
            matches!(job.status(), Status::Completed | Status::Review).then_some((folder, job))
        };
        until("the job ends", look).await
    }
}

struct Delivered {
    status: u16,
    body: Value,
}

impl Delivered {
    fn state(&self) -> &str {
        self.body["state"].as_str().unwrap_or_default()
    }

    fn receipt(&self) -> ReceiptId {
        self.body["receiptId"].as_str().expect("a receipt").parse().expect("an id")
    }
}

fn signature(body: &str) -> reqwest::header::HeaderMap {
    let profiles = Profiles::built_in();
    let stripe = profiles.get(&"stripe".parse().unwrap()).unwrap().expect("built in").configure(None, None).unwrap();
    let request =
        Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: body.as_bytes() };
    let signed = stripe.sign(&request, None, &Secret::new(SECRET).unwrap(), now()).expect("signed");
    let headers = signed.headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    let mut headers: reqwest::header::HeaderMap = headers.collect();
    headers.insert("content-type", "application/json".parse().unwrap());
    headers
}

fn now() -> Timestamp {
    use hookbox_core::surroundings::Clock as _;
    hookbox_runtime::SystemClock.now()
}

fn configuration(sandbox: &str) -> String {
    let integration = |account: &str, path: &str| {
        format!(
            r#"
            [[integration]]
            provider = "stripe"
            account = "{account}"
            secrets = ["ssm:{SECRET_NAME}"]
            [[integration.operation]]
            name = "deliver"
            type = "http"
            url = "{sandbox}{path}"
            idempotency = "key"
            signing_secret = "ssm:{SIGNING_NAME}"
            timeout = "30s"
            schedule = ["1s", "1s"]
            "#
        )
    };
    [("ok", "/ok"), ("flaky", "/fail/2"), ("down", "/down"), ("slow", "/slow/25s")]
        .map(|(account, path)| integration(account, path))
        .concat()
}

/// Looks again and again until there is something to see.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let mut again = tokio::time::interval(Duration::from_millis(250));
    let watch = async {
        loop {
            again.tick().await;
            if let Some(seen) = look().await {
                return seen;
            }
        }
    };
    tokio::time::timeout(PATIENCE, watch).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_way_on_the_real_template() {
    let stage = Stage::set();
    tokio::join!(
        killed_worker(&stage),
        async {
            fifty_at_once(&stage).await;
            conflict(&stage).await;
            refusals(&stage).await;
        },
        fails_twice(&stage),
        fails_for_good(&stage),
    );
}

/// 50 identical deliveries at once: one receipt, one job, 49 duplicates, one effect.
async fn fifty_at_once(stage: &Stage) {
    let answers = join_all((0..50).map(|_| stage.deliver("ok", "evt_fifty", "same"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "all are acknowledged");
    assert_eq!(answers.iter().filter(|answer| answer.state() == "created").count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.state() == "duplicate").count(), 49);
    let (folder, job) = stage.settled(answers[0].receipt()).await;
    assert_eq!(folder.receipt.expect("a receipt").duplicate_count, 49);
    assert_eq!(job.status(), Status::Completed);
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (1, 1));
}

async fn conflict(stage: &Stage) {
    let first = stage.deliver("ok", "evt_conflict", "one").await;
    let second = stage.deliver("ok", "evt_conflict", "another").await;
    assert_eq!((first.state(), second.state()), ("created", "conflict"));
    let (folder, _) = stage.settled(first.receipt()).await;
    assert_eq!(folder.receipt.expect("a receipt").conflicts.len(), 1);
}

/// An unknown endpoint and a bad signature cannot be told apart, and neither leaves anything.
async fn refusals(stage: &Stage) {
    let forged = |url: String| async move {
        let header = format!("t={},v1={}", now().as_millis() / 1000, "0".repeat(64));
        let answer = http().post(url).header("Stripe-Signature", header).body("{}").send().await.expect("an answer");
        (answer.status().as_u16(), answer.bytes().await.expect("a body"))
    };
    let bad = forged(stage.aws.hook("stripe", "ok")).await;
    assert_eq!(bad.0, 401);
    assert_eq!(forged(stage.aws.hook("stripe", "nobody")).await, bad);
    assert_eq!(forged(stage.aws.hook("nobody", "ok")).await, bad);
}

async fn fails_twice(stage: &Stage) {
    let delivered = stage.deliver("flaky", "evt_flaky", "").await;
    let (_, job) = stage.settled(delivered.receipt()).await;
    assert_eq!((job.status(), job.attempts_total), (Status::Completed, 3));
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (3, 1));
}

/// The job waits for a person, and its notice stands in the dead-letter queue.
async fn fails_for_good(stage: &Stage) {
    let delivered = stage.deliver("down", "evt_down", "").await;
    let (folder, job) = stage.settled(delivered.receipt()).await;
    assert_eq!((job.status(), job.attempts_total), (Status::Review, 3));
    assert_eq!(folder.receipt.expect("a receipt").expires_at, None, "nothing in review expires");
    let key = job.key.to_string();
    let look = || async {
        let (_, notices) = hookbox(&stage.aws, &["dlq", "list"]);
        let notices = notices.as_array().cloned().unwrap_or_default();
        notices.into_iter().find(|notice| notice["job"] == key.as_str() && !notice["message_id"].is_null())
    };
    let notice = until("the notice is posted", look).await;
    assert_eq!(notice["status"], "review");
}

/// A worker that is killed during its call leaves a lease behind; the job is finished without anyone acting, and the
/// destination, which remembers the key, does nothing twice.
async fn killed_worker(stage: &Stage) {
    stage.aws.set_visibility(SHORT_VISIBILITY_SECONDS).await;
    let delivered = stage.deliver("slow", "evt_killed", "").await;
    let key = format!("{}:deliver:v1", delivered.receipt());
    until("the call begins", || async { (stage.sandbox.seen(&key).await.0 == 1).then_some(()) }).await;
    until("the worker is killed", || async { stage.aws.crash("worker").then_some(()) }).await;
    let (_, job) = stage.settled(delivered.receipt()).await;
    assert_eq!(job.status(), Status::Completed, "{job:?}");
    let outcomes: Vec<_> = job.attempts.iter().filter_map(|a| a.result.as_ref()).map(|r| r.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Uncertain, AttemptOutcome::Done]);
    assert_eq!(stage.sandbox.seen(&key).await, (2, 1), "two calls, one effect");
}
