//! Events of a verified delivery become folders in the ledger: one transaction each, a bounded number at a time.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, IdentityWindow};
use hookbox_core::integration::Integration;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::MAX_IDENTITY_CHAIN;
use hookbox_core::receipt::{Arrival, Conflict, Folder, Receipt};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ingested, Ledger, LedgerError};

use crate::answer::Accepted;

/// Transactions of one delivery that are under way at once: enough to hide the round trips of a batch, few enough not to
/// throttle the table by itself.
const PARALLEL_TRANSACTIONS: usize = 16;
/// From how many events on a delivery is looked up before it is stored. A redelivery of what was half stored then passes the
/// first half in a hundredth of the calls, and goes on: however large a delivery is, each one comes further.
const LOOK_UP_FROM: usize = 100;
/// The sort key of a receipt, as the ledger names it in an error.
const RECEIPT_SORT_KEY: &str = "head";
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

/// A receipt that holds an event.
struct Stored {
    id: ReceiptId,
    /// Of the content that is stored.
    event_digest: Digest,
    /// What it was created as, if this delivery created it.
    created: Option<Accepted>,
}

impl Intake<'_> {
    /// Stores every event of the delivery, and returns only when all of them are committed.
    ///
    /// Equal keys within the delivery are merged first: the later ones are further deliveries of the first one. When one
    /// event cannot be stored the others may be; all of them are found again by the redelivery. Further deliveries are
    /// noted after everything is committed, so that noting what is known never takes the time of what is new.
    pub async fn accept(&self, events: &[Event]) -> Result<Vec<Outcome>, NotStored> {
        let (firsts, repeats) = self.split_repeats(events);
        let alone = events.len() == 1;
        let mut stored = self.known(events, &firsts).await?;
        let new: Vec<usize> = firsts.into_iter().filter(|place| !stored.contains_key(place)).collect();
        let committed: HashMap<usize, Stored> = stream::iter(new)
            .map(|place| async move { self.store(&events[place], alone).await.map(|stored| (place, stored)) })
            .buffer_unordered(PARALLEL_TRANSACTIONS)
            .try_collect()
            .await?;
        stored.extend(committed);
        let ledger = &self.ledger.until(self.deadline.min(self.clock.now().plus(NOTE_BUDGET)));
        let (stored, repeats) = (&stored, &repeats);
        let outcomes = stream::iter(0..events.len()).map(|place| async move {
            let (event, first) = (&events[place], repeats.get(&place));
            match (first, stored.get(first.unwrap_or(&place))?) {
                (None, Stored { created: Some(accepted), id, .. }) => {
                    Some(Outcome { accepted: *accepted, receipt: *id, weak: event.weak.is_some(), unnoted: None })
                }
                (_, known) => Some(self.note(ledger, event, known).await),
            }
        });
        Ok(outcomes.buffered(PARALLEL_TRANSACTIONS).filter_map(std::future::ready).collect().await)
    }

    /// Those of a large delivery that are stored already. A weak identity that is not believed any more is left to the
    /// commit.
    async fn known(&self, events: &[Event], firsts: &[usize]) -> Result<HashMap<usize, Stored>, NotStored> {
        if firsts.len() < LOOK_UP_FROM {
            return Ok(HashMap::new());
        }
        let Integration { provider, account, .. } = self.integration;
        let places: HashMap<ReceiptId, usize> = firsts
            .iter()
            .map(|place| (ReceiptId::derive(provider, account, &events[*place].identity, None), *place))
            .collect();
        let ids: Vec<ReceiptId> = places.keys().copied().collect();
        let ledger = &self.ledger.until(self.deadline);
        let looks: Vec<Vec<ReceiptId>> = ids.chunks(Ledger::KNOWN_AT_ONCE).map(<[_]>::to_vec).collect();
        let known: Vec<HashMap<ReceiptId, Receipt>> = stream::iter(looks)
            .map(|ids| async move { ledger.known(&ids).await })
            .buffer_unordered(PARALLEL_TRANSACTIONS)
            .try_collect()
            .await?;
        let stored = known.into_iter().flatten().filter_map(|(id, receipt)| {
            let place = *places.get(&id)?;
            let is_another = receipt.window_has_passed(events[place].weak, self.arrival.at);
            (!is_another).then_some((place, Stored { id, event_digest: receipt.event_digest, created: None }))
        });
        Ok(stored.collect())
    }

    /// The places of events with a key of their own, and those of the later ones with the place of the first of their key.
    fn split_repeats(&self, events: &[Event]) -> (Vec<usize>, HashMap<usize, usize>) {
        let Integration { provider, account, .. } = self.integration;
        let mut seen: HashMap<ReceiptId, usize> = HashMap::new();
        let (mut firsts, mut repeats) = (Vec::new(), HashMap::new());
        for (place, event) in events.iter().enumerate() {
            let first = *seen.entry(ReceiptId::derive(provider, account, &event.identity, None)).or_insert(place);
            if first == place {
                firsts.push(place);
            } else {
                repeats.insert(place, first);
            }
        }
        (firsts, repeats)
    }

    /// Commits one event. One of several that is larger than a transaction holds becomes evidence without payload, so
    /// that it fails no other; alone it is refused with nothing stored.
    async fn store(&self, event: &Event, alone: bool) -> Result<Stored, NotStored> {
        match self.commit(event).await {
            Err(NotStored::Ledger(LedgerError::TooLarge { .. })) if !alone => {
                let mut evidence = event.clone();
                evidence.disposition = Disposition::Rejected("larger than can be stored".to_owned());
                evidence.payload.body.clear();
                self.commit(&evidence).await
            }
            committed => committed,
        }
    }

    /// The payload of an event without jobs is stored too: it is replayable once its kind is supported.
    async fn commit(&self, event: &Event) -> Result<Stored, NotStored> {
        let mut after = None;
        for _ in 0..MAX_IDENTITY_CHAIN {
            let folder = Folder::open(event, self.integration, self.arrival.clone(), after);
            let id = folder.receipt.id;
            let stored = match self.ledger.ingest(&folder, &event.payload, self.deadline).await {
                Ok(Ingested::Created) => {
                    return Ok(Stored { id, event_digest: event.digest, created: Some(created(&event.disposition)) });
                }
                Ok(Ingested::Duplicate { stored }) => stored,
                // Its key alone says that it is there; what else it says is for the version that wrote it.
                Err(LedgerError::NewerSchema { sk, .. }) if sk == RECEIPT_SORT_KEY => {
                    return Ok(Stored { id, event_digest: event.digest, created: None });
                }
                Err(error) => return Err(error.into()),
            };
            if !stored.window_has_passed(event.weak, self.arrival.at) {
                return Ok(Stored { id: stored.id, event_digest: stored.event_digest, created: None });
            }
            if self.outlives(&stored, event.weak).await? {
                after = Some(stored.id);
            }
        }
        Err(NotStored::IdentityUsedUp)
    }

    /// A later event of a weak identity is found over the earlier receipts: they stay until nobody asks for it any more.
    /// `false` when the receipt has expired meanwhile, and its place is free.
    async fn outlives(&self, stored: &Receipt, window: Option<IdentityWindow>) -> Result<bool, LedgerError> {
        let Some(IdentityWindow(window)) = window else { return Ok(true) };
        let until = self.arrival.at.plus(window).to_epoch_seconds();
        if stored.expires_at.is_none_or(|at| at >= until) {
            return Ok(true);
        }
        self.ledger.until(self.deadline).outlive(&stored.id, until).await
    }

    /// A further delivery: counted when its content is the stored one, a conflict when it is not. Failing to note it never
    /// fails the answer.
    async fn note(&self, ledger: &Ledger, event: &Event, known: &Stored) -> Outcome {
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

fn created(disposition: &Disposition) -> Accepted {
    match disposition {
        Disposition::Accepted => Accepted::Created,
        Disposition::Ignored(_) => Accepted::Ignored,
        Disposition::Rejected(_) => Accepted::Rejected,
    }
}
