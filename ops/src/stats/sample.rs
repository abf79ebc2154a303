//! What a sample of receipts tells where no metric does.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::{Job, State};
use hookbox_core::key::ReceiptId;
use hookbox_ledger::Loaded;

use super::budget::Budget;
use super::indexes::{AT_ONCE, Connection, Counted};
use crate::connection::Table;
use crate::failure::Failure;

/// Receipts of a sample.
pub(super) const SAMPLE: usize = 200;

/// Receipts that were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// How many receipts it was taken from.
    pub(super) of: u64,
    pub(super) connections: BTreeMap<Connection, Sampled>,
}

/// What those of one connection, or of all, tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sampled {
    pub(super) receipts: u64,
    pub(super) duplicates: u64,
    /// A receipt describes ten of them and counts no further.
    pub(super) conflicts: u64,
    pub(super) completed: u64,
    pub(super) dismissed: u64,
    pub(super) in_review: u64,
    /// Milliseconds from receipt to completion, of each completed job.
    took: Vec<u64>,
}

impl Sample {
    /// Reads the receipts that were drawn while they were counted.
    pub(super) async fn read(table: &Table, counted: &Counted, budget: &Budget) -> Result<Self, Failure> {
        let read = |id: ReceiptId| async move {
            let loaded = table.ledger.load(&id).await;
            let loaded =
                loaded.map_err(|error| table.failure(&format!("read the receipt {id} of the sample"), &error))?;
            // A folder is seldom above 4 KB, which is a unit.
            budget.spend(1.0)?;
            Ok::<_, Failure>(loaded)
        };
        let mut sample = Self { of: counted.total().receipts, connections: BTreeMap::new() };
        let mut folders = stream::iter(counted.sampled.iter().copied().map(read)).buffer_unordered(AT_ONCE);
        while let Some(folder) = folders.try_next().await? {
            let Some(Loaded { receipt: Some(receipt), jobs, .. }) = folder else { continue };
            let sampled = sample.connections.entry((receipt.provider, receipt.account)).or_default();
            sampled.receipts += 1;
            sampled.duplicates += receipt.duplicate_count;
            sampled.conflicts += receipt.conflicts.len() as u64;
            for job in &jobs {
                sampled.take(job);
            }
        }
        Ok(sample)
    }

    /// Of all connections together.
    pub(super) fn total(&self) -> Sampled {
        let mut total = Sampled::default();
        for sampled in self.connections.values() {
            let Sampled { receipts, duplicates, conflicts, completed, dismissed, in_review, took } = sampled;
            total.receipts += receipts;
            total.duplicates += duplicates;
            total.conflicts += conflicts;
            total.completed += completed;
            total.dismissed += dismissed;
            total.in_review += in_review;
            total.took.extend(took);
        }
        total
    }
}

impl Sampled {
    fn take(&mut self, job: &Job) {
        match job.state {
            State::Completed { at } => {
                self.completed += 1;
                self.took.push(u64::try_from(at.since(job.received_at).as_millis()).unwrap_or(u64::MAX));
            }
            State::Dismissed { .. } => self.dismissed += 1,
            State::Review { .. } => self.in_review += 1,
            State::Pending | State::Processing { .. } | State::Retrying { .. } | State::Held => {}
        }
    }

    /// Given to a person, and not asked for again since.
    pub(super) fn failed(&self) -> u64 {
        self.in_review + self.dismissed
    }

    /// The smallest time that so many percent of the completed jobs did not exceed, in milliseconds; `None` of none.
    pub(super) fn percentile(&self, percent: usize) -> Option<u64> {
        let mut took = self.took.clone();
        took.sort_unstable();
        let place = (took.len() * percent).div_ceil(100);
        took.get(place.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let of = |took: &[u64]| {
            let sampled = Sampled { took: took.to_vec(), ..Sampled::default() };
            (sampled.percentile(50), sampled.percentile(95))
        };
        assert_eq!(of(&[]), (None, None));
        assert_eq!(of(&[7]), (Some(7), Some(7)));
        assert_eq!(of(&[4, 1, 3, 2]), (Some(2), Some(4)));
        assert_eq!(of(&(1..=100).rev().collect::<Vec<_>>()), (Some(50), Some(95)));
    }
}
