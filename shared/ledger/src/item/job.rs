//! The job's item.

use std::time::Duration;

use hookbox_core::job::{
    Attempt, AttemptOutcome, AttemptResult, DismissReason, Job, LastError, Mode, ReviewReason, State, Status,
};
use hookbox_core::key::{JobKey, ReceiptId, Shards};
use hookbox_core::name::{Account, Provider};
use hookbox_core::outcome::{Code, ErrorText};
use hookbox_core::time::{EpochSeconds, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Item, SCHEMA, index, key};
use crate::error::ItemError;

#[derive(Serialize, Deserialize)]
struct JobItem {
    pk: ReceiptId,
    sk: String,
    schema: u32,
    provider: Provider,
    account: Account,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<Timestamp>,
    received_at: Timestamp,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<ReviewReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// Missing for one that somebody said is not needed, as it always was.
    #[serde(skip_serializing_if = "Option::is_none")]
    dismissed_because: Option<DismissReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    erased_at: Option<Timestamp>,
    version: u64,
    round: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attempts: Vec<AttemptItem>,
    #[serde(default)]
    attempts_total: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_sent_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<ModeItem>,
    #[serde(default)]
    wakes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_pk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wake_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<EpochSeconds>,
}

#[derive(Serialize, Deserialize)]
struct AttemptItem {
    at: Timestamp,
    #[serde(flatten)]
    mode: ModeItem,
    rev: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<AttemptOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct ModeItem {
    mode: ModeName,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeName {
    Key,
    Reconcile,
    None,
}

/// A job with what only the ledger needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredJob {
    /// The job.
    pub(crate) job: Job,
    /// The token of the write that brought it to its version.
    pub(crate) token: Option<String>,
    /// The token of the write that moved its entry last.
    pub(crate) wake_token: Option<String>,
    /// When it expires.
    pub(crate) expires_at: Option<EpochSeconds>,
}

/// The key and the status of a job, of an item that has no more than these.
pub(crate) fn standing(item: Item) -> Result<(JobKey, Status), ItemError> {
    #[derive(Deserialize)]
    struct Standing {
        pk: ReceiptId,
        sk: String,
        status: Status,
    }
    let not_a_job = super::corrupt(&item, "not the key of a job");
    let Standing { pk, sk, status } = super::read(item)?;
    key::parse_job(pk, &sk).map(|key| (key, status)).ok_or(not_a_job)
}

impl StoredJob {
    pub(crate) fn to_item(&self, shards: Shards) -> Result<Item, ItemError> {
        let Job { key, state, last_error, .. } = &self.job;
        let job = &self.job;
        let mut item = JobItem {
            pk: key.receipt,
            sk: key::job(key),
            schema: SCHEMA,
            provider: job.provider.clone(),
            account: job.account.clone(),
            kind: job.kind.clone(),
            resource: job.resource.clone(),
            occurred_at: job.occurred_at,
            received_at: job.received_at,
            status: job.status(),
            lease_expires_at: None,
            next_attempt_at: None,
            reason: None,
            ended_at: None,
            dismissed_because: None,
            erased_at: job.erased_at,
            version: job.version,
            round: job.round,
            attempts: job.attempts.iter().map(AttemptItem::from).collect(),
            attempts_total: job.attempts_total,
            first_sent_at: job.first_sent_at,
            send_before: job.send_before,
            uncertain: job.uncertain.map(ModeItem::from),
            wakes: job.wakes,
            open_pk: job.open_at.and_then(|_| index::open(job, shards)),
            open_at: job.open_at,
            error_code: last_error.as_ref().map(|error| error.code.clone()),
            error: last_error.as_ref().map(|error| error.detail.clone()),
            token: self.token.clone(),
            wake_token: self.wake_token.clone(),
            expires_at: self.expires_at,
        };
        match state {
            State::Pending | State::Held => {}
            State::Processing { lease_expires_at } => item.lease_expires_at = Some(*lease_expires_at),
            State::Retrying { next_attempt_at } => item.next_attempt_at = Some(*next_attempt_at),
            State::Review { reason } => item.reason = Some(*reason),
            State::Completed { at } => item.ended_at = Some(*at),
            State::Dismissed { at, reason } => {
                item.ended_at = Some(*at);
                item.dismissed_because = Some(*reason).filter(|reason| *reason != DismissReason::NotNeeded);
            }
        }
        super::write(&item)
    }

