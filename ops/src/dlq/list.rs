//! Jobs in review joined with the notices on the dead-letter queue.

use std::collections::BTreeMap;
use std::io;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::{Job, State, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::ErrorText;
use hookbox_core::time::Timestamp;
use hookbox_queue::Received;
use serde::Serialize;

use super::board;
use crate::connection::{NamedQueue, Table};
use crate::failure::Failure;
use crate::layout::{Cell, Columns, count};
use crate::pauses::{self, PauseLine, Pauses};
use crate::search::jobs::{FoundJob, JobFilter, JobSearch};
use crate::search::range::Range;
use crate::search::{ConnectionArgs, FAR};
use crate::terminal::{Format, Terminal, Tone};

/// Folders that are read at once.
const AT_ONCE: usize = 8;

/// What waits for a person.
#[derive(Clone, Debug)]
pub struct List {
    lines: Vec<Line>,
    more: bool,
    /// What was met that this version cannot read, and why.
    unreadable: Vec<String>,
    pauses: Pauses,
}

/// A job, or a message that is none of a job in review.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// The job; `None` for poison.
    pub job: Option<JobKey>,
    /// Why it waits.
    pub reason: Option<String>,
    /// Its receipt.
    pub receipt: Option<ReceiptId>,
    /// The job's status; `missing` when a message names a job that is not there, `unreadable` when this version cannot
    /// read it, `poison` for a message that names none.
    pub status: String,
    /// The event's provider and connection.
    pub integration: Option<String>,
    /// What happened.
    pub kind: Option<String>,
    /// What it happened to.
    pub resource: Option<String>,
    /// When the event arrived.
    pub received_at: Option<String>,
    /// Calls made in all rounds.
    pub attempts_total: Option<u32>,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// The message on the queue; `None` when it has been deleted or has expired.
    pub message_id: Option<String>,
    /// How many messages name this job.
    pub messages: usize,
    /// What is wrong with the message, never what it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    #[serde(skip)]
    arrived: Option<Timestamp>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Job(&'a Line),
    Paused(PauseLine<'a>),
    Unreadable { status: &'static str, fault: &'a str },
}

impl List {
    /// Looks at the table, then at the queue, unless it is stopped.
    pub async fn make(
        table: &Table,
        queue: &NamedQueue,
        limit: u32,
        stop: &mut BoxFuture<'_, ()>,
    ) -> Result<Self, Failure> {
        let (mut lines, more, unreadable) = in_review(table, limit).await?;
        let mut poison = Vec::new();
        let mut notices: BTreeMap<JobKey, Vec<Received>> = BTreeMap::new();
        for received in board::look(queue, stop, |_| false).await? {
            match &received.message {
                Ok(message) => notices.entry(message.job.clone()).or_default().push(received),
                Err(fault) => poison.push(Line {
                    status: "poison".to_owned(),
                    message_id: Some(received.message_id),
                    messages: 1,
                    fault: Some(fault.to_string()),
                    arrived: received.sent_at,
                    ..Line::default()
                }),
            }
        }
        let unlisted: Vec<JobKey> = notices.keys().filter(|key| !lines.contains_key(key)).cloned().collect();
        lines.extend(load(table, unlisted).await?);
        for (key, messages) in notices {
            let Some(line) = lines.get_mut(&key) else { continue };
            line.messages = messages.len();
            let first = messages.into_iter().next();
            line.message_id = first.as_ref().map(|received| received.message_id.clone());
            let said = first.and_then(|received| received.message.ok()).and_then(|message| message.reason);
            // Anybody may write to the queue, so nothing of it moves a terminal's cursor.
            let said = said.map(|reason| ErrorText::new(&reason).to_string());
            line.reason = line.reason.take().or(said);
        }
        let mut lines: Vec<Line> = lines.into_values().chain(poison).collect();
        lines.sort_by_key(|line| line.arrived);
        Ok(Self { lines, more, unreadable, pauses: Pauses::read(table).await? })
    }

    /// Shows the list.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_json(&self.for_programs());
        }
        let pauses = !self.pauses.standing.is_empty() || !self.pauses.unreadable.is_empty();
        if self.lines.is_empty() && self.unreadable.is_empty() && !pauses {
            return terminal.say("nothing waits for a person, and the dead-letter queue is empty");
        }
        if !self.lines.is_empty() {
            self.show_jobs(terminal)?;
        }
        for why in &self.unreadable {
            let line = terminal.paint(Tone::Bad, format!("unreadable: {why}"));
            terminal.say(line)?;
        }
        if pauses {
            if !self.lines.is_empty() {
                terminal.say("")?;
            }
            pauses::show_table(&self.pauses, terminal)?;
        }
        Ok(())
    }

    /// One list: what waits, then what is paused.
    fn for_programs(&self) -> Vec<Entry<'_>> {
        let unreadable = self.unreadable.iter().chain(&self.pauses.unreadable);
        let unreadable = unreadable.map(|why| Entry::Unreadable { status: "unreadable", fault: why });
        let paused = self.pauses.standing.iter().map(|standing| Entry::Paused(standing.into()));
        self.lines.iter().map(Entry::Job).chain(paused).chain(unreadable).collect()
    }

    fn show_jobs(&self, terminal: &mut Terminal) -> io::Result<()> {
        let mut columns = Columns::default().headed([
            "ARRIVED",
            "STATUS",
            "REASON",
            "INTEGRATION",
            "KIND",
            "TRIES",
            "NOTICES",
            "LAST ERROR",
            "JOB",
        ]);
        for line in &self.lines {
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let tone = if line.status == Status::Review.as_str() { Tone::Busy } else { Tone::Quiet };
            let tone = if matches!(line.status.as_str(), "poison" | "unreadable") { Tone::Bad } else { tone };
            let job = line.job.as_ref().map(ToString::to_string);
            let name = job.or_else(|| line.message_id.as_ref().map(|id| format!("message {id}")));
            columns.row([
                line.arrived.map_or_else(|| "-".to_owned(), |at| terminal.time(at)).into(),
                Cell::new(tone, &line.status),
                line.fault.clone().unwrap_or_else(|| or_dash(&line.reason)).into(),
                or_dash(&line.integration).into(),
                or_dash(&line.kind).into(),
                line.attempts_total.map_or_else(|| "-".to_owned(), |tries| tries.to_string()).into(),
                line.messages.to_string().into(),
                line.last_error.as_deref().map_or_else(|| "-".to_owned(), shortened).into(),
                or_dash(&name).into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        let of = |status: &str| self.lines.iter().filter(|line| line.status == status).count() as u64;
        let notices: usize = self.lines.iter().map(|line| line.messages).sum();
        let more = if self.more { " (there are more: --limit)" } else { "" };
        terminal.say(format_args!(
            "\n{} in review{more}, {} on the queue, {} poison. hookbox dlq show JOB or MESSAGE says more.",
            count(of("review"), "job"),
            count(notices as u64, "message"),
            of("poison"),
        ))?;
        let left = ["pending", "processing", "retrying", "held", "completed", "dismissed"].map(of).iter().sum();
        if left > 0 {
            terminal.say(format_args!(
                "{} left review since its message was sent: hookbox dlq drain",
                count(left, "job")
            ))?;
        }
        Ok(())
    }
}

/// As much of an error as fits beside the rest.
fn shortened(text: &str) -> String {
    const ROOM: usize = 40;
    if text.chars().count() <= ROOM { text.to_owned() } else { text.chars().take(ROOM - 1).chain(['…']).collect() }
}

/// At most `limit` jobs in review, whether there are more, and what cannot be read.
async fn in_review(table: &Table, limit: u32) -> Result<(BTreeMap<JobKey, Line>, bool, Vec<String>), Failure> {
    let filter = JobFilter {
        states: [Status::Review].into(),
        connections: ConnectionArgs::default(),
        range: Range { since: Timestamp::from_millis(0), until: FAR },
        kinds: Vec::new(),
        operation: None,
        error_code: None,
    };
    let mut search = JobSearch::begin(table, &filter, None).await?;
    let (mut lines, mut more) = (BTreeMap::new(), false);
    while let Some(FoundJob { job, .. }) = search.next().await? {
        if lines.len() >= limit as usize {
            more = true;
            break;
        }
        lines.insert(job.key.clone(), Line::of_job(&job));
    }
    Ok((lines, more, search.unreadable().map(str::to_owned).collect()))
}

/// Reads each job as it stands now.
async fn load(table: &Table, keys: Vec<JobKey>) -> Result<BTreeMap<JobKey, Line>, Failure> {
    let read = |key: JobKey| async move {
        let loaded = table.ledger.load(&key.receipt).await;
        let loaded = loaded.map_err(|error| table.failure(&format!("read the job {key}"), &error))?;
        let line = match &loaded {
            None => Line { status: "missing".to_owned(), ..Line::of_key(&key) },
            Some(folder) => match (folder.job(&key), folder.unreadable_job(&key)) {
                (Some(job), _) => Line::of_job(job),
                (None, Some(why)) => {
                    Line { status: "unreadable".to_owned(), fault: Some(why.to_string()), ..Line::of_key(&key) }
                }
                (None, None) => Line { status: "missing".to_owned(), ..Line::of_key(&key) },
            },
        };
        Ok((key, line))
    };
    stream::iter(keys).map(read).buffered(AT_ONCE).try_collect().await
}

impl Line {
    fn of_key(key: &JobKey) -> Self {
        Self { job: Some(key.clone()), receipt: Some(key.receipt), ..Self::default() }
    }

    fn of_job(job: &Job) -> Self {
        let reason = if let State::Review { reason } = job.state { Some(reason.as_str().to_owned()) } else { None };
        let last_error = job.last_error.as_ref().map(|error| format!("{}: {}", error.code, error.detail));
        Self {
            reason,
            status: job.status().as_str().to_owned(),
            integration: Some(format!("{}/{}", job.provider, job.account)),
            kind: Some(job.kind.clone()),
            resource: job.resource.clone(),
            received_at: Some(job.received_at.to_string()),
            attempts_total: Some(job.attempts_total),
            last_error,
            arrived: Some(job.received_at),
            ..Self::of_key(&job.key)
        }
    }
}
