//! A job: one required effect of one event, and where it stands.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::integration::Idempotency;
use crate::key::JobKey;
use crate::limits::PENDING_OVERDUE;
use crate::name::{Account, Provider};
use crate::outcome::{Code, ErrorText};
use crate::receipt::Receipt;
use crate::time::Timestamp;

/// One required effect of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its key, which is the idempotency key that the destination sees.
    pub key: JobKey,
    /// The provider of its event.
    pub provider: Provider,
    /// The connection of its event.
    pub account: Account,
    /// The kind of its event.
    pub kind: String,
    /// What its event happened to.
    pub resource: Option<String>,
    /// When its event happened, by the provider's clock.
    pub occurred_at: Option<Timestamp>,
    /// When its event arrived.
    pub received_at: Timestamp,
    /// Where it stands.
    pub state: State,
    /// Grows with every change of state; a write is conditional on the version that it read.
    pub version: u64,
    /// Which round of attempts this is, from 1; a replay opens a new one.
    pub round: u32,
    /// The attempts of this round, oldest first.
    pub attempts: Vec<Attempt>,
    /// Calls made in all rounds.
    pub attempts_total: u32,
    /// When the first call under this key was made: from then on the destination may remember it.
    pub first_sent_at: Option<Timestamp>,
    /// After a replay: a call may be made only before. From then on the destination has forgotten the key of earlier
    /// calls, and nobody has accepted a second effect.
    pub send_before: Option<Timestamp>,
    /// The mode of an earlier call whose outcome is still unknown.
    pub uncertain: Option<Mode>,
    /// Wake-ups by the sweeper since the last claim.
    pub wakes: u32,
    /// When the sweeper looks at the job; `None` once it has ended.
    pub open_at: Option<Timestamp>,
    /// What went wrong last.
    pub last_error: Option<LastError>,
    /// When everything personal was taken from it; from then on it cannot be replayed.
    pub erased_at: Option<Timestamp>,
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// To be made for the first time in this round.
    Pending,
    /// A worker holds the lease.
    Processing {
        /// When the lease ends: from then on the outcome of the attempt is unknown and another worker may claim.
        lease_expires_at: Timestamp,
    },
    /// To be made again.
    Retrying {
        /// Not before.
        next_attempt_at: Timestamp,
    },
    /// Waits for its operation to be resumed.
    Held,
    /// Waits for a person.
    Review {
        /// Why.
        reason: ReviewReason,
    },
    /// The effect happened.
    Completed {
        /// When we knew.
        at: Timestamp,
    },
    /// A person decided that it is not needed.
    Dismissed {
        /// When.
        at: Timestamp,
        /// Why.
        reason: DismissReason,
    },
}

/// The name of a state, as it is stored and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is a state described at `State`")]
pub enum Status {
    Pending,
    Processing,
    Retrying,
    Held,
    Review,
    Completed,
    Dismissed,
}

/// Why a job waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewReason {
    /// Every attempt of the round failed.
    Exhausted,
    /// The destination said that it will never work.
    Permanent,
    /// Nobody knows whether the effect happened, and a repetition is not safe.
    Uncertain,
    /// It was woken again and again and nobody claimed it.
    NeverClaimed,
    /// The payload is gone, so there is nothing to send.
    PayloadExpired,
    /// It was replayed while the destination still remembered its key, and not called in that time.
    KeyExpired,
    /// The operation is no longer configured.
    OperationRemoved,
}

/// Why a job was dismissed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DismissReason {
    /// Somebody said that its effect is not needed.
    #[default]
    NotNeeded,
    /// Its event was erased before it had ended.
    Erased,
}

/// One call to the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it was claimed.
    pub at: Timestamp,
    /// The promise under which it was made: it is judged by this one, whatever the configuration says later.
    pub mode: Mode,
    /// The revision of the configuration under which it was made.
    pub config_rev: u64,
    /// What came of it; `None` while it runs.
    pub result: Option<AttemptResult>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptResult {
    /// The class.
    pub outcome: AttemptOutcome,
    /// The code that the operation reported.
    pub code: Code,
    /// How long it took.
    pub took: Duration,
}

