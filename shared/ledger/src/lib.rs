//! The ledger: receipts, jobs, payloads and configuration in one DynamoDB table.
//!
//! This is the only crate that knows how they are stored. It converts between the domain types of `hookbox_core` and
//! items of its own, and it keeps four promises that nobody above needs to think about:
//!
//! - An event is committed in one transaction, or not at all ([`Ledger::ingest`]).
//! - A later write happens only while its job is what the caller read ([`Ledger::write_job`]), and a write whose answer
//!   was lost is recognised as our own when it is made again.
//! - The items of one folder expire together or not at all: every change of expiry is one transaction over all of them.
//! - An item of a newer schema is never touched, and attributes that this version does not know are never removed.
//!
//! The modules stand in the order in which an event meets them.

pub mod table;

mod error;
mod item;

mod classify;
mod expression;
mod retry;
mod transact;

mod replace;
mod config;
mod own_profile;
mod token;
mod known;
mod ingest;
mod receipt;

mod load;
mod plan;
mod write_job;
mod add_job;
mod erase;

mod audit;
mod bulk;
mod entries;
mod counts;
mod move_entry;
mod pause;
mod rate;

pub mod deployed;
pub mod stream;

#[cfg(feature = "test-support")]
pub mod test_support;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_types::SdkConfig;
use hookbox_core::key::Shards;
use hookbox_core::surroundings::Random;
use hookbox_core::time::Timestamp;

pub use add_job::Added;
pub use audit::{Audit, Subject};
pub use bulk::{Bulk, BulkState};
pub use config::{Configured, DirectoryEntry};
pub use counts::{ReceiptCount, Standings};
pub use entries::{Cursor, HistoryQuery, InvalidCursor, OpenEntry, OpenQuery, Page, ReceiptEntry, ResourceQuery};
pub use erase::{Erasure, Taken};
pub use error::{ItemError, LedgerError, Stored};
pub use ingest::Ingested;
pub use load::{Listing, Loaded, Unreadable};
pub use own_profile::OwnProfile;
pub use pause::Pause;
pub use token::TokenUse;
pub use write_job::Held;

/// The ledger of one table. Cloning it is cheap and shares the connections.
#[derive(Clone, Debug)]
pub struct Ledger {
    client: Client,
    table: Arc<str>,
    shards: Shards,
    random: Arc<dyn Random>,
    pace: retry::Pace,
}

impl Ledger {
    /// A ledger on `table`, whose indexes are spread over `shards`.
    ///
    /// Time and waiting come from the configuration (`time_source`, `sleep_impl`), so that a test replaces both. The
    /// SDK's own retries are off: they would hide faults from the ledger and know nothing of its tokens.
    pub fn new(config: &SdkConfig, table: impl Into<String>, shards: Shards, random: Arc<dyn Random>) -> Self {
        let client_config =
            aws_sdk_dynamodb::config::Builder::from(config).retry_config(RetryConfig::disabled()).build();
        Self {
            client: Client::from_conf(client_config),
            table: table.into().into(),
            shards,
            pace: retry::Pace::new(config),
            random,
        }
    }

    /// The same ledger for calls that must have ended by `deadline`. Without one a call, with all that it tries again,
    /// takes at most ten seconds.
    #[must_use]
    pub fn until(&self, deadline: Timestamp) -> Self {
        Self { pace: self.pace.until(deadline), ..self.clone() }
    }

    /// Over how many shards the indexes are spread.
    pub fn shards(&self) -> Shards {
        self.shards
    }
}

#[cfg(test)]
mod tests;
