//! What the dispatcher needs to know of a stream record.

use hookbox_core::job::{ReviewReason, Status};
use hookbox_core::key::JobKey;
use serde_dynamo::Item;

use crate::error::ItemError;

/// A change of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChange {
    /// The job.
    pub key: JobKey,
    /// Its status before; `None` when it is new.
    pub old_status: Option<Status>,
    /// Its status now.
    pub new_status: Status,
    /// Why it waits for a person, if it does.
    pub reason: Option<ReviewReason>,
}

/// Reads the images of a stream record; `old` is empty for an insert.
pub fn job_change(old: &Item, new: &Item) -> Result<JobChange, ItemError> {
    let _ = (old, new);
    unimplemented!()
}
