//! `hookbox dlq`: what waits for a person. The table says which jobs do; the dead-letter queue is a notice board.

mod board;
mod list;

use crate::connection::TableArgs;
use crate::failure::{Answer, Failure};
use crate::terminal::Terminal;
pub use list::{Line, List};

/// List the jobs in review, the messages on the dead-letter queue and the paused operations
///
/// Starts from the table and joins the messages of the queue, which are given back after looking. A message that names
/// no job of ours is poison; what it says is not repeated. A paused operation comes with the number of jobs that it holds
/// and the command that resumes it. A message whose job has ended since is no more than that: SQS drops it after 14 days.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DlqListArgs {
    /// How many jobs are listed
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Address of the dead-letter queue (the stack's output `DeadLetterQueueUrl`)
    #[arg(long, value_name = "URL", env = "HOOKBOX_DEAD_LETTER_QUEUE_URL", hide_env_values = true)]
    pub dead_letter_queue_url: String,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox dlq list
  hookbox dlq list --output json | jq -r '.[] | select(.status == \"review\") | .job'

Exit codes: 0 listed, also when nothing waits; 2 wrong usage, 3 could not look.";

/// Runs the command.
pub async fn run(args: &DlqListArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let queue = args.table.aws.connect().await.queue(&args.dead_letter_queue_url)?;
    let list = List::make(&table, &queue, args.limit).await?;
    list.show(terminal)?;
    Ok(Answer::Yes)
}

#[cfg(test)]
mod tests;
