//! A folder for programs: times in RFC 3339, durations in milliseconds.

use hookbox_core::digest::Digest;
use hookbox_core::event::Disposition;
use hookbox_core::job::{Attempt, AttemptOutcome, Job, LastError, Mode, State, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::receipt;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Audit, Listing, Loaded, Pause};
use serde::Serialize;

/// Everything about one event except its payload.
#[derive(Serialize)]
pub(crate) struct Folder<'a> {
    /// `null` when it has expired before its jobs.
    receipt: Option<Receipt<'a>>,
    jobs: Vec<JobLine<'a>>,
    audit: Vec<AuditLine<'a>>,
    unreadable: Vec<Unreadable<'a>>,
}

#[derive(Serialize)]
struct Receipt<'a> {
    id: ReceiptId,
    provider: &'a Provider,
    account: &'a Account,
    tenant: Option<&'a str>,
    event_id: Option<&'a str>,
    kind: &'a str,
    resource: Option<&'a str>,
    state: &'static str,
    state_reason: Option<&'a str>,
    occurred_at: Option<String>,
    event_version: Option<&'a str>,
    received_at: String,
    operations: &'a [OperationName],
    delivery_digest: Digest,
    event_digest: Digest,
    weak: bool,
    config_rev: u64,
    expires_at: Option<String>,
    duplicate_count: u64,
    last_duplicate_at: Option<String>,
    arrivals: Vec<Arrival<'a>>,
    conflicts: Vec<Conflict<'a>>,
    /// When its payload was deleted and everything personal taken from it.
    erased_at: Option<String>,
}

#[derive(Serialize)]
struct Arrival<'a> {
    at: String,
    digest: Digest,
    secret_index: u16,
    request_id: &'a str,
}

#[derive(Serialize)]
struct Conflict<'a> {
    at: String,
    /// Of the canonical event.
    digest: Digest,
    delivery_digest: Digest,
    request_id: &'a str,
}

#[derive(Serialize)]
struct JobLine<'a> {
    key: &'a JobKey,
    operation: &'a OperationName,
    status: Status,
    reason: Option<&'static str>,
    round: u32,
    attempts: Vec<AttemptLine<'a>>,
    attempts_total: u32,
    wakes: u32,
    version: u64,
    uncertain: bool,
    next_attempt_at: Option<String>,
    lease_expires_at: Option<String>,
    ended_at: Option<String>,
    /// Of a held job: what holds it. `null` once it is resumed, until the sweeper has released the job.
    pause: Option<PauseLine<'a>>,
    last_error: Option<&'a LastError>,
    erased_at: Option<String>,
}

/// One job, the event that requires it, and what people decided about it.
#[derive(Serialize)]
pub(super) struct JobSheet<'a> {
    receipt: ReceiptId,
    provider: &'a Provider,
    account: &'a Account,
    kind: &'a str,
    resource: Option<&'a str>,
    received_at: String,
    #[serde(flatten)]
    job: JobLine<'a>,
    audit: Vec<AuditLine<'a>>,
}

impl<'a> JobSheet<'a> {
    pub(super) fn of(job: &'a Job, loaded: &'a Loaded, pauses: &'a Listing<Pause>) -> Self {
        Self {
            receipt: job.key.receipt,
            provider: &job.provider,
            account: &job.account,
            kind: &job.kind,
            resource: job.resource.as_deref(),
            received_at: job.received_at.to_string(),
            job: JobLine::of(job, pauses),
            audit: loaded.audit.iter().map(AuditLine::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct PauseLine<'a> {
    since: String,
    reason: &'a str,
}

#[derive(Serialize)]
struct AttemptLine<'a> {
    at: String,
    /// `running` until it has ended.
    outcome: &'static str,
    code: Option<&'a str>,
    ms: Option<u128>,
    mode: &'static str,
    key_until: Option<String>,
    config_rev: u64,
}

#[derive(Serialize)]
struct AuditLine<'a> {
    at: String,
    who: &'a str,
    what: &'a str,
    on: Option<&'a str>,
    why: Option<&'a str>,
    bulk: Option<&'a str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    item: &'a str,
    why: String,
}

impl<'a> Folder<'a> {
    pub(crate) fn of(loaded: &'a Loaded, pauses: &'a Listing<Pause>) -> Self {
        let unreadable =
            |item: &'a hookbox_ledger::Unreadable| Unreadable { item: &item.sk, why: item.error.to_string() };
        Self {
            receipt: loaded.receipt.as_ref().map(Receipt::of),
            jobs: loaded.jobs.iter().map(|job| JobLine::of(job, pauses)).collect(),
            audit: loaded.audit.iter().map(AuditLine::of).collect(),
            unreadable: loaded.unreadable.iter().map(unreadable).collect(),
        }
    }
}

impl<'a> Receipt<'a> {
    fn of(receipt: &'a receipt::Receipt) -> Self {
        let (state, state_reason) = state(&receipt.disposition);
        let arrival = |arrival: &'a receipt::Arrival| Arrival {
            at: arrival.at.to_string(),
            digest: arrival.digest,
            secret_index: arrival.secret_index,
            request_id: &arrival.request_id,
        };
        let conflict = |conflict: &'a receipt::Conflict| Conflict {
            at: conflict.at.to_string(),
            digest: conflict.event_digest,
            delivery_digest: conflict.delivery_digest,
            request_id: &conflict.request_id,
        };
        Self {
            id: receipt.id,
            provider: &receipt.provider,
            account: &receipt.account,
            tenant: receipt.tenant.as_deref(),
            event_id: receipt.event_id.as_deref(),
            kind: &receipt.kind,
            resource: receipt.resource.as_deref(),
            state,
            state_reason,
            occurred_at: text(receipt.occurred_at),
            event_version: receipt.event_version.as_deref(),
            received_at: receipt.received_at.to_string(),
            operations: &receipt.operations,
            delivery_digest: receipt.delivery_digest,
            event_digest: receipt.event_digest,
            weak: receipt.window.is_some(),
            config_rev: receipt.config_rev,
            expires_at: text(receipt.expires_at.map(|at| Timestamp::from_seconds(at.get()))),
            duplicate_count: receipt.duplicate_count,
            last_duplicate_at: text(receipt.last_duplicate_at),
            arrivals: receipt.arrivals.iter().map(arrival).collect(),
            conflicts: receipt.conflicts.iter().map(conflict).collect(),
            erased_at: text(receipt.erased_at),
        }
    }
}

