//! A team's own profiles against the table.

use hookbox_core::name::Provider;
use hookbox_ledger::{DirectoryEntry, LedgerError, OwnProfile};
use hookbox_providers::{Profile, Profiles};

use super::diff;
use crate::connection::Table;
use crate::failure::{Failure, Trouble};
use crate::own_profiles::OwnFile;
use crate::terminal::{Terminal, Tone};

/// One profile of the folder against the table.
#[derive(Clone, Debug)]
pub struct ProfileStep {
    /// What the folder says, with the revision that it has or will have.
    pub profile: OwnProfile,
    /// What the table holds.
    pub before: Option<OwnProfile>,
}

impl ProfileStep {
    /// Compares a profile with the table.
    pub async fn of(own: &OwnFile, table: &Table) -> Result<Self, Failure> {
        let before = read(&own.name, table).await?;
        let rev = match &before {
            None => 1,
            Some(before) if before.toml == own.toml => before.rev,
            Some(before) => before.rev + 1,
        };
        Ok(Self { profile: OwnProfile { name: own.name.clone(), rev, toml: own.toml.clone() }, before })
    }

    /// Whether it writes.
    pub fn is_change(&self) -> bool {
        self.before.as_ref().is_none_or(|before| before.toml != self.profile.toml)
    }

    /// The change in a word.
    pub fn as_str(&self) -> &'static str {
        match &self.before {
            None => "new",
            Some(_) if self.is_change() => "changed",
            Some(_) => "unchanged",
        }
    }

    /// The lines that differ and those around them, as for an integration.
    pub fn differences(&self) -> Vec<(char, String)> {
        let mut lines = Vec::new();
        for (start, hunk) in diff::hunks(self.before.as_ref().map_or("", |before| &before.toml), &self.profile.toml) {
            if start > 0 {
                lines.push(('@', "…".to_owned()));
            }
            lines.extend(hunk);
        }
        lines
    }

    /// Shows it.
    pub fn show(&self, terminal: &mut Terminal) -> std::io::Result<()> {
        let OwnProfile { name, rev, .. } = &self.profile;
        let (tone, says) = match &self.before {
            None => (Tone::Heading, format!("profile {name} is new")),
            Some(before) if self.is_change() => {
                (Tone::Heading, format!("profile {name} changes from rev {} to rev {rev}", before.rev))
            }
            Some(_) => (Tone::Quiet, format!("profile {name} is unchanged (rev {rev})")),
        };
        let says = terminal.paint(tone, says);
        terminal.say(says)?;
        diff::show(&self.differences(), terminal)
    }

    /// Writes it.
    pub async fn put(&self, table: &Table) -> Result<(), Failure> {
        let attempted = format!("apply the profile {}", self.profile.name);
        let replaces = self.before.as_ref().map(|before| before.rev);
        table.ledger.put_own_profile(&self.profile, replaces).await.map_err(|error| match error {
            LedgerError::ConditionFailed { stored } => {
                let why = format!("somebody else applied it in the meantime: {stored}");
                Failure::Refused(Trouble::new(attempted, why).advise("apply again, and look at the differences first"))
            }
            error => table.failure(&attempted, &error),
        })
    }
}

/// Refuses a changed profile that a connection of the table, which the file does not name, could not be used with: all of
/// its deliveries would be refused.
pub(super) async fn still_fits(entry: &DirectoryEntry, profiles: &[ProfileStep], table: &Table) -> Result<(), Failure> {
    let DirectoryEntry { provider, account, .. } = entry;
    let of_provider = |step: &&ProfileStep| step.is_change() && step.profile.name == *provider;
    let Some(step) = profiles.iter().find(of_provider) else { return Ok(()) };
    let integration = table.ledger.integration(provider, account).await;
    let attempted = format!("read integration {provider}/{account}");
    let Some(integration) = integration.map_err(|error| table.failure(&attempted, &error))? else { return Ok(()) };
    let configured = Profile::parse(&step.profile.toml)
        .and_then(|profile| profile.configure(integration.variant.as_deref(), integration.verify.as_ref()));
    configured.map(|_| ()).map_err(|error| {
        let trouble = Trouble::new(format!("use the changed profile {provider} for {provider}/{account}"), error);
        Failure::Usage(trouble.advise("change that connection in the same hookbox.toml"))
    })
}

/// Adds the profiles of these names that were applied before, as far as there are such.
pub(super) async fn add_applied(names: &[Provider], profiles: &mut Profiles, table: &Table) -> Result<(), Failure> {
    for name in names {
        if let Some(own) = read(name, table).await? {
            profiles.add(&own.toml).map_err(|error| {
                let trouble = Trouble::new(format!("use the profile {name} as it was applied"), error);
                Failure::Usage(trouble.advise("--profiles with the folder of a corrected one"))
            })?;
        }
    }
    Ok(())
}

async fn read(name: &Provider, table: &Table) -> Result<Option<OwnProfile>, Failure> {
    let stored = table.ledger.own_profile(name).await;
    stored.map_err(|error| table.failure(&format!("read the profile {name}"), &error))
}
