//! What happened, as one line each.

use std::collections::BTreeSet;

use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::ReceiptEntry;
use serde::{Deserialize, Serialize};

use crate::layout::{Cell, line};
use crate::search::ConnectionArgs;
use crate::terminal::{Terminal, Tone};

/// What something came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Outcome {
    /// An event was stored with the jobs that it requires.
    Accepted,
    /// An event was stored whose kind requires nothing.
    Ignored,
    /// An event was stored that its profile refuses.
    Rejected,
    /// An attempt had its effect.
    Done,
    /// An attempt had none, and another may.
    Transient,
    /// Nobody knows what an attempt came to.
    Uncertain,
    /// An attempt had no effect, and none will.
    Permanent,
    /// An attempt was given back: the operation had been paused.
    GivenBack,
    /// A job waits for its operation to be resumed.
    Held,
}

impl Outcome {
    /// The outcome as the index or the log has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
            Self::Done => "done",
            Self::Transient => "transient",
            Self::Uncertain => "uncertain",
            Self::Permanent => "permanent",
            Self::GivenBack => "given-back",
            Self::Held => "held",
        }
    }
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct TailFilter {
    pub(super) connections: ConnectionArgs,
    /// None is all.
    pub(super) kinds: Vec<String>,
    pub(super) operation: Option<OperationName>,
    /// None is all.
    pub(super) outcomes: BTreeSet<&'static str>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// An event was stored.
    Arrived(Box<ReceiptEntry>),
    /// An attempt ended.
    Ended(Box<Ending>),
}

/// How an attempt ended, as the worker logs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) at: Timestamp,
    /// The log's own name of the line.
    pub(super) id: String,
    pub(super) of: Logged,
}

/// What the worker says of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Logged {
    pub(super) message: String,
    pub(super) job: JobKey,
    pub(super) provider: Provider,
    pub(super) account: Account,
    pub(super) kind: String,
    pub(super) attempt: u32,
    pub(super) outcome: String,
    pub(super) status: String,
    pub(super) code: Option<String>,
    pub(super) ms: Option<u64>,
}

/// A line for programs.
#[derive(Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Told<'a> {
    Arrived {
        at: String,
        provider: &'a Provider,
        account: &'a Account,
        kind: &'a str,
        outcome: &'a str,
        receipt: ReceiptId,
        event_id: Option<&'a str>,
        resource: Option<&'a str>,
        operations: &'a [OperationName],
    },
    Ended {
        at: String,
        provider: &'a Provider,
        account: &'a Account,
        kind: &'a str,
        outcome: &'a str,
        job: &'a JobKey,
        operation: &'a OperationName,
        attempt: u32,
        status: &'a str,
        code: Option<&'a str>,
        ms: Option<u64>,
    },
}

impl TailFilter {
    pub(super) fn takes_arrival(&self, entry: &ReceiptEntry) -> bool {
        self.operation.as_ref().is_none_or(|only| entry.operations.contains(only)) && self.takes_outcome(&entry.state)
    }

    pub(super) fn takes_ending(&self, ending: &Logged) -> bool {
        self.connections.take(&ending.provider, &ending.account)
            && (self.kinds.is_empty() || self.kinds.contains(&ending.kind))
            && self.operation.as_ref().is_none_or(|only| *only == ending.job.operation)
            && self.takes_outcome(&ending.outcome)
    }

    fn takes_outcome(&self, outcome: &str) -> bool {
        self.outcomes.is_empty() || self.outcomes.contains(outcome)
    }
}

impl Line {
    /// When it happened.
    pub(super) fn at(&self) -> Timestamp {
        match self {
            Self::Arrived(entry) => entry.received_at,
            Self::Ended(ending) => ending.at,
        }
    }

    /// For people.
    pub(super) fn for_people(&self, terminal: &Terminal) -> String {
        let (what, outcome, tone, provider, account, kind, detail) = match self {
            Self::Arrived(entry) => {
                let ReceiptEntry { provider, account, kind, resource, id, state, .. } = entry.as_ref();
                let tone = if state == Outcome::Accepted.as_str() { Tone::Plain } else { Tone::Quiet };
                let about = resource.as_ref().map_or_else(String::new, |resource| format!("{resource}, "));
                ("arrived", state, tone, provider, account, kind, format!("{about}{id}"))
            }
            Self::Ended(ending) => {
                let Logged { provider, account, kind, outcome, .. } = &ending.of;
                ("ended", outcome, ending.of.tone(), provider, account, kind, ending.of.detail())
            }
        };
        let cells = [
            (terminal.time(self.at()).into(), 0),
            (what.into(), 7),
            (Cell::new(tone, outcome), 10),
            (format!("{provider}/{account}").into(), 20),
            (kind.clone().into(), 24),
            (detail.into(), 0),
        ];
        line(&cells, terminal)
    }

    /// For programs.
    pub(super) fn for_programs(&self) -> impl Serialize + '_ {
        let at = self.at().to_string();
        match self {
            Self::Arrived(entry) => Told::Arrived {
                at,
                provider: &entry.provider,
                account: &entry.account,
                kind: &entry.kind,
                outcome: &entry.state,
                receipt: entry.id,
                event_id: entry.event_id.as_deref(),
                resource: entry.resource.as_deref(),
                operations: &entry.operations,
            },
            Self::Ended(ending) => {
                let Logged { job, provider, account, kind, attempt, outcome, status, code, ms, .. } = &ending.of;
                Told::Ended {
                    at,
                    provider,
                    account,
                    kind,
                    outcome,
                    job,
                    operation: &job.operation,
                    attempt: *attempt,
                    status,
                    code: code.as_deref(),
                    ms: *ms,
                }
            }
        }
    }
}

impl Logged {
    fn tone(&self) -> Tone {
        match self.status.as_str() {
            "completed" => Tone::Good,
            "review" | "held" => Tone::Bad,
            _ => Tone::Busy,
        }
    }

    fn detail(&self) -> String {
        let code = self.code.as_ref().map_or_else(String::new, |code| format!(", {code}"));
        let took = self.ms.map_or_else(String::new, |ms| format!(", {ms} ms"));
        format!("{} after attempt {}{code}{took}, {}", self.status, self.attempt, self.job)
    }
}
