//! The configuration of the integrations, and the directory that lists them.

use std::collections::BTreeSet;

use hookbox_core::integration::Integration;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;

use crate::Ledger;
use crate::classify::{Failure, Verdict};
use crate::error::{ItemError, LedgerError, Stored};
use crate::expression::{Expression, number, text};
use crate::item::integration::StoredIntegration;
use crate::item::{self, Item, SCHEMA, key};
use crate::load::{Listing, beginning};
use crate::pause::Pause;
use crate::transact::{Key, Write};

/// An integration with the pauses that stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// What `apply` wrote.
    pub integration: Integration,
    /// Which of its operations are paused.
    pub pauses: Listing<Pause>,
}

impl Configured {
    /// The pause of this operation; an error when there is one that this version cannot read.
    pub fn pause(&self, operation: &OperationName) -> Result<Option<&Pause>, ItemError> {
        self.pauses.of_operation(operation)
    }
}

/// A line of the directory of integrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// The revision that was written last. A connection that comes back goes on from here.
    pub rev: u64,
    /// Since when it is no longer configured. The line stays: there may still be receipts of it.
    pub retired_at: Option<Timestamp>,
    /// Every operation that it was ever configured with: jobs of a removed one may still be held.
    pub operations: BTreeSet<OperationName>,
}

impl Listing<DirectoryEntry> {
    /// The line of this connection; an error when there is one that this version cannot read.
    pub fn of_connection(&self, provider: &Provider, account: &Account) -> Result<Option<&DirectoryEntry>, ItemError> {
        let sk = key::integration(provider, account);
        match self.unreadable.iter().find(|item| item.sk == sk) {
            Some(item) => Err(item.error.clone()),
            None => Ok(self.items.iter().find(|line| line.provider == *provider && line.account == *account)),
        }
    }
}

impl Ledger {
    /// The configuration of a connection, read consistently; `None` when there is none.
    pub async fn integration(
        &self,
        provider: &Provider,
        account: &Account,
    ) -> Result<Option<Integration>, LedgerError> {
        let item = self.get(Key::new(key::integration(provider, account), key::CONFIG)).await?;
        Ok(item.map(StoredIntegration::from_item).transpose()?.map(|stored| stored.integration))
    }

    /// The configuration of a connection together with its pauses, in one consistent query.
    pub async fn integration_with_pauses(
        &self,
        provider: &Provider,
        account: &Account,
    ) -> Result<Option<Configured>, LedgerError> {
        // `log#…` lies between `config` and `pause#…`: the audit comes along and is passed over. It has one entry for
        // every change of the configuration, so it is short.
        let mut integration = None;
        let mut pauses = Vec::new();
        // An unreadable pause is kept beside the others: it stops its own operation and no other.
        for item in self.query(configuration(provider, account), None).await? {
            let (_, sk) = item::names(&item);
            if sk == key::CONFIG {
                integration = Some(StoredIntegration::from_item(item)?.integration);
            } else if sk.starts_with(key::PAUSE) {
                pauses.push(item);
            }
        }
        let pauses = Listing::of(pauses, Pause::from_item);
        Ok(integration.map(|integration| Configured { integration, pauses }))
    }

    /// Every connection that was ever configured.
    pub async fn directory(&self) -> Result<Listing<DirectoryEntry>, LedgerError> {
        let items = self.query(beginning(key::DIRECTORY, "integration#"), None).await?;
        Ok(Listing::of(items, DirectoryEntry::from_item))
    }

    /// Writes a configuration and its line in the directory in one transaction. `replaces` is the revision that was
    /// read, `None` for a connection that was not configured; with any other stored revision nothing is written.
    pub async fn put_integration(&self, integration: &Integration, replaces: Option<u64>) -> Result<(), LedgerError> {
        let token = self.token();
        let stored = StoredIntegration { integration: integration.clone(), token: token.clone() };
        let condition = match replaces {
            None => Expression::default().when_absent("pk"),
            Some(rev) => Expression::of_ours().when_is("rev", number(rev)),
        };
        let line = DirectoryEntry {
            provider: integration.provider.clone(),
            account: integration.account.clone(),
            rev: integration.rev,
            retired_at: None,
            operations: integration.operations.iter().map(|operation| operation.name.clone()).collect(),
        };
        let config = Write::Update(
            Key::new(key::integration(&integration.provider, &integration.account), key::CONFIG),
            whole(stored.to_item()?, condition),
        );
        self.write_config(&[config, directory_line(&line)?], &token).await
    }

