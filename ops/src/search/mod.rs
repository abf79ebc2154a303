//! Finding receipts and jobs: the indexes name candidates, and what they name is read before anything is said of it.

mod merge;
pub mod jobs;
pub mod range;
pub mod receipts;

use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::DirectoryEntry;

use crate::connection::Table;
use crate::failure::Failure;

/// Later than any entry of an index stands.
pub(crate) const FAR: Timestamp = Timestamp::from_seconds(4_102_444_800);

/// Which connections are looked into.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConnectionArgs {
    /// Only events of this provider
    #[arg(long)]
    pub provider: Option<Provider>,
    /// Only events of the connections of this name
    #[arg(long)]
    pub account: Option<Account>,
}

impl ConnectionArgs {
    /// Whether a connection is one of them.
    pub fn take(&self, provider: &Provider, account: &Account) -> bool {
        self.provider.as_ref().is_none_or(|only| only == provider)
            && self.account.as_ref().is_none_or(|only| only == account)
    }

    /// Those of them that were ever applied.
    pub async fn of_directory(&self, table: &Table) -> Result<Vec<DirectoryEntry>, Failure> {
        let directory = table.ledger.directory().await;
        let directory = directory.map_err(|error| table.failure("read the directory of integrations", &error))?;
        Ok(directory.items.into_iter().filter(|entry| self.take(&entry.provider, &entry.account)).collect())
    }
}
