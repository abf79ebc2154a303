//! Bulk operations: what was asked for and how far it has come, so that whoever started one can go away, go on or stop.

use std::collections::BTreeMap;

use hookbox_core::name::BulkId;
use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use crate::Ledger;
use crate::error::{LedgerError, Stored};
use crate::item::key;
use crate::replace::Replaced;
use crate::transact::Key;

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