impl<'a> JobLine<'a> {
    fn of(job: &'a Job, pauses: &'a Listing<Pause>) -> Self {
        let mut line = Self {
            key: &job.key,
            operation: &job.key.operation,
            status: job.status(),
            reason: None,
            round: job.round,
            attempts: job.attempts.iter().map(AttemptLine::of).collect(),
            attempts_total: job.attempts_total,
            wakes: job.wakes,
            version: job.version,
            uncertain: job.uncertain.is_some(),
            next_attempt_at: None,
            lease_expires_at: None,
            ended_at: None,
            pause: None,
            last_error: job.last_error.as_ref(),
            erased_at: text(job.erased_at),
        };
        match job.state {
            State::Pending => {}
            State::Held => {
                let pause = pauses.of_operation(&job.key.operation).ok().flatten();
                line.pause =
                    pause.map(|pause| PauseLine { since: pause.at.to_string(), reason: pause.reason.as_str() });
            }
            State::Processing { lease_expires_at } => line.lease_expires_at = Some(lease_expires_at.to_string()),
            State::Retrying { next_attempt_at } => line.next_attempt_at = Some(next_attempt_at.to_string()),
            State::Review { reason } => line.reason = Some(reason.as_str()),
            State::Completed { at } => line.ended_at = Some(at.to_string()),
            State::Dismissed { at, reason } => {
                line.reason = reason.as_str();
                line.ended_at = Some(at.to_string());
            }
        }
        line
    }
}

impl<'a> AttemptLine<'a> {
    fn of(attempt: &'a Attempt) -> Self {
        let result = attempt.result.as_ref();
        let (mode, key_until) = match attempt.mode {
            Mode::Key { until } => ("key", Some(until.to_string())),
            Mode::Reconcile => ("reconcile", None),
            Mode::None => ("none", None),
        };
        Self {
            at: attempt.at.to_string(),
            outcome: result.map_or("running", |result| outcome(result.outcome)),
            code: result.map(|result| result.code.as_str()),
            ms: result.map(|result| result.took.as_millis()),
            mode,
            key_until,
            config_rev: attempt.config_rev,
        }
    }
}

impl<'a> AuditLine<'a> {
    fn of(audit: &'a Audit) -> Self {
        Self {
            at: audit.at.to_string(),
            who: &audit.who,
            what: &audit.what,
            on: audit.on.as_deref(),
            why: audit.why.as_deref(),
            bulk: audit.bulk.as_deref(),
            before: audit.before.as_deref(),
            after: audit.after.as_deref(),
        }
    }
}

/// The state of a receipt as it is shown, and why it has no jobs.
pub(crate) fn state(disposition: &Disposition) -> (&'static str, Option<&str>) {
    match disposition {
        Disposition::Accepted => ("accepted", None),
        Disposition::Ignored(reason) => ("ignored", Some(reason)),
        Disposition::Rejected(reason) => ("rejected", Some(reason)),
    }
}

/// A job within its event: its operation, and which version of it where it is not the first.
pub(super) fn name(key: &JobKey) -> String {
    if key.version == 1 { key.operation.to_string() } else { format!("{} v{}", key.operation, key.version) }
}

/// The outcome of an attempt as it is shown.
pub(super) fn outcome(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Done => "done",
        AttemptOutcome::Transient => "transient",
        AttemptOutcome::Uncertain => "uncertain",
        AttemptOutcome::Permanent => "permanent",
    }
}

fn text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
