//! What the end-to-end tests play on: a local AWS with integrations, a destination, and a provider that delivers.

use std::future::Future;
use std::time::Duration;

use hookbox_core::job::{Job, Status};
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, Loaded};
use hookbox_providers::{Profiles, Request, Secret};
use serde_json::{Value, json};

use crate::hookbox::{Sandbox, hookbox};
use crate::local_aws::{LocalAws, http};

/// The worker's timeout in the tests that wait for a lease to run out, instead of a minute: above that of the operations.
const SHORT_TIMEOUT_SECONDS: u64 = 30;
/// Just above the longest lease then (the timeout and a margin of 15 s), so that the message of a killed worker comes
/// back while the test watches instead of after six minutes.
const SHORT_VISIBILITY_SECONDS: u64 = 50;
pub(crate) const SECRET: &str = "whsec_ZW5kLXRvLWVuZC10ZXN0LXNlY3JldA==";
pub(crate) const SECRET_NAME: &str = "/hookbox/e2e/provider";
pub(crate) const SIGNING_NAME: &str = "/hookbox/e2e/signing";
/// How long anything may take that happens by itself: the sweeper comes once a minute.
const PATIENCE: Duration = Duration::from_secs(300);

/// A local AWS with a provider's integrations, and the destination of their operations.
pub(crate) struct Stage {
    pub(crate) aws: LocalAws,
    pub(crate) ledger: Ledger,
    pub(crate) sandbox: Sandbox,
}

impl Stage {
    /// Secrets, sandbox and configuration.
    pub(crate) fn set(aws: LocalAws) -> Self {
        aws.secret(SECRET_NAME, SECRET);
        aws.secret(SIGNING_NAME, "whsec_c2lnbmluZy1zZWNyZXQtb2YtdGhlLXRlc3Q=");
        let sandbox = Sandbox::start(&aws, &format!("ssm:{SIGNING_NAME}"));
        let ledger = aws.ledger();
        let stage = Self { aws, ledger, sandbox };
        stage.apply(&configuration(&stage.sandbox.url));
        stage
    }

    fn apply(&self, configuration: &str) {
        let file = self.aws.directory().join("hookbox.toml");
        std::fs::write(&file, configuration).expect("written");
        let (code, _) = hookbox(&self.aws, &["apply", file.to_str().expect("a path"), "--yes"]);
        assert_eq!(code, 0, "the configuration is applied");
    }

    /// The destination that refused everything takes it from now on.
    pub(crate) fn mend_broken(&self) {
        let url = &self.sandbox.url;
        self.apply(&configuration(url).replace(&format!("{url}/broken"), &format!("{url}/ok")));
    }

    /// Lets the lease and the message of a killed worker come back sooner than the template does.
    pub(crate) fn shorten_leases(&self) {
        let worker = self.aws.value("HOOKBOX_WORKER_FUNCTION");
        let shorter = json!({"FunctionName": worker, "Timeout": SHORT_TIMEOUT_SECONDS});
        self.aws.call("lambda", "update_function_configuration", &shorter);
        self.aws.set_visibility(SHORT_VISIBILITY_SECONDS);
    }

    /// One delivery of an event, as the provider signs it. `note` tells two contents apart.
    pub(crate) async fn deliver(&self, account: &str, event_id: &str, note: &str) -> Delivered {
        let url = self.aws.hook("stripe", account);
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
    pub(crate) async fn settled(&self, receipt: ReceiptId) -> (Loaded, Job) {
        let look = || async {
            let folder = self.ledger.load(&receipt).await.ok().flatten()?;
            let [job] = folder.jobs.as_slice() else { panic!("one job, not {:?}", folder.jobs) };
            let job = job.clone();
            matches!(job.status(), Status::Completed | Status::Review).then_some((folder, job))
        };
        until(&format!("the job of {receipt} ends"), look).await
    }
}

/// What the provider was answered.
pub(crate) struct Delivered {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Delivered {
    /// `created`, `duplicate` or `conflict`; empty when the answer was no success.
    pub(crate) fn state(&self) -> &str {
        self.body["state"].as_str().unwrap_or_default()
    }

    pub(crate) fn receipt(&self) -> ReceiptId {
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

/// This machine's time.
pub(crate) fn now() -> Timestamp {
    use hookbox_core::surroundings::Clock as _;
    hookbox_runtime::SystemClock.now()
}

fn configuration(sandbox: &str) -> String {
    let integration = |account: &str, path: &str, schedule: &str| {
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
            timeout = "25s"
            schedule = {schedule}
            "#
        )
    };
    let accounts = [
        ("ok", "/ok", r#"["1s", "1s"]"#),
        ("flaky", "/fail/2", r#"["1s", "1s"]"#),
        ("patient", "/fail/1", r#"["30s"]"#),
        ("down", "/down", r#"["1s", "1s"]"#),
        ("slow", "/slow/15s", r#"["1s", "1s"]"#),
        ("broken", "/broken", r#"["1s", "1s"]"#),
    ];
    accounts.map(|(account, path, schedule)| integration(account, path, schedule)).concat()
}

/// Looks again and again until there is something to see.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
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
