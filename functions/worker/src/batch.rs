//! The messages of one invocation.
//!
//! Records are taken as raw JSON and each is read on its own, so that one unreadable body never fails its neighbours. A
//! message is acknowledged when its job's state was read and everything that followed was durably written, or when
//! nothing has to follow. It goes back only when state could not be read or written, when there was no time to claim, or
//! when nobody can ever act on it: redrive then takes it to the dead-letter queue, where people see it.

use futures_util::future::join_all;
use hookbox_core::time::Timestamp;
use hookbox_queue::Message;
use hookbox_runtime::{Dimension, Metric, chain};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::builder::Worker;
use crate::job::{Returned, Run};

/// An SQS event.
#[derive(Clone, Debug, Deserialize)]
pub struct Batch {
    /// Its messages, unread.
    #[serde(rename = "Records")]
    pub records: Vec<Value>,
}

/// What SQS is told: the messages that go back. Without any the whole batch is deleted, and with an id that is not in the
/// batch, or in any other shape, the whole batch goes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BatchResponse {
    /// One entry a message.
    #[serde(rename = "batchItemFailures")]
    pub failures: Vec<ItemFailure>,
}

/// A message that goes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemFailure {
    /// The id that SQS gave the message.
    #[serde(rename = "itemIdentifier")]
    pub message_id: String,
}

/// A record without a message id: nothing can be said about it alone, so the whole batch goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the batch has no messageId")]
pub struct UnnamedRecord;

impl Worker {
    /// Works on the messages side by side until `deadline`, when the invocation ends.
    pub async fn handle(&self, batch: &Batch, deadline: Timestamp) -> Result<BatchResponse, UnnamedRecord> {
        let verdicts = join_all(batch.records.iter().map(|record| self.take(record, deadline))).await;
        let failures = verdicts.into_iter().filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(BatchResponse { failures })
    }

    /// Works on one message; gives its failure when it goes back.
    async fn take(&self, record: &Value, deadline: Timestamp) -> Result<Option<ItemFailure>, UnnamedRecord> {
        let message_id = record.get("messageId").and_then(Value::as_str).filter(|id| !id.is_empty());
        let message_id = message_id.ok_or(UnnamedRecord)?;
        let body = record.get("body").and_then(Value::as_str).unwrap_or_default();
        let result = match Message::parse(body) {
            Ok(message) => Run::new(self, deadline).work(&message.job).await,
            Err(error) => Err(Returned::Unparseable(error)),
        };
        let returned = match result {
            Ok(ending) => {
                tracing::debug!(message_id, ?ending, "message acknowledged");
                return Ok(None);
            }
            Err(returned) => returned,
        };
        if returned.is_of_an_unreadable_item() {
            self.metrics.count(Metric::ItemsUnreadable, &[], 1);
        }
        if let Some(reason) = returned.unusable() {
            self.metrics.count(Metric::MessagesUnusable, &[(Dimension::Reason, reason)], 1);
        }
        tracing::warn!(message_id, error = %chain(&returned), "message goes back");
        Ok(Some(ItemFailure { message_id: message_id.to_owned() }))
    }
}
