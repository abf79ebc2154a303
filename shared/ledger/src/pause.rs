//! Pauses: while one stands, the jobs of its operation are held instead of attempted.

use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::outcome::ErrorText;
use hookbox_core::time::Timestamp;

use crate::Ledger;
use crate::audit::Audit;
use crate::classify::{Failure, Verdict};
use crate::error::{ItemError, LedgerError, Stored};
use crate::expression::{Expression, number};
use crate::item::key;
use crate::load::{Listing, beginning};
use crate::replace::Replaced;
use crate::transact::{Key, Write};

/// A pause of one operation of one integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// What is paused.
    pub operation: OperationName,
    /// Tells this pause from an earlier one of the same operation.
    pub rev: u64,
    /// Why.
    pub reason: ErrorText,
    /// Since when.
    pub at: Timestamp,
}

impl Listing<Pause> {
    /// The pause of this operation; an error when there is one that this version cannot read.
    pub fn of_operation(&self, operation: &OperationName) -> Result<Option<&Pause>, ItemError> {
        let sk = key::pause(operation);
        match self.unreadable.iter().find(|item| item.sk == sk) {
            Some(item) => Err(item.error.clone()),
            None => Ok(self.items.iter().find(|pause| pause.operation == *operation)),
        }
    }
}

impl Ledger {
    /// Pauses an operation. One that is paused already stays as it is; the answer is the pause that stands.
    pub async fn put_pause(
        &self,
        provider: &Provider,
        account: &Account,
        operation: &OperationName,
        reason: &ErrorText,
        now: Timestamp,
    ) -> Result<Pause, LedgerError> {
        let pause = self.new_pause(provider, account, operation, reason, now);
        match self.replace(pause.to_item()?, None).await? {
            Replaced::Written => Ok(pause),
            Replaced::Lost(Some(item)) => Ok(Pause::from_item(item)?),
            // The condition failed on a pause that is gone again.
            Replaced::Lost(None) => Err(LedgerError::TransactionConflict),
        }
    }

    /// Like [`put_pause`](Self::put_pause), with a person's deed recorded in the same transaction: only a pause that is
    /// new is one.
    pub async fn put_pause_audited(
        &self,
        provider: &Provider,
        account: &Account,
        operation: &OperationName,
        reason: &ErrorText,
        audit: &Audit,
    ) -> Result<Pause, LedgerError> {
        let pause = self.new_pause(provider, account, operation, reason, audit.at);
        let absent = Expression::default().when_absent("pk");
        let paused = Write::Put(pause.to_item()?, absent);
        match self.write_audited(paused, audit).await? {
            None => Ok(pause),
            // Another's: ours would be the same transaction made again, which is no failure.
            Some(Verdict::Fails(Some(item))) => Ok(Pause::from_item(item)?),
            Some(_) => Err(LedgerError::TransactionConflict),
        }
    }

    fn new_pause(
        &self,
        provider: &Provider,
        account: &Account,
        operation: &OperationName,
        reason: &ErrorText,
        at: Timestamp,
    ) -> Pause {
        Pause {
            provider: provider.clone(),
            account: account.clone(),
            operation: operation.clone(),
            // Random, so that no two pauses share it, and small enough for every reader of JSON.
            rev: self.random.next_u64() >> 11,
            reason: reason.clone(),
            at,
        }
    }

    /// Like [`delete_pause`](Self::delete_pause), with a person's deed recorded in the same transaction: one that was gone
    /// already was ended by somebody else.
    pub async fn delete_pause_audited(&self, pause: &Pause, audit: &Audit) -> Result<(), LedgerError> {
        let key = Key::new(key::integration(&pause.provider, &pause.account), key::pause(&pause.operation));
        let resumed = Write::Delete(key, Expression::of_ours().when_is("rev", number(pause.rev)));
        match self.write_audited(resumed, audit).await? {
            None | Some(Verdict::Fails(None)) => Ok(()),
            Some(Verdict::Fails(Some(item))) => {
                let stored = Stored::Pause(Box::new(Pause::from_item(item)?));
                Err(LedgerError::ConditionFailed { stored })
            }
            Some(_) => Err(LedgerError::TransactionConflict),
        }
    }

    /// One write and the record of it. What is said of the write when its condition fails.
    async fn write_audited(&self, write: Write, audit: &Audit) -> Result<Option<Verdict>, LedgerError> {
        let token = self.token();
        let parts = vec![write, Write::Put(audit.to_item(&token)?, Expression::default())];
        let mut tries = self.tries();
        loop {
            match tries.make(self.transaction(parts.clone(), &token)?.send()).await {
                Ok(_) => return Ok(None),
                Err(Failure::Cancelled(verdicts)) => return Ok(verdicts.into_iter().next()),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// Ends exactly this pause. One that is gone already is no error; a later one of the same operation is
    /// [`LedgerError::ConditionFailed`] and stays.
    pub async fn delete_pause(&self, pause: &Pause) -> Result<(), LedgerError> {
        let ours = Expression::of_ours().when_is("rev", number(pause.rev));
        let mut tries = self.tries();
        loop {
            let key = Key::new(key::integration(&pause.provider, &pause.account), key::pause(&pause.operation));
            let call = self
                .client
                .delete_item()
                .table_name(self.table.as_ref())
                .set_key(Some(key.into_attributes()))
                .set_condition_expression(ours.condition())
                .set_expression_attribute_names(ours.names())
                .set_expression_attribute_values(ours.values())
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            match tries.make(call.send()).await {
                Ok(_) | Err(Failure::Condition(None)) => return Ok(()),
                Err(Failure::Condition(Some(item))) => {
                    let stored = Stored::Pause(Box::new(Pause::from_item(item)?));
                    return Err(LedgerError::ConditionFailed { stored });
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// The pauses of an integration, read consistently.
    pub async fn pauses(&self, provider: &Provider, account: &Account) -> Result<Listing<Pause>, LedgerError> {
        let range = beginning(&key::integration(provider, account), key::PAUSE);
        let items = self.query(range, None).await?;
        Ok(Listing::of(items, Pause::from_item))
    }
}
