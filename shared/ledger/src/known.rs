//! Known: which events of a large batch are stored already, without a transaction for each.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};
use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::Receipt;

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::expression::Expression;
use crate::item::receipt::StoredReceipt;
use crate::item::{Item, key};
use crate::transact::Key;

/// Items that were read at once.
pub(crate) struct Batch {
    pub(crate) items: Vec<Item>,
    pub(crate) read_units: f64,
}

impl Ledger {
    /// How many receipts one call of [`known`](Self::known) reads at most (service quota of `BatchGetItem`).
    pub const KNOWN_AT_ONCE: usize = 100;

    /// Those of these receipts that are stored, read consistently. One that this version cannot read is not among them:
    /// what is to be done about it is for [`ingest`](Self::ingest) to find. At most
    /// [`KNOWN_AT_ONCE`](Self::KNOWN_AT_ONCE), each once.
    pub async fn known(&self, ids: &[ReceiptId]) -> Result<HashMap<ReceiptId, Receipt>, LedgerError> {
        let keys = ids.iter().map(|id| Key::new(id.to_string(), key::HEAD)).collect();
        let found = self.batch_get(keys, &[]).await?.items.into_iter();
        let found = found.filter_map(|item| StoredReceipt::from_item(item).ok());
        Ok(found.map(|stored| (stored.receipt.id, stored.receipt)).collect())
    }

    /// Those of these items that are there, each with `only` these attributes (none is all), read consistently. At most
    /// 100, each once.
    pub(crate) async fn batch_get(&self, keys: Vec<Key>, only: &[&str]) -> Result<Batch, LedgerError> {
        let mut names = Expression::default();
        let only: Vec<_> = only.iter().map(|attribute| names.name(attribute)).collect();
        let only = Some(only.join(", ")).filter(|only| !only.is_empty());
        let mut asked: Vec<_> = keys.into_iter().map(Key::into_attributes).collect();
        let mut batch = Batch { items: Vec::new(), read_units: 0.0 };
        let mut tries = self.tries();
        while !asked.is_empty() {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(asked.clone()))
                .set_projection_expression(only.clone())
                .set_expression_attribute_names(names.names())
                .consistent_read(true)
                .build();
            let keys = keys.map_err(|error| LedgerError::Refused {
                code: "client".to_owned(),
                action: None,
                source: error.into(),
            })?;
            let call = self.client.batch_get_item().request_items(self.table.as_ref(), keys);
            match tries.make(call.return_consumed_capacity(ReturnConsumedCapacity::Total).send()).await {
                Ok(page) => {
                    batch.items.extend(page.responses.unwrap_or_default().into_values().flatten());
                    let consumed = page.consumed_capacity.unwrap_or_default();
                    batch.read_units += consumed.iter().filter_map(|table| table.capacity_units).sum::<f64>();
                    let left = page.unprocessed_keys.unwrap_or_default().into_values();
                    let left: Vec<_> = left.flat_map(|keys| keys.keys).collect();
                    if left.len() == asked.len() {
                        tries.again(Failure::Error(LedgerError::Throttled)).await?;
                    }
                    asked = left;
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
        Ok(batch)
    }
}
