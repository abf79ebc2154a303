//! How attempts ended, from the worker's log.

use std::collections::VecDeque;

use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::error::ProvideErrorMetadata as _;
use aws_sdk_cloudwatchlogs::types::FilteredLogEvent;
use hookbox_core::time::Timestamp;

use super::line::{Ending, Logged, TailFilter};
use crate::connection::Aws;
use crate::failure::Failure;
use crate::search::range::Range;

/// The messages of the worker that say how an attempt ended.
const MESSAGES: [&str; 2] = ["attempt ended", "held"];

/// The log of the worker.
#[derive(Clone, Debug)]
pub(super) struct Logs<'a> {
    aws: &'a Aws,
    client: Client,
    group: &'a str,
}

/// Endings of a range of time, in their order, read as they are asked for.
#[derive(Debug)]
pub(super) struct EndingSearch<'a> {
    logs: &'a Logs<'a>,
    filter: &'a TailFilter,
    range: Range,
    read: VecDeque<Ending>,
    next: Next,
}

#[derive(Clone, Debug)]
enum Next {
    Page(Option<String>),
    End,
}

impl<'a> Logs<'a> {
    pub(super) fn new(aws: &'a Aws, group: &'a str) -> Self {
        Self { aws, client: Client::new(aws.config()), group }
    }
}

impl<'a> EndingSearch<'a> {
    pub(super) fn begin(logs: &'a Logs<'a>, filter: &'a TailFilter, range: Range) -> Self {
        Self { logs, filter, range, read: VecDeque::new(), next: Next::Page(None) }
    }

    /// The next one; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Ending>, Failure> {
        loop {
            if let Some(ending) = self.read.pop_front() {
                return Ok(Some(ending));
            }
            match std::mem::replace(&mut self.next, Next::End) {
                Next::Page(after) => self.page(after).await?,
                Next::End => return Ok(None),
            }
        }
    }

    /// Reads a page, which may be empty although there are others.
    async fn page(&mut self, after: Option<String>) -> Result<(), Failure> {
        let Logs { aws, client, group } = self.logs;
        let patterns = MESSAGES.map(|message| format!("($.message = \"{message}\")"));
        let call = client
            .filter_log_events()
            .log_group_name(*group)
            .filter_pattern(format!("{{ {} }}", patterns.join(" || ")))
            .start_time(self.range.since.as_millis())
            // The end is a part of it there.
            .end_time(self.range.until.as_millis() - 1)
            .set_next_token(after);
        let page = call.send().await.map_err(|error| {
            let failure = aws.failure(&format!("read the log group {group}"), "logs:FilterLogEvents", &error);
            match error.code() {
                Some("ResourceNotFoundException") => failure
                    .advise("the stack's output `WorkerLogGroup` names it: --log-group or HOOKBOX_WORKER_LOG_GROUP"),
                _ => failure,
            }
        })?;
        self.read.extend(page.events().iter().filter_map(ending).filter(|ending| self.filter.takes_ending(&ending.of)));
        if let Some(token) = page.next_token() {
            self.next = Next::Page(Some(token.to_owned()));
        }
        Ok(())
    }
}

/// `None` for any other line. Patterns are not understood by every AWS.
fn ending(event: &FilteredLogEvent) -> Option<Ending> {
    let of: Logged = serde_json::from_str(event.message()?).ok()?;
    if !MESSAGES.contains(&of.message.as_str()) {
        return None;
    }
    Some(Ending { at: Timestamp::from_millis(event.timestamp()?), id: event.event_id()?.to_owned(), of })
}
