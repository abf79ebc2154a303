//! The audit: who did what to a receipt or an integration, and why.

use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::{EpochSeconds, Timestamp};

use crate::Ledger;
use crate::error::LedgerError;
use crate::item::key;
use crate::load::{Listing, beginning};

/// One deed of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// To what it was done.
    pub subject: Subject,
    /// When.
    pub at: Timestamp,
    /// Who did it.
    pub who: String,
    /// What was done, such as `replay`.
    pub what: String,
    /// The job's key, the operation or whatever else within the subject it was done to.
    pub on: Option<String>,
    /// Why, in the person's words.
    pub why: Option<String>,
    /// The bulk operation that it was a part of.
    pub bulk: Option<String>,
    /// What was there before.
    pub before: Option<String>,
    /// What was there afterwards.
    pub after: Option<String>,
    /// When the entry expires; `None` keeps it for good.
    pub expires_at: Option<EpochSeconds>,
}

/// What a deed was done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A receipt or one of its jobs.
    Receipt(ReceiptId),
    /// The configuration of a connection, or one of its pauses.
    Integration(Provider, Account),
    /// A team's own profile.
    Profile(Provider),
}

impl Ledger {
    /// Records a deed that has no write of its own to go with; see [`Ledger::write_job_audited`].
    pub async fn put_audit(&self, audit: &Audit) -> Result<(), LedgerError> {
        let item = audit.to_item(&self.token())?;
        let mut tries = self.tries();
        loop {
            // Its key is its own, so doing it twice is doing it once.
            let call = self.client.put_item().table_name(self.table.as_ref()).set_item(Some(item.clone()));
            match tries.make(call.send()).await {
                Ok(_) => return Ok(()),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// The deeds on an integration, oldest first. Those on a receipt come with [`Ledger::load`].
    pub async fn integration_audit(
        &self,
        provider: &Provider,
        account: &Account,
    ) -> Result<Listing<Audit>, LedgerError> {
        self.audit_at(&key::integration(provider, account)).await
    }

    /// The deeds on a team's own profile, oldest first.
    pub async fn own_profile_audit(&self, name: &Provider) -> Result<Listing<Audit>, LedgerError> {
        self.audit_at(&key::profile(name)).await
    }

    async fn audit_at(&self, pk: &str) -> Result<Listing<Audit>, LedgerError> {
        let items = self.query(beginning(pk, key::LOG), None).await?;
        Ok(Listing::of(items, Audit::from_item))
    }
}
