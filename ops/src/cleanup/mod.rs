//! `hookbox cleanup`: what will expire, and what is kept and why. Time to live does the deleting.

mod survey;
mod show;

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::surroundings::Clock;

use crate::connection::TableArgs;
use crate::failure::{Answer, Failure};
use crate::search::ConnectionArgs;
use crate::terminal::Terminal;
pub use survey::{Survey, Wanted};

/// Show what will expire soon, and what is kept and why
///
/// Deletes nothing: DynamoDB's time to live does that, usually within days of the time that each item carries. By connection,
/// how many receipts and how many payloads expire within a time, and how many folders are kept whatever their age, because a
/// job of theirs is in review, held or open. What is kept for how long is `receipt_retention` and `payload_retention` in
/// hookbox.toml. Receipts are looked for where they expire by the retention that their connection has now: one that arrived
/// under a longer or shorter one keeps that, and is counted only where both meet.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CleanupArgs {
    /// Within what time from now
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = humantime::parse_duration)]
    pub within: Duration,
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// The most receipts that are read; beyond it numbers are lower bounds
    #[arg(long, value_name = "COUNT", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub reads: u64,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox cleanup
  hookbox cleanup --within 30d --provider stripe --output json
  hookbox cleanup --within 1d --reads 1000000

Exit codes: 0 shown, 2 wrong usage, 3 could not look.";

/// Runs the command.
pub async fn run(args: &CleanupArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let wanted = Wanted { within: args.within, connections: args.connections.clone(), reads: args.reads };
    Survey::make(&wanted, &args.table.connect().await?, clock.now()).await?.show(terminal)?;
    Ok(Answer::Yes)
}

#[cfg(test)]
mod tests;
