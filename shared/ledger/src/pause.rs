//! Pauses: while one stands, the jobs of its operation are held instead of attempted.

use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::outcome::ErrorText;
use hookbox_core::time::Timestamp;

use crate::{Ledger, LedgerError};

/// A pause of one operation of one integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// What is paused.
    pub operation: OperationName,
    /// Tells this pause from an earlier one of the same operation.
    pub rev: u64,
    /// Why.
    pub reason: ErrorText,
    /// Since when.
    pub at: Timestamp,
}

impl Ledger {
    /// Pauses an operation. One that is paused already stays as it is; the answer is the pause that stands.
    pub async fn put_pause(
        &self,
        provider: &Provider,
        account: &Account,
        operation: &OperationName,
        reason: &ErrorText,
        now: Timestamp,
    ) -> Result<Pause, LedgerError> {
        let _ = (provider, account, operation, reason, now);
        unimplemented!()
    }

    /// Ends exactly this pause. One that is gone already is no error; a later one of the same operation is
    /// [`LedgerError::ConditionFailed`] and stays.
    pub async fn delete_pause(&self, pause: &Pause) -> Result<(), LedgerError> {
        let _ = pause;
        unimplemented!()
    }

    /// The pauses of an integration, read consistently.
    pub async fn pauses(&self, provider: &Provider, account: &Account) -> Result<Vec<Pause>, LedgerError> {
        let _ = (provider, account);
        unimplemented!()
    }
}
