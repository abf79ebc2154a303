//! `hookbox dlq drain`: deletes the messages that nobody needs any more.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::Status;
use hookbox_core::key::JobKey;
use hookbox_queue::Received;
use serde::Serialize;

use super::board::{Board, is_over};
use crate::connection::{NamedQueue, Table};
use crate::deed::Intent;
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::layout::{Columns, count};
use crate::terminal::{Format, Terminal};

/// How long others do not see a message, should this process end before it deletes it or gives it back.
const LOOKING: Duration = Duration::from_secs(120);
/// A message that was received so long ago is left alone: it may be visible again by the time at which SQS hears of us.
const IN_TIME: Duration = Duration::from_secs(100);
/// Folders that are read at once.
const AT_ONCE: usize = 8;
/// Messages that are named in the answer.
const SAMPLES: usize = 5;

/// What is to be deleted.
#[derive(Clone, Copy, Debug)]
pub struct Drain<'a> {
    /// Only these messages, by the ids that SQS gave them; without any, whatever is not needed.
    pub messages: &'a BTreeSet<String>,
    /// Poison too.
    pub poison: bool,
    /// Messages whose job a consistent read does not find, too.
    pub missing: bool,
    /// The most messages that are looked at.
    pub limit: usize,
    /// Whether to ask.
    pub intent: Intent,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Poison,
    Missing,
    Unreadable,
    /// A job in this status; a notice says why it came to review, a wake-up does not.
    Job {
        status: Status,
        notice: bool,
    },
}

/// A message for the answer.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    message_id: String,
    status: &'static str,
    job: Option<JobKey>,
}

/// What came of the messages; `drained` is what would be deleted in a dry run.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// `dry-run`, `finished` or `stopped`.
    state: &'static str,
    looked_at: usize,
    drained: BTreeMap<&'static str, u64>,
    kept: BTreeMap<&'static str, u64>,
    /// Were to be deleted, and were no longer ours to delete.
    expired: u64,
    /// Whether the limit left some out.
    more: bool,
    samples: Vec<Sample>,
}

impl Drain<'_> {
    /// Asks, looks at one message after the other, and deletes or keeps it. Whatever was not deleted is given back, also
    /// when it fails or is stopped.
    pub async fn carry_out(
        &self,
        table: &Table,
        queue: &NamedQueue,
        around: &mut Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let write = self.intent.allows(&self.question(), "drain the dead-letter queue", terminal)?;
        let mut report = Report::default();
        let mut board = Board::new(queue, LOOKING);
        let drained = self.through(&mut board, &mut report, write, table, around, terminal).await;
        report.looked_at = board.seen();
        let given_back = board.give_back().await;
        let deleted = report.drained.values().sum::<u64>();
        drained.map_err(|failure| {
            let before = format!("{} deleted before, the others are given back", count(deleted, "message"));
            if write && deleted > 0 { failure.advise(before) } else { failure }
        })?;
        report.show(terminal)?;
        given_back?;
        let all = self.messages.is_empty() || deleted == self.messages.len() as u64;
        Ok(if all && report.state != "stopped" { Answer::Yes } else { Answer::No })
    }

    fn question(&self) -> String {
        if !self.messages.is_empty() {
            let number = count(self.messages.len() as u64, "message");
            return format!("Delete {number} of the dead-letter queue, unless the job is in review?");
        }
        let also = match (self.poison, self.missing) {
            (false, false) => "",
            (true, false) => ", and poison",
            (false, true) => ", and those whose jobs are missing",
            (true, true) => ", poison, and those whose jobs are missing",
        };
        format!("Delete the messages of the dead-letter queue whose jobs have left review{also}?")
    }

    async fn through(
        &self,
        board: &mut Board<'_>,
        report: &mut Report,
        write: bool,
        table: &Table,
        around: &mut Surroundings<'_>,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        let progress = terminal.counter("looked at");
        while board.seen() < self.limit {
            if is_over(&mut around.stop) {
                report.state = "stopped";
                return Ok(());
            }
            let received_at = around.clock.now();
            let news = board.next().await?;
            if news.is_empty() {
                break;
            }
            progress.inc(news.len() as u64);
            let asked = news.into_iter().filter(|received| self.asks_for(&received.message_id));
            let abouts =
                asked.map(|received| async move { Ok::<_, Failure>((about(&received, table).await?, received)) });
            let abouts: Vec<_> = stream::iter(abouts).buffered(AT_ONCE).try_collect().await?;
            for (about, received) in abouts {
                let in_time = around.clock.now().since(received_at) < IN_TIME;
                self.deal_with(about, &received, write.then_some(in_time), board, report).await?;
            }
            if !self.messages.is_empty() && report.dealt_with() == self.messages.len() as u64 {
                break;
            }
        }
        report.more = board.seen() >= self.limit;
        report.state = if write { "finished" } else { "dry-run" };
        Ok(())
    }

    /// `in_time` is `None` where nothing is to be written.
    async fn deal_with(
        &self,
        about: About,
        received: &Received,
        in_time: Option<bool>,
        board: &mut Board<'_>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        if !self.deletes(about) {
            *report.kept.entry(about.name()).or_default() += 1;
            return Ok(());
        }
        let deleted = match in_time {
            None => true,
            Some(false) => false,
            Some(true) => board.delete(received).await?,
        };
        if deleted {
            *report.drained.entry(about.name()).or_default() += 1;
            if report.samples.len() < SAMPLES {
                let job = received.message.as_ref().ok().map(|message| message.job.clone());
                let message_id = received.message_id.clone();
                report.samples.push(Sample { message_id, status: about.name(), job });
            }
        } else {
            report.expired += 1;
        }
        Ok(())
    }

    fn asks_for(&self, id: &str) -> bool {
        self.messages.is_empty() || self.messages.contains(id)
    }

    fn deletes(&self, about: About) -> bool {
        let by_id = !self.messages.is_empty();
        match about {
            // Somebody has still to decide, or nobody knows whether.
            About::Unreadable | About::Job { status: Status::Review, .. } => false,
            About::Poison => self.poison || by_id,
            About::Missing => self.missing || by_id,
            About::Job { status: Status::Completed | Status::Dismissed, .. } => true,
            // Of a job that is still to be worked on, a wake-up that came here tells that its worker is in trouble.
            About::Job { notice, .. } => notice || by_id,
        }
    }
}

