//! `hookbox dlq`: what waits for a person. The table says which jobs do; the dead-letter queue is a notice board.

mod board;
mod list;
mod redact;
mod show;
mod drain;

use std::collections::BTreeSet;

use crate::connection::{NamedQueue, Table, TableArgs};
use crate::deed::AskArgs;
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::terminal::Terminal;
pub use drain::Drain;
pub use list::{Line, List};
pub use show::Wanted;

/// List the jobs in review, the messages on the dead-letter queue and the paused operations
///
/// Starts from the table and joins the messages of the queue, which are given back after looking. A message that names
/// no job of ours is poison; what it says is shown by `dlq show` alone. A paused operation comes with the number of jobs
/// that it holds and the command that resumes it. A message whose job has left review since is no more than that:
/// `dlq drain` deletes it, and SQS drops it after 14 days.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct DlqListArgs {
    /// How many jobs are listed
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Where the messages and the table are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Show one job with its messages on the dead-letter queue, or one message with its job
///
/// The message: why it was sent, when, and how often it was received. The job as it stands now, with its attempts, its last
/// error and what people decided about it. The text of poison is shown as far as it holds nothing that looks like a secret,
/// at most 2,000 characters of it. Messages are given back after looking.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct DlqShowArgs {
    /// The job's key, or the message's id, as `dlq list` has them
    #[arg(value_name = "JOB|MESSAGE_ID")]
    pub wanted: Wanted,
    /// Where the messages and the table are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Delete the messages of the dead-letter queue that nobody needs any more
///
/// Those are the notices of jobs that have left review, and any message whose job has ended. Never deleted: a message whose
/// job is in review or cannot be read. Kept unless it is asked for, by the message's id or a flag: poison, a message whose
/// job a consistent read does not find, and (by its id alone) a wake-up of a job that is still to be worked on, which tells
/// that its worker crashed. Nothing is lost with a message: the job in the table is the truth.
///
/// Every job is read just before its message is deleted. Whatever is not deleted is given back, also on Ctrl-C.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = DRAIN_EXAMPLES)]
pub struct DlqDrainArgs {
    /// Only these messages, by their ids, as `dlq list` and `dlq show` have them
    #[arg(value_name = "MESSAGE_ID")]
    pub messages: Vec<String>,
    /// Poison too: messages that name no job of ours
    #[arg(long, conflicts_with = "messages")]
    pub poison: bool,
    /// Messages whose job a consistent read does not find, too
    #[arg(long, conflicts_with = "messages")]
    pub missing: bool,
    /// The most messages that are looked at
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Whether it is asked before.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Where the messages and the table are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Where the dead-letter queue and the table are.
#[derive(Clone, Debug, clap::Args)]
pub struct PlaceArgs {
    /// Address of the dead-letter queue (the stack's output `DeadLetterQueueUrl`)
    #[arg(long, value_name = "URL", env = "HOOKBOX_DEAD_LETTER_QUEUE_URL", hide_env_values = true)]
    pub dead_letter_queue_url: String,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const LIST_EXAMPLES: &str = "\
Examples:
  hookbox dlq list
  hookbox dlq list --output json | jq -r '.[] | select(.status == \"review\") | .job'

Exit codes: 0 listed, also when nothing waits; 1 stopped, 2 wrong usage, 3 could not look.";

const SHOW_EXAMPLES: &str = "\
Examples:
  hookbox dlq show 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08:deliver:v1
  hookbox dlq show 2c1b5d1e-7f0a-4c52-9b1d-0d6f1c7e9a55 --output json

Exit codes: 0 shown, 1 there is no such job or message, or stopped; 2 wrong usage, 3 could not look.";

const DRAIN_EXAMPLES: &str = "\
Examples:
  hookbox dlq drain --dry-run
  hookbox dlq drain --poison --missing --yes
  hookbox dlq drain 2c1b5d1e-7f0a-4c52-9b1d-0d6f1c7e9a55

Exit codes: 0 drained (with --dry-run: would be), also when there was nothing to delete;
1 not confirmed, stopped, or one of the named messages was not deleted; 2 wrong usage,
3 could not look.";

impl PlaceArgs {
    async fn connect(&self) -> Result<(Table, NamedQueue), Failure> {
        let table = self.table.connect().await?;
        Ok((table, self.table.aws.connect().await.queue(&self.dead_letter_queue_url)?))
    }
}

/// Runs `hookbox dlq list`.
pub async fn list(
    args: &DlqListArgs,
    mut around: Surroundings<'_>,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let (table, queue) = args.place.connect().await?;
    List::make(&table, &queue, args.limit, &mut around.stop).await?.show(terminal)?;
    Ok(Answer::Yes)
}

/// Runs `hookbox dlq show`.
pub async fn show(
    args: &DlqShowArgs,
    mut around: Surroundings<'_>,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let (table, queue) = args.place.connect().await?;
    args.wanted.show(&table, &queue, &mut around.stop, terminal).await
}

/// Runs `hookbox dlq drain`.
pub async fn drain(
    args: &DlqDrainArgs,
    mut around: Surroundings<'_>,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let (table, queue) = args.place.connect().await?;
    let messages: BTreeSet<String> = args.messages.iter().cloned().collect();
    let drain = Drain {
        messages: &messages,
        poison: args.poison,
        missing: args.missing,
        limit: args.limit as usize,
        intent: args.ask.intent(),
    };
    drain.carry_out(&table, &queue, &mut around, terminal).await
}

#[cfg(test)]
mod tests;
