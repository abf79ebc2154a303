//! A batch of stream records: to the queues, and what the stream is to give us again.

use hookbox_queue::{Message, Queue, QueueError};
use hookbox_runtime::{Dimension, Metric, Metrics, chain};
use serde::Serialize;
use serde_json::Value;

use crate::record::{self, Fault, Verdict};

/// Sends what a batch of stream records calls for.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    work: Queue,
    dead_letters: Queue,
    metrics: Metrics,
}

/// The answer to the stream: the record from which it begins again, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// At most one: the stream gives everything after the first failed record again anyway.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// Names a failed record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// Its sequence number.
    pub item_identifier: String,
}

/// The whole batch has to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// It is no batch of records: whoever invoked us is not a stream.
    #[error("the event has no list of `Records`")]
    NoRecords,
    /// The first record that could not be sent has nothing to name it by.
    #[error("a record that could not be sent has no sequence number")]
    NoSequenceNumber,
}

/// A message on its way, with the index of its record.
type Outgoing = (usize, Message);

impl Dispatcher {
    /// A dispatcher to these queues.
    pub fn new(work: Queue, dead_letters: Queue, metrics: Metrics) -> Self {
        Self { work, dead_letters, metrics }
    }

    /// Sends what the records call for. The records of a batch stand in the stream's order, so the first failed one is
    /// the one with the lowest sequence number.
    pub async fn dispatch(&self, event: &Value) -> Result<Response, DispatchError> {
        let records = event.get("Records").and_then(Value::as_array).ok_or(DispatchError::NoRecords)?;
        let (mut work, mut review) = (Vec::new(), Vec::new());
        for (i, record) in records.iter().enumerate() {
            match record::read(record) {
                Verdict::Work(message) => work.push((i, message)),
                Verdict::Review(message) => review.push((i, message)),
                Verdict::Skip => {}
                Verdict::Pass(fault) => self.pass(record, &fault),
            }
        }
        let (failed_work, failed_review) = tokio::join!(
            self.send(&self.work, "work", records, work),
            self.send(&self.dead_letters, "dead-letter", records, review)
        );
        let Some(first) = failed_work.into_iter().chain(failed_review).min() else {
            return Ok(Response::default());
        };
        let number = records.get(first).and_then(record::sequence_number).ok_or(DispatchError::NoSequenceNumber)?;
        Ok(Response { batch_item_failures: vec![BatchItemFailure { item_identifier: number.to_owned() }] })
    }

    /// Sends the messages to one queue. The answer is the index of the first record whose message could not be sent.
    async fn send(&self, queue: &Queue, name: &str, records: &[Value], outgoing: Vec<Outgoing>) -> Option<usize> {
        let (indexes, messages): (Vec<_>, Vec<_>) = outgoing.into_iter().unzip();
        let results = queue.send_batch(&messages).await;
        let (mut sent, mut failed) = (0, Vec::new());
        for (i, result) in indexes.into_iter().zip(results) {
            match (result, records.get(i)) {
                (Ok(()), _) => sent += 1,
                (Err(QueueError::MessageRefused { code }), Some(record)) => {
                    self.pass(record, &Fault::Refused { code });
                }
                (Err(error), _) => failed.push((i, error)),
            }
        }
        self.metrics.count(Metric::RecordsDispatched, &[(Dimension::Queue, name)], sent);
        self.metrics.count(Metric::RecordsReturned, &[(Dimension::Queue, name)], failed.len() as u64);
        let (first, error) = failed.first()?;
        let record = records.get(*first).map(record::name);
        tracing::warn!(
            queue = name,
            record,
            failed = failed.len(),
            error = chain(error),
            "not sent, the stream gives it again"
        );
        Some(*first)
    }

    fn pass(&self, record: &Value, fault: &Fault) {
        self.metrics.count(Metric::RecordsPassed, &[(Dimension::Reason, fault.name())], 1);
        let number = record::sequence_number(record);
        tracing::error!(
            record = record::name(record),
            number,
            ?fault,
            "a record can never be sent and is passed: the sweeper looks after its job"
        );
    }
}
