//! Reads the SDK's errors.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::batch_get_item::BatchGetItemError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::describe_continuous_backups::DescribeContinuousBackupsError;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::operation::describe_time_to_live::DescribeTimeToLiveError;
use aws_sdk_dynamodb::operation::get_item::GetItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::QueryError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::CancellationReason;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use hookbox_core::limits::MAX_ITEM_BYTES;

use crate::error::{LedgerError, Stored};
use crate::item::Item;

/// Why one call did not do what it was made for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The condition of a single write failed on this item, or on none.
    Condition(Option<Item>),
    /// Conditions of a transaction failed. One verdict for each of its parts, in their order.
    Cancelled(Vec<Verdict>),
    /// A transaction of other content was made under our token.
    TokenUsed,
    /// Anything else.
    Error(LedgerError),
}

/// What a cancelled transaction says of one of its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Its condition holds.
    Holds,
    /// Its condition failed on this item, or on none.
    Fails(Option<Item>),
    /// Nothing is known: it was not looked at, or another transaction held it.
    Unknown,
}

impl Failure {
    /// The error of a caller that has no use for the difference.
    pub(crate) fn into_error(self) -> LedgerError {
        match self {
            Self::Error(error) => error,
            Self::Condition(_) | Self::Cancelled(_) => LedgerError::ConditionFailed { stored: Stored::Nothing },
            Self::TokenUsed => LedgerError::TransactionConflict,
        }
    }
}

/// Errors of operations that may fail on a condition.
pub(crate) trait Classify: ProvideErrorMetadata + Error + Send + Sync + Sized + 'static {
    /// The IAM action that the operation takes, or all that it may take.
    const ACTION: &'static str;

    /// The failed condition, or the error as it was.
    fn condition(self) -> Result<Failure, Self> {
        Err(self)
    }
}

macro_rules! look {
    ($($error:ident: $action:literal),+) => {
        $(impl Classify for $error {
            const ACTION: &'static str = concat!("dynamodb:", $action);
        })+
    };
}

look!(
    QueryError: "Query",
    GetItemError: "GetItem",
    BatchGetItemError: "BatchGetItem",
    DescribeTableError: "DescribeTable",
    DescribeTimeToLiveError: "DescribeTimeToLive",
    DescribeContinuousBackupsError: "DescribeContinuousBackups"
);

macro_rules! single_write {
    ($($error:ident: $action:literal),+) => {
        $(impl Classify for $error {
            const ACTION: &'static str = concat!("dynamodb:", $action);

            fn condition(self) -> Result<Failure, Self> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => Ok(Failure::Condition(shown(failed.item))),
                    other => Err(other),
                }
            }
        })+
    };
}

single_write!(UpdateItemError: "UpdateItem", PutItemError: "PutItem", DeleteItemError: "DeleteItem");

impl Classify for TransactWriteItemsError {
    /// A transaction has no action of its own, it takes those of its parts. DynamoDB names the one that is missing; these
    /// are for an answer that does not.
    const ACTION: &'static str =
        "dynamodb:PutItem, dynamodb:UpdateItem, dynamodb:DeleteItem and dynamodb:ConditionCheckItem";

    fn condition(self) -> Result<Failure, Self> {
        match self {
            Self::TransactionCanceledException(cancelled) => {
                Ok(of_reasons(cancelled.cancellation_reasons.unwrap_or_default()))
            }
            Self::IdempotentParameterMismatchException(_) => Ok(Failure::TokenUsed),
            other => Err(other),
        }
    }
}

/// The item that a failed condition shows; an empty one is none.
fn shown(item: Option<Item>) -> Option<Item> {
    item.filter(|item| !item.is_empty())
}

