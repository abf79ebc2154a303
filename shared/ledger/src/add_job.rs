//! A job that a person adds to a folder: the next version of one that is there.

use std::borrow::Cow;

use hookbox_core::job::Job;

use crate::Ledger;
use crate::audit::Audit;
use crate::classify::{Failure, Verdict};
use crate::error::{ItemError, LedgerError, Stored};
use crate::expression::Expression;
use crate::item::job::StoredJob;
use crate::item::{Item, check_schema};
use crate::load::Loaded;
use crate::plan::{Part, Plan};
use crate::transact::Write;
use crate::write_job::missing;

/// What became of adding a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there, and nothing of its folder expires while it is open.
    Written,
    /// A part of the payload is gone: nothing was written.
    PayloadExpired,
}

/// What a failed try means.
enum Judgement {
    /// An earlier try of ours had been done.
    Ours,
    /// There is such a job already, or the version before it has changed.
    Lost(Stored),
    PayloadExpired,
    /// These items do not exist any more.
    Gone(Vec<String>),
    /// The folder is not what was read.
    Stale,
}

impl Ledger {
    /// Adds `job`, the next version of `newest`, with the deed that asks for it, and keeps receipt, jobs, payload and
    /// records from expiring: one transaction, which needs the whole payload.
    ///
    /// [`LedgerError::ConditionFailed`] when there is such a job already or `newest` is no longer at its version. Our own
    /// write whose answer was lost is recognised and is a success.
    pub async fn add_job(&self, loaded: &Loaded, newest: &Job, job: &Job, audit: &Audit) -> Result<Added, LedgerError> {
        let (token, audit_id) = (self.token(), self.token());
        let stored = StoredJob { job: job.clone(), token: Some(token.clone()), wake_token: None, expires_at: None };
        let item = stored.to_item(self.shards)?;
        // As every record of a folder that is kept.
        let record = Audit { expires_at: None, ..audit.clone() }.to_item(&audit_id)?;
        let mut tries = self.tries();
        let mut folder = Cow::Borrowed(loaded);
        let mut gone = Vec::new();
        loop {
            if folder.chunks == 0 {
                return Ok(Added::PayloadExpired);
            }
            let mut plan = Plan::of_addition(&folder, newest, item.clone(), &gone)?;
            plan.push(Part::Audit, Write::Put(record.clone(), Expression::default().when_absent("pk")));
            let judgement = match self.send(&mut tries, &plan.writes).await {
                Ok(()) => return Ok(Added::Written),
                Err(Failure::Cancelled(verdicts)) => judge(&plan, verdicts, &token)?,
                Err(failure) => {
                    tries.again(failure).await?;
                    continue;
                }
            };
            match judgement {
                Judgement::Ours => return Ok(Added::Written),
                Judgement::Lost(stored) => return Err(LedgerError::ConditionFailed { stored }),
                Judgement::PayloadExpired => return Ok(Added::PayloadExpired),
                Judgement::Gone(missing) => gone.extend(missing),
                Judgement::Stale => {
                    let Some(read) = self.load(&folder.id).await? else {
                        return Err(LedgerError::ConditionFailed { stored: Stored::Nothing });
                    };
                    folder = Cow::Owned(read);
                }
            }
            tries.again(Failure::Error(LedgerError::TransactionConflict)).await?;
        }
    }
}

/// What the failed conditions of the transaction mean. That it was done before counts most, then that it must not be done.
fn judge(plan: &Plan, verdicts: Vec<Verdict>, token: &str) -> Result<Judgement, LedgerError> {
    let missing = missing(plan, &verdicts)?;
    let mut judgement = if missing.is_empty() { Judgement::Stale } else { Judgement::Gone(missing) };
    for (part, verdict) in plan.parts.iter().zip(verdicts) {
        let Verdict::Fails(item) = verdict else { continue };
        match part {
            Part::Audit => return Ok(Judgement::Ours),
            Part::Job | Part::Newest => {
                let (stored, writer) = stored(item)?;
                if writer.as_deref() == Some(token) {
                    return Ok(Judgement::Ours);
                }
                judgement = Judgement::Lost(stored);
            }
            Part::Chunk(_) if !matches!(judgement, Judgement::Lost(_)) => {
                if let Some(Err(error @ ItemError::NewerSchema { .. })) = item.as_ref().map(check_schema) {
                    return Err(error.into());
                }
                judgement = Judgement::PayloadExpired;
            }
            _ => {}
        }
    }
    Ok(judgement)
}

/// The job on which a condition failed, and the token of whoever wrote it.
fn stored(item: Option<Item>) -> Result<(Stored, Option<String>), LedgerError> {
    let Some(item) = item else { return Ok((Stored::Nothing, None)) };
    let StoredJob { job, token, .. } = StoredJob::from_item(item)?;
    Ok((Stored::Job(Box::new(job)), token))
}
