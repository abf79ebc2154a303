//! Ingest: one event becomes a receipt, its jobs and its payload in one transaction.

use hookbox_core::event::Payload;
use hookbox_core::job::Job;
use hookbox_core::key::JobKey;
use hookbox_core::receipt::{Folder, Receipt};
use hookbox_core::time::{EpochSeconds, Timestamp};

use crate::classify::{Failure, Verdict};
use crate::error::LedgerError;
use crate::expression::{Expression, number};
use crate::item::job::StoredJob;
use crate::item::receipt::StoredReceipt;
use crate::item::{Item, key, payload};
use crate::transact::{Key, Write};
use crate::{Ledger, retry};

/// What an event turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// New: it is committed now.
    Created,
    /// There already: no job was written. The caller compares the digests.
    Duplicate {
        /// The receipt that was there first. When only jobs were (time to live deletes single items), it is the one of
        /// this delivery, which has been put back.
        stored: Box<Receipt>,
    },
}

/// A job that was there already.
struct Found {
    key: JobKey,
    version: u64,
    expires: bool,
    erased_at: Option<Timestamp>,
}

impl Ledger {
    /// Commits an event: the receipt if there is none, its jobs and its payload, wholly or not at all.
    ///
    /// The token of the transaction is kept over our own retries and stored on the receipt, so that a first try whose
    /// answer was lost is recognised as ours: it is `Created`, not a duplicate of itself.
    pub async fn ingest(
        &self,
        folder: &Folder,
        payload: &Payload,
        deadline: Timestamp,
    ) -> Result<Ingested, LedgerError> {
        let ledger = self.until(deadline);
        let mut tries = ledger.tries();
        let mut token = ledger.token();
        let receipt = &folder.receipt;
        let chunks = payload::to_items(receipt.id, payload, Some(receipt.payload_expires_at()))?;
        loop {
            let parts = ledger.whole(folder, &chunks, &token)?;
            let call = ledger.transaction(parts, &token)?;
            match tries.make(call.send()).await {
                Ok(_) => return Ok(Ingested::Created),
                Err(Failure::Cancelled(verdicts)) => {
                    if let Some(Verdict::Fails(stored)) = verdicts.first() {
                        return of_stored(stored.clone(), receipt, &token);
                    }
                    let found = found_jobs(&folder.jobs, &verdicts)?;
                    // Jobs, and as far as this try could see no receipt. What puts one back looks again.
                    if !found.is_empty()
                        && let Some(ingested) = ledger.restore(&mut tries, folder, payload, &found).await?
                    {
                        return Ok(ingested);
                    }
                    tries.again(Failure::Error(LedgerError::TransactionConflict)).await?;
                }
                Err(Failure::TokenUsed) => {
                    // Two writers drew the same token. Under a new one the condition tells who was first.
                    token = ledger.token();
                    tries.again(Failure::TokenUsed).await?;
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// The transaction of a new event; the receipt comes first.
    fn whole(&self, folder: &Folder, chunks: &[Item], token: &str) -> Result<Vec<Write>, LedgerError> {
        let absent = || Expression::default().when_absent("pk");
        let receipt = StoredReceipt { receipt: folder.receipt.clone(), token: token.to_owned(), chunks: chunks.len() };
        let mut parts = vec![Write::Put(receipt.to_item(self.shards)?, absent())];
        for job in &folder.jobs {
            let job =
                StoredJob { job: job.clone(), token: None, wake_token: None, expires_at: folder.receipt.expires_at };
            parts.push(Write::Put(job.to_item(self.shards)?, absent()));
        }
        parts.extend(chunks.iter().map(|chunk| Write::Put(chunk.clone(), Expression::default())));
        Ok(parts)
    }

    /// Puts receipt and payload back beside jobs that have outlived them, and touches no job: what they did is done. Of an
    /// event that was erased comes back what an erased receipt has, and no payload. `None` when the folder has changed meanwhile.
    async fn restore(
        &self,
        tries: &mut retry::Tries<'_>,
        folder: &Folder,
        payload: &Payload,
        found: &[Found],
    ) -> Result<Option<Ingested>, LedgerError> {
        let token = self.token();
        // A folder expires as a whole: where the jobs are kept, what comes back is kept with them.
        let expires = found.iter().all(|job| job.expires);
        let expiry = |at: EpochSeconds| expires.then_some(at);
        let mut receipt = folder.receipt.clone();
        receipt.expires_at = receipt.expires_at.and_then(expiry);
        let chunks = match found.iter().filter_map(|job| job.erased_at).min() {
            Some(at) => {
                receipt = receipt.erased(at);
                Vec::new()
            }
            None => payload::to_items(receipt.id, payload, expiry(receipt.payload_expires_at()))?,
        };
        let stored = StoredReceipt { receipt, token: token.clone(), chunks: chunks.len() };
        let mut parts = vec![Write::Put(stored.to_item(self.shards)?, Expression::default().when_absent("pk"))];
        parts.extend(found.iter().map(|job| {
            let unchanged = Expression::default().when_is("version", number(job.version));
            let unchanged =
                if job.expires { unchanged.when_there("expires_at") } else { unchanged.when_absent("expires_at") };
            Write::Check(Key::new(job.key.receipt.to_string(), key::job(&job.key)), unchanged)
        }));
        parts.extend(chunks.into_iter().map(|chunk| Write::Put(chunk, Expression::default())));
        loop {
            match tries.make(self.transaction(parts.clone(), &token)?.send()).await {
                Ok(_) => return Ok(Some(Ingested::Duplicate { stored: Box::new(stored.receipt) })),
                Err(Failure::Cancelled(verdicts)) => {
                    return match verdicts.first() {
                        Some(Verdict::Fails(item)) => of_stored(item.clone(), &stored.receipt, "").map(Some),
                        _ => Ok(None),
                    };
                }
                Err(Failure::TokenUsed) => return Ok(None),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

/// What the stored receipt says of our transaction.
fn of_stored(item: Option<Item>, ours: &Receipt, token: &str) -> Result<Ingested, LedgerError> {
    let Some(item) = item else {
        let (pk, sk) = (ours.id.to_string(), key::HEAD.to_owned());
        return Err(LedgerError::Corrupt { pk, sk, what: "a failed condition did not show the item".to_owned() });
    };
    let stored = StoredReceipt::from_item(item)?;
    if stored.token == token {
        return Ok(Ingested::Created);
    }
    Ok(Ingested::Duplicate { stored: Box::new(stored.receipt) })
}

/// The jobs that were there already; `verdicts` begin with the receipt's.
fn found_jobs(jobs: &[Job], verdicts: &[Verdict]) -> Result<Vec<Found>, LedgerError> {
    let mut found = Vec::new();
    for (job, verdict) in jobs.iter().zip(verdicts.iter().skip(1)) {
        if let Verdict::Fails(Some(item)) = verdict {
            let stored = StoredJob::from_item(item.clone())?;
            found.push(Found {
                key: job.key.clone(),
                version: stored.job.version,
                expires: stored.expires_at.is_some(),
                erased_at: stored.job.erased_at,
            });
        }
    }
    Ok(found)
}
