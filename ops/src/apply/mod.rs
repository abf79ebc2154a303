//! `hookbox apply`: from the file to the table, with the differences shown first.

mod diff;
mod own;
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
use crate::own_profiles::{self, OwnFile};
use crate::terminal::{Format, Terminal, Tone};
pub use own::ProfileStep;
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
    /// Write the profiles of your own in this folder (`*.toml`) too
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
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
  hookbox apply --profiles profiles/     with profiles of your own: docs/adding-a-provider.md

Exit codes: 0 written or nothing to do; 1 not confirmed, overtaken by another change, a secret is
missing, or (with --dry-run) there are differences; 2 wrong usage or an invalid file;
3 could not look.";

/// A checked file that is to be brought into a table.
#[derive(Debug)]
pub struct Application<'a> {
    /// The file.
    pub file: &'a ConfigFile,
    /// The team's own profiles.
    pub own: &'a [OwnFile],
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
    let mut profiles = Profiles::built_in();
    let own = match &args.profiles {
        Some(folder) => own_profiles::read(folder, &mut profiles)?,
        None => Vec::new(),
    };
    let unknown = file.unknown_to(&profiles);
    if unknown.is_empty() {
        // What is wrong with the file is said before anybody needs credentials.
        file.check(&profiles, short)?;
    }
    let table = args.table.connect().await?;
    own::add_applied(&unknown, &mut profiles, &table).await?;
    file.check(&profiles, short)?;
    let secrets = args.table.aws.secrets(Arc::clone(&clock)).await;
    let application = Application {
        file: &file,
        own: &own,
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
        let plan = Plan::make(self.file, self.own, self.table).await?;
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
        let what = changes(&plan);
        let write = match &what {
            Some(what) => self.intent.allows(&format!("Write {what}?"), &format!("apply {what}"), terminal)?,
            None => false,
        };
        if write {
            let who = self.author.name().await?;
            // First what integrations refer to.
            for step in plan.changed_profiles() {
                step.put(self.table).await?;
                self.record_profile(step, &who).await?;
                if terminal.format() == Format::Table {
                    let profile = &step.profile;
                    terminal.say(format_args!("applied the profile {} as rev {}", profile.name, profile.rev))?;
                }
            }
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
        if terminal.format() != Format::Table {
            terminal.say_json(&Report::of(&plan, warnings, write))?;
        }
        Ok(if self.intent == Intent::DryRun && what.is_some() { Answer::No } else { Answer::Yes })
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

    async fn record_profile(&self, step: &ProfileStep, who: &str) -> Result<(), Failure> {
        let (name, rev) = (&step.profile.name, step.profile.rev);
        let deed = Deed {
            subject: Subject::Profile(name.clone()),
            what: "apply",
            on: None,
            why: self.reason.map(str::to_owned),
            before: step.before.as_ref().map(|before| format!("rev {}", before.rev)),
            after: Some(format!("rev {rev}")),
        };
        deed.record(who, &format!("the profile {name} is applied as rev {rev}"), self.table, self.clock).await
    }
}

/// How much would be written, in words; `None` for nothing.
fn changes(plan: &Plan) -> Option<String> {
    let counts = [(plan.changed_profiles().count(), "profile"), (plan.changes().count(), "integration")];
    let some = counts.into_iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = some.map(|(number, noun)| count(number as u64, noun)).collect();
    if words.is_empty() { None } else { Some(words.join(" and ")) }
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<ProfileLine<'a>>,
    changes: Vec<Line<'a>>,
    not_in_file: Vec<String>,
    unreadable: &'a [String],
    warnings: Vec<String>,
    applied: bool,
}

#[derive(Serialize)]
struct ProfileLine<'a> {
    name: &'a Provider,
    change: &'static str,
    rev: u64,
    diff: Vec<String>,
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
            diff: marked(step.differences()),
            warnings: &step.warnings,
        };
        let profile = |step: &'a ProfileStep| ProfileLine {
            name: &step.profile.name,
            change: step.as_str(),
            rev: step.profile.rev,
            diff: marked(step.differences()),
        };
        let profiles = plan.profiles.iter().map(profile).collect();
        let changes = plan.steps.iter().map(line).collect();
        let not_in_file = plan.not_in_file.clone();
        Self { profiles, changes, not_in_file, unreadable: &plan.unreadable, warnings, applied }
    }
}

fn marked(lines: Vec<(char, String)>) -> Vec<String> {
    lines.into_iter().map(|(mark, text)| format!("{mark}{text}")).collect()
}

#[cfg(test)]
mod tests;
