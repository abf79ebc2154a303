//! What can go wrong, as the callers need to tell it apart.

use std::error::Error;

use hookbox_core::integration::Integration;
use hookbox_core::job::Job;
use hookbox_core::receipt::Receipt;

use crate::bulk::Bulk;
use crate::own_profile::OwnProfile;
use crate::pause::Pause;

/// Why the ledger did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The item is not, or no longer, what the caller read. Nothing was written.
    #[error("the item is no longer what was read: {stored}")]
    ConditionFailed {
        /// What stands there now.
        stored: Stored,
    },
    /// Another transaction held one of the items, again and again.
    #[error("another transaction is at work on the same item")]
    TransactionConflict,
    /// The table, or its account, takes no more requests for now.
    #[error("throttled")]
    Throttled,
    /// The table could not be reached, did not answer in time, or failed on its own side.
    #[error("unavailable")]
    Unavailable {
        /// What the client reported.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The deadline came first. What was tried last may or may not have been done.
    #[error("out of time")]
    OutOfTime {
        /// Why the last try had failed; `None` if there was no time for any.
        #[source]
        last: Option<Box<LedgerError>>,
    },
    /// The item or the transaction is larger than DynamoDB takes. Nothing was written.
    #[error("too large: {what} of {size}, at most {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is, in the unit of the limit; 0 when only DynamoDB knows.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The stored item cannot be read.
    #[error("corrupt item {pk} {sk}: {what}")]
    Corrupt {
        /// Its partition key.
        pk: String,
        /// Its sort key.
        sk: String,
        /// What is wrong with it, without its content.
        what: String,
    },
    /// A newer version of this software wrote the item: it is left alone.
    #[error("item {pk} {sk} has schema {schema}, which is newer than this version")]
    NewerSchema {
        /// Its partition key.
        pk: String,
        /// Its sort key.
        sk: String,
        /// Its schema.
        schema: u32,
    },
    /// DynamoDB refused the request for a reason that trying again does not change.
    #[error("refused: {code}")]
    Refused {
        /// DynamoDB's code, such as `AccessDeniedException`.
        code: String,
        /// The IAM action that the request takes, such as `dynamodb:Query`, or all that it may take; `None` where nothing
        /// was asked for yet.
        action: Option<String>,
        /// What the client reported.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl LedgerError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::TransactionConflict | Self::Throttled | Self::Unavailable { .. } | Self::OutOfTime { .. })
    }
}

/// What a failed condition found.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// No item.
    Nothing,
    /// The job as another writer left it.
    Job(Box<Job>),
    /// The receipt.
    Receipt(Box<Receipt>),
    /// The configuration of an integration.
    Integration(Box<Integration>),
    /// A pause.
    Pause(Box<Pause>),
    /// A user's own profile.
    Profile(Box<OwnProfile>),
    /// A bulk operation.
    Bulk(Box<Bulk>),
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("it does not exist"),
            Self::Job(job) => write!(f, "job {} is {} at version {}", job.key, job.status().as_str(), job.version),
            Self::Receipt(receipt) => write!(f, "receipt {} is at version {}", receipt.id, receipt.version),
            Self::Integration(integration) => {
                write!(f, "integration {}/{} is at rev {}", integration.provider, integration.account, integration.rev)
            }
            Self::Pause(pause) => write!(f, "the pause of `{}` is at rev {}", pause.operation, pause.rev),
            Self::Profile(profile) => write!(f, "profile {} is at rev {}", profile.name, profile.rev),
            Self::Bulk(bulk) => write!(f, "bulk operation {} is at rev {}", bulk.id, bulk.rev),
        }
    }
}

/// Why one item cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// It is not what this version, or an older one, writes.
    #[error("corrupt item {pk} {sk}: {what}")]
    Corrupt {
        /// Its partition key, as far as it has one.
        pk: String,
        /// Its sort key, as far as it has one.
        sk: String,
        /// What is wrong with it, without its content.
        what: String,
    },
    /// A newer version of this software wrote it.
    #[error("item {pk} {sk} has schema {schema}, which is newer than this version")]
    NewerSchema {
        /// Its partition key.
        pk: String,
        /// Its sort key.
        sk: String,
        /// Its schema.
        schema: u32,
    },
}

impl From<ItemError> for LedgerError {
    fn from(error: ItemError) -> Self {
        match error {
            ItemError::Corrupt { pk, sk, what } => Self::Corrupt { pk, sk, what },
            ItemError::NewerSchema { pk, sk, schema } => Self::NewerSchema { pk, sk, schema },
        }
    }
}
