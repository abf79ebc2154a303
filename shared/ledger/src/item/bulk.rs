//! The items of a bulk operation.

use std::collections::BTreeMap;

use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, key};
use crate::bulk::{Bulk, BulkState};
use crate::error::ItemError;

#[derive(Serialize, Deserialize)]
struct BulkItem {
    pk: String,
    sk: String,
    schema: u32,
    rev: u64,
    what: String,
    who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    query: String,
    #[serde(default)]
    jobs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    counts: BTreeMap<String, u64>,
    state: BulkState,
    started_at: Timestamp,
    updated_at: Timestamp,
    expires_at: EpochSeconds,
}

impl Bulk {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        super::write(&BulkItem {
            pk: key::bulk(&self.id),
            sk: key::BULK.to_owned(),
            schema: SCHEMA,
            rev: self.rev,
            what: self.what.clone(),
            who: self.who.clone(),
            why: self.why.clone(),
            query: self.query.clone(),
            jobs: self.jobs,
            cursor: self.cursor.clone(),
            counts: self.counts.clone(),
            state: self.state,
            started_at: self.started_at,
            updated_at: self.updated_at,
            expires_at: self.expires_at,
        })
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let item: BulkItem = super::read(item)?;
        let Some(id) = key::parse_bulk(&item.pk) else {
            return Err(ItemError::Corrupt { pk: item.pk, sk: item.sk, what: "not the key of a bulk".to_owned() });
        };
        Ok(Self {
            id,
            rev: item.rev,
            what: item.what,
            who: item.who,
            why: item.why,
            query: item.query,
            jobs: item.jobs,
            cursor: item.cursor,
            counts: item.counts,
            state: item.state,
            started_at: item.started_at,
            updated_at: item.updated_at,
            expires_at: item.expires_at,
        })
    }
}

/// Some of the jobs of a bulk operation.
pub(crate) struct BulkJobs {
    pub(crate) id: BulkId,
    /// Which part of them, from 0.
    pub(crate) part: usize,
    pub(crate) jobs: Vec<JobKey>,
    pub(crate) expires_at: EpochSeconds,
}

#[derive(Serialize, Deserialize)]
struct BulkJobsItem {
    pk: String,
    sk: String,
    schema: u32,
    jobs: Vec<JobKey>,
    expires_at: EpochSeconds,
}

impl BulkJobs {
    pub(crate) fn to_item(&self) -> Result<Item, ItemError> {
        super::write(&BulkJobsItem {
            pk: key::bulk(&self.id),
            sk: key::bulk_jobs(self.part),
            schema: SCHEMA,
            jobs: self.jobs.clone(),
            expires_at: self.expires_at,
        })
    }

    pub(crate) fn jobs_of_item(item: Item) -> Result<Vec<JobKey>, ItemError> {
        let item: BulkJobsItem = super::read(item)?;
        Ok(item.jobs)
    }
}
