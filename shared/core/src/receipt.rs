//! The receipt: the durable evidence that an event was received, and the folder that holds everything about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::event::{Disposition, Event, IdentityWindow};
use crate::integration::{Integration, Retention};
use crate::job::Job;
use crate::key::{JobKey, ReceiptId};
use crate::limits::KEEP_AFTER_END;
use crate::name::{Account, OperationName, Provider};
use crate::time::{EpochSeconds, Timestamp};

/// The durable evidence of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The idempotency key.
    pub id: ReceiptId,
    /// The provider's profile.
    pub provider: Provider,
    /// The connection that it came through.
    pub account: Account,
    /// Whose event it is where one connection serves many.
    pub tenant: Option<String>,
    /// The provider's own id.
    pub event_id: Option<String>,
    /// What happened.
    pub kind: String,
    /// What it happened to.
    pub resource: Option<String>,
    /// When it happened, by the provider's clock.
    pub occurred_at: Option<Timestamp>,
    /// The provider's version of the resource.
    pub event_version: Option<String>,
    /// When the first delivery arrived.
    pub received_at: Timestamp,
    /// Whether jobs were required.
    pub disposition: Disposition,
    /// The operations that the event required when it arrived: one job each.
    pub operations: Vec<OperationName>,
    /// Digest of the first delivery's bytes.
    pub delivery_digest: Digest,
    /// Digest of the canonical event.
    pub event_digest: Digest,
    /// For a weak identity the window within which a repetition is believed to be the same event.
    pub window: Option<IdentityWindow>,
    /// The revision of the configuration under which it was received.
    pub config_rev: u64,
    /// How long its parts are kept.
    pub retention: Retention,
    /// When the receipt expires; `None` while a job needs it.
    pub expires_at: Option<EpochSeconds>,
    /// Grows with every change of the expiry.
    pub version: u64,
    /// How many further deliveries of the same event came.
    pub duplicate_count: u64,
    /// When the latest of them came.
    pub last_duplicate_at: Option<Timestamp>,
    /// The first deliveries in the order of their arrival.
    pub arrivals: Vec<Arrival>,
    /// Deliveries that carried the same key and another content.
    pub conflicts: Vec<Conflict>,
    /// When everything personal was taken from it, and its payload deleted.
    pub erased_at: Option<Timestamp>,
}

/// One delivery of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// When it arrived.
    pub at: Timestamp,
    /// Digest of the delivery's bytes.
    pub digest: Digest,
    /// Which of the integration's secrets verified it, from 0.
    pub secret_index: u16,
    /// The request's id, as the access log has it.
    pub request_id: String,
}

/// A delivery with the same key and another content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// When it arrived.
    pub at: Timestamp,
    /// Digest of the canonical event that it carried.
    pub event_digest: Digest,
    /// Digest of the delivery's bytes.
    pub delivery_digest: Digest,
    /// The request's id.
    pub request_id: String,
}

/// Everything about one event except its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The receipt.
    pub receipt: Receipt,
    /// One job for each operation and version.
    pub jobs: Vec<Job>,
}

impl Folder {
    /// The folder of an event that arrives now: its receipt, and a pending job for each operation that it requires.
    /// `after` is the receipt whose identity window has passed, if there is one.
    pub fn open(event: &Event, integration: &Integration, arrival: Arrival, after: Option<ReceiptId>) -> Self {
        let now = arrival.at;
        let id = ReceiptId::derive(&integration.provider, &integration.account, &event.identity, after);
        let required = match event.disposition {
            Disposition::Accepted => integration.operations_for(&event.kind),
            Disposition::Ignored(_) | Disposition::Rejected(_) => Vec::new(),
        };
        let receipt = Receipt {
            id,
            provider: integration.provider.clone(),
            account: integration.account.clone(),
            tenant: event.tenant.clone(),
            event_id: event.event_id.clone(),
            kind: event.kind.clone(),
            resource: event.resource.clone(),
            occurred_at: event.occurred_at,
            event_version: event.version.clone(),
            received_at: now,
            disposition: event.disposition.clone(),
            operations: required.clone(),
            delivery_digest: arrival.digest,
            event_digest: event.digest,
            window: event.weak,
            config_rev: integration.rev,
            retention: integration.retention,
            expires_at: Some(now.plus(integration.retention.receipt).to_epoch_seconds()),
            version: 1,
            duplicate_count: 0,
            last_duplicate_at: None,
            arrivals: vec![arrival],
            conflicts: Vec::new(),
            erased_at: None,
        };
        let jobs =
            required.into_iter().map(|operation| Job::pending(JobKey::first(id, operation), &receipt, now)).collect();
        Self { receipt, jobs }
    }

    /// The job with this key.
    pub fn job(&self, key: &JobKey) -> Option<&Job> {
        self.jobs.iter().find(|job| job.key == *key)
    }
}

impl Arrival {
    /// The delivery without what leads to its sender: when it came, its digest, and which secret verified it.
    #[must_use]
    pub fn erased(&self) -> Self {
        Self { request_id: String::new(), ..*self }
    }
}

impl Conflict {
    /// The delivery without what leads to its sender: when it came, and both digests.
    #[must_use]
    pub fn erased(&self) -> Self {
        Self { request_id: String::new(), ..*self }
    }
}

impl Receipt {
    /// The receipt without anything personal, which is evidence that the event arrived: its id, connection, kind, times,
    /// digests and counts. The id is a hash over the provider's own, so that whoever has that still finds it; the
    /// provider's id itself goes, because profiles build it from what the event is about. It may be done again, and keeps
    /// its first time.
    #[must_use]
    pub fn erased(&self, at: Timestamp) -> Self {
        Self {
            tenant: None,
            event_id: None,
            resource: None,
            event_version: None,
            arrivals: self.arrivals.iter().map(Arrival::erased).collect(),
            conflicts: self.conflicts.iter().map(Conflict::erased).collect(),
            erased_at: Some(self.erased_at.unwrap_or(at)),
            ..self.clone()
        }
    }

    /// Whether a delivery at `now` is a new event because this receipt's weak identity is no longer believed.
    pub fn window_has_passed(&self, window: Option<IdentityWindow>, now: Timestamp) -> bool {
        window.is_some_and(|IdentityWindow(window)| now.since(self.received_at) > window)
    }

    /// When the payload expires if nothing keeps it.
    pub fn payload_expires_at(&self) -> EpochSeconds {
        self.received_at.plus(self.retention.payload).to_epoch_seconds()
    }

    /// When receipt and payload expire once the last open job has ended at `now`.
    pub fn expiry_after_end(&self, now: Timestamp) -> Expiry {
        let at =
            |retention: Duration| self.received_at.plus(retention).max(now.plus(KEEP_AFTER_END)).to_epoch_seconds();
        Expiry { receipt: at(self.retention.receipt), payload: at(self.retention.payload) }
    }
}

/// When the parts of a folder expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The receipt and its jobs.
    pub receipt: EpochSeconds,
    /// The payload.
    pub payload: EpochSeconds,
}
