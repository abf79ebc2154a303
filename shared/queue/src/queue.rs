//! One SQS queue.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{AsyncSleep, Builder};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{
    Message as SqsMessage, MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_types::SdkConfig;
use hookbox_core::key::JobKey;
use hookbox_core::limits::{MAX_QUEUE_DELAY, MAX_VISIBILITY};
use hookbox_core::time::Timestamp;

use crate::deployed::DeployedQueue;
use crate::error::{QueueError, SEND};
use crate::message::{Message, MessageError};

/// IAM actions of the calls that send nothing.
const GET_ATTRIBUTES: &str = "sqs:GetQueueAttributes";
const RECEIVE: &str = "sqs:ReceiveMessage";
const DELETE: &str = "sqs:DeleteMessage";
const RELEASE: &str = "sqs:ChangeMessageVisibility";

/// The most messages of one call (SQS service quota).
const MAX_BATCH: usize = 10;
/// Pauses before a failed call is made again. More patience is not needed: what is not sent is found by the sweeper.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// One SQS queue.
#[derive(Clone, Debug)]
pub struct Queue {
    client: Client,
    url: String,
}

/// How many messages a queue holds, approximately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Waiting to be received.
    pub visible: u64,
    /// Received and not yet deleted.
    pub in_flight: u64,
    /// Not yet to be received.
    pub delayed: u64,
}

impl Depth {
    /// From the attributes of a queue.
    pub(crate) fn of(attributes: &HashMap<QueueAttributeName, String>) -> Result<Self, QueueError> {
        let number = |name: QueueAttributeName| {
            attributes
                .get(&name)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| QueueError::Malformed { what: format!("{name} is missing or no number") })
        };
        Ok(Self {
            visible: number(QueueAttributeName::ApproximateNumberOfMessages)?,
            in_flight: number(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)?,
            delayed: number(QueueAttributeName::ApproximateNumberOfMessagesDelayed)?,
        })
    }
}

/// A received message.
#[derive(Clone, Debug)]
pub struct Received {
    /// The id that SQS gave the message.
    pub message_id: String,
    /// To delete or release it.
    pub handle: Handle,
    /// What it says.
    pub message: Result<Message, MessageError>,
    /// Its text as it came.
    pub body: Body,
    /// When it was sent, as SQS says.
    pub sent_at: Option<Timestamp>,
    /// How often it was received, this time included.
    pub receives: u32,
}

/// The text of a message. It may be anybody's payload, so nothing shows it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(String);

impl Body {
    /// The text, secrets and all.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

/// Names one receive of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle(String);

impl Queue {
    /// The queue at `url`. Pauses between two tries of a call are taken with the configuration's sleep.
    pub fn new(config: &SdkConfig, url: impl Into<String>) -> Self {
        // The SDK's own retries would hide faults from tests and draw random numbers.
        let config = Builder::from(config).retry_config(RetryConfig::disabled()).build();
        Self { client: Client::from_conf(config), url: url.into() }
    }

    /// The queue's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a wake-up that is received after `delay`, which is rounded up to whole seconds and cut at 15 minutes.
    pub async fn send(&self, key: &JobKey, delay: Duration) -> Result<(), QueueError> {
        let body = Message::wake_up(key.clone()).to_json();
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            let call = self.client.send_message().queue_url(&self.url).message_body(&body);
            match call
                .delay_seconds(delay_seconds(delay))
                .send()
                .await
                .map_err(|error| QueueError::of_call(SEND, error))
            {
                Ok(_) => return Ok(()),
                Err(error) => match pause.filter(|_| error.is_transient()) {
                    Some(pause) => self.rest(pause).await,
                    None => return Err(error),
                },
            }
        }
        // Not reached: the last try has no pause after it.
        Err(QueueError::NotTried)
    }

    /// Sends messages in tens. The results stand in the order of the messages, each with what became of its own. When a
    /// call fails as a whole, the tens after it are not tried: whoever calls has little time and comes again.
    pub async fn send_batch(&self, messages: &[Message]) -> Vec<Result<(), QueueError>> {
        let mut results = vec![Err(QueueError::NotTried); messages.len()];
        for (ten, results) in messages.chunks(MAX_BATCH).zip(results.chunks_mut(MAX_BATCH)) {
            if !self.send_ten(ten, results).await {
                break;
            }
        }
        results
    }

