//! One stream record: what is to be done about it.

use aws_lambda_events::event::dynamodb::EventRecord;
use hookbox_core::job::Status;
use hookbox_core::key::ReceiptId;
use hookbox_ledger::ItemError;
use hookbox_ledger::stream::job_change;
use hookbox_queue::Message;
use serde::Deserialize;
use serde_json::Value;

/// What is to be done about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send a wake-up to the work queue.
    Work(Message),
    /// Send a notice to the dead-letter queue.
    Review(Message),
    /// Nothing: it is no change that anybody waits for.
    Skip,
    /// Nothing, although somebody may wait for it: it can never be sent.
    Pass(Fault),
}

/// Why a record can never be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no stream record.
    Unparseable,
    /// Its item is not one that this version, or an older one, writes.
    Corrupt {
        /// What is wrong with it, without its content.
        what: String,
    },
    /// Its item was written by a newer version.
    NewerSchema {
        /// Of this schema.
        schema: u32,
    },
    /// The queue does not take its message.
    Refused {
        /// The code of SQS.
        code: String,
    },
}

impl Fault {
    /// Its short name, as metrics have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unparseable => "unparseable",
            Self::Corrupt { .. } => "corrupt",
            Self::NewerSchema { .. } => "newer-schema",
            Self::Refused { .. } => "refused",
        }
    }
}

/// Reads one record, whatever it may be.
pub fn read(record: &Value) -> Verdict {
    let Ok(record) = EventRecord::deserialize(record) else {
        return Verdict::Pass(Fault::Unparseable);
    };
    // The template's filter lets neither through; what a filter lets through is no guarantee.
    if record.event_name == "REMOVE" || !is_job(&record) {
        return Verdict::Skip;
    }
    let change = match job_change(&record.change.old_image, &record.change.new_image) {
        Ok(change) => change,
        Err(ItemError::Corrupt { what, .. }) => return Verdict::Pass(Fault::Corrupt { what }),
        Err(ItemError::NewerSchema { schema, .. }) => return Verdict::Pass(Fault::NewerSchema { schema }),
    };
    if change.old_status == Some(change.new_status) {
        return Verdict::Skip;
    }
    match change.new_status {
        Status::Pending => Verdict::Work(Message::wake_up(change.key)),
        Status::Review => {
            let reason = change.reason.map_or("unknown", |reason| reason.as_str());
            Verdict::Review(Message::notice(change.key, reason))
        }
        Status::Processing | Status::Retrying | Status::Held | Status::Completed | Status::Dismissed => Verdict::Skip,
    }
}

/// A record without readable keys is taken for a job's, so that it is counted instead of lost.
fn is_job(record: &EventRecord) -> bool {
    match record.change.keys.get("sk") {
        Some(serde_dynamo::AttributeValue::S(sk)) => sk.starts_with("job#"),
        _ => true,
    }
}

/// The record's sequence number, if it has one.
pub fn sequence_number(record: &Value) -> Option<&str> {
    let number = record.pointer("/dynamodb/SequenceNumber")?.as_str()?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// How logs name a record: its job's key, as far as it has one, and nothing that anybody else may have put there.
pub fn name(record: &Value) -> String {
    let key = |name: &str| record.pointer(&format!("/dynamodb/Keys/{name}/S")).and_then(Value::as_str);
    let receipt = key("pk").filter(|pk| pk.parse::<ReceiptId>().is_ok());
    let plain = |sk: &str| {
        sk.len() <= 64 && sk.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"#-".contains(&b))
    };
    let part = key("sk").filter(|sk| plain(sk));
    format!("{} {}", receipt.unwrap_or("?"), part.unwrap_or("?"))
}
