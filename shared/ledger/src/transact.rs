//! Writes as parts that make up a transaction, or stand alone where one is enough.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use hookbox_core::limits::{MAX_ITEM_BYTES, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_ITEMS};

use crate::error::LedgerError;
use crate::expression::{Expression, text};
use crate::item::{self, Item};
use crate::{Ledger, retry};

/// The keys of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl Key {
    pub(crate) fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self { pk: pk.into(), sk: sk.into() }
    }

    pub(crate) fn into_attributes(self) -> HashMap<String, AttributeValue> {
        HashMap::from([("pk".to_owned(), text(self.pk)), ("sk".to_owned(), text(self.sk))])
    }
}

/// One part of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Stores a whole new item.
    Put(Item, Expression),
    /// Changes an item.
    Update(Key, Expression),
    /// Removes an item.
    Delete(Key, Expression),
    /// Only looks.
    Check(Key, Expression),
}

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

impl Ledger {
    /// A transaction of these parts. Each reports the item on which its condition fails.
    pub(crate) fn transaction(
        &self,
        parts: Vec<Write>,
        token: &str,
    ) -> Result<TransactWriteItemsFluentBuilder, LedgerError> {
        check_size(&parts)?;
        let mut call = self.client.transact_write_items().client_request_token(token);
        for part in parts {
            call = call.transact_items(self.part(part)?);
        }
        Ok(call)
    }

    fn part(&self, part: Write) -> Result<TransactWriteItem, LedgerError> {
        let table = self.table.as_ref();
        let item = TransactWriteItem::builder();
        let item = match part {
            Write::Put(attributes, expression) => item.put(
                Put::builder()
                    .table_name(table)
                    .set_item(Some(attributes))
                    .set_condition_expression(expression.condition())
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values())
                    .return_values_on_condition_check_failure(ALL_OLD)
                    .build()
                    .map_err(unbuilt)?,
            ),
            Write::Update(key, expression) => item.update(
                Update::builder()
                    .table_name(table)
                    .set_key(Some(key.into_attributes()))
                    .set_update_expression(expression.update())
                    .set_condition_expression(expression.condition())
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values())
                    .return_values_on_condition_check_failure(ALL_OLD)
                    .build()
                    .map_err(unbuilt)?,
            ),
            Write::Delete(key, expression) => item.delete(
                Delete::builder()
                    .table_name(table)
                    .set_key(Some(key.into_attributes()))
                    .set_condition_expression(expression.condition())
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values())
                    .return_values_on_condition_check_failure(ALL_OLD)
                    .build()
                    .map_err(unbuilt)?,
            ),
            Write::Check(key, expression) => item.condition_check(
                ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(key.into_attributes()))
                    .set_condition_expression(expression.condition())
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values())
                    .return_values_on_condition_check_failure(ALL_OLD)
                    .build()
                    .map_err(unbuilt)?,
            ),
        };
        Ok(item.build())
    }

    /// An update that stands alone.
    pub(crate) fn update(&self, key: Key, expression: &Expression) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(self.table.as_ref())
            .set_key(Some(key.into_attributes()))
            .set_update_expression(expression.update())
            .set_condition_expression(expression.condition())
            .set_expression_attribute_names(expression.names())
            .set_expression_attribute_values(expression.values())
            .return_values_on_condition_check_failure(ALL_OLD)
    }

    /// 128 random bits: the token of one write.
    pub(crate) fn token(&self) -> String {
        format!("{:016x}{:016x}", self.random.next_u64(), self.random.next_u64())
    }

    /// The tries of one call.
    pub(crate) fn tries(&self) -> retry::Tries<'_> {
        self.pace.tries(self.random.as_ref())
    }
}

/// DynamoDB's limits, told before anything is sent.
fn check_size(parts: &[Write]) -> Result<(), LedgerError> {
    if parts.len() > MAX_TRANSACTION_ITEMS {
        let (size, limit) = (parts.len(), MAX_TRANSACTION_ITEMS);
        return Err(LedgerError::TooLarge { what: "transaction in items", size, limit });
    }
    let mut total = 0;
    for part in parts {
        if let Write::Put(attributes, _) = part {
            let size = item::size(attributes);
            if size > MAX_ITEM_BYTES {
                return Err(LedgerError::TooLarge { what: "item in bytes", size, limit: MAX_ITEM_BYTES });
            }
            total += size;
        }
    }
    if total > MAX_TRANSACTION_BYTES {
        let limit = MAX_TRANSACTION_BYTES;
        return Err(LedgerError::TooLarge { what: "transaction in bytes", size: total, limit });
    }
    Ok(())
}

/// The SDK's builder misses a part.
fn unbuilt(error: aws_sdk_dynamodb::error::BuildError) -> LedgerError {
    LedgerError::Refused { code: "client".to_owned(), action: None, source: Box::new(error) }
}
