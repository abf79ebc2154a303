//! What there is to send: counted and put into order before the first event is.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::ReceiptId;
use hookbox_ledger::{Ledger, LedgerError};

use super::feed::ACTIONS;
use super::place::Place;
use crate::connection::Table;
use crate::failure::Failure;
use crate::search::receipts::{Order, ReceiptFilter, ReceiptSearch};
use crate::terminal::Terminal;

/// Payloads that are looked for at once.
const AT_ONCE: usize = 16;

/// The events in their order: only their places are kept, some fifty bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Those that can be sent.
    pub(super) events: Vec<Place>,
    /// Those whose payload has expired.
    pub(super) expired: Vec<ReceiptId>,
    /// How many were erased.
    pub(super) erased: u64,
    /// How many stand before the place to go on from.
    pub(super) passed: u64,
}

impl Plan {
    /// Looks at every event that the filter takes.
    pub(super) async fn make(
        filter: &ReceiptFilter,
        after: Option<Place>,
        table: &Table,
        terminal: &mut Terminal,
    ) -> Result<Self, Failure> {
        let failure = |error: &LedgerError| table.failure_of("look at what there is to send", ACTIONS, error);
        let mut search = ReceiptSearch::begin(table, filter, Order::EarliestFirst, usize::MAX).await?;
        let progress = terminal.counter("events looked at");
        let mut plan = Self::default();
        loop {
            let mut ids = Vec::new();
            while ids.len() < Ledger::KNOWN_AT_ONCE {
                let Some(entry) = search.next().await? else { break };
                ids.push(entry.id);
            }
            if ids.is_empty() {
                break;
            }
            let known = table.ledger.known(&ids).await.map_err(|error| failure(&error))?;
            let mut places = Vec::new();
            // One that has expired since the index was read is history no more.
            for receipt in ids.iter().filter_map(|id| known.get(id)) {
                let place = Place::of(receipt);
                if after.is_some_and(|after| place <= after) {
                    plan.passed += 1;
                } else if receipt.erased_at.is_some() {
                    plan.erased += 1;
                } else {
                    places.push(place);
                }
            }
            let looks = places.into_iter().map(|place| async move {
                Ok::<_, LedgerError>((place, table.ledger.has_payload(&place.receipt()).await?))
            });
            let looked: Vec<(Place, bool)> =
                stream::iter(looks).buffered(AT_ONCE).try_collect().await.map_err(|error| failure(&error))?;
            for (place, has_payload) in looked {
                if has_payload { plan.events.push(place) } else { plan.expired.push(place.receipt()) }
            }
            progress.inc(ids.len() as u64);
        }
        for why in search.unreadable() {
            terminal.note(format_args!("unreadable and left out: {why}"))?;
        }
        plan.events.sort_unstable();
        Ok(plan)
    }
}
