//! Bulk operations: what was asked for and how far it has come, so that whoever started one can go away, go on or stop.

use std::collections::BTreeMap;

use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::error::{LedgerError, Stored};
use crate::item::bulk::BulkJobs;
use crate::item::key;
use crate::load::beginning;
use crate::replace::Replaced;
use crate::transact::Key;

/// Jobs whose keys stand in one item: at most 120 bytes each, in 400 KB.
const JOBS_IN_ONE_ITEM: usize = 2_500;

/// One bulk operation of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Its name; the audit entries of everything that it changes carry it.
    pub id: BulkId,
    /// Grows by one with every change, from 1.
    pub rev: u64,
    /// What is done, such as `replay`.
    pub what: String,
    /// Who started it.
    pub who: String,
    /// Why, in the person's words.
    pub why: Option<String>,
    /// To which jobs it is done, as the command understands it.
    pub query: String,
    /// How many jobs these are; which ones, [`Ledger::bulk_jobs`] says.
    pub jobs: u64,
    /// How far it has come, as the command understands it; `None` at the beginning and at the end.
    pub cursor: Option<String>,
    /// How many jobs there were of each result.
    pub counts: BTreeMap<String, u64>,
    /// Whether it goes on.
    pub state: BulkState,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// When its record expires.
    pub expires_at: EpochSeconds,
}

/// Whether a bulk operation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BulkState {
    /// It does.
    Running,
    /// A person has stopped it: what was done is done.
    Cancelled,
    /// All is done.
    Finished,
}

impl Ledger {
    /// Stores a new bulk operation and its jobs in their order. The jobs come first, so that whoever finds the operation
    /// finds them all, until they expire.
    ///
    /// [`LedgerError::ConditionFailed`] when there is another of that name.
    pub async fn start_bulk(&self, bulk: &Bulk, jobs: &[JobKey]) -> Result<(), LedgerError> {
        for (part, jobs) in jobs.chunks(JOBS_IN_ONE_ITEM).enumerate() {
            let part = BulkJobs { id: bulk.id.clone(), part, jobs: jobs.to_vec(), expires_at: bulk.expires_at };
            if let Replaced::Lost(_) = self.replace(part.to_item()?, None).await? {
                return Err(LedgerError::ConditionFailed { stored: Stored::Nothing });
            }
        }
        self.put_bulk(bulk, None).await
    }

    /// The jobs of a bulk operation in their order, read consistently; `None` when they are not all there any more.
    pub async fn bulk_jobs(&self, bulk: &Bulk) -> Result<Option<Vec<JobKey>>, LedgerError> {
        let parts = self.query(beginning(&key::bulk(&bulk.id), key::BULK_JOBS), None).await?;
        let mut jobs = Vec::new();
        for part in parts {
            jobs.extend(BulkJobs::jobs_of_item(part)?);
        }
        Ok(Some(jobs).filter(|jobs| jobs.len() as u64 == bulk.jobs))
    }

    /// A bulk operation, read consistently; `None` when there is none.
    pub async fn bulk(&self, id: &BulkId) -> Result<Option<Bulk>, LedgerError> {
        let item = self.get(Key::new(key::bulk(id), key::BULK)).await?;
        Ok(item.map(Bulk::from_item).transpose()?)
    }

    /// Stores a bulk operation in place of revision `replaces`, `None` for a new one;
    /// [`LedgerError::ConditionFailed`] when another revision stands there.
    pub async fn put_bulk(&self, bulk: &Bulk, replaces: Option<u64>) -> Result<(), LedgerError> {
        match self.replace(bulk.to_item()?, replaces).await? {
            Replaced::Written => Ok(()),
            Replaced::Lost(None) => Err(LedgerError::ConditionFailed { stored: Stored::Nothing }),
            Replaced::Lost(Some(item)) => {
                let stored = Stored::Bulk(Box::new(Bulk::from_item(item)?));
                Err(LedgerError::ConditionFailed { stored })
            }
        }
    }
}
