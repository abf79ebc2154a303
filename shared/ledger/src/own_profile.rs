//! Profiles that a team has written for itself, beside those that are compiled in.

use hookbox_core::name::Provider;

use crate::Ledger;
use crate::error::{LedgerError, Stored};
use crate::item::key;
use crate::replace::Replaced;
use crate::transact::Key;

/// A provider's profile of the team's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProfile {
    /// By which name integrations and the path of deliveries call it.
    pub name: Provider,
    /// Grows by one with every change, from 1.
    pub rev: u64,
    /// The profile as it was written, in TOML. The ledger does not look into it; an item holds 400 KB.
    pub toml: String,
}

impl Ledger {
    /// A team's own profile, read consistently; `None` when there is none.
    pub async fn own_profile(&self, name: &Provider) -> Result<Option<OwnProfile>, LedgerError> {
        let item = self.get(Key::new(key::profile(name), key::PROFILE)).await?;
        Ok(item.map(OwnProfile::from_item).transpose()?)
    }

    /// Stores a profile in place of revision `replaces`, `None` for a new one;
    /// [`LedgerError::ConditionFailed`] when another revision stands there.
    pub async fn put_own_profile(&self, profile: &OwnProfile, replaces: Option<u64>) -> Result<(), LedgerError> {
        match self.replace(profile.to_item()?, replaces).await? {
            Replaced::Written => Ok(()),
            Replaced::Lost(None) => Err(LedgerError::ConditionFailed { stored: Stored::Nothing }),
            Replaced::Lost(Some(item)) => {
                let stored = Stored::Profile(Box::new(OwnProfile::from_item(item)?));
                Err(LedgerError::ConditionFailed { stored })
            }
        }
    }
}
