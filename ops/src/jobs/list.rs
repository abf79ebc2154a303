//! `hookbox jobs list` and `hookbox failed`: which jobs stand where.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use hookbox_core::job::{Job, State, Status};
use hookbox_core::key::JobKey;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use serde::Serialize;

use crate::connection::{Table, TableArgs};
use crate::failure::{Answer, Failure};
use crate::layout::{Cell, Columns, count};
use crate::receipts::tone;
use crate::search::ConnectionArgs;
use crate::search::jobs::{JobFilter, JobSearch};
use crate::search::range::{RangeArgs, When};
use crate::terminal::{Format, Terminal};

/// List jobs by their state
///
/// Jobs that have not ended are found however old they are, unless --since says otherwise. Those that have ended are
/// looked for among the receipts of the range, which is a day without --since. Every job is read as it stands now.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct JobsListArgs {
    /// In which state; may be given more than once, and is everything that has not ended without it
    #[arg(long, value_enum, value_name = "STATE", value_delimiter = ',')]
    pub state: Vec<JobState>,
    /// Which of them.
    #[command(flatten)]
    pub which: WhichArgs,
    /// How many are listed
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// List the jobs that need a person: `jobs list --state review`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = FAILED_EXAMPLES)]
pub struct FailedArgs {
    /// Which of them.
    #[command(flatten)]
    pub which: WhichArgs,
    /// How many are listed
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// What narrows a list of jobs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WhichArgs {
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// Only of this operation
    #[arg(long)]
    pub operation: Option<OperationName>,
    /// Only of events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Only those whose last error has this code, such as `http-503`
    #[arg(long, value_name = "CODE")]
    pub error_code: Option<String>,
    /// Only of events that arrived at this time or later: how long ago (`90m`, `24h`, `7d`), or when (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,
    /// Only of events that arrived before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
}

const LIST_EXAMPLES: &str = "\
Examples:
  hookbox jobs list --state review,held
  hookbox jobs list --state completed --since 2h --operation crm-upsert
  hookbox jobs list --state retrying --output jsonl | jq -r .job

Exit codes: 0 listed, also when there are none; 2 wrong usage, 3 could not look.";

const FAILED_EXAMPLES: &str = "\
Examples:
  hookbox failed
  hookbox failed --provider stripe --error-code http-503 --limit 20

Exit codes: 0 listed, also when there are none; 2 wrong usage, 3 could not look.";

/// A state that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "each is a state described at `State`")]
pub enum JobState {
    Pending,
    Processing,
    Retrying,
    Held,
    Review,
    Completed,
    Dismissed,
}

impl From<JobState> for Status {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Pending => Self::Pending,
            JobState::Processing => Self::Processing,
            JobState::Retrying => Self::Retrying,
            JobState::Held => Self::Held,
            JobState::Review => Self::Review,
            JobState::Completed => Self::Completed,
            JobState::Dismissed => Self::Dismissed,
        }
    }
}

/// States in which a job has not ended.
pub(crate) const OPEN: [Status; 5] =
    [Status::Pending, Status::Processing, Status::Retrying, Status::Held, Status::Review];

impl WhichArgs {
    /// Whether they narrow nothing.
    pub fn is_empty(&self) -> bool {
        let Self { connections: ConnectionArgs { provider, account }, operation, kind, error_code, since, until } =
            self;
        (provider.is_none() && account.is_none() && operation.is_none() && kind.is_empty() && error_code.is_none())
            && since.is_none()
            && until.is_none()
    }

    /// The jobs in one of these states.
    pub fn filter(&self, states: BTreeSet<Status>, now: Timestamp) -> JobFilter {
        const DAY: When = When::Ago(std::time::Duration::from_secs(24 * 3_600));
        let ended = states.iter().any(|state| !OPEN.contains(state));
        let otherwise = if ended { DAY } else { When::At(Timestamp::from_millis(0)) };
        let range = RangeArgs { since: self.since.unwrap_or(otherwise), until: self.until };
        JobFilter {
            states,
            connections: self.connections.clone(),
            range: range.at(now),
            kinds: self.kind.clone(),
            operation: self.operation.clone(),
            error_code: self.error_code.clone(),
        }
    }
}

/// A job as programs get it.
#[derive(Serialize)]
pub(crate) struct Line<'a> {
    job: &'a JobKey,
    status: Status,
    reason: Option<&'static str>,
    provider: &'a Provider,
    account: &'a Account,
    operation: &'a OperationName,
    kind: &'a str,
    resource: Option<&'a str>,
    received_at: String,
    round: u32,
    attempts_total: u32,
    next_attempt_at: Option<String>,
    last_error: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    jobs: &'a [Line<'a>],
    more: bool,
    unreadable: &'a [String],
}

/// Jobs that were found.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    found: Vec<Job>,
    more: bool,
    unreadable: Vec<String>,
}

