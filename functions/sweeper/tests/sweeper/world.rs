//! A ledger on virtual time, two queues, and a sweeper whose metrics and logs can be read.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::job::Job;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::claim::{Claim, Claimed, claim};
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_ledger::{Ingested, Ledger, Loaded};
use hookbox_queue::test_support::TestQueues;
use hookbox_runtime::{Metrics, telemetry};
use hookbox_sweeper::{Sweeper, Swept};
use serde_json::Value;
use tracing::subscriber::DefaultGuard;

pub(crate) const WORK: &str = "work";
pub(crate) const DEAD: &str = "dead";
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3_600);
pub(crate) const START: Timestamp = Timestamp::from_seconds(1_796_040_000);

pub(crate) struct World {
    pub(crate) clock: TestClock,
    pub(crate) table: TestTable,
    pub(crate) ledger: Ledger,
    pub(crate) queues: TestQueues,
    pub(crate) sweeper: Sweeper,
    metrics: Arc<Mutex<Vec<Value>>>,
    logs: Lines,
    _logging: DefaultGuard,
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

impl World {
    pub(crate) async fn new() -> Self {
        let clock = TestClock::at(START);
        let table = TestTable::on(&clock).await;
        let queues = TestQueues::new();
        let metrics = Arc::new(Mutex::new(Vec::new()));
        let logs = Lines::default();
        let writer = logs.clone();
        let logging = tracing::subscriber::set_default(telemetry::subscriber(Some("debug"), move || writer.clone()));
        let ledger = table.ledger();
        let sweeper = sweeper(ledger.clone(), &queues, Arc::new(clock.clone()), &metrics);
        Self { clock, table, ledger, queues, sweeper, metrics, logs, _logging: logging }
    }

    /// Another sweeper, with this ledger and clock.
    pub(crate) fn sweeper_with(&self, ledger: Ledger, clock: Arc<dyn Clock>) -> Sweeper {
        sweeper(ledger, &self.queues, clock, &self.metrics)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A run with all the time that it wants.
    pub(crate) async fn sweep(&self) -> Swept {
        self.sweeper.sweep(self.now().plus(MINUTE)).await.unwrap()
    }

    /// A run at each of the next minutes, with what happens after each of them.
    pub(crate) async fn sweep_for(&self, minutes: u32, mut after_each: impl FnMut(u32, &Swept)) {
        for minute in 1..=minutes {
            self.clock.advance(MINUTE);
            let swept = self.sweep().await;
            after_each(minute, &swept);
        }
    }

    /// Commits an event that requires these operations, and gives its folder.
    pub(crate) async fn commit(&self, event_id: &str, operations: &[&str]) -> Loaded {
        let folder = folder(event_id, operations, self.now());
        self.store(&folder).await;
        self.load(folder.receipt.id).await
    }

    pub(crate) async fn store(&self, folder: &Folder) {
        let ingested = self.ledger.ingest(folder, &payload(), self.now().plus(MINUTE)).await.unwrap();
        assert_eq!(ingested, Ingested::Created);
    }

    pub(crate) async fn load(&self, id: ReceiptId) -> Loaded {
        self.ledger.load(&id).await.unwrap().unwrap()
    }

    /// The job as it is stored now.
    pub(crate) async fn job(&self, key: &JobKey) -> Job {
        self.load(key.receipt).await.job(key).unwrap().clone()
    }

    /// Writes the next state of a job.
    pub(crate) async fn write(&self, before: &Job, after: &Job) -> Job {
        let loaded = self.load(before.key.receipt).await;
        self.ledger.write_job(&loaded, before, after).await.unwrap();
        after.clone()
    }

    /// Claims the job until `lease_expires_at`.
    pub(crate) async fn claim(&self, job: &Job, lease_expires_at: Timestamp) -> Job {
        let after = claimed(job, self.now(), lease_expires_at);
        self.write(job, &after).await
    }

    /// The last value of this metric.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        self.metrics.lock().unwrap().iter().rev().find_map(|line| line[name].as_u64())
    }

    pub(crate) fn logs(&self) -> String {
        String::from_utf8(self.logs.0.lock().unwrap().clone()).unwrap()
    }
}

fn sweeper(ledger: Ledger, queues: &TestQueues, clock: Arc<dyn Clock>, metrics: &Arc<Mutex<Vec<Value>>>) -> Sweeper {
    let sink = Arc::clone(metrics);
    let take = move |line: &str| sink.lock().unwrap().push(serde_json::from_str(line).unwrap());
    let metrics = Metrics::to(Arc::clone(&clock), "sweeper", Arc::new(take));
    Sweeper::new(ledger, queues.queue(WORK), queues.queue(DEAD), clock, metrics)
}

pub(crate) fn claimed(job: &Job, now: Timestamp, lease_expires_at: Timestamp) -> Job {
    let operation = operation(job.key.operation.as_str());
    match claim(job, Claim { now, lease_expires_at, operation: &operation, config_rev: 1 }).unwrap() {
        Claimed::Call { job, .. } => job,
        Claimed::Review(job) => panic!("{job:?}"),
    }
}

pub(crate) fn payload() -> Payload {
    Payload { body: b"{\"card\":\"4111\"}".to_vec(), content_type: None, headers: Vec::new(), query: None }
}

pub(crate) fn folder(event_id: &str, operations: &[&str], now: Timestamp) -> Folder {
    let event = Event {
        identity: Identity::ProviderEvent { event_id: event_id.to_owned() },
        weak: None,
        event_id: Some(event_id.to_owned()),
        kind: "payment.done".to_owned(),
        resource: None,
        tenant: None,
        occurred_at: None,
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(event_id.as_bytes()),
        payload: payload(),
    };
    let arrival = Arrival { at: now, digest: Digest::of(b"delivery"), secret_index: 0, request_id: "r-1".to_owned() };
    Folder::open(&event, &integration(operations), arrival, None)
}

/// The first `count` folders whose receipt is of this shard of four.
pub(crate) fn folders_of_shard(shard: u16, count: usize, now: Timestamp) -> Vec<Folder> {
    let shards = hookbox_core::key::Shards::new(4).unwrap();
    let all = (0..).map(|n| folder(&format!("evt_{n}"), &["deliver"], now));
    all.filter(|folder| folder.receipt.id.shard(shards) == shard).take(count).collect()
}

pub(crate) fn integration(operations: &[&str]) -> Integration {
    Integration {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        url: None,
        rev: 1,
        secrets: vec![SecretRef::Env("SECRET".to_owned())],
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: operations.iter().map(|name| operation(name)).collect(),
        retention: Retention::default(),
    }
}

fn operation(name: &str) -> Operation {
    let target = Target::Sqs { queue_url: "https://sqs.eu-west-1.amazonaws.com/1/theirs".to_owned() };
    Operation::new(name.parse().unwrap(), Idempotency::key(), target)
}
