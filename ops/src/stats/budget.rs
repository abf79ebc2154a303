//! What reading the indexes takes: estimated before the first read, and counted during them.

use std::sync::atomic::{AtomicU64, Ordering};

use hookbox_ledger::{DirectoryEntry, IndexSize};

use super::open::MOST_READ;
use super::sample::SAMPLE;
use super::{as_count, as_number};
use crate::connection::Table;
use crate::failure::{Failure, Trouble};
use crate::search::range::Range;

/// Bytes of an index that half a unit reads eventually consistently are 4 KB.
const BYTES_A_UNIT: f64 = 8_192.0;
/// What a query takes at least.
const QUERY: f64 = 0.5;
/// Bytes of an entry before DynamoDB has counted any.
const ENTRY_BYTES: f64 = 400.0;

/// Read units that counting is expected to take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) read_units: f64,
    /// Whether it is of everything that the index holds, because no metric says how much arrived in the range.
    pub(super) of_whole_index: bool,
}

/// The most read units, and those that are used.
#[derive(Debug)]
pub(super) struct Budget {
    most: u32,
    /// In halves: less than half a unit is never billed.
    used: AtomicU64,
}

impl Estimate {
    /// `stored` is how many receipts the metrics have counted in the range.
    pub(super) async fn make(
        table: &Table,
        connections: &[DirectoryEntry],
        range: Range,
        stored: Option<u64>,
    ) -> Result<Self, Failure> {
        let sizes = table.ledger.index_sizes().await;
        let sizes = sizes.map_err(|error| {
            let failure = table.failure("see how large the indexes are, to estimate what counting takes", &error);
            failure.advise("it takes dynamodb:DescribeTable; --metrics-only does without")
        })?;
        let shards = f64::from(table.ledger.shards().count());
        let days = as_number(range.days().count() as u64);
        let operations = connections.iter().map(|connection| connection.operations.len() as u64).sum();
        let queries = shards * (days * as_number(connections.len() as u64) + 2.0 + as_number(operations));
        let receipts = as_number(stored.unwrap_or(sizes.history.entries));
        let receipts_read = receipts * entry_bytes(sizes.history) / BYTES_A_UNIT;
        let open_read = as_number(sizes.open.bytes) / BYTES_A_UNIT;
        let jobs = as_number(sizes.open.entries.min(MOST_READ as u64));
        let sample = if stored.is_none() { receipts.min(as_number(SAMPLE as u64)) } else { 0.0 };
        let read_units = (queries * QUERY + receipts_read + open_read + jobs + sample).ceil();
        Ok(Self { read_units, of_whole_index: stored.is_none() })
    }
}

fn entry_bytes(index: IndexSize) -> f64 {
    if index.entries == 0 { ENTRY_BYTES } else { as_number(index.bytes) / as_number(index.entries) }
}

impl Budget {
    pub(super) fn of(most: u32) -> Self {
        Self { most, used: AtomicU64::new(0) }
    }

    /// Refuses what is expected to take more.
    pub(super) fn allows(&self, estimate: Estimate) -> Result<(), Failure> {
        let Estimate { read_units, of_whole_index } = estimate;
        if read_units <= f64::from(self.most) {
            return Ok(());
        }
        let about = if of_whole_index {
            format!("up to {read_units} read units (no metric says how much of the index is of the range)")
        } else {
            format!("about {read_units} read units")
        };
        Err(self.refusal(&format!("it would take {about}"), read_units))
    }

    /// Counts what a read took. Fails when it is more than may be taken in all.
    pub(super) fn spend(&self, read_units: f64) -> Result<(), Failure> {
        self.used.fetch_add(as_count(read_units * 2.0), Ordering::Relaxed);
        if self.used() <= f64::from(self.most) {
            return Ok(());
        }
        Err(self.refusal(&format!("it has taken {} read units and is not done", self.used()), self.used() * 2.0))
    }

    /// Read units that were used.
    pub(super) fn used(&self) -> f64 {
        as_number(self.used.load(Ordering::Relaxed)) / 2.0
    }

    fn refusal(&self, why: &str, enough: f64) -> Failure {
        let why = format!("{why}, more than the {} of --max-read-units", self.most);
        let trouble = Trouble::new("count receipts and jobs", why)
            .advise("--metrics-only, which reads no index")
            .advise("a shorter range (--since, --until), or one connection (--provider, --account)")
            .advise(format!("--max-read-units {}", as_count(enough)));
        Failure::Forbidden(trouble)
    }
}
