//! `hookbox pause`, `hookbox resume` and `hookbox pauses list`: operations that make no calls for now.

mod standing;
mod change;

use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::surroundings::Clock;
use serde::Serialize;

use crate::connection::TableArgs;
use crate::deed::WriteArgs;
use crate::failure::{Answer, Failure};
use crate::layout::Columns;
use crate::terminal::{Format, Terminal, Tone};
pub use change::Change;
pub use standing::{HeldJobs, Pauses, Standing};
pub(crate) use standing::{PauseLine, resume_command};

/// Pause an operation: its jobs are held, and nothing is called
///
/// A call that is under way goes on. Held jobs never expire; `hookbox resume` ends the pause. A destination that refuses
/// our credential (401) pauses its operation by itself.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub struct PauseArgs {
    /// Which operation.
    #[command(flatten)]
    pub operation: OperationArgs,
    /// Why, for everybody who meets the pause
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Resume a paused operation: its held jobs are released
///
/// Shows the pause and asks before it ends it. The sweeper releases the held jobs within a minute, in batches.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub struct ResumeArgs {
    /// Which operation.
    #[command(flatten)]
    pub operation: OperationArgs,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// List the operations that are paused
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = LIST_EXAMPLES)]
pub struct PausesListArgs {
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

/// An operation of an integration.
#[derive(Clone, Debug, clap::Args)]
pub struct OperationArgs {
    /// The integration's provider
    #[arg(long)]
    pub provider: Provider,
    /// The integration's connection
    #[arg(long)]
    pub account: Account,
    /// The operation's name
    #[arg(long)]
    pub operation: OperationName,
}

const PAUSE_EXAMPLES: &str = "\
Example:
  hookbox pause --provider stripe --account main --operation crm-upsert --reason migration

Exit codes: 0 paused, 1 paused already, not configured or not confirmed, 2 wrong usage,
3 could not look.";

const RESUME_EXAMPLES: &str = "\
Examples:
  hookbox resume --provider stripe --account main --operation crm-upsert --dry-run
  hookbox resume --provider stripe --account main --operation crm-upsert --reason \"new token\" --yes

Exit codes: 0 resumed (with --dry-run: it would be), 1 not paused or not confirmed, 2 wrong usage,
3 could not look.";

const LIST_EXAMPLES: &str = "\
Examples:
  hookbox pauses list
  hookbox pauses list --output json | jq -r '.pauses[].operation'

Exit codes: 0 listed, also when nothing is paused; 2 wrong usage, 3 could not look.";

/// Runs `hookbox pause`.
pub async fn pause(args: &PauseArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let change = Change {
        operation: &args.operation,
        reason: Some(&args.reason),
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
    };
    change.pause(&table, clock.as_ref(), terminal).await
}

/// Runs `hookbox resume`.
pub async fn resume(args: &ResumeArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let change = Change {
        operation: &args.operation,
        reason: args.reason.as_deref(),
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
    };
    change.resume(&table, clock.as_ref(), terminal).await
}

/// Runs `hookbox pauses list`.
pub async fn list(args: &PausesListArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let pauses = Pauses::read(&table).await?;
    show(&pauses, terminal)?;
    Ok(Answer::Yes)
}

#[derive(Serialize)]
struct Report<'a> {
    pauses: Vec<PauseLine<'a>>,
    unreadable: &'a [String],
}

/// Shows every pause with the command that ends it.
pub fn show(pauses: &Pauses, terminal: &mut Terminal) -> std::io::Result<()> {
    if terminal.format() != Format::Table {
        let lines = pauses.standing.iter().map(PauseLine::from).collect();
        return terminal.say_json(&Report { pauses: lines, unreadable: &pauses.unreadable });
    }
    if pauses.standing.is_empty() && pauses.unreadable.is_empty() {
        return terminal.say("nothing is paused");
    }
    show_table(pauses, terminal)
}

/// The pauses for people, as a part of a longer answer too.
pub(crate) fn show_table(pauses: &Pauses, terminal: &mut Terminal) -> std::io::Result<()> {
    if !pauses.standing.is_empty() {
        let mut columns =
            Columns::default().headed(["PAUSED SINCE", "INTEGRATION", "OPERATION", "HELD JOBS", "REASON"]);
        for Standing { pause, held } in &pauses.standing {
            columns.row([
                terminal.time(pause.at).into(),
                format!("{}/{}", pause.provider, pause.account).into(),
                pause.operation.to_string().into(),
                held.number().into(),
                pause.reason.as_str().into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        terminal.say("")?;
    }
    for Standing { pause, .. } in &pauses.standing {
        terminal.say(resume_command(pause))?;
    }
    for why in &pauses.unreadable {
        let line = terminal.paint(Tone::Bad, format!("unreadable: {why}"));
        terminal.say(line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
