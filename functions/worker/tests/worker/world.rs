//! Everything around a worker, and what tests ask it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use aws_types::SdkConfig;
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation as OperationConfig, Retention, SecretRef, Target};
use hookbox_core::invariants;
use hookbox_core::job::{Job, Status};
use hookbox_core::key::JobKey;
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::time::Timestamp;
use hookbox_ledger::Ledger;
use hookbox_ledger::test_support::{TestClock, TestRandom, TestTable};
use hookbox_queue::{Message, Queue};
use hookbox_runtime::{Metric, Metrics, Secrets};
use hookbox_worker::operation::exchange::Client;
use hookbox_worker::operation::sqs::SqsOperation;
use hookbox_worker::{Batch, Builder, Surroundings, Worker};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) const START: Timestamp = Timestamp::from_seconds(1_764_500_000);
/// The time that an invocation has, as `template.yaml` says.
pub(crate) const INVOCATION: Duration = Duration::from_secs(60);
/// Set by cargo for every test process; its value signs.
pub(crate) const SECRET: &str = "env:CARGO_PKG_NAME";
pub(crate) const WORK_QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/1/work";

pub(crate) struct World {
    pub(crate) clock: TestClock,
    pub(crate) table: TestTable,
    pub(crate) ledger: Ledger,
    pub(crate) sqs: MockServer,
    pub(crate) destination: MockServer,
    lines: Arc<Mutex<Vec<Value>>>,
    /// Is called with every line of metrics, in the middle of the worker's doings.
    pub(crate) meanwhile: Arc<Mutex<Option<Meanwhile>>>,
}

pub(crate) type Meanwhile = Box<dyn Fn(&Value) + Send>;

impl World {
    pub(crate) async fn new() -> Self {
        crate::logs::listen();
        let clock = TestClock::at(START);
        let table = TestTable::on(&clock).await;
        let sqs = MockServer::start().await;
        let sent = json!({"MessageId": "m", "MD5OfMessageBody": "x"});
        Mock::given(method("POST")).respond_with(ResponseTemplate::new(200).set_body_json(sent)).mount(&sqs).await;
        let ledger = table.ledger();
        Self {
            clock,
            table,
            ledger,
            sqs,
            destination: MockServer::start().await,
            lines: Arc::default(),
            meanwhile: Arc::default(),
        }
    }

    /// A new process of the worker with the built-in operations.
    pub(crate) fn worker(&self) -> Worker {
        self.worker_of(Worker::builder(), self.ledger.clone())
    }

    pub(crate) fn worker_of(&self, builder: Builder, ledger: Ledger) -> Worker {
        builder.build_on(self.surroundings(ledger)).unwrap()
    }

    pub(crate) fn surroundings(&self, ledger: Ledger) -> Surroundings {
        let config = sqs_config(&self.sqs.uri());
        let clock = Arc::new(self.clock.clone());
        let lines = self.lines.clone();
        let meanwhile = self.meanwhile.clone();
        let sink = move |line: &str| {
            let line = serde_json::from_str(line).unwrap();
            if let Some(meanwhile) = meanwhile.lock().unwrap().as_ref() {
                meanwhile(&line);
            }
            lines.lock().unwrap().push(line);
        };
        Surroundings {
            ledger,
            queue: Queue::new(&config, WORK_QUEUE),
            secrets: Secrets::new(&config, clock.clone()),
            exchange: Arc::new(Client::new().unwrap()),
            sqs: SqsOperation::new(&config),
            random: TestRandom::seeded(7),
            metrics: Metrics::to(clock.clone(), "worker", Arc::new(sink)),
            clock,
        }
    }

    /// How the destination answers at a path; of several answers each is given once, the last one for ever.
    pub(crate) async fn answers(&self, at: &str, statuses: &[u16]) {
        for (i, status) in statuses.iter().enumerate() {
            let mock = Mock::given(path(at)).respond_with(ResponseTemplate::new(*status));
            let mock = if i + 1 < statuses.len() { mock.up_to_n_times(1) } else { mock };
            mock.mount(&self.destination).await;
        }
    }

    /// An `http` operation at a path of the destination.
    pub(crate) fn http(&self, at: &str, idempotency: Idempotency) -> OperationConfig {
        http_to(&format!("{}{at}", self.destination.uri()), idempotency)
    }

    pub(crate) async fn configure(&self, operations: Vec<OperationConfig>, replaces: Option<u64>) {
        let integration = Integration {
            provider: "stripe".parse().unwrap(),
            account: "demo".parse().unwrap(),
            url: None,
            rev: replaces.unwrap_or(0) + 1,
            secrets: vec![SecretRef::Env("UNUSED".into())],
            variant: None,
            verify: None,
            tenants: Vec::new(),
            operations,
            retention: Retention::default(),
        };
        self.ledger.put_integration(&integration, replaces).await.unwrap();
    }

    /// Stores an event as ingest does and gives the keys of its jobs.
    pub(crate) async fn receive(&self, event_id: &str) -> Vec<JobKey> {
        self.receive_body(event_id, format!("{{\"id\":\"{event_id}\"}}").as_bytes()).await
    }

