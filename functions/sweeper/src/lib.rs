//! The sweeper function: finds and wakes whatever the stream, the queue or a crash left behind.
//!
//! Once a minute it surveys the lists of open jobs, publishes how long they are, and goes through the entries whose time
//! has come: page by page from every list in turn, so that no list waits for another, until its time is over. An entry
//! entitles nobody to anything: the job is read consistently, [`wake`](hookbox_core::transition::wake) decides, and only
//! the sweeper whose conditional write landed may send. Runs may overlap.
//!
//! What goes wrong with one entry is counted and never stops the run; only a table that cannot be read fails it.

pub mod lists;

mod entry;
mod run;
mod survey;
mod swept;

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, LedgerError};
use hookbox_queue::Queue;
use hookbox_runtime::{Metric, Metrics};
use lambda_runtime::LambdaEvent;
use run::Run;
use serde_json::Value;

pub use survey::Gauges;
pub use swept::{Swept, Tally};

/// Time that a run leaves unused before its process is ended: for what is still on its way, and for the report.
pub const DEADLINE_MARGIN: Duration = Duration::from_secs(5);
/// Names of unfinished lists in the log.
const SHOWN_LISTS: usize = 20;

/// Looks after open jobs.
#[derive(Clone, Debug)]
pub struct Sweeper {
    ledger: Ledger,
    work: Queue,
    dead_letters: Queue,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

/// The run came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// Not one list could be read.
    #[error("the table cannot be read")]
    Unreachable {
        /// What went wrong with the first of them.
        #[source]
        source: LedgerError,
    },
}

impl Sweeper {
    /// A sweeper of this ledger. Wake-ups go to `work`, notices of jobs that wait for a person to `dead_letters`.
    pub fn new(ledger: Ledger, work: Queue, dead_letters: Queue, clock: Arc<dyn Clock>, metrics: Metrics) -> Self {
        Self { ledger, work, dead_letters, clock, metrics }
    }

    /// A run of the function. The event says nothing that matters: whoever may invoke the function can choose neither
    /// what is swept nor when it stops.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<Swept, SweepError> {
        let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
        self.sweep(Timestamp::from_millis(deadline)).await
    }

    /// Goes through everything that is due, until all is done or `deadline` less a margin has come.
    pub async fn sweep(&self, deadline: Timestamp) -> Result<Swept, SweepError> {
        let (run, mut tally) = Run::begin(self, deadline).await;
        let (lists, found) = lists::find(&run).await;
        tally += found;
        let surveyed = survey::survey(&run, lists).await?;
        tally += surveyed.tally;
        self.publish_gauges(surveyed.gauges);
        let (unfinished, done) = run.through(surveyed.due).await;
        tally += done;
        let unfinished = unfinished.iter().map(lists::List::name).collect();
        let swept = Swept { tally, unfinished, gauges: surveyed.gauges };
        self.report(&swept);
        Ok(swept)
    }

    /// Before the work, so that a run without enough time says how things stand all the same.
    fn publish_gauges(&self, gauges: Gauges) {
        let values = [
            (Metric::OpenJobs, gauges.open),
            (Metric::HeldJobs, gauges.held),
            (Metric::ReviewJobs, gauges.review),
            (Metric::OldestOpenAge, gauges.oldest_open_age),
            (Metric::OldestReviewAge, gauges.oldest_review_age),
        ];
        let known: Vec<_> = values.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect();
        if !known.is_empty() {
            self.metrics.gauges(&known);
        }
    }

    fn report(&self, swept: &Swept) {
        let Swept { tally, unfinished, gauges } = swept;
        self.metrics.count(Metric::JobsRecovered, &[], tally.woken);
        self.metrics.count(Metric::JobsReleased, &[], tally.released);
        self.metrics.count(Metric::NoticesPosted, &[], tally.notices);
        self.metrics.count(Metric::ItemsUnreadable, &[], tally.unreadable);
        self.metrics.count(Metric::SweepErrors, &[], tally.errors);
        self.metrics.count(Metric::SweepLeft, &[], unfinished.len() as u64);
        let shown = unfinished.iter().take(SHOWN_LISTS).map(String::as_str).collect::<Vec<_>>().join(" ");
        tracing::info!(
            woken = tally.woken,
            notices = tally.notices,
            moved = tally.moved,
            reviewed = tally.reviewed,
            released = tally.released,
            kept = tally.kept,
            lost = tally.lost,
            gone = tally.gone,
            unreadable = tally.unreadable,
            errors = tally.errors,
            left = tally.left,
            unfinished = unfinished.len(),
            lists = shown,
            open = gauges.open,
            held = gauges.held,
            review = gauges.review,
            "swept"
        );
    }
}
