//! The item of an audit entry.

use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, key};
use crate::audit::{Audit, Subject};
use crate::error::ItemError;

#[derive(Serialize, Deserialize)]
struct AuditItem {
    pk: String,
    sk: String,
    schema: u32,
    at: Timestamp,
    who: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bulk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<EpochSeconds>,
}

impl Subject {
    pub(crate) fn pk(&self) -> String {
        match self {
            Self::Receipt(id) => id.to_string(),
            Self::Integration(provider, account) => key::integration(provider, account),
            Self::Profile(name) => key::profile(name),
        }
    }

    fn from_pk(pk: &str) -> Option<Self> {
        if let Some((provider, account)) = key::parse_integration(pk) {
            return Some(Self::Integration(provider, account));
        }
        key::parse_profile(pk).map(Self::Profile).or_else(|| pk.parse().ok().map(Self::Receipt))
    }
}

impl Audit {
    /// `id` tells entries of the same millisecond apart.
    pub(crate) fn to_item(&self, id: &str) -> Result<Item, ItemError> {
        super::write(&AuditItem {
            pk: self.subject.pk(),
            sk: key::log(self.at, id),
            schema: SCHEMA,
            at: self.at,
            who: self.who.clone(),
            what: self.what.clone(),
            on: self.on.clone(),
            why: self.why.clone(),
            bulk: self.bulk.clone(),
            before: self.before.clone(),
            after: self.after.clone(),
            expires_at: self.expires_at,
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: AuditItem = super::read(item)?;
        let Some(subject) = Subject::from_pk(&item.pk) else {
            return Err(ItemError::Corrupt { pk: item.pk, sk: item.sk, what: "not the key of a subject".to_owned() });
        };
        Ok(Self {
            subject,
            at: item.at,
            who: item.who,
            what: item.what,
            on: item.on,
            why: item.why,
            bulk: item.bulk,
            before: item.before,
            after: item.after,
            expires_at: item.expires_at,
        })
    }
}
