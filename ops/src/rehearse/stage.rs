//! Where a rehearsal is played: a signer, the table, and the sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep as _, SharedAsyncSleep};
use hookbox_core::integration::Integration;
use hookbox_core::job::{Job, State, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::Loaded;
use hookbox_providers::SampleValues;
use serde::Deserialize;
use serde_json::Value;

use super::needed::Part;
use crate::connection::Table;
use crate::failure::{Failure, Trouble, chain};
use crate::layout::count;
use crate::sandbox::Verifier;
use crate::send::{Draft, Outcome, Signer};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Where a rehearsal is played.
pub(super) struct Stage<'a> {
    pub(super) integration: &'a Integration,
    pub(super) signer: &'a Signer,
    pub(super) table: &'a Table,
    pub(super) client: &'a reqwest::Client,
    /// Signs what a dying worker calls.
    pub(super) calls: &'a Verifier,
    /// The sandbox's address.
    pub(super) sandbox: &'a str,
    /// Tells the events of this rehearsal from those of others.
    pub(super) run: &'a str,
    /// Who plays, for the audit.
    pub(super) who: &'a str,
    pub(super) clock: &'a dyn Clock,
    pub(super) sleep: &'a SharedAsyncSleep,
    /// When it is given up.
    pub(super) deadline: Timestamp,
}

/// What the sandbox knows of a key.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Known {
    pub(super) calls: u64,
    pub(super) effects: u64,
}

/// What an event is to say.
pub(super) struct EventOf<'a> {
    pub(super) id: &'a str,
    pub(super) part: Part,
    pub(super) resource: &'a str,
    pub(super) occurred_at: Timestamp,
    pub(super) set: Option<&'a Value>,
}

impl Stage<'_> {
    /// The id of an event of this rehearsal.
    pub(super) fn event_id(&self, name: &str) -> String {
        format!("rehearsal-{}-{name}", self.run)
    }

    pub(super) fn draft(&self, event: &EventOf<'_>) -> Result<Draft, Failure> {
        self.signer.draft(&SampleValues {
            event_id: Some(event.id),
            kind: Some(&event.part.kind()),
            resource: Some(event.resource),
            occurred_at: event.occurred_at,
            set: event.set,
        })
    }

    /// An event of a part that happens now.
    pub(super) fn event(&self, name: &str, part: Part) -> Result<Draft, Failure> {
        let id = self.event_id(name);
        self.draft(&EventOf { id: &id, part, resource: &id, occurred_at: self.clock.now(), set: None })
    }

    pub(super) async fn send(&self, draft: &Draft) -> Result<Outcome, Failure> {
        self.signer.send(draft, self.client).await
    }

    /// Sends one that must be taken; gives its receipt.
    pub(super) async fn deliver(&self, draft: &Draft) -> Result<ReceiptId, Failure> {
        let outcome = self.send(draft).await?;
        match outcome.status {
            Some(200..=299) => self.receipt(draft),
            status => {
                let what = status.map_or_else(|| outcome.error.unwrap_or_default(), |status| status.to_string());
                Err(unable("deliver an event", &format!("it was answered {what}")))
            }
        }
    }

    /// The receipt that a draft comes to.
    pub(super) fn receipt(&self, draft: &Draft) -> Result<ReceiptId, Failure> {
        let first = self.signer.expected(draft).into_iter().next();
        first.ok_or_else(|| unable("find the receipt of an event", "its identity alone does not say which it is"))
    }

    pub(super) async fn load(&self, id: &ReceiptId) -> Result<Option<Loaded>, Failure> {
        let loaded = self.table.ledger.load(id).await;
        loaded.map_err(|error| self.table.failure(&format!("read the receipt {id}"), &error))
    }

    /// The folder once its job is in a state that is waited for.
    pub(super) async fn once(
        &self,
        id: &ReceiptId,
        what: &str,
        waited_for: impl Fn(&Job) -> bool,
    ) -> Result<(Loaded, Job), Failure> {
        loop {
            if let Some(folder) = self.load(id).await?
                && let Some(job) = folder.jobs.first().cloned()
                && waited_for(&job)
            {
                return Ok((folder, job));
            }
            if self.clock.now() >= self.deadline {
                return Err(unable(&format!("wait until {what}"), "the time for it is over: --patience"));
            }
            self.pause().await;
        }
    }

    /// Waits until it is worth looking again.
    pub(super) async fn pause(&self) {
        self.sleep.sleep(PAUSE).await;
    }

    /// The folder once its job has come to an end, or to a person.
    pub(super) async fn ended(&self, id: &ReceiptId) -> Result<(Loaded, Job), Failure> {
        let ended = |job: &Job| matches!(job.status(), Status::Completed | Status::Review | Status::Dismissed);
        self.once(id, &format!("the job of {id} ends"), ended).await
    }

    /// What the sandbox knows of a job.
    pub(super) async fn known(&self, job: &JobKey) -> Result<Known, Failure> {
        let book = book(self.sandbox, self.client).await?;
        let known = book.by_key.get(&job.to_string()).copied();
        Ok(known.unwrap_or_default())
    }
}

/// Something could not be done, or seen.
pub(super) fn unable(attempted: &str, why: &str) -> Failure {
    Failure::CouldNotLook(Trouble::new(attempted, why))
}

/// What a sandbox has seen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    #[expect(dead_code, reason = "that it is there tells a sandbox")]
    calls: u64,
    #[expect(dead_code, reason = "that it is there tells a sandbox")]
    effects: u64,
    #[expect(dead_code, reason = "that it is there tells a sandbox")]
    refused: u64,
    by_key: BTreeMap<String, Known>,
}

/// Asks the sandbox what it has seen. Whatever answers otherwise is none.
pub(super) async fn book(sandbox: &str, client: &reqwest::Client) -> Result<Seen, Failure> {
    let attempted = format!("ask the sandbox at {sandbox} what it has seen");
    let unable = |why: String| {
        let trouble = Trouble::new(&attempted, why);
        Failure::CouldNotLook(trouble.advise("hookbox sandbox, where both the workers and this machine reach it"))
    };
    let answer = client.get(format!("{sandbox}/effects")).send().await;
    let answer = answer.map_err(|error| unable(chain(&error)))?;
    let (status, text) = (answer.status(), answer.text().await.map_err(|error| unable(chain(&error)))?);
    match serde_json::from_str(&text) {
        Ok(seen) if status.is_success() => Ok(seen),
        _ => {
            let why =
                format!("what answers there ({}) is no `hookbox sandbox`: nothing was sent to it", status.as_u16());
            Err(Failure::Refused(Trouble::new(attempted, why).advise("start one there, or apply another address")))
        }
    }
}

/// `completed`, `review (uncertain)`.
pub(super) fn state(job: &Job) -> String {
    match job.state {
        State::Review { reason } => format!("review ({})", reason.as_str()),
        _ => job.status().as_str().to_owned(),
    }
}

pub(super) fn attempts(job: &Job) -> String {
    count(u64::from(job.attempts_total), "attempt")
}

pub(super) fn effects(known: Known) -> String {
    count(known.effects, "effect")
}

pub(super) fn calls(known: Known) -> String {
    count(known.calls, "call")
}