    /// Sends up to ten messages, and again those that may work a moment later. False when the queue itself fails.
    async fn send_ten(&self, ten: &[Message], results: &mut [Result<(), QueueError>]) -> bool {
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            let call = self.client.send_message_batch().queue_url(&self.url);
            let answer = call.set_entries(Some(entries(ten, results))).send().await;
            let answer = answer.map_err(|error| QueueError::of_call(SEND, error));
            let works = matches!(answer, Ok(_) | Err(QueueError::MessageRefused { .. }));
            let mut outcomes = answer.map(outcomes);
            for (i, result) in results.iter_mut().enumerate().filter(|(_, result)| is_open(result)) {
                *result = match &mut outcomes {
                    Ok(outcomes) => outcomes.remove(&i.to_string()).unwrap_or_else(unanswered),
                    Err(error) => Err(error.clone()),
                };
            }
            match pause {
                Some(pause) if results.iter().any(is_open) => self.rest(pause).await,
                _ => return works,
            }
        }
        false
    }

    /// How many messages the queue holds, approximately.
    pub async fn depth(&self) -> Result<Depth, QueueError> {
        const NAMES: [QueueAttributeName; 3] = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let call = self.client.get_queue_attributes().queue_url(&self.url);
        let answer = call.set_attribute_names(Some(NAMES.to_vec())).send().await;
        let answer = answer.map_err(|error| QueueError::of_call(GET_ATTRIBUTES, error))?;
        Depth::of(&answer.attributes.unwrap_or_default())
    }

    /// How the queue is set up, and how many messages it holds.
    pub async fn deployed(&self) -> Result<DeployedQueue, QueueError> {
        let call = self.client.get_queue_attributes().queue_url(&self.url).attribute_names(QueueAttributeName::All);
        let answer = call.send().await.map_err(|error| QueueError::of_call(GET_ATTRIBUTES, error))?;
        DeployedQueue::of(&answer.attributes.unwrap_or_default())
    }

    /// Receives up to `max` messages, at most ten, without waiting for any. Others do not see them for `visibility`, or
    /// until they are released.
    pub async fn peek(&self, max: usize, visibility: Duration) -> Result<Vec<Received>, QueueError> {
        let visibility = visibility.min(MAX_VISIBILITY).as_secs();
        let call = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(i32::try_from(max.clamp(1, MAX_BATCH)).unwrap_or(1))
            .visibility_timeout(i32::try_from(visibility).unwrap_or(i32::MAX))
            .wait_time_seconds(0)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
        let answer = call.send().await.map_err(|error| QueueError::of_call(RECEIVE, error))?;
        answer.messages.unwrap_or_default().into_iter().map(received).collect()
    }

    /// Deletes a received message. [`QueueError::NotHeld`] when SQS says that the receive is over; it does not always say
    /// so, and whoever took longer than the visibility must not rely on the deletion.
    pub async fn delete(&self, handle: &Handle) -> Result<(), QueueError> {
        let call = self.client.delete_message().queue_url(&self.url).receipt_handle(&handle.0);
        call.send().await.map(drop).map_err(|error| of_receive(DELETE, error))
    }

    /// Gives a received message back, so that it can be received at once. One that is not held any more is back already.
    pub async fn release(&self, handle: &Handle) -> Result<(), QueueError> {
        let call = self.client.change_message_visibility().queue_url(&self.url).receipt_handle(&handle.0);
        match call.visibility_timeout(0).send().await.map_err(|error| of_receive(RELEASE, error)) {
            Ok(_) | Err(QueueError::NotHeld) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn rest(&self, pause: Duration) {
        if let Some(sleep) = self.client.config().sleep_impl() {
            sleep.sleep(pause).await;
        }
    }
}

/// The error of a call that names a receive: SQS has no code of its own for one that is over.
fn of_receive<E>(action: &'static str, error: SdkError<E, HttpResponse>) -> QueueError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    match QueueError::of_call(action, error) {
        QueueError::Refused { code } if code.starts_with("InvalidParameterValue") => QueueError::NotHeld,
        error => error,
    }
}

/// The entries of what is still to be sent; an entry's id is its index.
fn entries(ten: &[Message], results: &[Result<(), QueueError>]) -> Vec<SendMessageBatchRequestEntry> {
    let open = ten.iter().zip(results).enumerate().filter(|(_, (_, result))| is_open(result));
    open.filter_map(|(i, (message, _))| {
        let entry = SendMessageBatchRequestEntry::builder().id(i.to_string()).message_body(message.to_json());
        // It has all that it needs; if it had not, its answer would be missing and its result say so.
        entry.build().ok()
    })
    .collect()
}

fn is_open(result: &Result<(), QueueError>) -> bool {
    match result {
        Ok(()) => false,
        Err(QueueError::NotTried) => true,
        Err(error) => error.is_transient(),
    }
}

/// What the answer says of each id. Of an id that stands in both lists the worse is believed.
fn outcomes(answer: SendMessageBatchOutput) -> HashMap<String, Result<(), QueueError>> {
    let sent = answer.successful.into_iter().map(|entry| (entry.id, Ok(())));
    let failed = answer.failed.into_iter().map(|entry| {
        let error = QueueError::of_entry(&entry.code, entry.sender_fault);
        (entry.id, Err(error))
    });
    sent.chain(failed).collect()
}

fn unanswered() -> Result<(), QueueError> {
    Err(QueueError::Malformed { what: "a message of the batch is missing from it".to_owned() })
}

fn delay_seconds(delay: Duration) -> i32 {
    let whole = delay.as_secs().saturating_add(u64::from(delay.subsec_nanos() > 0));
    i32::try_from(whole.min(MAX_QUEUE_DELAY.as_secs())).unwrap_or(0)
}

fn received(message: SqsMessage) -> Result<Received, QueueError> {
    let missing = |what: &str| QueueError::Malformed { what: format!("a received message has no {what}") };
    let attribute = |name| message.attributes.as_ref().and_then(|attributes| attributes.get(&name));
    let sent_at = attribute(MessageSystemAttributeName::SentTimestamp).and_then(|text| text.parse().ok());
    let receives = attribute(MessageSystemAttributeName::ApproximateReceiveCount).and_then(|text| text.parse().ok());
    let body = message.body.unwrap_or_default();
    Ok(Received {
        message: Message::parse(&body),
        body: Body(body),
        sent_at: sent_at.map(Timestamp::from_millis),
        receives: receives.unwrap_or(1),
        message_id: message.message_id.ok_or_else(|| missing("id"))?,
        handle: Handle(message.receipt_handle.ok_or_else(|| missing("receipt handle"))?),
    })
}
