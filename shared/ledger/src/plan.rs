//! What has to be written together when a job changes.
//!
//! A folder expires as a whole or is kept as a whole: receipt, jobs and payload change that in one transaction under
//! the receipt's version. So each job shows by its own `expires_at` whether the folder is kept, and a write whose
//! meaning depends on that (entering `held` or `review`, ending, reopening) is conditional on it. A writer that has read
//! the folder before it changed notices, whoever was quicker.

use hookbox_core::job::{Job, State};
use hookbox_core::key::{JobKey, Shards};
use hookbox_core::limits::MAX_TRANSACTION_ITEMS;
use hookbox_core::receipt::{Expiry, Receipt};
use hookbox_core::time::{EpochSeconds, Timestamp};
use hookbox_core::transition::expiry::{self, ExpiryChange};

use crate::error::LedgerError;
use crate::expression::{Expression, number, text};
use crate::item::job::StoredJob;
use crate::item::{Item, key};
use crate::load::Loaded;
use crate::transact::{Key, Write};

/// What a part of the transaction is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The job that changes.
    Job,
    /// The receipt's expiry and version.
    Receipt,
    /// That there still is no receipt.
    NoReceipt,
    /// That the version before the one that is added is as it was read.
    Newest,
    /// The expiry of another job.
    Sibling(String),
    /// The expiry of a payload chunk.
    Chunk(String),
    /// The expiry of what a person did earlier.
    Record(String),
    /// That the pause still stands.
    Pause,
    /// A person's deed.
    Audit,
}

/// The parts of a write, in their order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) parts: Vec<Part>,
    pub(crate) writes: Vec<Write>,
    /// When the folder expires after it; `None` for one that is kept.
    pub(crate) expires_at: Option<EpochSeconds>,
}

/// The most records whose expiry is changed, the latest ones. A folder with the largest payload and as many jobs as it can
/// have leaves room for thirty.
const MAX_RECORDS: usize = 50;
/// What may come after the folder: a pause or a record.
const AFTER_THE_FOLDER: usize = 2;

/// The change of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) before: &'a Job,
    pub(crate) after: &'a Job,
    pub(crate) token: &'a str,
    pub(crate) shards: Shards,
}

/// Whether something expires.
#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Expires(Expiry),
}

impl Plan {
    pub(crate) fn push(&mut self, part: Part, write: Write) {
        self.parts.push(part);
        self.writes.push(write);
    }

    /// The parts of a job's change in the folder as it was read. Items in `gone` do not exist any more.
    pub(crate) fn of_change(folder: &Loaded, change: Change<'_>, gone: &[String]) -> Result<Self, LedgerError> {
        let Change { before, after, .. } = change;
        let job_expires = !folder.kept.contains(&before.key);
        let receipt_expires = folder.receipt.as_ref().map_or(job_expires, |receipt| receipt.expires_at.is_some());
        // They agree, unless a part was lost: then care means that all of it is kept, and the end that all expires.
        let expires = if after.has_ended() { job_expires && receipt_expires } else { job_expires || receipt_expires };
        let job = job_update(change)?;
        let mut plan = Self::default();
        if expires && after.has_ended() {
            plan.expires_at = folder.receipt.as_ref().and_then(|receipt| receipt.expires_at);
        }
        let job_key = || Key::new(folder.id.to_string(), key::job(&before.key));
        match expiry_change(folder, before, after, expires) {
            ExpiryChange::Keep => {
                let job = if !after.has_ended() && !expiry::must_not_expire(before, after) {
                    job
                } else if job_expires {
                    job.when_there("expires_at")
                } else {
                    job.when_absent("expires_at")
                };
                plan.push(Part::Job, Write::Update(job_key(), job));
                if after.has_ended() && !expires {
                    // Two last jobs that end at once must not each take the other for open.
                    plan.receipt(folder, None)?;
                }
            }
            ExpiryChange::Remove => {
                plan.push(Part::Job, Write::Update(job_key(), job.remove("expires_at")));
                plan.folder(folder, &before.key, Fate::Kept, gone)?;
            }
            ExpiryChange::Restore => match expiry_after(folder.receipt.as_ref(), after) {
                Some(expiry) => {
                    let job = job.set("expires_at", number(expiry.receipt.get()));
                    plan.push(Part::Job, Write::Update(job_key(), job));
                    plan.folder(folder, &before.key, Fate::Expires(expiry), gone)?;
                }
                None => {
                    plan.push(Part::Job, Write::Update(job_key(), job));
                    plan.receipt(folder, None)?;
                }
            },
        }
        Ok(plan)
    }

    /// The parts that keep a folder with open jobs; empty when there is nothing to do.
    pub(crate) fn of_keep(folder: &Loaded, gone: &[String]) -> Result<Self, LedgerError> {
        let mut plan = Self::default();
        let Some(open) = folder.jobs.iter().find(|job| !job.has_ended()) else { return Ok(plan) };
        let receipt_expires = folder.receipt.as_ref().is_some_and(|receipt| receipt.expires_at.is_some());
        if folder.kept.contains(&open.key) && !receipt_expires {
            return Ok(plan);
        }
        // That one job is still open is what makes it right to keep the others.
        let unchanged = Expression::of_ours().when_is("version", number(open.version)).remove("expires_at");
        plan.push(Part::Job, Write::Update(Key::new(folder.id.to_string(), key::job(&open.key)), unchanged));
        plan.folder(folder, &open.key, Fate::Kept, gone)?;
        Ok(plan)
    }

