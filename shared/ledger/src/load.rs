//! Load: everything about one event except its payload, in one consistent query.

use hookbox_core::event::Payload;
use hookbox_core::job::Job;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::receipt::Receipt;

use crate::audit::Audit;
use crate::error::ItemError;
use crate::{Ledger, LedgerError};

/// A folder as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Whose folder it is.
    pub id: ReceiptId,
    /// The receipt; `None` when time to live has deleted it before its jobs, or when it is among the unreadable.
    pub receipt: Option<Receipt>,
    /// The jobs that this version can read.
    pub jobs: Vec<Job>,
    /// What people did, oldest first.
    pub audit: Vec<Audit>,
    /// Items that this version cannot read: newer or corrupt.
    pub unreadable: Vec<Unreadable>,
}

/// An item that this version cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its partition key.
    pub pk: String,
    /// Its sort key.
    pub sk: String,
    /// Why.
    pub error: ItemError,
}

impl Loaded {
    /// The job with this key.
    pub fn job(&self, key: &JobKey) -> Option<&Job> {
        self.jobs.iter().find(|job| job.key == *key)
    }

    /// Why the job with this key cannot be read, if it is there and cannot.
    pub fn unreadable_job(&self, key: &JobKey) -> Option<&ItemError> {
        let _ = key;
        unimplemented!()
    }
}

impl Ledger {
    /// Reads the folder of a receipt; `None` when it has no item at all.
    pub async fn load(&self, id: &ReceiptId) -> Result<Option<Loaded>, LedgerError> {
        let _ = id;
        unimplemented!()
    }

    /// Reads the payload of a receipt; `None` when it has expired.
    pub async fn payload(&self, id: &ReceiptId) -> Result<Option<Payload>, LedgerError> {
        let _ = id;
        unimplemented!()
    }
}
