//! The item of a team's own profile.

use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, key};
use crate::error::ItemError;
use crate::own_profile::OwnProfile;

#[derive(Serialize, Deserialize)]
struct OwnProfileItem {
    pk: String,
    sk: String,
    schema: u32,
    rev: u64,
    toml: String,
}

impl OwnProfile {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        super::write(&OwnProfileItem {
            pk: key::profile(&self.name),
            sk: key::PROFILE.to_owned(),
            schema: SCHEMA,
            rev: self.rev,
            toml: self.toml.clone(),
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: OwnProfileItem = super::read(item)?;
        let Some(name) = key::parse_profile(&item.pk) else {
            return Err(ItemError::Corrupt { pk: item.pk, sk: item.sk, what: "not the key of a profile".to_owned() });
        };
        Ok(Self { name, rev: item.rev, toml: item.toml })
    }
}
