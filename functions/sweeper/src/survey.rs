//! The survey: how long every list is, how old, and whether something of it is due.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{LedgerError, OpenQuery};
use serde::Serialize;

use crate::SweepError;
use crate::lists::{List, Lists};
use crate::run::Run;
use crate::swept::Tally;

/// Entries that one query asks for.
const PAGE: u32 = 500;
/// From here on a list counts as this long: that it is long is known, and counting on costs.
const MAX_COUNTED: u64 = 2_000;
/// Lists that are surveyed at once.
const AT_ONCE: usize = 8;

/// How things stand. What could not be read is `None`: a number too small would end an alarm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gauges {
    /// Jobs that wait for an attempt or have one running.
    pub open: Option<u64>,
    /// Jobs that wait for their operation to be resumed.
    pub held: Option<u64>,
    /// Jobs that wait for a person.
    pub review: Option<u64>,
    /// Seconds since the arrival of the oldest event with a job that is open; 0 when there is none.
    pub oldest_open_age: Option<u64>,
    /// Seconds since the arrival of the oldest event with a job in review; 0 when there is none.
    pub oldest_review_age: Option<u64>,
}

pub(crate) struct Surveyed {
    pub(crate) gauges: Gauges,
    /// The lists with something to do.
    pub(crate) due: Vec<List>,
    pub(crate) tally: Tally,
}

/// What one list holds.
#[derive(Clone, Copy, Default)]
struct Found {
    count: u64,
    oldest: Option<Timestamp>,
    due: bool,
    unreadable: u64,
}

/// Looks into every list. Fails when not one of them can be read.
pub(crate) async fn survey(run: &Run<'_>, lists: Lists) -> Result<Surveyed, SweepError> {
    let Lists { lists, held_known } = lists;
    let looks: Vec<_> = lists.iter().map(|list| look(run, list)).collect();
    let found: Vec<_> = stream::iter(looks).buffered(AT_ONCE).collect().await;
    let readable = found.iter().any(Result::is_ok);
    let (mut open, mut held, mut review) = (Some(Found::default()), Some(Found::default()), Some(Found::default()));
    if !held_known {
        held = None;
    }
    let (mut due, mut tally) = (Vec::new(), Tally::default());
    for (list, found) in lists.into_iter().zip(found) {
        let sum = match list.query {
            OpenQuery::Due { .. } => &mut open,
            OpenQuery::Held { .. } => &mut held,
            OpenQuery::Review { .. } => &mut review,
        };
        match found {
            Ok(found) => {
                tally.unreadable += found.unreadable;
                *sum = sum.map(|sum| sum.with(found));
                if found.due {
                    due.push(list);
                }
            }
            Err(source) if !readable => return Err(SweepError::Unreachable { source }),
            Err(error) => {
                run.complain(&list.name(), &error);
                tally.errors += 1;
                *sum = None;
                due.push(list);
            }
        }
    }
    let age = |found: Found| found.oldest.map_or(Duration::ZERO, |oldest| run.started.since(oldest)).as_secs();
    let gauges = Gauges {
        open: open.map(|found| found.count),
        held: held.map(|found| found.count),
        review: review.map(|found| found.count),
        oldest_open_age: open.map(age),
        oldest_review_age: review.map(age),
    };
    Ok(Surveyed { gauges, due, tally })
}

impl Found {
    fn with(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            oldest: self.oldest.into_iter().chain(other.oldest).min(),
            due: self.due || other.due,
            unreadable: self.unreadable + other.unreadable,
        }
    }
}

async fn look(run: &Run<'_>, list: &List) -> Result<Found, LedgerError> {
    let end = Timestamp::from_millis(i64::MAX);
    let held = matches!(list.query, OpenQuery::Held { .. });
    let (mut found, mut after) = (Found::default(), None);
    loop {
        let page = run.ledger.open_entries(&list.query, end, PAGE, after).await?;
        found.count += (page.items.len() + page.unreadable.len()) as u64;
        found.unreadable += page.unreadable.len() as u64;
        for unreadable in &page.unreadable {
            run.complain(&list.name(), &unreadable.error);
        }
        for entry in page.items {
            found.oldest = Some(found.oldest.map_or(entry.received_at, |oldest| oldest.min(entry.received_at)));
            found.due |= if held { list.resumed } else { entry.open_at <= run.started };
        }
        after = page.next;
        if after.is_none() || found.count >= MAX_COUNTED {
            return Ok(found);
        }
    }
}
