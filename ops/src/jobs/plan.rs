//! What a decision about many jobs would come to: each is looked at before anything is asked.

use std::collections::BTreeMap;
use std::io;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::key::JobKey;
use hookbox_core::name::BulkId;
use hookbox_core::time::Timestamp;

use super::step::{Step, Verb};
use crate::connection::Table;
use crate::failure::Failure;
use crate::layout::count;
use crate::terminal::Terminal;

/// Jobs that are looked at at once.
const AT_ONCE: usize = 16;
/// Jobs that are named before it is asked.
pub(super) const SAMPLES: usize = 5;

/// Results by their names.
pub(super) type Counts = BTreeMap<String, u64>;

/// What was found before it was asked.
pub(super) struct Plan {
    verb: Verb,
    jobs: u64,
    /// The jobs that it fits, in their order.
    pub(super) fit: Vec<JobKey>,
    /// The others, by the reason.
    pub(super) unfit: Counts,
}

impl Plan {
    /// Looks at the jobs; `bulk` is the operation that may have written some of them already.
    pub(super) async fn make(
        verb: Verb,
        jobs: &[JobKey],
        bulk: Option<&BulkId>,
        table: &Table,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let looks = jobs.iter().map(|job| async move {
            let looked = Step { verb, job, reason: "", bulk }.look(table, now).await?;
            Ok::<_, Failure>((job, looked.map_err(|unfit| unfit.code())))
        });
        let looked: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let mut plan = Self { verb, jobs: jobs.len() as u64, fit: Vec::new(), unfit: Counts::new() };
        for (job, looked) in looked {
            match looked {
                Ok(_) => plan.fit.push(job.clone()),
                Err(code) => *plan.unfit.entry(code.to_owned()).or_default() += 1,
            }
        }
        Ok(plan)
    }

    /// What was found, with what would be done.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.unfit.clone();
        counts.insert(self.verb.done().to_owned(), self.fit.len() as u64);
        counts
    }

    /// Some of the jobs that it fits.
    pub(super) fn samples(&self) -> Vec<JobKey> {
        self.fit.iter().take(SAMPLES).cloned().collect()
    }

    pub(super) fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        let jobs = format!("{} of {}", self.fit.len(), count(self.jobs, "job"));
        terminal.say(format_args!("would {}", self.verb.to(jobs)))?;
        for job in self.fit.iter().take(SAMPLES) {
            terminal.say(format_args!("  {job}"))?;
        }
        if self.fit.len() > SAMPLES {
            terminal.say(format_args!("  and {} more", self.fit.len() - SAMPLES))?;
        }
        for (why, number) in &self.unfit {
            terminal.say(format_args!("not {number}: {why}"))?;
        }
        Ok(())
    }
}
