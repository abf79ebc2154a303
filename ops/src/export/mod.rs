//! `hookbox export`: receipts with their jobs, and payloads where they are asked for, as JSON lines.

mod line;
mod many;
mod partial;

use std::path::PathBuf;

use crate::connection::TableArgs;
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::search::ConnectionArgs;
use crate::search::range::RangeArgs;
use crate::search::receipts::ReceiptFilter;
use crate::terminal::Terminal;
pub use many::Export;

/// Export the receipts of a range of time with their jobs, as JSON lines
///
/// One line a receipt, in the order of arrival, with the fields of `receipts show --output json`; with --payloads also the
/// event's bytes, content type, kept headers and query. Always JSON lines, whatever --output says: that is how the summary
/// of an export into a file is written. docs/history.md describes every field.
///
/// A file is written beside its place, as FILE.partial, and moved there when it is whole.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// When they arrived.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Only events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Payloads too: whatever the providers have sent, personal data with it
    #[arg(long)]
    pub payloads: bool,
    /// Into this file instead of standard output; it must not be there yet
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Go on with FILE.partial, which an interrupted export has left, with its other arguments as they were
    #[arg(long = "continue", requires = "to")]
    pub go_on: bool,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox export --since 2026-11-01 --until 2026-12-01 --to november.jsonl
  hookbox export --since 7d --provider stripe --payloads | gzip > stripe.jsonl.gz
  hookbox export --since 24h | jq -r 'select(.jobs[].status == \"review\") | .receipt.id'
  hookbox export --since 2026-11-01 --until 2026-12-01 --to november.jsonl --continue

Exit codes: 0 exported, also when nothing arrived; 1 stopped, 2 wrong usage, 3 could not look.";

/// Runs the command.
pub async fn run(args: &ExportArgs, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let filter = ReceiptFilter {
        connections: args.connections.clone(),
        range: args.range.at(around.clock.now()),
        kinds: args.kind.clone(),
        resource: None,
        state: None,
    };
    let export = Export { filter, payloads: args.payloads, to: args.to.as_deref(), go_on: args.go_on };
    export.carry_out(&args.table.connect().await?, around, terminal).await
}

#[cfg(test)]
mod tests;
