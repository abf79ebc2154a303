//! `hookbox erase`: what is personal of events goes, the evidence that they arrived stays.

mod found;
mod many;
mod report;

use clap::builder::NonEmptyStringValueParser;
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;

use crate::connection::{Table, TableArgs};
use crate::deed::WriteArgs;
use crate::failure::{Answer, Failure, Trouble};
use crate::jobs::Surroundings;
use crate::receipts::parse_receipt;
use crate::search::range::Range;
use crate::search::receipts::{Order, ReceiptFilter, ReceiptSearch};
use crate::search::{ConnectionArgs, FAR};
use crate::terminal::Terminal;
pub use many::Erasing;

/// Erase what is personal of events, for good
///
/// Deletes payloads, and takes from receipts, jobs and records of decisions whatever could lead to a person: the resource,
/// the tenant, the provider's ids, ids of requests, error texts. Jobs that have not ended are dismissed. What stays is that
/// the event arrived: the receipt's id (a hash over the provider's), its kind, times, digests and counts, and the reasons
/// that people gave. A redelivery stays a duplicate and brings nothing back.
///
/// A receipt whose job a worker has in hand is refused until the lease ends. docs/erasure.md says what remains elsewhere,
/// and for how long.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EraseArgs {
    /// Ids of receipts, or keys of their jobs
    #[arg(long, value_name = "ID", num_args = 1.., required_unless_present = "resource", value_parser = parse_receipt)]
    pub receipt: Vec<ReceiptId>,
    /// Everything about this resource, by the provider's id of it
    #[arg(long, value_name = "ID", requires = "provider", conflicts_with = "receipt")]
    pub resource: Option<String>,
    /// The provider that the id is one of
    #[arg(long, requires = "resource", conflicts_with = "receipt")]
    pub provider: Option<Provider>,
    /// Only of this connection
    #[arg(long, requires = "resource", conflicts_with = "receipt")]
    pub account: Option<Account>,
    /// Why, for the audit, which keeps it: the number of a request, not a person's name
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox erase --provider yelp --resource lead_42 --reason \"request 2026-117\" --dry-run
  hookbox erase --provider yelp --account main --resource lead_42 --reason \"request 2026-117\"
  hookbox erase --receipt 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 \\
    --reason \"request 2026-117\" --yes

Exit codes: 0 erased, now or before (with --dry-run: would be), 1 there is none, not confirmed or stopped, 2 wrong usage,
3 a worker has a job in hand (says until when), or could not look.";

/// Runs the command.
pub async fn run(args: &EraseArgs, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let (receipts, query) = match (&args.resource, &args.provider) {
        (Some(resource), Some(provider)) => {
            let connections = ConnectionArgs { provider: Some(provider.clone()), account: args.account.clone() };
            let account = args.account.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string);
            // The record outlives what it is about, so it does not say which resource.
            (about(resource, connections, &table, terminal).await?, format!("one resource of {provider}/{account}"))
        }
        _ => (args.receipt.clone(), format!("{} named", args.receipt.len())),
    };
    let author = args.write.by.author(&args.table.aws).await;
    let erasing = Erasing { receipts, reason: &args.reason, query, intent: args.write.intent(), author };
    erasing.carry_out(&table, around, terminal).await
}

/// Every receipt that the index knows to be about a resource.
pub async fn about(
    resource: &str,
    connections: ConnectionArgs,
    table: &Table,
    terminal: &mut Terminal,
) -> Result<Vec<ReceiptId>, Failure> {
    let range = Range { since: Timestamp::from_millis(0), until: FAR };
    let filter =
        ReceiptFilter { connections, range, kinds: Vec::new(), resource: Some(resource.to_owned()), state: None };
    let mut search = ReceiptSearch::begin(table, &filter, Order::EarliestFirst, usize::MAX).await?;
    let mut found = Vec::new();
    while let Some(entry) = search.next().await? {
        found.push(entry.id);
    }
    for why in search.unreadable() {
        terminal.note(format_args!("unreadable: {why}"))?;
    }
    if found.is_empty() {
        let trouble = Trouble::new("erase what is known of this resource", "no receipt is about it");
        return Err(Failure::Refused(trouble.advise("what was erased or has expired is not found any more")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
