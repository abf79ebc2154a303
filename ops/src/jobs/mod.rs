//! `hookbox jobs`, `hookbox failed`, `hookbox replay` and `hookbox dismiss`: how jobs stand, and what a person decides
//! about them.

mod list;
mod step;
mod decision;
mod plan;
mod many;
mod course;
mod continuation;

use std::collections::BTreeSet;

use clap::builder::NonEmptyStringValueParser;
use hookbox_core::job::Status;
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::transition::replay::ForgottenKey;

use crate::connection::TableArgs;
use crate::deed::WriteArgs;
use crate::failure::{Answer, Failure, Trouble};
use crate::receipts;
use crate::terminal::Terminal;
pub use continuation::Continuation;
pub use decision::Decision;
pub(crate) use list::OPEN;
pub use list::{FailedArgs, JobState, Jobs, JobsListArgs, WhichArgs, failed, list};
pub use many::{Many, Surroundings};
pub use step::Verb;

/// Show one job with its attempts and what people decided about it
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct JobsShowArgs {
    /// The job's key, as `jobs list` and `dlq list` have it
    #[arg(value_name = "JOB")]
    pub job: JobKey,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Replay jobs: ask for the same effect again, or with --new-version for a new one
///
/// The same effect again: the job keeps its key and begins a new round with all its attempts; what the round before came
/// to stays in the audit. The destination sees the same Idempotency-Key as before, so one that still remembers it does
/// nothing twice. This is what a failure needs.
///
/// A new effect, on purpose (--new-version): a further job of the same event, `receipt:operation:v2`, with an
/// Idempotency-Key of its own, so the destination does its work once more. The job that is named keeps its state. This is
/// for an effect that happened and is needed a second time.
///
/// Both are allowed while a job is in review, completed or dismissed, and need the event's payload; a new version needs
/// the newest one to be so. Jobs are named one by one or found by their state, connection, operation, kind, error and
/// time. Several are counted first, then replayed one after the other; Ctrl-C stops in between, what was replayed stays
/// so, and --continue goes on with the rest.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = REPLAY_EXAMPLES, override_usage = REPLAY_USAGE)]
pub struct ReplayArgs {
    /// Keys of jobs, as `jobs list` and `dlq list` have them
    #[arg(value_name = "JOB")]
    pub jobs: Vec<JobKey>,
    /// Those in one of these states, which is `review` without it
    #[arg(
        long,
        value_enum,
        value_name = "review|completed|dismissed",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub state: Vec<JobState>,
    /// Which of them.
    #[command(flatten)]
    pub which: WhichArgs,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), required_unless_present = "bulk")]
    pub reason: Option<String>,
    /// Ask for a new effect under a new key instead of the same one again
    #[arg(long, conflicts_with = "key_expired_ok")]
    pub new_version: bool,
    /// Replay although the destination has forgotten the key: it may do its work a second time
    #[arg(long)]
    pub key_expired_ok: bool,
    /// Go on with a replay of many jobs that was stopped or whose process died
    #[arg(
        long = "continue",
        value_name = "BULK_ID",
        conflicts_with_all = ["jobs", "state", "reason", "new_version", "key_expired_ok", "limit"],
        conflicts_with_all = WHICH
    )]
    pub bulk: Option<BulkId>,
    /// How many at once, and how fast.
    #[command(flatten)]
    pub pace: PaceArgs,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Dismiss jobs in review: their effects are not needed any more
///
/// Jobs are named one by one or found by their connection, operation, kind, error and time.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = DISMISS_EXAMPLES, override_usage = DISMISS_USAGE)]
pub struct DismissArgs {
    /// Keys of jobs, as `jobs list` and `dlq list` have them
    #[arg(value_name = "JOB")]
    pub jobs: Vec<JobKey>,
    /// Which of them.
    #[command(flatten)]
    pub which: WhichArgs,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), required_unless_present = "bulk")]
    pub reason: Option<String>,
    /// Go on with a dismissal of many jobs that was stopped or whose process died
    #[arg(
        long = "continue",
        value_name = "BULK_ID",
        conflicts_with_all = ["jobs", "reason", "limit"],
        conflicts_with_all = WHICH
    )]
    pub bulk: Option<BulkId>,
    /// How many at once, and how fast.
    #[command(flatten)]
    pub pace: PaceArgs,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// What narrows a list of jobs, which one that is continued has already.
const WHICH: [&str; 7] = ["provider", "account", "operation", "kind", "error_code", "since", "until"];

/// How many jobs a command changes, and how fast.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct PaceArgs {
    /// The most jobs that are found
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// At most so many jobs a second: the destination gets as many calls
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rate: u32,
}

const REPLAY_USAGE: &str = "\
hookbox replay [OPTIONS] --table <NAME> --reason <TEXT> [JOB]...
       hookbox replay [OPTIONS] --table <NAME> --continue <BULK_ID>";

const DISMISS_USAGE: &str = "\
hookbox dismiss [OPTIONS] --table <NAME> --reason <TEXT> [JOB]...
       hookbox dismiss [OPTIONS] --table <NAME> --continue <BULK_ID>";

const SHOW_EXAMPLES: &str = "\
Example:
  hookbox jobs show 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1

Exit codes: 0 shown, 1 there is none, 2 wrong usage, 3 could not look.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  hookbox replay 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1 \\
    --reason \"the CRM was down\"
  hookbox replay --error-code http-503 --since 4h --reason \"the CRM was down\" --dry-run
  hookbox replay --state completed --operation crm-upsert --since 2026-11-30T08:00:00Z \\
    --until 2026-11-30T09:00:00Z --rate 5 --reason \"lost by the CRM\"
  hookbox replay 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:mail:v1 \\
    --new-version --reason \"the customer lost the letter\"
  hookbox replay --continue replay-20261130-0c0ffee0

