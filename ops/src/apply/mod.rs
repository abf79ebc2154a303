//! `hookbox apply`: from the file to the table, with the differences shown first.

mod plan;

use std::path::PathBuf;

use hookbox_core::name::{Account, Provider};
use hookbox_ledger::LedgerError;
use hookbox_providers::Profiles;
use serde::Serialize;

use crate::config::ConfigFile;
use crate::config::profile::ShortRetention;
use crate::connection::{Table, TableArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::count;
use crate::terminal::{Format, Terminal};
pub use plan::{Change, Plan, Step};

/// Write what a hookbox.toml says to the table
///
/// Shows what would change and asks before it writes. Integrations that the file does not name are left alone; those
/// that did not change keep their revision.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ApplyArgs {
    /// The file
    #[arg(value_name = "FILE", default_value = "hookbox.toml")]
    pub file: PathBuf,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Show the differences and write nothing; like `kubectl diff` it ends with 1 when there are any
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Accept receipts that are kept for less time than the provider may repeat an event
    #[arg(long)]
    pub accept_short_retention: bool,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox apply hookbox.toml --dry-run
  hookbox apply hookbox.toml --yes --output json

Exit codes: 0 written or nothing to do; 1 not confirmed, overtaken by another change, or (with
--dry-run) there are differences; 2 wrong usage or an invalid file; 3 could not look.";

/// What is done with the differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Ask, then write.
    Ask,
    /// Write.
    Write,
    /// Only show.
    DryRun,
}

/// Runs the command.
pub async fn run(args: &ApplyArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let file = ConfigFile::read(&args.file)?;
    let short = if args.accept_short_retention { ShortRetention::Accept } else { ShortRetention::Refuse };
    file.check(&Profiles::built_in(), short)?;
    let table = args.table.connect().await?;
    let intent = match (args.dry_run, args.yes) {
        (true, _) => Intent::DryRun,
        (false, true) => Intent::Write,
        (false, false) => Intent::Ask,
    };
    apply(&file, &table, intent, terminal).await
}

/// Brings a checked file into the table.
pub async fn apply(
    file: &ConfigFile,
    table: &Table,
    intent: Intent,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let plan = Plan::make(file, table).await?;
    if terminal.format() == Format::Table {
        plan.show(terminal)?;
    }
    let changes = plan.changes().count();
    let write = changes > 0 && intent != Intent::DryRun;
    if write {
        if intent == Intent::Ask {
            confirm(changes, terminal)?;
        }
        for step in plan.changes() {
            put(step, table).await?;
            if terminal.format() == Format::Table {
                let integration = &step.integration;
                let (provider, account, rev) = (&integration.provider, &integration.account, integration.rev);
                let path = format!("deliveries come to /hooks/{provider}/{account}");
                terminal.say(format_args!("applied {provider}/{account} as rev {rev}: {path}"))?;
            }
        }
    }
    if terminal.format() == Format::Json {
        terminal.say_json(&Report::of(&plan, write))?;
    }
    Ok(if intent == Intent::DryRun && changes > 0 { Answer::No } else { Answer::Yes })
}

fn confirm(changes: usize, terminal: &mut Terminal) -> Result<(), Failure> {
    let changes = count(changes as u64, "integration");
    let attempted = format!("apply {changes}");
    match terminal.confirm(&format!("Write {changes}?"))? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::Refused(Trouble::new(attempted, "not confirmed, nothing was written"))),
        None => {
            let why = "nobody can be asked: standard input is no terminal";
            Err(Failure::Usage(Trouble::new(attempted, why).advise("--yes to write, --dry-run to look")))
        }
    }
}

async fn put(step: &Step, table: &Table) -> Result<(), Failure> {
    let integration = &step.integration;
    let attempted = format!("apply {}/{}", integration.provider, integration.account);
    table.ledger.put_integration(integration, step.replaces()).await.map_err(|error| match error {
        LedgerError::ConditionFailed { stored } => {
            let why = format!("somebody else applied it in the meantime: {stored}");
            Failure::Refused(Trouble::new(attempted, why).advise("apply again, and look at the differences first"))
        }
        error => table.failure(&attempted, &error),
    })
}

#[derive(Serialize)]
struct Report<'a> {
    changes: Vec<Line<'a>>,
    not_in_file: Vec<String>,
    applied: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    provider: &'a Provider,
    account: &'a Account,
    change: &'static str,
    rev: u64,
    diff: Vec<String>,
}

impl<'a> Report<'a> {
    fn of(plan: &'a Plan, applied: bool) -> Self {
        let line = |step: &'a Step| Line {
            provider: &step.integration.provider,
            account: &step.integration.account,
            change: step.change.as_str(),
            rev: step.integration.rev,
            diff: step.differences().into_iter().map(|(mark, text)| format!("{mark}{text}")).collect(),
        };
        Self { changes: plan.steps.iter().map(line).collect(), not_in_file: plan.not_in_file.clone(), applied }
    }
}

#[cfg(test)]
mod tests;
