//! Known: which events of a large batch are stored already, without a transaction for each.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::KeysAndAttributes;
use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::Receipt;

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::item::key;
use crate::item::receipt::StoredReceipt;
use crate::transact::Key;

impl Ledger {
    /// How many receipts one call of [`known`](Self::known) reads at most (service quota of `BatchGetItem`).
    pub const KNOWN_AT_ONCE: usize = 100;

    /// Those of these receipts that are stored, read consistently. One that this version cannot read is not among them:
    /// what is to be done about it is for [`ingest`](Self::ingest) to find. At most
    /// [`KNOWN_AT_ONCE`](Self::KNOWN_AT_ONCE), each once.
    pub async fn known(&self, ids: &[ReceiptId]) -> Result<HashMap<ReceiptId, Receipt>, LedgerError> {
        let mut asked: Vec<_> = ids.iter().map(|id| Key::new(id.to_string(), key::HEAD).into_attributes()).collect();
        let mut known = HashMap::new();
        let mut tries = self.tries();
        while !asked.is_empty() {
            let keys = KeysAndAttributes::builder().set_keys(Some(asked.clone())).consistent_read(true).build();
            let keys = keys.map_err(|error| LedgerError::Refused {
                code: "client".to_owned(),
                action: None,
                source: error.into(),
            })?;
            let call = self.client.batch_get_item().request_items(self.table.as_ref(), keys);
            match tries.make(call.send()).await {
                Ok(page) => {
                    let found = page.responses.unwrap_or_default().into_values().flatten();
                    let found = found.filter_map(|item| StoredReceipt::from_item(item).ok());
                    known.extend(found.map(|stored| (stored.receipt.id, stored.receipt)));
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
        Ok(known)
    }
}