    pub(crate) async fn receive_body(&self, event_id: &str, body: &[u8]) -> Vec<JobKey> {
        let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
        let integration = self.ledger.integration(&provider, &account).await.unwrap().unwrap();
        let payload = Payload {
            body: body.to_vec(),
            content_type: Some("application/json".into()),
            headers: vec![("x-kept".into(), "yes".into()), ("authorization".into(), "hush".into())],
            query: None,
        };
        let digest = Digest::of(&payload.body);
        let event = Event {
            identity: Identity::ProviderEvent { event_id: event_id.to_owned() },
            weak: None,
            event_id: Some(event_id.to_owned()),
            kind: "payment_intent.succeeded".into(),
            resource: Some("pi_1".into()),
            tenant: Some("acct_9".into()),
            occurred_at: Some(START.minus(Duration::from_secs(5))),
            version: Some("17".into()),
            disposition: Disposition::Accepted,
            digest,
            payload: payload.clone(),
        };
        let arrival = Arrival { at: self.clock_now(), digest, secret_index: 0, request_id: "r".into() };
        let folder = Folder::open(&event, &integration, arrival, None);
        self.ledger.ingest(&folder, &payload, self.clock_now().plus(INVOCATION)).await.unwrap();
        folder.jobs.into_iter().map(|job| job.key).collect()
    }

    /// Configures one operation and stores one event.
    pub(crate) async fn one(&self, operation: OperationConfig) -> JobKey {
        self.configure(vec![operation], None).await;
        self.receive("evt_1").await.remove(0)
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        hookbox_core::surroundings::Clock::now(&self.clock)
    }

    /// One invocation with these jobs' messages; gives the ids of those that go back.
    pub(crate) async fn invoke(&self, worker: &Worker, keys: &[JobKey]) -> Vec<String> {
        invoke_within(worker, keys, self.clock_now().plus(INVOCATION)).await
    }

    /// Invocations of one job, each when it is due, until it has ended or waits for something else.
    pub(crate) async fn work_off(&self, worker: &Worker, key: &JobKey) -> Job {
        for _ in 0..10 {
            assert!(self.invoke(worker, std::slice::from_ref(key)).await.is_empty());
            let job = self.job(key).await;
            let hookbox_core::job::State::Retrying { next_attempt_at } = job.state else { return job };
            self.clock.set(next_attempt_at);
        }
        panic!("the job is retried without end");
    }

    pub(crate) async fn job(&self, key: &JobKey) -> Job {
        let loaded = self.ledger.load(&key.receipt).await.unwrap().unwrap();
        let job = loaded.job(key).unwrap().clone();
        assert_eq!(invariants::broken(&job, 5), None);
        job
    }

    pub(crate) async fn status(&self, key: &JobKey) -> Status {
        self.job(key).await.status()
    }

    /// The wake-ups that were sent: job key and delay in seconds.
    pub(crate) async fn wake_ups(&self) -> Vec<(JobKey, u64)> {
        let requests = self.sqs.received_requests().await.unwrap();
        let bodies = requests.iter().map(|request| serde_json::from_slice::<Value>(&request.body).unwrap());
        let wake_up = |body: Value| {
            let message = Message::parse(body["MessageBody"].as_str().unwrap()).unwrap();
            (message.job, body["DelaySeconds"].as_u64().unwrap_or(0))
        };
        bodies.filter(|body| body["QueueUrl"] == WORK_QUEUE).map(wake_up).collect()
    }

    /// How often a metric was counted.
    pub(crate) fn counted(&self, metric: Metric) -> u64 {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter_map(|line| line.get(metric.name())?.as_u64()).sum()
    }

    pub(crate) async fn calls(&self) -> Vec<wiremock::Request> {
        self.destination.received_requests().await.unwrap()
    }
}

/// One invocation that ends at `deadline`.
pub(crate) async fn invoke_within(worker: &Worker, keys: &[JobKey], deadline: Timestamp) -> Vec<String> {
    let bodies: Vec<_> = keys.iter().map(|key| Message::wake_up(key.clone()).to_json()).collect();
    let records = bodies.iter().enumerate().map(|(i, body)| record(&format!("m{i}"), body)).collect();
    let answer = worker.handle(&Batch { records }, deadline).await.unwrap();
    answer.failures.into_iter().map(|failure| failure.message_id).collect()
}

pub(crate) fn record(id: &str, body: &str) -> Value {
    json!({"messageId": id, "receiptHandle": "h", "body": body, "attributes": {}, "eventSource": "aws:sqs"})
}

pub(crate) fn http_to(url: &str, idempotency: Idempotency) -> OperationConfig {
    let signing_secret = SECRET.parse().unwrap();
    let target = Target::Http { url: url.to_owned(), signing_secret, not_done_statuses: Vec::new() };
    OperationConfig::new("deliver".parse().unwrap(), idempotency, target)
}

/// An operation that the test links.
pub(crate) fn own(name: &str, idempotency: Idempotency) -> OperationConfig {
    let target = Target::Custom { name: "own".into(), settings: json!({"limit": 3}) };
    OperationConfig::new(name.parse().unwrap(), idempotency, target)
}

pub(crate) fn reconcile(url: &str) -> Idempotency {
    Idempotency::Reconcile { url: url.to_owned() }
}

pub(crate) fn sqs_config(endpoint: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(endpoint)
        .build()
}
