//! Erase: a folder loses everything personal and stays the evidence that its event arrived.
//!
//! What fits into one transaction is one. A folder with more items (years of decisions by people) is erased in an order
//! in which a crash leaves nothing half done that could be worked on: first the jobs, which ends all work, then the
//! payload, then what was written about decisions, and last the receipt with its mark. Every step is decided by what is
//! read before it, so that whoever begins again goes on where it stopped.

use hookbox_core::job::{Job, State};
use hookbox_core::key::{JobKey, ReceiptId, Shards};
use hookbox_core::limits::MAX_TRANSACTION_ITEMS;
use hookbox_core::receipt::Receipt;
use hookbox_core::time::{EpochSeconds, Timestamp};
use hookbox_core::transition::erase::erase;

use crate::Ledger;
use crate::audit::Audit;
use crate::classify::Failure;
use crate::error::{ItemError, LedgerError};
use crate::expression::{Expression, number};
use crate::item::receipt::StoredReceipt;
use crate::item::{check_schema, key, names};
use crate::load::{Loaded, beginning};
use crate::plan::{Change, job_update};
use crate::transact::{Key, Write};

/// The most times that a folder is read and written: more than any has steps. Each step has tries of its own, so that
/// something which is never done must not go on for ever.
const MAX_STEPS: usize = 1_000;

/// How a folder stands towards being erased, or what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// There is no such folder.
    Missing,
    /// It was erased before.
    Before {
        /// When.
        at: Timestamp,
    },
    /// A worker has the lease of one of its jobs, and nothing (more) was written.
    Leased {
        /// The job whose lease ends last.
        job: JobKey,
        /// When it ends.
        until: Timestamp,
    },
    /// This is taken from it.
    Takes(Taken),
}

/// What an erasure takes from a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Jobs that had not ended: they are dismissed.
    pub open_jobs: usize,
    /// Whether there was (something of) a payload.
    pub payload: bool,
}

/// One erasure of one folder.
struct Run<'a> {
    deed: &'a Audit,
    /// The sort key of its record.
    record: String,
    id: String,
    token: String,
    shards: Shards,
    /// Whether it has to be done in several transactions although the number of items does not say so.
    stepwise: bool,
}

/// A folder as it was read, with its payload's keys.
struct Whole {
    loaded: Loaded,
    chunks: Vec<String>,
}

impl Ledger {
    /// How a folder stands towards being erased at `now`. An item of a newer version, or one that is broken, is an error:
    /// nobody could say that nothing personal is left.
    pub async fn erasure(&self, id: &ReceiptId, now: Timestamp) -> Result<Erasure, LedgerError> {
        self.whole_folder(id).await?.erasure(now)
    }

    /// Takes everything personal from a folder, deletes its payload, dismisses the jobs that have not ended and records the
    /// deed, whose time is that of the erasure. [`Erasure::Takes`] once all of it is done.
    ///
    /// Every transaction is conditional on what was read. When somebody else was quicker (a worker, a further delivery) it
    /// is read again, a bounded number of times. When a worker begins in between, what was not written yet is not.
    pub async fn erase(&self, id: &ReceiptId, deed: &Audit) -> Result<Erasure, LedgerError> {
        let record = self.token();
        let mut run = Run {
            deed,
            record: key::log(deed.at, &record),
            id: record,
            token: self.token(),
            shards: self.shards,
            stepwise: false,
        };
        let mut taken = Taken::default();
        let mut tries = self.tries();
        for _ in 0..MAX_STEPS {
            let folder = self.whole_folder(id).await?;
            let recorded = folder.loaded.records.contains(&run.record);
            match folder.erasure(deed.at)? {
                // Where our record stands it was us, whatever became of the answer.
                Erasure::Before { .. } if recorded => return Ok(Erasure::Takes(taken)),
                Erasure::Takes(found) if !recorded => taken = found,
                Erasure::Takes(_) => {}
                ended => return Ok(ended),
            }
            let (step, is_last) = run.step(&folder)?;
            match self.send(&mut tries, &step).await {
                Ok(()) if is_last => return Ok(Erasure::Takes(taken)),
                // What follows has time of its own.
                Ok(()) => tries = self.tries(),
                Err(Failure::Condition(_) | Failure::Cancelled(_)) => {
                    tries.again(Failure::Error(LedgerError::TransactionConflict)).await?;
                }
                Err(Failure::Error(LedgerError::TooLarge { .. })) if !run.stepwise => run.stepwise = true,
                Err(failure) => tries.again(failure).await?,
            }
        }
        Err(LedgerError::TransactionConflict)
    }

