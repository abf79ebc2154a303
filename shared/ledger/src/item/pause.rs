//! The item of a pause.

use hookbox_core::name::OperationName;
use hookbox_core::outcome::ErrorText;
use hookbox_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, key};
use crate::error::ItemError;
use crate::pause::Pause;

#[derive(Serialize, Deserialize)]
struct PauseItem {
    pk: String,
    sk: String,
    schema: u32,
    rev: u64,
    reason: ErrorText,
    at: Timestamp,
}

impl Pause {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        super::write(&PauseItem {
            pk: key::integration(&self.provider, &self.account),
            sk: key::pause(&self.operation),
            schema: SCHEMA,
            rev: self.rev,
            reason: self.reason.clone(),
            at: self.at,
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: PauseItem = super::read(item)?;
        let operation: Option<OperationName> =
            item.sk.strip_prefix(key::PAUSE).and_then(|operation| operation.parse().ok());
        let (Some((provider, account)), Some(operation)) = (key::parse_integration(&item.pk), operation) else {
            return Err(ItemError::Corrupt { pk: item.pk, sk: item.sk, what: "not the key of a pause".to_owned() });
        };
        Ok(Self { provider, account, operation, rev: item.rev, reason: item.reason, at: item.at })
    }
}
