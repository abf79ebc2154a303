//! Events of a verified delivery become folders in the ledger: one transaction each, a bounded number at a time.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event};
use hookbox_core::integration::Integration;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::MAX_IDENTITY_CHAIN;
use hookbox_core::receipt::{Arrival, Conflict, Folder};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ingested, Ledger, LedgerError};

use crate::answer::Accepted;

/// Transactions of one delivery that are under way at once: enough to hide the round trips of a batch, few enough not to
/// throttle the table by itself.
const PARALLEL_TRANSACTIONS: usize = 16;
/// How long noting a further delivery may hold up the answer: the event itself is safe by then.
const NOTE_BUDGET: Duration = Duration::from_secs(1);

/// What became of one event of the delivery.
pub struct Outcome {
    /// The answer's part.
    pub accepted: Accepted,
    /// Its receipt.
    pub receipt: ReceiptId,
    /// Whether its identity is weak.
    pub weak: bool,
    /// Why a further delivery could not be noted on its receipt, if that was so.
    pub unnoted: Option<LedgerError>,
}

/// Why a delivery is not known to be stored.
#[derive(Debug, thiserror::Error)]
pub enum NotStored {
    /// A weak identity has come again after its window more often than anybody can tell apart.
    #[error("more than {MAX_IDENTITY_CHAIN} events share one weak identity: they need a stable key")]
    IdentityUsedUp,
    /// The ledger could not be written.
    #[error("the ledger could not be written")]
    Ledger(#[from] LedgerError),
}

/// One delivery on its way into the ledger.
pub struct Intake<'a> {
    /// Where to.
    pub ledger: &'a Ledger,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Whose delivery it is.
    pub integration: &'a Integration,
    /// What is noted of it on each receipt.
    pub arrival: Arrival,
    /// When it must be stored or given up.
    pub deadline: Timestamp,
}

/// The receipt that a further delivery of an event meets.
#[derive(Clone, Copy)]
struct Known {
    id: ReceiptId,
    event_digest: Digest,
}

impl Intake<'_> {
    /// Stores every event of the delivery, and returns only when all of them are committed.
    ///
    /// Equal keys within the delivery are merged first: the later ones are duplicates of the first one. When one event
    /// cannot be stored the others may be; all of them are found again by the redelivery.
    pub async fn accept(&self, events: &[Event]) -> Result<Vec<Outcome>, NotStored> {
        let (firsts, repeats) = self.split_repeats(events);
        let stored: Vec<(usize, Outcome)> = stream::iter(firsts)
            .map(|place| async move { self.store(&events[place]).await.map(|outcome| (place, outcome)) })
            .buffer_unordered(PARALLEL_TRANSACTIONS)
            .try_collect()
            .await?;
        let mut outcomes: Vec<Option<Outcome>> = events.iter().map(|_| None).collect();
        for (place, outcome) in stored {
            outcomes[place] = Some(outcome);
        }
        for (place, first) in repeats {
            let id = outcomes[first].as_ref().map(|outcome| outcome.receipt);
            let known = id.map(|id| Known { id, event_digest: events[first].digest });
            if let Some(known) = known {
                outcomes[place] = Some(self.note(&events[place], known).await);
            }
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// The places of events with a key of their own, and of the later ones with the place of the first of their key.
    fn split_repeats(&self, events: &[Event]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let Integration { provider, account, .. } = self.integration;
        let mut seen: HashMap<ReceiptId, usize> = HashMap::new();
        let (mut firsts, mut repeats) = (Vec::new(), Vec::new());
        for (place, event) in events.iter().enumerate() {
            let first = *seen.entry(ReceiptId::derive(provider, account, &event.identity, None)).or_insert(place);
            if first == place { firsts.push(place) } else { repeats.push((place, first)) }
        }
        (firsts, repeats)
    }

    /// Commits one event. The payload of an event without jobs is stored too: it is replayable once it is supported.
    async fn store(&self, event: &Event) -> Result<Outcome, NotStored> {
        let mut after = None;
        for _ in 0..MAX_IDENTITY_CHAIN {
            let folder = Folder::open(event, self.integration, self.arrival.clone(), after);
            let stored = match self.ledger.ingest(&folder, &event.payload, self.deadline).await? {
                Ingested::Created => return Ok(created(event, folder.receipt.id)),
                Ingested::Duplicate { stored } => stored,
            };
            if !stored.window_has_passed(event.weak, self.arrival.at) {
                return Ok(self.note(event, Known { id: stored.id, event_digest: stored.event_digest }).await);
            }
            after = Some(stored.id);
        }
        Err(NotStored::IdentityUsedUp)
    }

    /// A further delivery: counted when its content is the same, a conflict when it is not. Failing to note it never
    /// fails the answer.
    async fn note(&self, event: &Event, known: Known) -> Outcome {
        let ledger = self.ledger.until(self.deadline.min(self.clock.now().plus(NOTE_BUDGET)));
        let (accepted, noted) = if known.event_digest == event.digest {
            (Accepted::Duplicate, ledger.count_duplicate(&known.id, &self.arrival).await)
        } else {
            (Accepted::Conflict, ledger.record_conflict(&known.id, &self.conflict(event)).await)
        };
        Outcome { accepted, receipt: known.id, weak: event.weak.is_some(), unnoted: noted.err() }
    }

    fn conflict(&self, event: &Event) -> Conflict {
        Conflict {
            at: self.arrival.at,
            event_digest: event.digest,
            delivery_digest: self.arrival.digest,
            request_id: self.arrival.request_id.clone(),
        }
    }
}

fn created(event: &Event, receipt: ReceiptId) -> Outcome {
    let accepted = match event.disposition {
        Disposition::Accepted => Accepted::Created,
        Disposition::Ignored(_) => Accepted::Ignored,
        Disposition::Rejected(_) => Accepted::Rejected,
    };
    Outcome { accepted, receipt, weak: event.weak.is_some(), unnoted: None }
}