    pub(crate) fn from_item(item: Item) -> Result<Self, ItemError> {
        let (pk, sk) = super::names(&item);
        let corrupt = |what: &str| ItemError::Corrupt { pk: pk.clone(), sk: sk.clone(), what: what.to_owned() };
        let item: JobItem = super::read(item)?;
        let key = key::parse_job(item.pk, &item.sk).ok_or_else(|| corrupt("not the key of a job"))?;
        let state = match item.status {
            Status::Pending => State::Pending,
            Status::Processing => State::Processing {
                lease_expires_at: item.lease_expires_at.ok_or_else(|| corrupt("no lease_expires_at"))?,
            },
            Status::Retrying => {
                State::Retrying { next_attempt_at: item.next_attempt_at.ok_or_else(|| corrupt("no next_attempt_at"))? }
            }
            Status::Held => State::Held,
            Status::Review => State::Review { reason: item.reason.ok_or_else(|| corrupt("no reason"))? },
            Status::Completed => State::Completed { at: item.ended_at.ok_or_else(|| corrupt("no ended_at"))? },
            Status::Dismissed => State::Dismissed {
                at: item.ended_at.ok_or_else(|| corrupt("no ended_at"))?,
                reason: item.dismissed_because.unwrap_or_default(),
            },
        };
        let attempts: Option<Vec<_>> = item.attempts.into_iter().map(AttemptItem::into_attempt).collect();
        let uncertain = item.uncertain.map(|mode| mode.into_mode().ok_or_else(|| corrupt("no until"))).transpose()?;
        let job = Job {
            key,
            provider: item.provider,
            account: item.account,
            kind: item.kind,
            resource: item.resource,
            occurred_at: item.occurred_at,
            received_at: item.received_at,
            state,
            version: item.version,
            round: item.round,
            attempts: attempts.ok_or_else(|| corrupt("an attempt without its parts"))?,
            attempts_total: item.attempts_total,
            first_sent_at: item.first_sent_at,
            send_before: item.send_before,
            uncertain,
            wakes: item.wakes,
            open_at: item.open_at,
            last_error: item.error_code.map(|code| LastError { code, detail: item.error.unwrap_or_default() }),
            erased_at: item.erased_at,
        };
        Ok(Self { job, token: item.token, wake_token: item.wake_token, expires_at: item.expires_at })
    }
}

impl From<&Attempt> for AttemptItem {
    fn from(attempt: &Attempt) -> Self {
        let Attempt { at, mode, config_rev, result } = attempt;
        Self {
            at: *at,
            mode: ModeItem::from(*mode),
            rev: *config_rev,
            outcome: result.as_ref().map(|result| result.outcome),
            code: result.as_ref().map(|result| result.code.clone()),
            ms: result.as_ref().map(|result| u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

impl AttemptItem {
    /// `None` when a part is missing.
    fn into_attempt(self) -> Option<Attempt> {
        let result = match (self.outcome, self.code, self.ms) {
            (Some(outcome), Some(code), Some(ms)) => {
                Some(AttemptResult { outcome, code, took: Duration::from_millis(ms) })
            }
            (None, None, None) => None,
            _ => return None,
        };
        Some(Attempt { at: self.at, mode: self.mode.into_mode()?, config_rev: self.rev, result })
    }
}

impl From<Mode> for ModeItem {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Key { until } => Self { mode: ModeName::Key, until: Some(until) },
            Mode::Reconcile => Self { mode: ModeName::Reconcile, until: None },
            Mode::None => Self { mode: ModeName::None, until: None },
        }
    }
}

impl ModeItem {
    fn into_mode(self) -> Option<Mode> {
        match self.mode {
            ModeName::Key => self.until.map(|until| Mode::Key { until }),
            ModeName::Reconcile => Some(Mode::Reconcile),
            ModeName::None => Some(Mode::None),
        }
    }
}
