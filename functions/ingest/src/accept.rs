//! Events of a verified delivery become folders in the ledger: one transaction each, a bounded number at a time.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::event::{Disposition, Event};
use hookbox_core::integration::Integration;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::MAX_IDENTITY_CHAIN;
use hookbox_core::receipt::{Arrival, Conflict, Folder, Receipt};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ingested, Ledger, LedgerError};

use crate::answer::Accepted;

/// Transactions of one delivery that are under way at once: enough to hide the round trips of a batch, few enough not to
/// throttle the table by itself.
const PARALLEL_TRANSACTIONS: usize = 16;

/// What became of one event of the delivery.
pub struct Outcome {
    /// The answer's part.
    pub accepted: Accepted,
    /// Its receipt.
    pub receipt: ReceiptId,
    /// Whether its identity is weak.
    pub weak: bool,
    /// Which of the integration's secrets verified the delivery.
    pub secret_index: u16,
    /// Its evidence could not be added to the receipt: a duplicate that was not counted.
    pub uncounted: Option<LedgerError>,
}

/// Stores every event of a delivery; answers only when all of them are committed.
///
/// Equal keys within the delivery are merged first: the later ones are duplicates of the first one. When one event
/// cannot be stored the others may be; all of them are found again by the redelivery.
pub async fn accept(
    ledger: &Ledger,
    integration: &Integration,
    events: &[Event],
    arrival: &Arrival,
    deadline: Timestamp,
) -> Result<Vec<Outcome>, LedgerError> {
    let (firsts, repeats) = split_repeats(integration, events);
    let stored: Vec<(usize, Outcome)> = stream::iter(firsts)
        .map(|place| async move {
            let event = &events[place];
            store(ledger, integration, event, arrival, deadline).await.map(|outcome| (place, outcome))
        })
        .buffered(PARALLEL_TRANSACTIONS)
        .try_collect()
        .await?;
    let mut outcomes: Vec<Option<Outcome>> = events.iter().map(|_| None).collect();
    let mut firsts = HashMap::new();
    for (place, outcome) in stored {
        firsts.insert(place, outcome.receipt);
        outcomes[place] = Some(outcome);
    }
    for (place, first) in repeats {
        let known = Known { id: firsts[&first], event_digest: events[first].digest };
        outcomes[place] = Some(again(ledger, &events[place], known, arrival).await);
    }
    Ok(outcomes.into_iter().flatten().collect())
}

/// The places of events with a key of their own, and of the later ones with the place of the first of their key.
fn split_repeats(integration: &Integration, events: &[Event]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut seen: HashMap<ReceiptId, usize> = HashMap::new();
    let (mut firsts, mut repeats) = (Vec::new(), Vec::new());
    for (place, event) in events.iter().enumerate() {
        let key = ReceiptId::derive(&integration.provider, &integration.account, &event.identity, None);
        match seen.get(&key) {
            Some(first) => repeats.push((place, *first)),
            None => {
                seen.insert(key, place);
                firsts.push(place);
            }
        }
    }
    (firsts, repeats)
}

async fn store(
    ledger: &Ledger,
    integration: &Integration,
    event: &Event,
    arrival: &Arrival,
    deadline: Timestamp,
) -> Result<Outcome, LedgerError> {
    // The payload of an event without jobs is stored too: it is replayable once its kind is supported.
    let mut after = None;
    for _ in 0..MAX_IDENTITY_CHAIN {
        let folder = Folder::open(event, integration, arrival.clone(), after);
        let stored = match ledger.ingest(&folder, &event.payload, deadline).await? {
            Ingested::Created => return Ok(created(event, folder.receipt.id, arrival)),
            Ingested::Duplicate { stored } => stored,
        };
        if !stored.window_has_passed(event.weak, arrival.at) {
            return Ok(again(ledger, event, Known::from(&*stored), arrival).await);
        }
        after = Some(stored.id);
    }
    // A hundred windows of one weak identity: whatever sends this is not a provider's redelivery.
    Err(LedgerError::OutOfTime { last: None })
}

fn created(event: &Event, receipt: ReceiptId, arrival: &Arrival) -> Outcome {
    let accepted = match event.disposition {
        Disposition::Accepted => Accepted::Created,
        Disposition::Ignored(_) => Accepted::Ignored,
        Disposition::Rejected(_) => Accepted::Rejected,
    };
    Outcome { accepted, receipt, weak: event.weak.is_some(), secret_index: arrival.secret_index, uncounted: None }
}

/// The receipt that a further delivery of an event meets.
struct Known {
    id: ReceiptId,
    event_digest: hookbox_core::digest::Digest,
}

impl From<&Receipt> for Known {
    fn from(receipt: &Receipt) -> Self {
        Self { id: receipt.id, event_digest: receipt.event_digest }
    }
}

/// A further delivery: counted when its content is the same, a conflict when it is not. Failing to write this down never
/// fails the answer, for the event itself is safe.
async fn again(ledger: &Ledger, event: &Event, known: Known, arrival: &Arrival) -> Outcome {
    let (accepted, written) = if known.event_digest == event.digest {
        (Accepted::Duplicate, ledger.count_duplicate(&known.id, arrival).await)
    } else {
        let conflict = Conflict {
            at: arrival.at,
            event_digest: event.digest,
            delivery_digest: arrival.digest,
            request_id: arrival.request_id.clone(),
        };
        (Accepted::Conflict, ledger.record_conflict(&known.id, &conflict).await)
    };
    Outcome {
        accepted,
        receipt: known.id,
        weak: event.weak.is_some(),
        secret_index: arrival.secret_index,
        uncounted: written.err(),
    }
}
