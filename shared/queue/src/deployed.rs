//! A queue as it is deployed, for whoever compares it with what it must be.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use crate::error::QueueError;
use crate::queue::Depth;

/// What SQS says of a queue. What the answer does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeployedQueue {
    /// Its ARN.
    pub arn: Option<String>,
    /// For how long others do not see a message that was received.
    pub visibility: Option<Duration>,
    /// For how long a message is kept.
    pub retention: Option<Duration>,
    /// Where a message goes that was received in vain, and after how many times.
    pub redrive: Option<Redrive>,
    /// Whether its messages are encrypted where they lie, with whichever key.
    pub encrypted: bool,
    /// How many messages it holds.
    pub depth: Depth,
}

/// Where a message goes that was received in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    /// The ARN of the other queue.
    pub target: Option<String>,
    /// After how many receives.
    pub max_receives: Option<u32>,
}

impl DeployedQueue {
    pub(crate) fn of(attributes: &HashMap<QueueAttributeName, String>) -> Result<Self, QueueError> {
        let text = |name: QueueAttributeName| attributes.get(&name).filter(|text| !text.is_empty());
        let seconds = |name| text(name).and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let managed = text(QueueAttributeName::SqsManagedSseEnabled).is_some_and(|text| text == "true");
        Ok(Self {
            arn: text(QueueAttributeName::QueueArn).cloned(),
            visibility: seconds(QueueAttributeName::VisibilityTimeout),
            retention: seconds(QueueAttributeName::MessageRetentionPeriod),
            redrive: text(QueueAttributeName::RedrivePolicy).map(|policy| Redrive::of(policy)).transpose()?,
            encrypted: managed || text(QueueAttributeName::KmsMasterKeyId).is_some(),
            depth: Depth::of(attributes)?,
        })
    }
}

impl Redrive {
    fn of(policy: &str) -> Result<Self, QueueError> {
        let policy: Value = serde_json::from_str(policy)
            .map_err(|_| QueueError::Malformed { what: "RedrivePolicy is not JSON".to_owned() })?;
        // A number, or a text that holds one: both are taken when it is set, and given back as they were.
        let count = &policy["maxReceiveCount"];
        let count = count.as_u64().or_else(|| count.as_str()?.parse().ok());
        Ok(Self {
            target: policy["deadLetterTargetArn"].as_str().map(str::to_owned),
            max_receives: count.and_then(|count| u32::try_from(count).ok()),
        })
    }
}
