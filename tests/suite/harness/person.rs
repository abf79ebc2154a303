//! A person, through the same calls that the `hookbox` command makes: tries again until it has worked or is refused.

use hookbox_core::job::Job;
use hookbox_core::key::JobKey;
use hookbox_core::outcome::ErrorText;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::replay::{ForgottenKey, NotReplayed, replay};
use hookbox_ledger::LedgerError;

use super::table::operation_of;
use super::world::{Connection, World};

/// How often a person tries.
const PATIENCE: usize = 6;

impl World {
    /// Pauses an operation, as a refused credential does.
    pub(crate) fn pause(&self, connection: Connection, operation: &str) {
        let (provider, account, operation) = (connection.provider(), connection.account(), operation.parse().unwrap());
        self.try_until_done(async |ledger| {
            ledger.put_pause(&provider, &account, &operation, &ErrorText::new("by hand"), self.now()).await.map(|_| ())
        });
    }

    /// Ends the pauses of an operation.
    pub(crate) fn resume(&self, connection: Connection, operation: &str) {
        let (provider, account) = (connection.provider(), connection.account());
        self.try_until_done(async |ledger| {
            for pause in ledger.pauses(&provider, &account).await?.items {
                if pause.operation.as_str() == operation {
                    ledger.delete_pause(&pause).await?;
                }
            }
            Ok(())
        });
    }

    /// Writes the configuration of a connection with these operations.
    pub(crate) fn configure(&self, connection: Connection, operations: &[&'static str]) {
        self.try_until_done(async |ledger| {
            let stored = ledger.integration(&connection.provider(), &connection.account()).await?;
            let rev = stored.map(|stored| stored.rev);
            let wanted = connection.integration(rev.unwrap_or(0) + 1, operations);
            ledger.put_integration(&wanted, rev).await
        });
    }

    /// Asks for the effect of a job again. Nothing happens to one that is open, nor, where that is refused, to one whose
    /// key the destination may have forgotten.
    pub(crate) fn replay(&self, job: &JobKey, forgotten: ForgottenKey) {
        let Some(before) = self.stored(job) else { return };
        if let Err(NotReplayed::KeyExpired { .. }) = replay(&before, forgotten, self.now()) {
            *self.refused.lock().unwrap() += 1;
        }
        // What the new round may do counts once it is stored: see `look_at_job`.
        self.watch.lock().unwrap().person_asks = Some((job.to_string(), forgotten));
        self.change(job, |job, now| (job.round == before.round).then(|| replay(job, forgotten, now).ok()).flatten());
        self.watch.lock().unwrap().person_asks = None;
    }

    /// Decides that the effect of a job is not needed. Nothing happens to one that is not in review.
    pub(crate) fn dismiss(&self, job: &JobKey) {
        self.change(job, |job, now| dismiss(job, now).ok());
    }

    /// Every job that there is, in the order of their keys.
    pub(crate) fn jobs(&self) -> Vec<JobKey> {
        let copy = self.copy.lock().unwrap();
        let keys = copy.jobs().map(|(pk, sk, _)| format!("{pk}:{}:v1", operation_of(sk)).parse().unwrap());
        keys.collect()
    }

    /// The job as it is stored; `None` when there is none.
    pub(crate) fn stored(&self, job: &JobKey) -> Option<Job> {
        let loaded = super::process::now(self.table.ledger().load(&job.receipt)).unwrap();
        loaded.and_then(|loaded| loaded.job(job).cloned())
    }

    fn change(&self, key: &JobKey, next: impl Fn(&Job, hookbox_core::time::Timestamp) -> Option<Job>) {
        self.try_until_done(async |ledger| {
            let Some(loaded) = ledger.load(&key.receipt).await? else { return Ok(()) };
            let Some(job) = loaded.job(key) else { return Ok(()) };
            match next(job, self.now()) {
                Some(next) => ledger.write_job(&loaded, job, &next).await,
                None => Ok(()),
            }
        });
    }

    fn try_until_done(&self, deed: impl AsyncFn(hookbox_ledger::Ledger) -> Result<(), LedgerError>) {
        for _ in 0..PATIENCE {
            let done = self.run(deed(self.ledger()));
            self.follow();
            if matches!(done, Some(Ok(()))) {
                return;
            }
        }
        // It was not done. What a person could not do a person will notice.
    }
}
