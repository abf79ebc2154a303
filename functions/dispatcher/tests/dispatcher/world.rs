//! A ledger with its stream, two queues, and a dispatcher whose metrics and logs can be read.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dynoxide::actions::describe_stream::DescribeStreamRequest;
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_dispatcher::Dispatcher;
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_ledger::{Ingested, Ledger, Loaded};
use hookbox_queue::test_support::TestQueues;
use hookbox_runtime::{Metrics, telemetry};
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

pub(crate) const WORK: &str = "work";
pub(crate) const DEAD: &str = "dead";

pub(crate) struct World {
    pub(crate) clock: TestClock,
    pub(crate) table: TestTable,
    pub(crate) ledger: Ledger,
    pub(crate) queues: TestQueues,
    pub(crate) dispatcher: Dispatcher,
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
        let clock = TestClock::at(Timestamp::from_seconds(1_796_040_000));
        let table = TestTable::on(&clock).await;
        let queues = TestQueues::new();
        let metrics = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&metrics);
        let take = move |line: &str| sink.lock().unwrap().push(serde_json::from_str(line).unwrap());
        let dispatcher = Dispatcher::new(
            queues.queue(WORK),
            queues.queue(DEAD),
            Metrics::to(Arc::new(clock.clone()), "dispatcher", Arc::new(take)),
        );
        let logs = Lines::default();
        let writer = logs.clone();
        let logging = tracing::subscriber::set_default(telemetry::subscriber(Some("trace"), move || writer.clone()));
        Self { ledger: table.ledger(), clock, table, queues, dispatcher, metrics, logs, _logging: logging }
    }

    /// Commits an event that requires these operations.
    pub(crate) async fn commit(&self, event_id: &str, operations: &[&str]) -> Loaded {
        let folder = folder(event_id, operations, self.clock.now());
        let deadline = self.clock.now().plus(Duration::from_secs(9));
        assert_eq!(self.ledger.ingest(&folder, &payload(), deadline).await.unwrap(), Ingested::Created);
        self.ledger.load(&folder.receipt.id).await.unwrap().unwrap()
    }

    /// Everything that happened to the table so far, as the stream gives it to the function, without any filter.
    pub(crate) fn stream(&self) -> Value {
        let database = self.table.database();
        let streams = database.list_streams(ListStreamsRequest::default()).unwrap();
        let stream_arn = streams.streams[0].stream_arn.clone();
        let request = DescribeStreamRequest { stream_arn: stream_arn.clone(), ..Default::default() };
        let stream = database.describe_stream(request).unwrap().stream_description;
        let mut records = Vec::new();
        for shard in stream.shards {
            let request = GetShardIteratorRequest {
                stream_arn: stream_arn.clone(),
                shard_id: shard.shard_id,
                shard_iterator_type: "TRIM_HORIZON".to_owned(),
                sequence_number: None,
            };
            let shard_iterator = database.get_shard_iterator(request).unwrap().shard_iterator.unwrap();
            let request = GetRecordsRequest { shard_iterator, limit: None };
            records.extend(database.get_records(request).unwrap().records);
        }
        json!({"Records": records})
    }

    /// The answer to this event, as the stream gets it.
    pub(crate) async fn dispatch(&self, event: &Value) -> Value {
        serde_json::to_value(self.dispatcher.dispatch(event).await.unwrap()).unwrap()
    }

    /// What was counted of this metric, by the value of the dimension.
    pub(crate) fn counted(&self, metric: &str, dimension: &str) -> Vec<(String, u64)> {
        let lines = self.metrics.lock().unwrap();
        let lines = lines.iter().filter(|line| line.get(metric).is_some());
        lines.map(|line| (line[dimension].as_str().unwrap().to_owned(), line[metric].as_u64().unwrap())).collect()
    }

    pub(crate) fn logs(&self) -> String {
        String::from_utf8(self.logs.0.lock().unwrap().clone()).unwrap()
    }
}

pub(crate) fn all_good() -> Value {
    json!({"batchItemFailures": []})
}

pub(crate) fn key(receipt: ReceiptId, operation: &str) -> JobKey {
    JobKey::first(receipt, operation.parse().unwrap())
}

pub(crate) fn payload() -> Payload {
    Payload { body: b"{\"card\":\"4111\"}".to_vec(), content_type: None, headers: Vec::new(), query: None }
}

fn folder(event_id: &str, operations: &[&str], now: Timestamp) -> Folder {
    let integration = Integration {
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
    };
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
    Folder::open(&event, &integration, arrival, None)
}

fn operation(name: &str) -> Operation {
    let target = Target::Sqs { queue_url: "https://sqs.eu-west-1.amazonaws.com/1/theirs".to_owned() };
    Operation::new(name.parse().unwrap(), Idempotency::key(), target)
}
