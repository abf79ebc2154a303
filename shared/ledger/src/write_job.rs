//! Writes of a job after its insert: each is conditional on the version that was read.

use std::borrow::Cow;

use hookbox_core::job::Job;

use crate::Ledger;
use crate::audit::Audit;
use crate::classify::{Failure, Verdict};
use crate::error::{ItemError, LedgerError, Stored};
use crate::expression::{Expression, number};
use crate::item::job::StoredJob;
use crate::item::{Item, check_schema, key};
use crate::load::Loaded;
use crate::pause::Pause;
use crate::plan::{Change, Part, Plan};
use crate::retry::Tries;
use crate::transact::{Key, Write};

/// What became of holding a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is held.
    Written,
    /// The pause is gone: nothing was written.
    Resumed,
}

/// What else the transaction is about.
#[derive(Clone, Copy, Default)]
struct Extra<'a> {
    pause: Option<&'a Pause>,
    audit: Option<&'a Audit>,
}

/// What a failed try means.
enum Judgement {
    /// An earlier try of ours had been done.
    Ours,
    /// Somebody else changed the job.
    Lost(Stored),
    /// The pause is gone.
    Resumed,
    /// The folder is not what was read, the job is.
    Stale,
    /// These items do not exist any more.
    Gone(Vec<String>),
}

impl Ledger {
    /// Writes `after` in place of `before`, and changes the expiry of the folder where that is due.
    ///
    /// [`LedgerError::ConditionFailed`] when the job is no longer at `before`'s version. Our own write whose answer was
    /// lost is recognised and is a success. `loaded` may be older than `before`: what has changed since is noticed.
    pub async fn write_job(&self, loaded: &Loaded, before: &Job, after: &Job) -> Result<(), LedgerError> {
        self.change(loaded, before, after, Extra::default()).await.map(|_| ())
    }

    /// Like [`write_job`](Self::write_job), with a person's deed recorded in the same transaction. The record expires
    /// with the folder, whatever it says itself.
    pub async fn write_job_audited(
        &self,
        loaded: &Loaded,
        before: &Job,
        after: &Job,
        audit: &Audit,
    ) -> Result<(), LedgerError> {
        self.change(loaded, before, after, Extra { audit: Some(audit), pause: None }).await.map(|_| ())
    }

    /// Like [`write_job`](Self::write_job) for a job that becomes held, but only while exactly this pause stands.
    pub async fn hold_job(
        &self,
        loaded: &Loaded,
        before: &Job,
        after: &Job,
        pause: &Pause,
    ) -> Result<Held, LedgerError> {
        self.change(loaded, before, after, Extra { pause: Some(pause), audit: None }).await
    }