    /// Removes a configuration of revision `replaces` and retires its line in the directory. One that is gone already
    /// is no error.
    pub async fn retire_integration(
        &self,
        provider: &Provider,
        account: &Account,
        replaces: u64,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let line = DirectoryEntry {
            provider: provider.clone(),
            account: account.clone(),
            rev: replaces,
            retired_at: Some(now),
            operations: BTreeSet::new(),
        };
        let config = Write::Delete(
            Key::new(key::integration(provider, account), key::CONFIG),
            Expression::of_ours().when_is("rev", number(replaces)),
        );
        match self.write_config(&[config, directory_line(&line)?], &self.token()).await {
            Err(LedgerError::ConditionFailed { stored: Stored::Nothing }) => Ok(()),
            other => other,
        }
    }

    async fn write_config(&self, parts: &[Write], token: &str) -> Result<(), LedgerError> {
        let mut tries = self.tries();
        loop {
            // The client token of the transaction recognises a first try whose answer was lost, as the stored one does.
            match tries.make(self.transaction(parts.to_vec(), token)?.send()).await {
                Ok(_) => return Ok(()),
                Err(Failure::Cancelled(verdicts)) => {
                    let mut verdicts = verdicts.into_iter();
                    let stored = match (verdicts.next(), verdicts.next()) {
                        (Some(Verdict::Fails(Some(item))), _) => StoredIntegration::from_item(item)?,
                        // The line of the directory: only its schema can be in the way.
                        (Some(Verdict::Holds), Some(Verdict::Fails(Some(item)))) => {
                            DirectoryEntry::from_item(item)?;
                            return Err(LedgerError::ConditionFailed { stored: Stored::Nothing });
                        }
                        _ => return Err(LedgerError::ConditionFailed { stored: Stored::Nothing }),
                    };
                    if stored.token == token {
                        return Ok(());
                    }
                    let stored = Stored::Integration(Box::new(stored.integration));
                    return Err(LedgerError::ConditionFailed { stored });
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

/// The line of the directory: attributes that this version does not know stay, and so do earlier operations.
fn directory_line(line: &DirectoryEntry) -> Result<Write, LedgerError> {
    let key = Key::new(key::DIRECTORY, key::integration(&line.provider, &line.account));
    let mut ours_or_none = Expression::default();
    let (pk, schema) = (ours_or_none.name("pk"), ours_or_none.name("schema"));
    let ours = ours_or_none.value(number(SCHEMA));
    let condition = ours_or_none.when(format!("(attribute_not_exists({pk}) OR {schema} <= {ours})"));
    let mut item = line.to_item()?;
    let operations = item.remove("operations");
    let mut expression = whole(item, condition);
    if line.retired_at.is_none() {
        expression = expression.remove("retired_at");
    }
    Ok(Write::Update(
        key,
        operations.into_iter().fold(expression, |line, operations| line.add("operations", operations)),
    ))
}

/// Sets every attribute of an item but its keys.
fn whole(item: Item, condition: Expression) -> Expression {
    item.into_iter()
        .filter(|(attribute, _)| attribute != "pk" && attribute != "sk")
        .fold(condition, |expression, (attribute, value)| expression.set(&attribute, value))
}

/// The configuration and the pauses of a connection.
fn configuration(provider: &Provider, account: &Account) -> Expression {
    let mut range = Expression::default().when_is("pk", text(key::integration(provider, account)));
    let (sk, first, last) = (range.name("sk"), range.value(text(key::CONFIG)), range.value(text("pause$")));
    range.when(format!("{sk} BETWEEN {first} AND {last}"))
}