/// Runs `hookbox jobs list`.
pub async fn list(args: &JobsListArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let states: BTreeSet<Status> = args.state.iter().copied().map(Status::from).collect();
    let states = if states.is_empty() { OPEN.into() } else { states };
    let table = args.table.connect().await?;
    let filter = args.which.filter(states, clock.now());
    Jobs::find(&filter, &table, args.limit as usize).await?.show(terminal)?;
    Ok(Answer::Yes)
}

/// Runs `hookbox failed`.
pub async fn failed(args: &FailedArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let filter = args.which.filter([Status::Review].into(), clock.now());
    Jobs::find(&filter, &table, args.limit as usize).await?.show(terminal)?;
    Ok(Answer::Yes)
}

impl Jobs {
    /// Finds up to `limit` jobs.
    pub async fn find(filter: &JobFilter, table: &Table, limit: usize) -> Result<Self, Failure> {
        let receipts = filter.receipts();
        let mut search = JobSearch::begin(table, filter, receipts.as_ref()).await?;
        let mut these = Self::default();
        while let Some(next) = search.next().await? {
            if these.found.len() == limit {
                these.more = true;
                break;
            }
            these.found.push(next.job);
        }
        these.unreadable = search.unreadable().map(str::to_owned).collect();
        these.found.sort_by(|a, b| (a.received_at, &a.key).cmp(&(b.received_at, &b.key)));
        Ok(these)
    }

    /// Their keys.
    pub fn keys(&self) -> Vec<JobKey> {
        self.found.iter().map(|job| job.key.clone()).collect()
    }

    /// Shows them.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() == Format::Table {
            self.show_table(terminal)?;
        } else {
            let lines: Vec<_> = self.found.iter().map(Line::from).collect();
            terminal.say_list(&lines, &Report { jobs: &lines, more: self.more, unreadable: &self.unreadable })?;
        }
        self.complain(terminal)
    }

    /// Says what is missing.
    pub fn complain(&self, terminal: &mut Terminal) -> io::Result<()> {
        for why in &self.unreadable {
            terminal.note(format_args!("unreadable: {why}"))?;
        }
        if self.more { terminal.note("there are more: --limit") } else { Ok(()) }
    }

    fn show_table(&self, terminal: &mut Terminal) -> io::Result<()> {
        if self.found.is_empty() {
            return terminal.say("there is no such job");
        }
        let headings = ["ARRIVED", "STATUS", "WHY", "INTEGRATION", "KIND", "TRIES", "LAST ERROR", "JOB"];
        let mut columns = Columns::default().headed(headings);
        for job in &self.found {
            columns.row([
                terminal.time(job.received_at).into(),
                Cell::new(tone(job.status()), job.status().as_str()),
                why(job, terminal).into(),
                format!("{}/{}", job.provider, job.account).into(),
                job.kind.clone().into(),
                job.attempts_total.to_string().into(),
                job.last_error.as_ref().map_or_else(|| "-".to_owned(), |error| error.code.to_string()).into(),
                job.key.to_string().into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        let number = count(self.found.len() as u64, "job");
        terminal.say(format_args!("\n{number}. hookbox jobs show JOB says more."))
    }
}

/// What a job waits for.
fn why(job: &Job, terminal: &Terminal) -> String {
    match job.state {
        State::Review { reason } => reason.as_str().to_owned(),
        State::Retrying { next_attempt_at } => format!("next at {}", terminal.time(next_attempt_at)),
        State::Processing { lease_expires_at } => format!("leased until {}", terminal.time(lease_expires_at)),
        State::Held => "its operation is paused".to_owned(),
        State::Completed { at } => format!("at {}", terminal.time(at)),
        State::Dismissed { at, reason } => {
            let reason = reason.as_str().map(|reason| format!("{reason} ")).unwrap_or_default();
            format!("{reason}at {}", terminal.time(at))
        }
        State::Pending => "-".to_owned(),
    }
}

impl<'a> From<&'a Job> for Line<'a> {
    fn from(job: &'a Job) -> Self {
        Self {
            job: &job.key,
            status: job.status(),
            reason: match job.state {
                State::Review { reason } => Some(reason.as_str()),
                State::Dismissed { reason, .. } => reason.as_str(),
                _ => None,
            },
            provider: &job.provider,
            account: &job.account,
            operation: &job.key.operation,
            kind: &job.kind,
            resource: job.resource.as_deref(),
            received_at: job.received_at.to_string(),
            round: job.round,
            attempts_total: job.attempts_total,
            next_attempt_at: if let State::Retrying { next_attempt_at } = job.state {
                Some(next_attempt_at.to_string())
            } else {
                None
            },
            last_error: job.last_error.as_ref().map(|error| format!("{}: {}", error.code, error.detail)),
        }
    }
}
