//! `hookbox dlq show`: one job with its messages, or one message with its job.

use std::convert::Infallible;
use std::io;
use std::str::FromStr;

use futures_util::future::BoxFuture;
use hookbox_core::key::JobKey;
use hookbox_core::outcome::ErrorText;
use hookbox_queue::Received;
use serde::Serialize;

use super::board;
use super::redact::redacted;
use crate::connection::{NamedQueue, Table};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{Cell, Columns};
use crate::receipts::{Found, Sheet};
use crate::terminal::{Format, Terminal, Tone};

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A job and the messages that name it.
    Job(JobKey),
    /// A message, by the id that SQS gave it.
    Message(String),
}

impl FromStr for Wanted {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Message(text.to_owned()), Self::Job))
    }
}

/// A message for programs.
#[derive(Serialize)]
struct Line {
    message_id: String,
    sent_at: Option<String>,
    receives: u32,
    /// Why its job waited for a person when it was sent; `null` for a wake-up that its worker gave back too often.
    reason: Option<String>,
    /// Of poison: what is wrong with it, and its text without what looks like a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    poison: Option<Poison>,
}

#[derive(Serialize)]
struct Poison {
    fault: String,
    text: String,
}

#[derive(Serialize)]
struct Report<'a, S: Serialize> {
    /// The job's status, or `poison`, `missing` or `unreadable`.
    status: &'static str,
    messages: &'a [Line],
    job: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a str>,
}

impl Wanted {
    /// Shows it with what belongs to it. A job that is not there and that no message names, and a message that cannot be
    /// seen, are negative answers.
    pub async fn show(
        &self,
        table: &Table,
        queue: &NamedQueue,
        stop: &mut BoxFuture<'_, ()>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let (key, messages) = match self {
            Wanted::Job(key) => {
                let names_it = |received: &Received| received.message.as_ref().is_ok_and(|message| message.job == *key);
                let mut messages = board::look(queue, stop, |_| false).await?;
                messages.retain(names_it);
                (Some(key.clone()), messages)
            }
            Wanted::Message(id) => {
                let mut messages = board::look(queue, stop, |received| received.message_id == *id).await?;
                messages.retain(|received| received.message_id == *id);
                let Some(message) = messages.first() else { return Err(no_message(id)) };
                (message.message.as_ref().ok().map(|message| message.job.clone()), messages)
            }
        };
        let found = match &key {
            Some(key) => Some(Sheet::find(key, table).await?),
            None => None,
        };
        let missing = matches!(found, Some(Found::NoJob | Found::NoReceipt));
        if let (Some(key), true, true) = (&key, missing, messages.is_empty()) {
            let trouble = Trouble::new(format!("show the job {key}"), "there is none, and no message names it");
            return Err(Failure::Refused(trouble.advise("it may have expired, or belong to another table")));
        }
        let lines: Vec<_> = messages.iter().map(Line::of).collect();
        if terminal.format() == Format::Table {
            for (line, message) in lines.iter().zip(&messages) {
                line.show(message, terminal)?;
            }
            if lines.is_empty() {
                terminal.say("No message of it can be seen on the queue\n")?;
            }
            return show_job(key.as_ref(), found.as_ref(), terminal);
        }
        let (status, fault) = match &found {
            None => ("poison", None),
            Some(Found::Sheet(sheet)) => (sheet.job().status().as_str(), None),
            Some(Found::Unreadable(why)) => ("unreadable", Some(why.as_str())),
            Some(Found::NoJob | Found::NoReceipt) => ("missing", None),
        };
        let sheet = if let Some(Found::Sheet(sheet)) = &found { Some(sheet.for_programs()) } else { None };
        terminal.say_json(&Report { status, messages: &lines, job: sheet, fault })?;
        Ok(Answer::Yes)
    }
}

fn no_message(id: &str) -> Failure {
    let why = "no message of this id can be seen on the queue";
    Failure::Refused(
        Trouble::new(format!("show the message {id}"), why)
            .advise("another process may be looking at it: try again in a minute")
            .advise("hookbox dlq list names those that can be seen"),
    )
}

fn show_job(key: Option<&JobKey>, found: Option<&Found>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let (Some(key), Some(found)) = (key, found) else { return Ok(Answer::Yes) };
    let (status, what) = match found {
        Found::Sheet(sheet) => {
            sheet.show(terminal)?;
            return Ok(Answer::Yes);
        }
        Found::Unreadable(why) => ("unreadable", why.as_str()),
        Found::NoJob | Found::NoReceipt => ("missing", "a consistent read does not find it"),
    };
    let (job, status) = (terminal.paint(Tone::Heading, "Job"), terminal.paint(Tone::Bad, status));
    terminal.say(format_args!("{job}  {key}  {status}: {what}"))?;
    Ok(Answer::Yes)
}

impl Line {
    fn of(received: &Received) -> Self {
        let (reason, poison) = match &received.message {
            // Anybody may write to the queue.
            Ok(message) => (message.reason.as_ref().map(|reason| ErrorText::new(reason).to_string()), None),
            Err(fault) => (None, Some(Poison { fault: fault.to_string(), text: redacted(received.body.expose()) })),
        };
        Self {
            message_id: received.message_id.clone(),
            sent_at: received.sent_at.map(|at| at.to_string()),
            receives: received.receives,
            reason,
            poison,
        }
    }

    fn show(&self, received: &Received, terminal: &mut Terminal) -> io::Result<()> {
        let heading = terminal.paint(Tone::Heading, "Message");
        terminal.say(format_args!("{heading}  {}", self.message_id))?;
        let mut facts = Columns::indented(2);
        let mut fact = |name: &str, value: String| facts.row([Cell::new(Tone::Quiet, name), value.into()]);
        fact("sent", received.sent_at.map_or_else(|| "-".to_owned(), |at| terminal.time(at)));
        fact("receives", self.receives.to_string());
        match (&self.poison, &self.reason) {
            (Some(Poison { fault, text }), _) => {
                fact("poison", fault.clone());
                fact("text", text.clone());
            }
            (None, Some(reason)) => fact("notice", format!("its job came to review: {reason}")),
            (None, None) => {
                fact("wake-up", "received too often: its worker crashed, or could not read its job".to_owned());
            }
        }
        for line in facts.lines(terminal) {
            terminal.say(line)?;
        }
        terminal.say("")
    }
}
