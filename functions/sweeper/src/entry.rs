//! One entry: read its job, decide, write, and say what is to be sent.

use hookbox_core::job::{Job, State};
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::release::release;
use hookbox_core::transition::wake::{Wake, wake};
use hookbox_ledger::{LedgerError, Loaded, OpenEntry};
use hookbox_queue::Message;
use hookbox_runtime::{Dimension, Metric};

use crate::lists::List;
use crate::run::Run;
use crate::swept::Tally;

/// A message that the job's moved entry entitles us to send.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) message: Message,
    pub(crate) before: Job,
    pub(crate) moved: Job,
}

impl Run<'_> {
    /// Looks at the job of an entry. Nothing that is wrong with it goes beyond its count.
    pub(crate) async fn look_at(&self, list: &List, entry: &OpenEntry) -> (Option<Sending>, Tally) {
        let mut tally = Tally::default();
        if self.is_over() {
            tally.left += 1;
            return (None, tally);
        }
        let sending = match self.deal_with(list, entry, &mut tally).await {
            Ok(sending) => sending,
            // Somebody else was first: a worker, a person or another sweeper.
            Err(LedgerError::ConditionFailed { .. }) => {
                tally.lost += 1;
                None
            }
            Err(error) => {
                self.complain(&entry.key.to_string(), &error);
                tally.errors += 1;
                None
            }
        };
        (sending, tally)
    }

    async fn deal_with(
        &self,
        list: &List,
        entry: &OpenEntry,
        tally: &mut Tally,
    ) -> Result<Option<Sending>, LedgerError> {
        let Some(loaded) = self.ledger.load(&entry.key.receipt).await? else {
            // The index lags behind the table.
            tally.gone += 1;
            return Ok(None);
        };
        let Some(job) = loaded.job(&entry.key) else {
            match loaded.unreadable_job(&entry.key) {
                Some(error) => {
                    self.complain(&entry.key.to_string(), error);
                    tally.unreadable += 1;
                }
                None => tally.gone += 1,
            }
            return Ok(None);
        };
        self.keep(&loaded, job, tally).await;
        self.act(list, &loaded, job, tally).await
    }

    /// A folder that has been open for so long must not lose its parts before its job has ended. If that fails, the job
    /// is looked after all the same.
    async fn keep(&self, loaded: &Loaded, job: &Job, tally: &mut Tally) {
        let now = self.sweeper.clock.now();
        if !loaded.receipt.as_ref().is_some_and(|receipt| is_long_open(receipt, job, now)) {
            return;
        }
        match self.ledger.keep(loaded).await {
            Ok(()) => tally.kept += 1,
            // The next run finds it again.
            Err(LedgerError::ConditionFailed { .. }) => tally.lost += 1,
            Err(error) => {
                self.complain(&job.key.to_string(), &error);
                tally.errors += 1;
            }
        }
    }

    async fn act(
        &self,
        list: &List,
        loaded: &Loaded,
        job: &Job,
        tally: &mut Tally,
    ) -> Result<Option<Sending>, LedgerError> {
        let now = self.sweeper.clock.now();
        let (moved, message) = match wake(job, self.backlog, now) {
            Wake::Send(moved) => (moved, Some(Message::wake_up(job.key.clone()))),
            Wake::Notify(moved) => {
                let reason = if let State::Review { reason } = job.state { reason.as_str() } else { "unknown" };
                (moved, Some(Message::notice(job.key.clone(), reason)))
            }
            Wake::Move(moved) => (moved, None),
            Wake::Review(next) => {
                self.ledger.write_job(loaded, job, &next).await?;
                tally.reviewed += 1;
                let reason = if let State::Review { reason } = next.state { reason.as_str() } else { "unknown" };
                self.sweeper.metrics.count(Metric::JobsToReview, &[(Dimension::Reason, reason)], 1);
                return Ok(None);
            }
            Wake::Held if list.resumed => {
                // The stream takes it to the queue; if it does not, the job is soon overdue.
                if let Ok(next) = release(job, now) {
                    self.ledger.write_job(loaded, job, &next).await?;
                    tally.released += 1;
                }
                return Ok(None);
            }
            Wake::Held | Wake::Leave => return Ok(None),
        };
        if !self.ledger.move_entry(job, &moved).await? {
            tally.lost += 1;
            return Ok(None);
        }
        if message.is_none() {
            tally.moved += 1;
        }
        Ok(message.map(|message| Sending { message, before: job.clone(), moved }))
    }
}

fn is_long_open(receipt: &Receipt, job: &Job, now: Timestamp) -> bool {
    receipt.expires_at.is_some() && !job.has_ended() && now.since(receipt.received_at) >= receipt.retention.payload / 2
}
