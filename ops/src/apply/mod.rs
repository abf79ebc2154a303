//! `hookbox apply`: from the file to the table, with the differences shown first.

mod plan;
mod secrets;

use std::path::PathBuf;
use std::sync::Arc;

use hookbox_core::integration::Integration;
use hookbox_core::name::{Account, Provider};
use hookbox_core::surroundings::Clock;
use hookbox_ledger::{LedgerError, Subject};
use hookbox_providers::Profiles;
use serde::Serialize;

use crate::config::ConfigFile;
use crate::config::profile::ShortRetention;
use crate::connection::{SecretReader, Table, TableArgs};
use crate::deed::{Author, Deed, Intent, WriteArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::count;
use crate::terminal::{Format, Terminal, Tone};
pub use plan::{Change, Plan, Step};
pub use secrets::Findings;

/// Write what a hookbox.toml says to the table
///
/// Shows what would change and asks before it writes. Integrations that the file does not name are left alone; those
/// that did not change keep their revision. With --dry-run it ends with 1 when there are differences. Every key of the
/// file is described in docs/configuration.md.
///
/// Before it writes it reads each secret of the parameter store that the file names: one that is missing or empty is
/// refused, one that you may not read is a warning. What is read is never shown.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ApplyArgs {
    /// The file
    #[arg(value_name = "FILE", default_value = "hookbox.toml")]
    pub file: PathBuf,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Accept receipts that are kept for less time than the provider may repeat an event
    #[arg(long)]
    pub accept_short_retention: bool,
    /// Do not look whether the secrets that the file names exist
    #[arg(long)]
    pub skip_secret_check: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox apply hookbox.toml --dry-run
  hookbox apply hookbox.toml --yes --output json

Exit codes: 0 written or nothing to do; 1 not confirmed, overtaken by another change, a secret is
missing, or (with --dry-run) there are differences; 2 wrong usage or an invalid file;
3 could not look.";

/// A checked file that is to be brought into a table.
#[derive(Debug)]
pub struct Application<'a> {
    /// The file.
    pub file: &'a ConfigFile,
    /// The table.
    pub table: &'a Table,
    /// Reads the secrets that the file names; `None` does not look at them.
    pub secrets: Option<&'a SecretReader>,
    /// Whether to ask.
    pub intent: Intent,
    /// Who does it.
    pub author: Author,
    /// Why.
    pub reason: Option<&'a str>,
    /// Dates the audit.
    pub clock: &'a dyn Clock,
}

/// Runs the command.
pub async fn run(args: &ApplyArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let file = ConfigFile::read(&args.file)?;
    let short = if args.accept_short_retention { ShortRetention::Accept } else { ShortRetention::Refuse };
    file.check(&Profiles::built_in(), short)?;
    let table = args.table.connect().await?;
    let secrets = args.table.aws.secrets(Arc::clone(&clock)).await;
    let application = Application {
        file: &file,
        table: &table,
        secrets: Some(&secrets).filter(|_| !args.skip_secret_check),
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
        reason: args.reason.as_deref(),
        clock: clock.as_ref(),
    };
    application.apply(terminal).await
}

impl Application<'_> {
    /// Shows the differences, asks, writes, and records who wrote.
    pub async fn apply(&self, terminal: &mut Terminal) -> Result<Answer, Failure> {
        let plan = Plan::make(self.file, self.table).await?;
        let Findings { warnings, unusable } = Findings::of(self.file, &plan, self.secrets).await;
        if terminal.format() == Format::Table {
            plan.show(terminal)?;
            for warning in &warnings {
                warn(warning, terminal)?;
            }
        }
        if let Some(unusable) = unusable {
            return Err(unusable);
        }
        let changes = plan.changes().count();
        let integrations = count(changes as u64, "integration");
        let (question, attempted) = (format!("Write {integrations}?"), format!("apply {integrations}"));
        let write = changes > 0 && self.intent.allows(&question, &attempted, terminal)?;
        if write {
            let who = self.author.name().await?;
            for step in plan.changes() {
                put(step, self.table).await?;
                self.record(step, &who).await?;
                if terminal.format() == Format::Table {
                    let integration = &step.integration;
                    let (provider, account, rev) = (&integration.provider, &integration.account, integration.rev);
                    let path = format!("deliveries come to /hooks/{provider}/{account}");
                    terminal.say(format_args!("applied {provider}/{account} as rev {rev}: {path}"))?;
                }
            }
        }
        if terminal.format() == Format::Json {
            terminal.say_json(&Report::of(&plan, warnings, write))?;
        }
        Ok(if self.intent == Intent::DryRun && changes > 0 { Answer::No } else { Answer::Yes })
    }

    async fn record(&self, step: &Step, who: &str) -> Result<(), Failure> {
        let Integration { provider, account, rev, .. } = &step.integration;
        let deed = Deed {
            subject: Subject::Integration(provider.clone(), account.clone()),
            what: "apply",
            on: None,
            why: self.reason.map(str::to_owned),
            before: step.replaces().map(|rev| format!("rev {rev}")),
            after: Some(format!("rev {rev}")),
        };
        let made = format!("{provider}/{account} is applied as rev {rev}");
        deed.record(who, &made, self.table, self.clock).await
    }
}

fn warn(warning: &str, terminal: &mut Terminal) -> std::io::Result<()> {
    let line = terminal.paint(Tone::Busy, format!("warning: {warning}"));
    terminal.say(line)
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
    unreadable: &'a [String],
    warnings: Vec<String>,
    applied: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    provider: &'a Provider,
    account: &'a Account,
    change: &'static str,
    rev: u64,
    diff: Vec<String>,
    warnings: &'a [String],
}

impl<'a> Report<'a> {
    fn of(plan: &'a Plan, warnings: Vec<String>, applied: bool) -> Self {
        let line = |step: &'a Step| Line {
            provider: &step.integration.provider,
            account: &step.integration.account,
            change: step.change.as_str(),
            rev: step.integration.rev,
            diff: step.differences().into_iter().map(|(mark, text)| format!("{mark}{text}")).collect(),
            warnings: &step.warnings,
        };
        let changes = plan.steps.iter().map(line).collect();
        Self { changes, not_in_file: plan.not_in_file.clone(), unreadable: &plan.unreadable, warnings, applied }
    }
}

#[cfg(test)]
mod tests;
