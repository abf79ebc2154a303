//! Items that are replaced as a whole, each under the revision that was read.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::expression::{Expression, number, text};
use crate::item::Item;
use crate::transact::Key;

/// What became of replacing an item.
#[derive(Debug)]
pub(crate) enum Replaced {
    /// It is stored.
    Written,
    /// Another revision stands there, or none.
    Lost(Option<Item>),
}

impl Ledger {
    /// An item, read consistently.
    pub(crate) async fn get(&self, key: Key) -> Result<Option<Item>, LedgerError> {
        let key = key.into_attributes();
        let mut tries = self.tries();
        loop {
            let call =
                self.client.get_item().table_name(self.table.as_ref()).set_key(Some(key.clone())).consistent_read(true);
            match tries.make(call.send()).await {
                Ok(found) => return Ok(found.item),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// Stores `item` in place of revision `replaces`, or where there is none yet. It gets a token, by which a first try
    /// whose answer was lost is recognised.
    pub(crate) async fn replace(&self, mut item: Item, replaces: Option<u64>) -> Result<Replaced, LedgerError> {
        let token = text(self.token());
        item.insert("token".to_owned(), token.clone());
        let condition = match replaces {
            None => Expression::default().when_absent("pk"),
            Some(rev) => Expression::of_ours().when_is("rev", number(rev)),
        };
        let mut tries = self.tries();
        loop {
            let call = self
                .client
                .put_item()
                .table_name(self.table.as_ref())
                .set_item(Some(item.clone()))
                .set_condition_expression(condition.condition())
                .set_expression_attribute_names(condition.names())
                .set_expression_attribute_values(condition.values())
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            match tries.make(call.send()).await {
                Ok(_) => return Ok(Replaced::Written),
                Err(Failure::Condition(Some(stored))) if is_of(&stored, &token) => return Ok(Replaced::Written),
                Err(Failure::Condition(stored)) => return Ok(Replaced::Lost(stored)),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

fn is_of(stored: &Item, token: &AttributeValue) -> bool {
    stored.get("token") == Some(token)
}
