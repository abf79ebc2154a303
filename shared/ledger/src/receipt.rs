//! What later deliveries of the same event leave on its receipt.

use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::{Arrival, Conflict};

use crate::{Ledger, LedgerError};

impl Ledger {
    /// Counts a further delivery of the same event, and describes it while there are fewer than
    /// [`MAX_ARRIVALS`](hookbox_core::limits::MAX_ARRIVALS). Needs no version: it changes nothing that a decision uses.
    pub async fn count_duplicate(&self, id: &ReceiptId, arrival: &Arrival) -> Result<(), LedgerError> {
        let _ = (id, arrival);
        unimplemented!()
    }

    /// Counts a further delivery that carried another content under the same key, and describes it while there are
    /// fewer than [`MAX_CONFLICTS`](hookbox_core::limits::MAX_CONFLICTS). Call this *or*
    /// [`count_duplicate`](Self::count_duplicate) for one delivery.
    pub async fn record_conflict(&self, id: &ReceiptId, conflict: &Conflict) -> Result<(), LedgerError> {
        let _ = (id, conflict);
        unimplemented!()
    }
}