    /// Keeps everything of a folder with an open job from expiring. Nothing happens when no job is open any more, or
    /// when it is kept already.
    pub async fn keep(&self, loaded: &Loaded) -> Result<(), LedgerError> {
        let mut tries = self.tries();
        let mut folder = Cow::Borrowed(loaded);
        let mut gone = Vec::new();
        loop {
            let plan = Plan::of_keep(&folder, &gone)?;
            if plan.parts.is_empty() {
                return Ok(());
            }
            match self.send(&mut tries, &plan.writes).await {
                Ok(()) => return Ok(()),
                Err(Failure::Cancelled(verdicts)) => {
                    match missing(&plan, &verdicts)? {
                        missing if missing.is_empty() => {
                            let Some(read) = self.load(&folder.id).await? else { return Ok(()) };
                            folder = Cow::Owned(read);
                        }
                        missing => gone.extend(missing),
                    }
                    tries.again(Failure::Error(LedgerError::TransactionConflict)).await?;
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn change(&self, loaded: &Loaded, before: &Job, after: &Job, extra: Extra<'_>) -> Result<Held, LedgerError> {
        let (token, audit_id) = (self.token(), self.token());
        let change = Change { before, after, token: &token, shards: self.shards };
        let mut tries = self.tries();
        let mut folder = Cow::Borrowed(loaded);
        let mut gone = Vec::new();
        loop {
            let mut plan = Plan::of_change(&folder, change, &gone)?;
            if let Some(pause) = extra.pause {
                let key = Key::new(key::integration(&pause.provider, &pause.account), key::pause(&pause.operation));
                let stands = Expression::of_ours().when_is("rev", number(pause.rev));
                plan.push(Part::Pause, Write::Check(key, stands));
            }
            if let Some(audit) = extra.audit {
                let audit = Audit { expires_at: plan.expires_at, ..audit.clone() };
                let absent = Expression::default().when_absent("pk");
                plan.push(Part::Audit, Write::Put(audit.to_item(&audit_id)?, absent));
            }
            let judgement = match self.send(&mut tries, &plan.writes).await {
                Ok(()) => return Ok(Held::Written),
                Err(Failure::Condition(item)) => of_job(item, before, &token)?,
                Err(Failure::Cancelled(verdicts)) => judge(&plan, verdicts, before, &token)?,
                Err(failure) => {
                    tries.again(failure).await?;
                    continue;
                }
            };
            match judgement {
                Judgement::Ours => return Ok(Held::Written),
                Judgement::Lost(stored) => return Err(LedgerError::ConditionFailed { stored }),
                Judgement::Resumed => return Ok(Held::Resumed),
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

    /// One part alone is a plain update, at half the price of a transaction.
    pub(crate) async fn send(&self, tries: &mut Tries<'_>, writes: &[Write]) -> Result<(), Failure> {
        if let [Write::Update(key, expression)] = writes {
            return tries.make(self.update(key.clone(), expression).send()).await.map(|_| ());
        }
        let call = self.transaction(writes.to_vec(), &self.token()).map_err(Failure::Error)?;
        tries.make(call.send()).await.map(|_| ())
    }
}

/// What the failed conditions of a transaction mean. The job's own counts most.
fn judge(plan: &Plan, verdicts: Vec<Verdict>, before: &Job, token: &str) -> Result<Judgement, LedgerError> {
    // The record is ours alone: where it stands, an earlier try was done, whatever has become of the job since.
    if plan
        .parts
        .iter()
        .zip(&verdicts)
        .any(|(part, verdict)| *part == Part::Audit && matches!(verdict, Verdict::Fails(_)))
    {
        return Ok(Judgement::Ours);
    }
    let missing = missing(plan, &verdicts)?;
    let (mut as_read, mut resumed) = (false, false);
    for (part, verdict) in plan.parts.iter().zip(verdicts) {
        match (part, verdict) {
            (Part::Job, Verdict::Fails(item)) => return of_job(item, before, token),
            (Part::Job, Verdict::Holds) => as_read = true,
            (Part::Pause, Verdict::Fails(_)) => resumed = true,
            _ => {}
        }
    }
    Ok(if resumed && as_read {
        Judgement::Resumed
    } else if missing.is_empty() {
        Judgement::Stale
    } else {
        Judgement::Gone(missing)
    })
}

/// The items of the folder that cannot be changed any more: time to live deletes single items, or they are broken.
pub(crate) fn missing(plan: &Plan, verdicts: &[Verdict]) -> Result<Vec<String>, LedgerError> {
    let mut missing = Vec::new();
    for (part, verdict) in plan.parts.iter().zip(verdicts) {
        match (part, verdict) {
            (Part::Sibling(sk) | Part::Chunk(sk) | Part::Record(sk), Verdict::Fails(None)) => missing.push(sk.clone()),
            // One of a newer version is left alone, and so is the job. One that is broken must not keep its job from
            // ending: nobody can read it anyway.
            (Part::Chunk(sk) | Part::Record(sk), Verdict::Fails(Some(item))) => match check_schema(item) {
                Err(error @ ItemError::NewerSchema { .. }) => return Err(error.into()),
                _ => missing.push(sk.clone()),
            },
            _ => {}
        }
    }
    Ok(missing)
}

/// What a job's failed condition means.
fn of_job(item: Option<Item>, before: &Job, token: &str) -> Result<Judgement, LedgerError> {
    let Some(item) = item else { return Ok(Judgement::Lost(Stored::Nothing)) };
    let stored = StoredJob::from_item(item)?;
    Ok(if stored.token.as_deref() == Some(token) {
        Judgement::Ours
    } else if stored.job.version == before.version {
        Judgement::Stale
    } else {
        Judgement::Lost(Stored::Job(Box::new(stored.job)))
    })
}
