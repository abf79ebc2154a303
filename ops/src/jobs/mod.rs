//! `hookbox jobs`, `hookbox failed`, `hookbox replay` and `hookbox dismiss`: how jobs stand, and what a person decides
//! about them.

mod decision;
mod list;

use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use hookbox_core::key::JobKey;
use hookbox_core::surroundings::Clock;
use hookbox_core::transition::replay::ForgottenKey;

use crate::connection::TableArgs;
use crate::deed::WriteArgs;
use crate::failure::{Answer, Failure};
use crate::receipts;
use crate::terminal::Terminal;
pub use decision::{Decision, Verb};
pub use list::{FailedArgs, JobState, Jobs, JobsListArgs, WhichArgs, failed, list};

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

/// Replay a job: ask for the same effect again, under the same key
///
/// Allowed while the job is in review, completed or dismissed. It begins a new round with all its attempts; what the
/// round before came to stays in the audit. The destination sees the same Idempotency-Key as before, so one that still remembers it does nothing twice.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct ReplayArgs {
    /// The job's key, as `receipts show` and `dlq list` have it
    #[arg(value_name = "JOB")]
    pub job: JobKey,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// Replay although the destination has forgotten the key: it may do its work a second time
    #[arg(long)]
    pub key_expired_ok: bool,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Dismiss a job in review: its effect is not needed any more
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = DISMISS_EXAMPLES)]
pub struct DismissArgs {
    /// The job's key, as `receipts show` and `dlq list` have it
    #[arg(value_name = "JOB")]
    pub job: JobKey,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const SHOW_EXAMPLES: &str = "\
Example:
  hookbox jobs show 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1

Exit codes: 0 shown, 1 there is none, 2 wrong usage, 3 could not look.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  hookbox replay 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1 \\
    --reason \"the CRM was down\"
  hookbox replay … --reason … --dry-run

Exit codes: 0 replayed (with --dry-run: it would be), 1 no such job or not confirmed, 2 wrong usage,
3 its state, key or payload allows no replay, or could not look.";

const DISMISS_EXAMPLES: &str = "\
Example:
  hookbox dismiss 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1 \\
    --reason \"entered by hand\"

Exit codes: 0 dismissed (with --dry-run: it would be), 1 no such job or not confirmed, 2 wrong usage,
3 it is not in review, or could not look.";

/// Runs `hookbox jobs show`.
pub async fn show(args: &JobsShowArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    receipts::show_job(&args.job, &args.table.connect().await?, terminal).await
}

/// Runs `hookbox replay`.
pub async fn replay(args: &ReplayArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let forgotten = if args.key_expired_ok { ForgottenKey::Accept } else { ForgottenKey::Refuse };
    let decision = Decision {
        job: &args.job,
        verb: Verb::Replay(forgotten),
        reason: &args.reason,
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
    };
    decision.carry_out(&args.table.connect().await?, clock.as_ref(), terminal).await
}

/// Runs `hookbox dismiss`.
pub async fn dismiss(args: &DismissArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let decision = Decision {
        job: &args.job,
        verb: Verb::Dismiss,
        reason: &args.reason,
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
    };
    decision.carry_out(&args.table.connect().await?, clock.as_ref(), terminal).await
}

#[cfg(test)]
mod tests;
