//! Ingest: one event becomes a receipt, its jobs and its payload in one transaction.

use hookbox_core::event::Payload;
use hookbox_core::receipt::{Folder, Receipt};
use hookbox_core::time::Timestamp;

use crate::{Ledger, LedgerError};

/// What an event turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// New: it is committed now.
    Created,
    /// There already: nothing was written. The caller compares the digests.
    Duplicate {
        /// The receipt that was there first.
        stored: Box<Receipt>,
    },
}

impl Ledger {
    /// Commits an event: the receipt if there is none, its jobs and its payload, wholly or not at all.
    pub async fn ingest(
        &self,
        folder: &Folder,
        payload: &Payload,
        deadline: Timestamp,
    ) -> Result<Ingested, LedgerError> {
        let _ = (folder, payload, deadline);
        unimplemented!()
    }
}
