//! One pass over arrivals and endings, as one list in the order of their times.

use crate::connection::Table;
use crate::failure::Failure;
use crate::search::range::Range;
use crate::search::receipts::{Order, ReceiptFilter, ReceiptSearch};

use super::endings::{EndingSearch, Logs};
use super::line::{Ending, Line, TailFilter};
use hookbox_ledger::ReceiptEntry;

/// Where lines come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources<'a> {
    pub(super) table: &'a Table,
    /// `None` where the log is not known.
    pub(super) logs: Option<&'a Logs<'a>>,
    pub(super) filter: &'a TailFilter,
}

/// One pass. A source that fails is left out from then on, and does not hold up the other one.
pub(super) struct Pass<'a> {
    filter: &'a TailFilter,
    arrivals: Option<ReceiptSearch<'a>>,
    endings: Option<EndingSearch<'a>>,
    arrival: Option<Box<ReceiptEntry>>,
    ending: Option<Box<Ending>>,
    /// Why the arrivals are not complete.
    pub(super) arrivals_failed: Option<Failure>,
    /// Why the endings are not complete.
    pub(super) endings_failed: Option<Failure>,
}

impl<'a> Sources<'a> {
    /// The receipts of a range.
    pub(super) fn receipts(&self, range: Range) -> ReceiptFilter {
        ReceiptFilter {
            connections: self.filter.connections.clone(),
            range,
            kinds: self.filter.kinds.clone(),
            resource: None,
            state: None,
        }
    }

    /// Begins. `receipts` is what [`receipts`](Self::receipts) gave, `logged` the range of the log.
    pub(super) async fn pass(self, receipts: &'a ReceiptFilter, logged: Range) -> Pass<'a> {
        let arrivals = ReceiptSearch::begin(self.table, receipts, Order::EarliestFirst, usize::MAX).await;
        let (arrivals, arrivals_failed) = match arrivals {
            Ok(arrivals) => (Some(arrivals), None),
            Err(failure) => (None, Some(failure)),
        };
        Pass {
            filter: self.filter,
            arrivals,
            endings: self.logs.map(|logs| EndingSearch::begin(logs, self.filter, logged)),
            arrival: None,
            ending: None,
            arrivals_failed,
            endings_failed: None,
        }
    }
}

impl Pass<'_> {
    /// The next line; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Line> {
        if self.arrival.is_none() {
            self.arrival = self.next_arrival().await.map(Box::new);
        }
        if self.ending.is_none() {
            self.ending = self.next_ending().await.map(Box::new);
        }
        let arrived_first = match (&self.arrival, &self.ending) {
            (Some(arrival), Some(ending)) => arrival.received_at <= ending.at,
            (arrival, _) => arrival.is_some(),
        };
        if arrived_first { self.arrival.take().map(Line::Arrived) } else { self.ending.take().map(Line::Ended) }
    }

    async fn next_arrival(&mut self) -> Option<ReceiptEntry> {
        loop {
            match self.arrivals.as_mut()?.next().await {
                Ok(Some(entry)) if self.filter.takes_arrival(&entry) => return Some(entry),
                Ok(Some(_)) => {}
                Ok(None) => self.arrivals = None,
                Err(failure) => {
                    self.arrivals = None;
                    self.arrivals_failed = Some(failure);
                }
            }
        }
    }

    async fn next_ending(&mut self) -> Option<Ending> {
        match self.endings.as_mut()?.next().await {
            Ok(Some(ending)) => Some(ending),
            Ok(None) => {
                self.endings = None;
                None
            }
            Err(failure) => {
                self.endings = None;
                self.endings_failed = Some(failure);
                None
            }
        }
    }
}
