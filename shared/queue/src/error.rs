//! What can go wrong with a queue.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

/// The IAM action of sending, alone or in a batch.
pub(crate) const SEND: &str = "sqs:SendMessage";

/// What went wrong with a queue. A message that could not be sent may have been sent all the same: sending it again is
/// harmless.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueueError {
    /// SQS asks us to slow down.
    #[error("the queue is throttled")]
    Throttled,
    /// SQS did not answer, or with a fault of its own.
    #[error("the queue cannot be reached")]
    Unavailable {
        /// What went wrong.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// There is no such queue.
    #[error("the queue does not exist")]
    NotFound,
    /// We may not use it.
    #[error("the queue may not be used without {action}: {code}")]
    Denied {
        /// The code of SQS.
        code: String,
        /// The IAM action that the request takes, such as `sqs:ReceiveMessage`.
        action: &'static str,
    },
    /// SQS refuses this message: it can never be sent.
    #[error("the queue refuses the message: {code}")]
    MessageRefused {
        /// The code of SQS.
        code: String,
    },
    /// SQS refuses the request: sending it again would not help until something is set right.
    #[error("the queue refuses the request: {code}")]
    Refused {
        /// The code of SQS.
        code: String,
    },
    /// The receive that is named is over: the message can be received again, or has been.
    #[error("the message is no longer held for us")]
    NotHeld,
    /// The answer does not say what became of the request.
    #[error("the queue's answer makes no sense: {what}")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// Not tried: a call just before it failed as a whole.
    #[error("not tried, because the call before it failed")]
    NotTried,
}

impl QueueError {
    /// Whether the same request may work a moment later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable { .. } | Self::Malformed { .. })
    }

    /// The error of a call that takes this IAM action.
    pub(crate) fn of_call<E>(action: &'static str, error: SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        let code = error.code().unwrap_or("").to_owned();
        match (Self::of_code(&code, action), status) {
            (Self::Refused { .. }, Some(429 | 503)) => Self::Throttled,
            (Self::Refused { .. }, Some(403)) => Self::Denied { code, action },
            (Self::Refused { .. }, Some(400..=499)) => Self::Refused { code },
            (Self::Refused { .. }, Some(200..=299)) => {
                Self::Malformed { what: "it is not to be understood".to_owned() }
            }
            (Self::Refused { .. }, _) if matches!(error, SdkError::ConstructionFailure(_)) => Self::Refused { code },
            (Self::Refused { .. }, _) => Self::Unavailable { source: Arc::new(error) },
            (known, _) => known,
        }
    }

    /// The error of one entry of a batch of messages.
    pub(crate) fn of_entry(code: &str, sender_fault: bool) -> Self {
        match Self::of_code(code, SEND) {
            Self::Refused { code } if sender_fault => Self::MessageRefused { code },
            Self::Refused { code } => Self::Unavailable { source: Arc::new(ServiceFault(code)) },
            known => known,
        }
    }

    fn of_code(code: &str, action: &'static str) -> Self {
        match code.trim_start_matches("AWS.SimpleQueueService.") {
            "RequestThrottled"
            | "ThrottlingException"
            | "Throttling"
            | "OverLimit"
            | "KmsThrottled"
            | "KMS.ThrottlingException" => Self::Throttled,
            "QueueDoesNotExist" | "NonExistentQueue" => Self::NotFound,
            "AccessDenied" | "AccessDeniedException" => Self::Denied { code: code.to_owned(), action },
            "KmsAccessDenied" | "KMS.AccessDeniedException" => {
                Self::Denied { code: code.to_owned(), action: "kms:Decrypt and kms:GenerateDataKey" }
            }
            "MessageNotInflight" | "ReceiptHandleIsInvalid" => Self::NotHeld,
            "InvalidMessageContents" => Self::MessageRefused { code: code.to_owned() },
            _ => Self::Refused { code: code.to_owned() },
        }
    }
}

/// A fault of SQS with one entry of a batch.
#[derive(Debug, thiserror::Error)]
#[error("fault of the service: {0}")]
struct ServiceFault(String);