    /// The parts that add a job, whose item this is, as the version after `newest`: from then on nothing of the folder
    /// expires. The receipt's version grows, so that a last job that ends meanwhile is noticed and notices it.
    pub(crate) fn of_addition(folder: &Loaded, newest: &Job, item: Item, gone: &[String]) -> Result<Self, LedgerError> {
        let mut plan = Self::default();
        plan.push(Part::Job, Write::Put(item, Expression::default().when_absent("pk")));
        let unchanged = Expression::of_ours().when_is("version", number(newest.version)).remove("expires_at");
        plan.push(Part::Newest, Write::Update(Key::new(folder.id.to_string(), key::job(&newest.key)), unchanged));
        plan.folder(folder, &newest.key, Fate::Kept, gone)?;
        Ok(plan)
    }

    /// Everything of the folder but the job itself.
    fn folder(&mut self, folder: &Loaded, job: &JobKey, fate: Fate, gone: &[String]) -> Result<(), LedgerError> {
        self.receipt(folder, Some(fate))?;
        self.expires_at = match fate {
            Fate::Kept => None,
            Fate::Expires(expiry) => Some(expiry.receipt),
        };
        let pk = folder.id.to_string();
        for sibling in folder.jobs.iter().filter(|sibling| sibling.key != *job) {
            let sk = key::job(&sibling.key);
            let expression = match fate {
                Fate::Kept => Expression::of_ours().remove("expires_at"),
                // They have all ended, and none was replayed since.
                Fate::Expires(expiry) => Expression::of_ours()
                    .when_is("version", number(sibling.version))
                    .set("expires_at", number(expiry.receipt.get())),
            };
            if !gone.contains(&sk) {
                self.push(Part::Sibling(sk.clone()), Write::Update(Key::new(&pk, sk), expression));
            }
        }
        for sk in (0..folder.chunks).map(key::payload).filter(|sk| !gone.contains(sk)) {
            let expression = match fate {
                Fate::Kept => Expression::of_ours().remove("expires_at"),
                Fate::Expires(expiry) => Expression::of_ours().set("expires_at", number(expiry.payload.get())),
            };
            self.push(Part::Chunk(sk.clone()), Write::Update(Key::new(&pk, sk), expression));
        }
        let room = MAX_TRANSACTION_ITEMS.saturating_sub(self.parts.len() + AFTER_THE_FOLDER).min(MAX_RECORDS);
        let latest = folder.records.iter().rev().take(room);
        for sk in latest.filter(|sk| !gone.contains(sk)) {
            let expression = match self.expires_at {
                None => Expression::of_ours().remove("expires_at"),
                Some(at) => Expression::of_ours().set("expires_at", number(at.get())),
            };
            self.push(Part::Record(sk.clone()), Write::Update(Key::new(&pk, sk), expression));
        }
        Ok(())
    }

    /// The receipt: its version grows, whatever else.
    fn receipt(&mut self, folder: &Loaded, fate: Option<Fate>) -> Result<(), LedgerError> {
        if let Some(error) = folder.unreadable_item(key::HEAD) {
            return Err(error.clone().into());
        }
        let key = Key::new(folder.id.to_string(), key::HEAD);
        let Some(receipt) = &folder.receipt else {
            self.push(Part::NoReceipt, Write::Check(key, Expression::default().when_absent("pk")));
            return Ok(());
        };
        let version = Expression::of_ours()
            .when_is("version", number(receipt.version))
            .set("version", number(receipt.version + 1));
        let expression = match fate {
            None => version,
            Some(Fate::Kept) => version.remove("expires_at"),
            Some(Fate::Expires(expiry)) => version.set("expires_at", number(expiry.receipt.get())),
        };
        self.push(Part::Receipt, Write::Update(key, expression));
        Ok(())
    }
}

fn expiry_change(folder: &Loaded, before: &Job, after: &Job, expires: bool) -> ExpiryChange {
    let change = expiry::change(before, after, &folder.jobs, expires);
    // A job that we cannot read may be open.
    let unread_job = folder.unreadable.iter().any(|item| item.sk.starts_with(key::JOB));
    if change == ExpiryChange::Restore && unread_job { ExpiryChange::Keep } else { change }
}

/// `None` without a receipt: nobody knows the retention.
fn expiry_after(receipt: Option<&Receipt>, after: &Job) -> Option<Expiry> {
    let ended_at: Timestamp = match after.state {
        State::Completed { at } | State::Dismissed { at, .. } => at,
        _ => return None,
    };
    receipt.map(|receipt| receipt.expiry_after_end(ended_at))
}

/// The update of the job itself: what differs, under the version that was read.
///
/// What does not differ is not written: the sweeper may have moved the entry since, and that is not undone. Wake-ups
/// are written always, because it may have counted one.
pub(crate) fn job_update(change: Change<'_>) -> Result<Expression, LedgerError> {
    let Change { before, after, token, shards } = change;
    debug_assert!(after.version > before.version, "a transition gives the next version");
    let (old, new) = (item_of(before, shards)?, item_of(after, shards)?);
    let mut expression = Expression::of_ours()
        .when_is("version", number(before.version))
        .set("token", text(token))
        .set("wakes", number(after.wakes));
    for attribute in old.keys().filter(|attribute| !new.contains_key(*attribute)) {
        expression = expression.remove(attribute);
    }
    for (attribute, value) in new {
        if attribute != "wakes" && old.get(&attribute) != Some(&value) {
            expression = expression.set(&attribute, value);
        }
    }
    Ok(expression)
}

fn item_of(job: &Job, shards: Shards) -> Result<Item, LedgerError> {
    let stored = StoredJob { job: job.clone(), token: None, wake_token: None, expires_at: None };
    Ok(stored.to_item(shards)?)
}
