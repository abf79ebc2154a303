//! A claimed job: ask where an earlier outcome is unknown, read the payload, call the operation.

use std::time::Duration;

use hookbox_core::integration::{Operation as OperationConfig, Target};
use hookbox_core::limits::CLAIM_MARGIN;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::transition::reconcile::absent;
use hookbox_destination::Facts;
use hookbox_ledger::LedgerError;

use crate::job::{Ending, Returned, Run};
use crate::operation::{Asked, Call, Linked, Question, misconfigured};
use crate::settle::{Acted, Taken};

/// How long an operation may overstay its timeout before it is dropped: its own report is better than ours.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// The shortest time in which it makes sense to ask.
const MIN_ASK: Duration = Duration::from_secs(1);

const _: () = assert!(GRACE.as_millis() * 2 <= CLAIM_MARGIN.as_millis());

/// How long asking may take so that the call still gets its whole timeout: at most as long as the call itself. `None`
/// when too little time is left.
pub(crate) fn ask_limit(spare: Duration, timeout: Duration) -> Option<Duration> {
    Some(spare.min(timeout)).filter(|limit| *limit >= MIN_ASK)
}

impl Run<'_> {
    /// Makes the attempt and writes its outcome. `ask` is the time for asking first, where that has to be done.
    pub(crate) async fn attempt(&self, mut taken: Taken<'_>, ask: Option<Duration>) -> Result<Ending, Returned> {
        let facts = Facts::of(&taken.job, taken.loaded.receipt.as_ref());
        let acted = match ask {
            None => None,
            Some(limit) => match self.ask(&facts, taken.operation, limit).await {
                Asked::Absent => {
                    taken.job = absent(&taken.job)?;
                    None
                }
                Asked::Found => Some(Acted::Reported(Report::done("found"))),
                Asked::CannotTell(report) => Some(Acted::CannotTell(report)),
                Asked::NoAnswer(report) => Some(unanswered(report)),
                Asked::AtAddress => Some(Acted::CannotTell(misconfigured("ask", "nothing knows how to ask"))),
            },
        };
        let acted = match acted {
            Some(acted) => acted,
            None => self.act(&facts, taken.operation).await,
        };
        self.settle(taken, acted).await
    }

    async fn ask(&self, facts: &Facts, operation: &OperationConfig, timeout: Duration) -> Asked {
        let question = Question { facts, operation, timeout, now: self.now() };
        let asked = async {
            let own = match self.linked(operation) {
                Some(linked) => linked.ask(&question).await,
                None => Asked::AtAddress,
            };
            match own {
                Asked::AtAddress => self.worker.operations.http().ask(&question).await,
                asked => asked,
            }
        };
        let late = || Asked::NoAnswer(Report::new(Outcome::Unknown, "ask-timeout", "no answer in time"));
        tokio::time::timeout(timeout + GRACE, asked).await.unwrap_or_else(|_| late())
    }

    async fn act(&self, facts: &Facts, operation: &OperationConfig) -> Acted {
        let payload = match self.before_the_call(operation).payload(&facts.job.receipt).await {
            Ok(Some(payload)) => payload,
            Ok(None) => return Acted::PayloadGone,
            Err(error) => return Acted::Reported(unread(&error)),
        };
        let Some(linked) = self.linked(operation) else {
            let detail = "the configured operation is not linked into this worker: deploy the worker that has it";
            return Acted::Reported(misconfigured("not-linked", detail));
        };
        let timeout = operation.timeout;
        if self.left() < timeout + GRACE {
            let detail = "reading what to send took too long to make the call in this invocation";
            return Acted::Reported(misconfigured("out-of-time", detail));
        }
        let call = Call { facts, payload: &payload, operation, timeout, now: self.now() };
        let late = || Report::new(Outcome::Unknown, "timeout", "the operation did not end in its time");
        let report = tokio::time::timeout(timeout + GRACE, linked.call(&call)).await;
        Acted::Reported(report.unwrap_or_else(|_| late()))
    }

    fn linked(&self, operation: &OperationConfig) -> Option<&dyn Linked> {
        let operations = &self.worker.operations;
        match &operation.target {
            Target::Http { .. } => Some(operations.http()),
            Target::Sqs { .. } => Some(operations.sqs()),
            Target::Custom { name, .. } => operations.custom(name),
        }
    }
}

/// Asking has no effect, so an attempt that got no further than that had none either; the earlier call stays as unknown
/// as it was, and what cannot change cannot be told.
fn unanswered(report: Report) -> Acted {
    match report.outcome {
        Outcome::Transient { .. } | Outcome::CredentialRefused => Acted::Reported(report),
        Outcome::Unknown => Acted::Reported(Report { outcome: Outcome::Transient { retry_after: None }, ..report }),
        Outcome::Permanent | Outcome::Done => Acted::CannotTell(report),
    }
}

/// No call was made because the payload could not be read.
fn unread(error: &LedgerError) -> Report {
    match error {
        LedgerError::Corrupt { .. } => Report::new(Outcome::Permanent, "payload-corrupt", &error.to_string()),
        _ => misconfigured("payload-unread", &error.to_string()),
    }
}