/// Reads what the message is about.
async fn about(received: &Received, table: &Table) -> Result<About, Failure> {
    let Ok(message) = &received.message else { return Ok(About::Poison) };
    let key = &message.job;
    let loaded = table.ledger.load(&key.receipt).await;
    let loaded = loaded.map_err(|error| table.failure(&format!("read the job {key}"), &error))?;
    let Some(folder) = loaded else { return Ok(About::Missing) };
    Ok(match (folder.job(key), folder.unreadable_job(key)) {
        (Some(job), _) => About::Job { status: job.status(), notice: message.reason.is_some() },
        (None, Some(_)) => About::Unreadable,
        (None, None) => About::Missing,
    })
}

impl About {
    fn name(self) -> &'static str {
        match self {
            Self::Poison => "poison",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Job { status, .. } => status.as_str(),
        }
    }
}

impl Report {
    fn dealt_with(&self) -> u64 {
        self.drained.values().chain(self.kept.values()).sum::<u64>() + self.expired
    }

    fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_json(self);
        }
        let done = if self.state == "dry-run" { "would delete" } else { "deleted" };
        let (drained, seen) = (self.drained.values().sum::<u64>(), count(self.looked_at as u64, "message"));
        terminal.say(format_args!("{done} {drained} of {seen}{}", in_words(&self.drained)))?;
        let mut samples = Columns::indented(2);
        for Sample { message_id, status, job } in &self.samples {
            let job = job.as_ref().map_or_else(String::new, ToString::to_string);
            samples.row([message_id.clone().into(), (*status).into(), job.into()]);
        }
        for line in samples.lines(terminal) {
            terminal.say(line)?;
        }
        let rest = drained.saturating_sub(self.samples.len() as u64);
        if rest > 0 {
            terminal.say(format_args!("  and {rest} more"))?;
        }
        let kept = self.kept.values().sum::<u64>();
        if kept > 0 {
            terminal.say(format_args!("kept {kept}{}", in_words(&self.kept)))?;
        }
        if self.expired > 0 {
            let expired = self.expired;
            terminal.say(format_args!("not deleted {expired}: received again or too long ago, try again"))?;
        }
        if self.state == "stopped" {
            terminal.say("stopped: what was not deleted is given back")?;
        }
        if self.more { terminal.note("there are more: --limit") } else { Ok(()) }
    }
}

/// `: 2 review, 1 poison`.
fn in_words(counts: &BTreeMap<&'static str, u64>) -> String {
    let parts: Vec<_> = counts.iter().map(|(name, number)| format!("{number} {name}")).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}