Exit codes: 0 replayed (with --dry-run: would be); 1 no such job, none that allows it, not confirmed or stopped;
2 wrong usage; 3 the state, key, payload or a newer version of the one job allows no replay, what
is to go on is finished or taken over by another process, or could not look.";

const DISMISS_EXAMPLES: &str = "\
Examples:
  hookbox dismiss 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1 \\
    --reason \"entered by hand\"
  hookbox dismiss --provider yelp --error-code http-410 --reason \"the lead is closed\"
  hookbox dismiss --continue dismiss-20261130-0c0ffee0

Exit codes: 0 dismissed (with --dry-run: would be); 1 no such job, none that allows it, not confirmed or stopped;
2 wrong usage; 3 the one job is not in review, what is to go on is finished or taken over by another
process, or could not look.";

/// Runs `hookbox jobs show`.
pub async fn show(args: &JobsShowArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    receipts::show_job(&args.job, &args.table.connect().await?, terminal).await
}

/// Runs `hookbox replay`.
pub async fn replay(args: &ReplayArgs, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    if let Some(id) = &args.bulk {
        let goes_on = GoesOn { id, command: "replay", pace: args.pace, write: &args.write, table: &args.table };
        return goes_on.carry_out(around, terminal).await;
    }
    let verb = match (args.new_version, args.key_expired_ok) {
        (true, _) => Verb::NewVersion,
        (false, true) => Verb::Replay(ForgottenKey::Accept),
        (false, false) => Verb::Replay(ForgottenKey::Refuse),
    };
    let states: BTreeSet<Status> = args.state.iter().copied().map(Status::from).collect();
    if let Some(open) = states.iter().find(|state| **state != Status::Review && OPEN.contains(state)) {
        let why = format!("a job that is {} has not ended", open.as_str());
        let trouble = Trouble::new("replay jobs", why);
        return Err(Failure::Usage(trouble.advise("--state review, completed or dismissed")));
    }
    let decided = Decided {
        jobs: &args.jobs,
        which: Some(&args.which).filter(|which| !which.is_empty() || !states.is_empty()),
        reason: args.reason.as_deref().unwrap_or_default(),
        pace: args.pace,
        write: &args.write,
        table: &args.table,
    };
    let states = if states.is_empty() { [Status::Review].into() } else { states };
    decided.carry_out(verb, states, around, terminal).await
}

/// Runs `hookbox dismiss`.
pub async fn dismiss(args: &DismissArgs, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    if let Some(id) = &args.bulk {
        let goes_on = GoesOn { id, command: "dismiss", pace: args.pace, write: &args.write, table: &args.table };
        return goes_on.carry_out(around, terminal).await;
    }
    let decided = Decided {
        jobs: &args.jobs,
        which: Some(&args.which).filter(|which| !which.is_empty()),
        reason: args.reason.as_deref().unwrap_or_default(),
        pace: args.pace,
        write: &args.write,
        table: &args.table,
    };
    decided.carry_out(Verb::Dismiss, [Status::Review].into(), around, terminal).await
}

/// What a person goes on with.
struct GoesOn<'a> {
    id: &'a BulkId,
    command: &'static str,
    pace: PaceArgs,
    write: &'a WriteArgs,
    table: &'a TableArgs,
}

impl GoesOn<'_> {
    async fn carry_out(&self, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
        let author = self.write.by.author(&self.table.aws).await;
        let (id, command, rate, intent) = (self.id, self.command, self.pace.rate, self.write.intent());
        let continuation = Continuation { id, command, rate, intent, author };
        continuation.carry_out(&self.table.connect().await?, around, terminal).await
    }
}

/// What a person asks for.
struct Decided<'a> {
    jobs: &'a [JobKey],
    /// `None` when nothing narrows them.
    which: Option<&'a WhichArgs>,
    reason: &'a str,
    pace: PaceArgs,
    write: &'a WriteArgs,
    table: &'a TableArgs,
}

impl Decided<'_> {
    async fn carry_out(
        &self,
        verb: Verb,
        states: BTreeSet<Status>,
        around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let author = self.write.by.author(&self.table.aws).await;
        let (reason, intent) = (self.reason, self.write.intent());
        let usage = |why: &str| {
            let trouble = Trouble::new(verb.to("jobs"), why);
            Failure::Usage(
                trouble.advise("the keys of jobs, or what they have in common, such as --provider or --error-code"),
            )
        };
        let (jobs, query) = match (self.jobs, self.which) {
            ([], None) => return Err(usage("nothing says which")),
            ([_, ..], Some(_)) => return Err(usage("they are named and asked for at once")),
            ([job], None) => {
                let decision = Decision { job, verb, reason, intent, author };
                return decision.carry_out(&self.table.connect().await?, around.clock, terminal).await;
            }
            (jobs, None) => (jobs.to_vec(), format!("{} named", jobs.len())),
            ([], Some(which)) => {
                let table = self.table.connect().await?;
                let filter = which.filter(states, around.clock.now());
                let limit = self.pace.limit as usize;
                let found = Jobs::find(&filter, &table, limit).await?;
                found.complain(terminal)?;
                (found.keys(), filter.to_string())
            }
        };
        let many = Many { jobs, verb, reason, query, rate: self.pace.rate, intent, author };
        many.carry_out(&self.table.connect().await?, around, terminal).await
    }
}

#[cfg(test)]
mod tests;