    async fn whole_folder(&self, id: &ReceiptId) -> Result<Whole, LedgerError> {
        let loaded = self.load(id).await?.unwrap_or_else(|| Loaded::new(*id));
        let mut range = beginning(&id.to_string(), key::PAYLOAD);
        let schema = range.name("schema");
        let mut chunks = Vec::new();
        for item in self.query(range, Some(&format!("#pk, #sk, {schema}"))).await? {
            // One that is broken goes like the others.
            if let Err(error @ ItemError::NewerSchema { .. }) = check_schema(&item) {
                return Err(error.into());
            }
            chunks.push(names(&item).1);
        }
        Ok(Whole { loaded, chunks })
    }
}

impl Whole {
    fn erasure(&self, now: Timestamp) -> Result<Erasure, LedgerError> {
        if let Some(item) = self.loaded.unreadable.first() {
            return Err(item.error.clone().into());
        }
        let leases = self.loaded.jobs.iter().filter_map(|job| match job.state {
            State::Processing { lease_expires_at } if lease_expires_at > now => Some((lease_expires_at, &job.key)),
            _ => None,
        });
        if let Some((until, job)) = leases.max() {
            return Ok(Erasure::Leased { job: job.clone(), until });
        }
        let Loaded { receipt, jobs, .. } = &self.loaded;
        if receipt.is_none() && jobs.is_empty() && self.chunks.is_empty() {
            return Ok(Erasure::Missing);
        }
        let marked = receipt.as_ref().is_none_or(|receipt| receipt.erased_at.is_some());
        let nothing_left = marked && self.chunks.is_empty() && self.records().next().is_none();
        let erased = receipt.iter().map(|receipt| receipt.erased_at).chain(jobs.iter().map(|job| job.erased_at));
        match erased.flatten().min() {
            Some(at) if nothing_left && jobs.iter().all(|job| !self.is_due(job)) => Ok(Erasure::Before { at }),
            _ => Ok(Erasure::Takes(Taken {
                open_jobs: jobs.iter().filter(|job| !job.has_ended()).count(),
                payload: !self.chunks.is_empty(),
            })),
        }
    }

    /// When the folder expires once it is erased: every job has ended then. `None` when nobody knows.
    fn expires_at(&self, now: Timestamp) -> Option<EpochSeconds> {
        let receipt = self.loaded.receipt.as_ref()?;
        Some(receipt.expires_at.unwrap_or_else(|| receipt.expiry_after_end(now).receipt))
    }

    /// Whether a job is to be written. One that a former version has opened again is.
    fn is_due(&self, job: &Job) -> bool {
        job.erased_at.is_none() || !job.has_ended() || (self.loaded.receipt.is_some() && self.is_kept(job))
    }

    fn is_kept(&self, job: &Job) -> bool {
        self.loaded.kept.contains(&job.key)
    }

    /// The records that quote what a job came to, or do not expire with the folder.
    fn records(&self) -> impl Iterator<Item = &String> {
        let expires = self.loaded.receipt.is_some();
        let due = move |audit: &Audit| {
            audit.before.is_some() || audit.after.is_some() || (expires && audit.expires_at.is_none())
        };
        let records = self.loaded.records.iter().zip(&self.loaded.audit);
        records.filter(move |(_, audit)| due(audit)).map(|(sk, _)| sk)
    }
}

