//! The items of a configuration and of its line in the directory.
//!
//! The configuration is one JSON text: it is read and replaced whole, no index or condition looks into it, and an older
//! version that reads a newer text passes over what it does not know, as with attributes.

use std::collections::BTreeSet;

use hookbox_core::integration::Integration;
use hookbox_core::name::OperationName;
use hookbox_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_dynamo::string_set;

use super::{Item, SCHEMA, key};
use crate::config::DirectoryEntry;
use crate::error::ItemError;

#[derive(Serialize, Deserialize)]
struct ConfigItem {
    pk: String,
    sk: String,
    schema: u32,
    rev: u64,
    config: String,
    token: String,
}

#[derive(Serialize, Deserialize)]
struct DirectoryItem {
    pk: String,
    sk: String,
    schema: u32,
    rev: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at: Option<Timestamp>,
    // DynamoDB knows no empty set.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", serialize_with = "string_set::serialize")]
    operations: BTreeSet<OperationName>,
}

/// A configuration with the token of the write that stored it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredIntegration {
    pub(crate) integration: Integration,
    pub(crate) token: String,
}

impl StoredIntegration {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        let pk = key::integration(&self.integration.provider, &self.integration.account);
        let sk = key::CONFIG.to_owned();
        let config = match serde_json::to_string(&self.integration) {
            Ok(config) => config,
            Err(error) => return Err(ItemError::Corrupt { pk, sk, what: format!("cannot be written: {error}") }),
        };
        let rev = self.integration.rev;
        super::write(&ConfigItem { pk, sk, schema: SCHEMA, rev, config, token: self.token.clone() })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: ConfigItem = super::read(item)?;
        let corrupt = |what: String| ItemError::Corrupt { pk: item.pk.clone(), sk: item.sk.clone(), what };
        let integration: Integration =
            serde_json::from_str(&item.config).map_err(|error| corrupt(format!("config: {error}")))?;
        if key::integration(&integration.provider, &integration.account) != item.pk || integration.rev != item.rev {
            return Err(corrupt("config: of another connection or revision".to_owned()));
        }
        Ok(Self { integration, token: item.token })
    }
}

impl DirectoryEntry {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        super::write(&DirectoryItem {
            pk: key::DIRECTORY.to_owned(),
            sk: key::integration(&self.provider, &self.account),
            schema: SCHEMA,
            rev: self.rev,
            retired_at: self.retired_at,
            operations: self.operations.clone(),
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: DirectoryItem = super::read(item)?;
        let Some((provider, account)) = key::parse_integration(&item.sk) else {
            return Err(ItemError::Corrupt {
                pk: item.pk,
                sk: item.sk,
                what: "not a line of the directory".to_owned(),
            });
        };
        let DirectoryItem { rev, retired_at, operations, .. } = item;
        Ok(Self { provider, account, rev, retired_at, operations })
    }
}