/// A cancelled transaction. A failed condition counts most: it says what is stored, and repeating would not change it.
fn of_reasons(reasons: Vec<CancellationReason>) -> Failure {
    let has = |code: &str| reasons.iter().any(|reason| reason.code() == Some(code));
    if has("ConditionalCheckFailed") {
        let verdict = |reason: CancellationReason| match reason.code.as_deref() {
            Some("ConditionalCheckFailed") => Verdict::Fails(shown(reason.item)),
            Some("None") | None => Verdict::Holds,
            Some(_) => Verdict::Unknown,
        };
        return Failure::Cancelled(reasons.into_iter().map(verdict).collect());
    }
    // What never changes before what passes: a transaction with a part that is too large will not get smaller.
    if let Some(refused) = reasons.iter().find(|reason| reason.code() == Some("ValidationError")) {
        return Failure::Error(refusal("ValidationError", refused.message().unwrap_or_default()));
    }
    if has("ItemCollectionSizeLimitExceeded") {
        return Failure::Error(refusal("ItemCollectionSizeLimitExceeded", ""));
    }
    if has("ThrottlingError") || has("ProvisionedThroughputExceeded") {
        return Failure::Error(LedgerError::Throttled);
    }
    if has("TransactionConflict") {
        return Failure::Error(LedgerError::TransactionConflict);
    }
    Failure::Error(LedgerError::Unavailable { source: "the transaction was cancelled without a reason".into() })
}

/// Reads the error of one call.
pub(crate) fn failure<E: Classify>(error: SdkError<E, HttpResponse>) -> Failure {
    match error {
        SdkError::ServiceError(service) => {
            let broken = service.raw().status().is_server_error();
            match service.into_err().condition() {
                Ok(failure) => failure,
                Err(error) if broken => Failure::Error(LedgerError::Unavailable { source: Box::new(error) }),
                Err(error) => Failure::Error(of_service(error)),
            }
        }
        SdkError::ConstructionFailure(_) => {
            Failure::Error(LedgerError::Refused { code: "client".to_owned(), action: None, source: source(error) })
        }
        other => Failure::Error(LedgerError::Unavailable { source: source(other) }),
    }
}

/// The cause alone: the error itself may hold a response, and with it items.
fn source<E: Classify>(error: SdkError<E, HttpResponse>) -> Box<dyn Error + Send + Sync> {
    error.into_source().unwrap_or_else(|_| "the client failed".into())
}

fn of_service<E: Classify>(error: E) -> LedgerError {
    let code = error.code().unwrap_or_default().to_owned();
    match code.as_str() {
        "TransactionConflictException" | "TransactionInProgressException" | "ReplicatedWriteConflictException" => {
            LedgerError::TransactionConflict
        }
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded"
        | "LimitExceededException" => LedgerError::Throttled,
        // Expired credentials are fetched anew before the next call.
        "ExpiredTokenException" | "" => LedgerError::Unavailable { source: Box::new(error) },
        _ => match too_large(error.message().unwrap_or_default()) {
            Some(too_large) => too_large,
            None => {
                let action = missing_action(error.message().unwrap_or_default()).unwrap_or(E::ACTION);
                LedgerError::Refused { code, action: Some(action.to_owned()), source: Box::new(error) }
            }
        },
    }
}

/// The action of "… is not authorized to perform: dynamodb:PutItem on resource: …". Of a transaction, or of the index of a
/// table, nobody but DynamoDB knows which it was.
fn missing_action(message: &str) -> Option<&str> {
    let named = message.split_once("not authorized to perform: ")?.1.split(' ').next()?;
    named.starts_with("dynamodb:").then_some(named)
}

fn refusal(code: &str, message: &str) -> LedgerError {
    too_large(message).unwrap_or_else(|| LedgerError::Refused {
        code: code.to_owned(),
        action: None,
        source: message.into(),
    })
}

/// DynamoDB has no code of its own for this.
fn too_large(message: &str) -> Option<LedgerError> {
    let size = message.to_ascii_lowercase();
    let says = size.contains("size") && (size.contains("exceed") || size.contains("maximum allowed"));
    says.then_some(LedgerError::TooLarge { what: "item or transaction", size: 0, limit: MAX_ITEM_BYTES })
}
