//! What applying a file would change.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::integration::Integration;
use hookbox_ledger::{DirectoryEntry, Listing};

use super::own::ProfileStep;
use super::{diff, own};
use crate::config::{ConfigFile, Declared, text};
use crate::connection::Table;
use crate::failure::Failure;
use crate::own_profiles::OwnFile;
use crate::terminal::{Terminal, Tone};

/// Integrations that are read at once.
const AT_ONCE: usize = 8;
/// How the line begins that names an operation.
const NAME: &str = "name = ";

/// What applying a file would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The team's own profiles that are applied with it.
    pub profiles: Vec<ProfileStep>,
    /// Every integration of the file, in its order.
    pub steps: Vec<Step>,
    /// Integrations of the table that the file does not name.
    pub not_in_file: Vec<String>,
    /// Lines of the directory that this version cannot read: what they stand for is left alone.
    pub unreadable: Vec<String>,
}

/// One integration of the file against the table.
#[derive(Clone, Debug)]
pub struct Step {
    /// What the file says, with the revision that it has or will have.
    pub integration: Integration,
    /// What that means.
    pub change: Change,
    /// What is allowed and probably not meant, or was not stated.
    pub warnings: Vec<String>,
}

/// What is done about one integration.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is written for the first time, or again after it was retired.
    New,
    /// It replaces another one.
    Changed {
        /// What the table holds.
        from: Box<Integration>,
    },
    /// The table holds the same.
    Unchanged,
}

impl Plan {
    /// Compares the file and the profiles with the table.
    pub async fn make(file: &ConfigFile, folder: &[OwnFile], table: &Table) -> Result<Self, Failure> {
        let profiles = folder.iter().map(|own| ProfileStep::of(own, table));
        let profiles: Vec<ProfileStep> = stream::iter(profiles).buffered(AT_ONCE).try_collect().await?;
        let directory = table.ledger.directory().await;
        let directory = directory.map_err(|error| table.failure("read the directory of integrations", &error))?;
        let declared = file.declared.iter().map(|declared| step(declared, &directory, table));
        let steps: Vec<Step> = stream::iter(declared).buffered(AT_ONCE).try_collect().await?;
        let in_file = |entry: &DirectoryEntry| {
            steps
                .iter()
                .any(|step| step.integration.provider == entry.provider && step.integration.account == entry.account)
        };
        let left: Vec<_> =
            directory.items.iter().filter(|entry| entry.retired_at.is_none() && !in_file(entry)).collect();
        for entry in &left {
            own::still_fits(entry, &profiles, table).await?;
        }
        let not_in_file = left.iter().map(|entry| format!("{}/{}", entry.provider, entry.account)).collect();
        let unreadable = directory.unreadable.iter().map(|line| line.error.to_string()).collect();
        Ok(Self { profiles, steps, not_in_file, unreadable })
    }

    /// The steps that write a profile.
    pub fn changed_profiles(&self) -> impl Iterator<Item = &ProfileStep> {
        self.profiles.iter().filter(|step| step.is_change())
    }

    /// The steps that write an integration.
    pub fn changes(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| !matches!(step.change, Change::Unchanged))
    }

    /// Shows every step.
    pub fn show(&self, terminal: &mut Terminal) -> std::io::Result<()> {
        for step in &self.profiles {
            step.show(terminal)?;
        }
        for step in &self.steps {
            step.show(terminal)?;
        }
        if !self.not_in_file.is_empty() {
            let left = format!("not in this file and left alone: {}", self.not_in_file.join(", "));
            let left = terminal.paint(Tone::Quiet, left);
            terminal.say(left)?;
        }
        for why in &self.unreadable {
            let line = terminal.paint(Tone::Bad, format!("unreadable and left alone: {why}"));
            terminal.say(line)?;
        }
        if self.changes().next().is_none() && self.changed_profiles().next().is_none() {
            terminal.say("nothing to do")?;
        }
        Ok(())
    }
}

async fn step(declared: &Declared, directory: &Listing<DirectoryEntry>, table: &Table) -> Result<Step, Failure> {
    let Integration { provider, account, .. } = &declared.integration;
    let stored = table.ledger.integration(provider, account).await;
    let attempted = format!("read integration {provider}/{account}");
    let stored = stored.map_err(|error| table.failure(&attempted, &error))?;
    let of_directory = directory.of_connection(provider, account);
    let of_directory = of_directory.map_err(|error| table.failure(&attempted, &error.into()))?;
    let mut integration = declared.integration.clone();
    let change = match stored {
        // One that was retired goes on where it stopped, so that no two configurations ever share a revision.
        None => {
            integration.rev = of_directory.map_or(0, |entry| entry.rev) + 1;
            Change::New
        }
        Some(stored) => {
            integration.rev = stored.rev;
            if text::of(&integration) == text::of(&stored) {
                Change::Unchanged
            } else {
                integration.rev = stored.rev + 1;
                Change::Changed { from: Box::new(stored) }
            }
        }
    };
    Ok(Step { integration, change, warnings: declared.warnings.clone() })
}

impl Change {
    /// The change in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed { .. } => "changed",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Step {
    /// The revision that is replaced.
    pub fn replaces(&self) -> Option<u64> {
        match &self.change {
            Change::New => None,
            Change::Changed { from } => Some(from.rev),
            Change::Unchanged => Some(self.integration.rev),
        }
    }

    /// The lines that differ and those around them, each with `+`, `-`, a blank, or `@` for the operation that follows.
    pub fn differences(&self) -> Vec<(char, String)> {
        let old = match &self.change {
            Change::New => String::new(),
            Change::Changed { from } => text::of(from),
            Change::Unchanged => return Vec::new(),
        };
        let new = text::of(&self.integration);
        let mut lines = Vec::new();
        for (start, hunk) in diff::hunks(&old, &new) {
            if start > 0 {
                let mut before_change = hunk.iter().take_while(|(mark, _)| *mark == ' ');
                let says_itself = before_change.any(|(_, line)| line.starts_with(NAME));
                lines.push(('@', if says_itself { "…".to_owned() } else { heading(&new, start) }));
            }
            lines.extend(hunk);
        }
        lines
    }

    fn show(&self, terminal: &mut Terminal) -> std::io::Result<()> {
        let Integration { provider, account, rev, .. } = &self.integration;
        let says = match &self.change {
            Change::New => format!("{provider}/{account} is new"),
            Change::Changed { from } => format!("{provider}/{account} changes from rev {} to rev {rev}", from.rev),
            Change::Unchanged => format!("{provider}/{account} is unchanged (rev {rev})"),
        };
        let tone = if matches!(self.change, Change::Unchanged) { Tone::Quiet } else { Tone::Heading };
        let says = terminal.paint(tone, says);
        terminal.say(says)?;
        diff::show(&self.differences(), terminal)?;
        if !matches!(self.change, Change::Unchanged) {
            for warning in &self.warnings {
                super::warn(warning, terminal)?;
            }
        }
        Ok(())
    }
}

/// Which operation the line at `start` belongs to.
fn heading(text: &str, start: usize) -> String {
    let before: Vec<&str> = text.lines().take(start).collect();
    let name = before.iter().rev().find_map(|line| line.strip_prefix(NAME));
    name.map_or_else(|| "…".to_owned(), |name| format!("… operation {name}"))
}