/// The class of a finished attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptOutcome {
    /// The effect happened.
    Done,
    /// It did not and may later.
    Transient,
    /// Nobody knows.
    Uncertain,
    /// It did not and never will.
    Permanent,
}

/// What made repeating an attempt safe when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mode {
    /// The destination remembers the key until then.
    Key {
        /// From this time on a repetition could be a second effect.
        until: Timestamp,
    },
    /// The destination can be asked.
    Reconcile,
    /// Nothing.
    None,
}

/// What went wrong last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// For grouping.
    pub code: Code,
    /// For people.
    pub detail: ErrorText,
}

impl Job {
    /// A job that waits for its first attempt since `now`.
    pub fn pending(key: JobKey, receipt: &Receipt, now: Timestamp) -> Self {
        Self {
            key,
            provider: receipt.provider.clone(),
            account: receipt.account.clone(),
            kind: receipt.kind.clone(),
            resource: receipt.resource.clone(),
            occurred_at: receipt.occurred_at,
            received_at: receipt.received_at,
            state: State::Pending,
            version: 1,
            round: 1,
            attempts: Vec::new(),
            attempts_total: 0,
            first_sent_at: None,
            send_before: None,
            uncertain: None,
            wakes: 0,
            open_at: Some(now.plus(PENDING_OVERDUE)),
            last_error: None,
            erased_at: None,
        }
    }

    /// The name of its state.
    pub fn status(&self) -> Status {
        match self.state {
            State::Pending => Status::Pending,
            State::Processing { .. } => Status::Processing,
            State::Retrying { .. } => Status::Retrying,
            State::Held => Status::Held,
            State::Review { .. } => Status::Review,
            State::Completed { .. } => Status::Completed,
            State::Dismissed { .. } => Status::Dismissed,
        }
    }

    /// Whether it has ended: only a person's replay opens it again.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Completed { .. } | State::Dismissed { .. })
    }
}

impl Status {
    /// The status as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Retrying => "retrying",
            Self::Held => "held",
            Self::Review => "review",
            Self::Completed => "completed",
            Self::Dismissed => "dismissed",
        }
    }
}

impl ReviewReason {
    /// The reason as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Permanent => "permanent",
            Self::Uncertain => "uncertain",
            Self::NeverClaimed => "never-claimed",
            Self::PayloadExpired => "payload-expired",
            Self::KeyExpired => "key-expired",
            Self::OperationRemoved => "operation-removed",
        }
    }
}

impl DismissReason {
    /// The reason as it is shown; `None` for the usual one.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::NotNeeded => None,
            Self::Erased => Some("erased"),
        }
    }
}

impl Mode {
    /// The mode of an attempt that is made at `now` of a job that was first sent at `first_sent_at`.
    pub fn of(idempotency: &Idempotency, first_sent_at: Timestamp) -> Self {
        match idempotency {
            Idempotency::Key { retention } => Self::Key { until: first_sent_at.plus(*retention) },
            Idempotency::Reconcile { .. } => Self::Reconcile,
            Idempotency::None => Self::None,
        }
    }

    /// What makes a repetition safe when neither this attempt's outcome is known nor that of an `earlier` one: only what
    /// does so for both.
    #[must_use]
    pub fn and(self, earlier: Option<Self>) -> Self {
        match (self, earlier) {
            (Self::None, _) | (_, Some(Self::None)) => Self::None,
            (Self::Reconcile, _) | (_, Some(Self::Reconcile)) => Self::Reconcile,
            (Self::Key { until }, Some(Self::Key { until: other })) => Self::Key { until: until.min(other) },
            (key @ Self::Key { .. }, None) => key,
        }
    }
}
