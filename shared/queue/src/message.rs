//! The body of a message: `{"job":"<receipt>:<operation>:v1"}`, on the dead-letter queue also with `"reason"`.

use std::borrow::Cow;

use hookbox_core::key::{InvalidKey, JobKey};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

/// A wake-up or a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The job to look at.
    pub job: JobKey,
    /// On the dead-letter queue, why it waits for a person.
    pub reason: Option<String>,
}

/// The body is not a message of ours. What it says instead is not repeated: it may be anybody's payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Not JSON.
    #[error("not JSON (line {line}, column {column})")]
    NotJson {
        /// From 1.
        line: usize,
        /// From 1, or 0 at the end of the text.
        column: usize,
    },
    /// JSON of another shape.
    #[error("not an object with a text `job`")]
    Shape,
    /// The job's key is none.
    #[error("`job` is {0}")]
    Key(#[from] InvalidKey),
}

/// What is written. Unknown members are ignored when it is read, so that a newer sender can be rolled out first.
#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    job: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
}

impl Message {
    /// A wake-up for the work queue.
    pub fn wake_up(job: JobKey) -> Self {
        Self { job, reason: None }
    }

    /// A notice for the dead-letter queue.
    pub fn notice(job: JobKey, reason: impl Into<String>) -> Self {
        Self { job, reason: Some(reason.into()) }
    }

    /// Reads the body of a message.
    pub fn parse(body: &str) -> Result<Self, MessageError> {
        let wire: Wire<'_> = serde_json::from_str(body).map_err(|error| match error.classify() {
            Category::Data => MessageError::Shape,
            Category::Io | Category::Syntax | Category::Eof => {
                MessageError::NotJson { line: error.line(), column: error.column() }
            }
        })?;
        Ok(Self { job: wire.job.parse()?, reason: wire.reason.map(Cow::into_owned) })
    }

    /// The body as it is sent.
    pub fn to_json(&self) -> String {
        let reason = self.reason.as_deref().map(Cow::Borrowed);
        let wire = Wire { job: self.job.to_string().into(), reason };
        // Two texts always serialise; if that ever were not so, an empty body is refused by SQS and seen.
        serde_json::to_string(&wire).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIPT: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn job() -> JobKey {
        format!("{RECEIPT}:crm-upsert:v1").parse().unwrap()
    }

    #[test]
    fn a_message_is_exactly_its_key_and_its_reason() {
        let wake_up = Message::wake_up(job());
        assert_eq!(wake_up.to_json(), format!(r#"{{"job":"{RECEIPT}:crm-upsert:v1"}}"#));
        let notice = Message::notice(job(), "exhausted");
        assert_eq!(notice.to_json(), format!(r#"{{"job":"{RECEIPT}:crm-upsert:v1","reason":"exhausted"}}"#));
        for message in [wake_up, notice] {
            assert_eq!(Message::parse(&message.to_json()), Ok(message));
        }
    }

    #[test]
    fn a_newer_sender_may_say_more() {
        let body = format!(r#" {{"since":[1],"job":"{RECEIPT}:crm-upsert:v1","reason":null}}"#);
        assert_eq!(Message::parse(&body), Ok(Message::wake_up(job())));
    }

    #[test]
    fn what_is_not_ours_is_refused_without_being_repeated() {
        let cases = [
            ("", MessageError::NotJson { line: 1, column: 0 }),
            ("{\"job\":\"card 4111\"", MessageError::NotJson { line: 1, column: 18 }),
            ("\"card 4111\"", MessageError::Shape),
            ("{\"job\":4111}", MessageError::Shape),
            ("{\"card 4111\":1}", MessageError::Shape),
            ("{\"job\":\"card 4111\"}", MessageError::Key(InvalidKey::Job)),
        ];
        for (body, expected) in cases {
            let error = Message::parse(body).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("4111"), "{error:?}");
            assert_eq!(error, expected, "{body}");
        }
        let wrong = format!(r#"{{"job":"{RECEIPT}:crm-upsert:v1","reason":{{"card":4111}}}}"#);
        assert_eq!(Message::parse(&wrong), Err(MessageError::Shape));
    }
}
