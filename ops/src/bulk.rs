//! The record of work that goes through many things: what was asked for, by whom, why, and how far it has come.

use std::collections::BTreeMap;
use std::time::Duration;

use hookbox_core::key::JobKey;
use hookbox_core::surroundings::Random;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Bulk, BulkState};

use crate::connection::Table;
use crate::failure::{Failure, Trouble};

/// After so many things it is recorded how far it has come.
pub const RECORD_EVERY: u64 = 50;
/// How long the record is kept.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3_600);

/// Results by their names.
pub type Counts = BTreeMap<String, u64>;

/// Work that begins.
#[derive(Clone, Debug)]
pub struct Undertaking<'a> {
    /// How it begins its name, such as `replay`.
    pub code: &'a str,
    /// What is done: all that whoever goes on with it needs to know.
    pub what: &'a str,
    /// Who does it.
    pub who: String,
    /// Why.
    pub why: &'a str,
    /// To what; nothing by which a person could be found.
    pub query: String,
    /// To which jobs, where it is done to jobs.
    pub jobs: &'a [JobKey],
    /// What is known already.
    pub counts: Counts,
}

impl Undertaking<'_> {
    /// Records that it begins at `now`.
    pub async fn begin(self, table: &Table, random: &dyn Random, now: Timestamp) -> Result<Bulk, Failure> {
        let day = now.day().replace('-', "");
        let id = format!("{}-{day}-{:08x}", self.code, random.next_u64() & 0xffff_ffff);
        let invalid = |error| Failure::Usage(Trouble::new("name the bulk operation", error));
        let bulk = Bulk {
            id: id.parse().map_err(invalid)?,
            rev: 1,
            what: self.what.to_owned(),
            who: self.who,
            why: Some(self.why.to_owned()),
            query: self.query,
            jobs: self.jobs.len() as u64,
            cursor: None,
            counts: self.counts,
            state: BulkState::Running,
            started_at: now,
            updated_at: now,
            expires_at: now.plus(KEPT).to_epoch_seconds(),
        };
        let put = table.ledger.start_bulk(&bulk, self.jobs).await;
        put.map_err(|error| table.failure("record the bulk operation", &error))?;
        Ok(bulk)
    }
}

/// Records how far it has come.
pub async fn record(bulk: &mut Bulk, table: &Table, now: Timestamp) -> Result<(), Failure> {
    let replaces = bulk.rev;
    bulk.rev += 1;
    bulk.updated_at = now;
    let put = table.ledger.put_bulk(bulk, Some(replaces)).await;
    put.map_err(|error| table.failure(&format!("record how far {} has come", bulk.id), &error))
}