impl Run<'_> {
    /// The next transaction: all that is left, or else the first kind of it; and whether it is the last one.
    fn step(&self, folder: &Whole) -> Result<(Vec<Write>, bool), LedgerError> {
        let (jobs, chunks, records) = (self.jobs(folder)?, Self::chunks(folder), self.records(folder));
        let mut step = Vec::new();
        if !folder.loaded.records.contains(&self.record) {
            let audit =
                Audit { before: None, after: None, expires_at: folder.expires_at(self.deed.at), ..self.deed.clone() };
            step.push(Write::Put(audit.to_item(&self.id)?, Expression::default().when_absent("pk")));
        }
        let all = step.len() + jobs.len() + chunks.len() + records.len() + 1;
        if all <= MAX_TRANSACTION_ITEMS && !self.stepwise {
            step.push(self.head(folder, true)?);
            step.extend(jobs.into_iter().chain(chunks).chain(records));
            return Ok((step, true));
        }
        let room = MAX_TRANSACTION_ITEMS - 1 - step.len();
        if !jobs.is_empty() {
            step.push(self.head(folder, false)?);
            step.extend(jobs.into_iter().take(room));
        } else if !chunks.is_empty() {
            step.extend(chunks.into_iter().take(room));
        } else if !records.is_empty() {
            step.extend(records.into_iter().take(room));
        } else {
            step.push(self.head(folder, true)?);
            return Ok((step, true));
        }
        Ok((step, false))
    }

    fn jobs(&self, folder: &Whole) -> Result<Vec<Write>, LedgerError> {
        let expires = folder.expires_at(self.deed.at);
        let mut writes = Vec::new();
        for before in folder.loaded.jobs.iter().filter(|job| folder.is_due(job)) {
            // A lease would have been found before.
            let after = erase(before, self.deed.at).map_err(|_| LedgerError::TransactionConflict)?;
            let change = Change { before, after: &after, token: &self.token, shards: self.shards };
            let mut update = job_update(change)?;
            if let Some(at) = expires.filter(|_| folder.is_kept(before)) {
                update = update.set("expires_at", number(at.get()));
            }
            writes.push(Write::Update(Key::new(folder.loaded.id.to_string(), key::job(&before.key)), update));
        }
        Ok(writes)
    }

    fn chunks(folder: &Whole) -> Vec<Write> {
        let pk = folder.loaded.id.to_string();
        folder.chunks.iter().map(|sk| Write::Delete(Key::new(&pk, sk), Expression::default())).collect()
    }

    fn records(&self, folder: &Whole) -> Vec<Write> {
        let (pk, expires) = (folder.loaded.id.to_string(), folder.expires_at(self.deed.at));
        let silent = |sk: &String| {
            let update = Expression::of_ours().remove("before").remove("after");
            let update = match expires {
                Some(at) => update.set("expires_at", number(at.get())),
                None => update,
            };
            Write::Update(Key::new(&pk, sk), update)
        };
        folder.records().map(silent).collect()
    }

    /// The receipt: its next version, and with `mark` without anything personal. Where it is gone it must stay so, or a
    /// delivery that brings it back would not see that its event was erased.
    fn head(&self, folder: &Whole, mark: bool) -> Result<Write, LedgerError> {
        let key = Key::new(folder.loaded.id.to_string(), key::HEAD);
        let Some(receipt) = &folder.loaded.receipt else {
            return Ok(Write::Check(key, Expression::default().when_absent("pk")));
        };
        let expires_at = folder.expires_at(self.deed.at);
        let after = if mark { receipt.erased(self.deed.at) } else { receipt.clone() };
        let after = Receipt { version: receipt.version + 1, expires_at, ..after };
        let chunks = folder.loaded.chunks;
        let stored = |receipt: &Receipt, chunks| {
            StoredReceipt { receipt: receipt.clone(), token: String::new(), chunks }.to_item(self.shards)
        };
        let (old, new) = (stored(receipt, chunks)?, stored(&after, if mark { 0 } else { chunks })?);
        let mut update = Expression::of_ours().when_is("version", number(receipt.version));
        if mark {
            // A further delivery leaves the version alone, and what it wrote must not be lost.
            update = match receipt.duplicate_count {
                0 => update.when_absent("duplicate_count"),
                count => update.when_is("duplicate_count", number(count)),
            };
        }
        for attribute in old.keys().filter(|attribute| !new.contains_key(*attribute)) {
            update = update.remove(attribute);
        }
        for (attribute, value) in new {
            if old.get(&attribute) != Some(&value) {
                update = update.set(&attribute, value);
            }
        }
        Ok(Write::Update(key, update))
    }
}
