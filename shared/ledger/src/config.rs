//! The configuration of the integrations, and the directory that lists them.

use hookbox_core::integration::Integration;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;

use crate::pause::Pause;
use crate::{Ledger, LedgerError};

/// An integration with the pauses that stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// What `apply` wrote.
    pub integration: Integration,
    /// Which of its operations are paused.
    pub pauses: Vec<Pause>,
}

impl Configured {
    /// The pause of this operation.
    pub fn pause(&self, operation: &OperationName) -> Option<&Pause> {
        self.pauses.iter().find(|pause| pause.operation == *operation)
    }
}

/// A line of the directory of integrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// The revision that was written last. A connection that comes back goes on from here.
    pub rev: u64,
    /// Since when it is no longer configured. The line stays: there may still be receipts of it.
    pub retired_at: Option<Timestamp>,
}

impl Ledger {
    /// The configuration of a connection, read consistently; `None` when there is none.
    pub async fn integration(
        &self,
        provider: &Provider,
        account: &Account,
    ) -> Result<Option<Integration>, LedgerError> {
        let _ = (provider, account);
        unimplemented!()
    }

    /// The configuration of a connection together with its pauses, in one consistent query.
    pub async fn integration_with_pauses(
        &self,
        provider: &Provider,
        account: &Account,
    ) -> Result<Option<Configured>, LedgerError> {
        let _ = (provider, account);
        unimplemented!()
    }

    /// Every connection that was ever configured.
    pub async fn directory(&self) -> Result<Vec<DirectoryEntry>, LedgerError> {
        unimplemented!()
    }

    /// Writes a configuration and its line in the directory in one transaction. `replaces` is the revision that was
    /// read, `None` for a connection that was not configured; with any other stored revision nothing is written.
    pub async fn put_integration(&self, integration: &Integration, replaces: Option<u64>) -> Result<(), LedgerError> {
        let _ = (integration, replaces);
        unimplemented!()
    }

    /// Removes a configuration of revision `replaces` and retires its line in the directory.
    pub async fn retire_integration(
        &self,
        provider: &Provider,
        account: &Account,
        replaces: u64,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let _ = (provider, account, replaces, now);
        unimplemented!()
    }
}
