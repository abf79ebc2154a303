//! Operations: what is called for a job. Two are built in, `http` and `sqs`; a team links its own in Rust.

pub mod exchange;
pub mod http;
pub mod sqs;

use std::future::{Future, ready};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use hookbox_core::event::Payload;
use hookbox_core::integration::{Operation as OperationConfig, Target};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::time::Timestamp;
use hookbox_destination::Facts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One required effect, implemented in Rust.
///
/// The worker has written the claim before it calls and writes the outcome afterwards; an implementation only acts and
/// says honestly what came of it:
///
/// - [`Outcome::Done`]: the effect happened, now or in an earlier call with the same key.
/// - [`Outcome::Transient`]: it certainly did not happen. A call that was never made belongs here.
/// - [`Outcome::Unknown`]: nobody knows. A timeout after the request was sent belongs here; the configured
///   `idempotency` decides whether it is repeated, asked for or given to a person.
/// - [`Outcome::Permanent`]: it did not happen and will not, however often it is tried.
/// - [`Outcome::CredentialRefused`]: every job of this operation would be refused, so the operation is paused.
///
/// The future is dropped after [`Call::timeout`], which counts as unknown: an implementation that can tell more exactly
/// ends by itself before. Dropping must be safe at every await. A panic ends the process, and the job's lease with it.
pub trait Operation: Send + Sync {
    /// Has the effect, at most once for each [`Facts::job`] where the destination allows that.
    fn call(&self, call: &Call<'_>) -> impl Future<Output = Report> + Send;

    /// Asks whether an earlier call had its effect; only called under `idempotency = "reconcile"`. Unless implemented,
    /// the worker sends a `GET` to the configured address.
    fn ask(&self, _question: &Question<'_>) -> impl Future<Output = Asked> + Send {
        ready(Asked::AtAddress)
    }
}

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is known of the event; [`Facts::job`] is the idempotency key.
    pub facts: &'a Facts,
    /// The event's bytes with what is needed to read them.
    pub payload: &'a Payload,
    /// The operation as it is configured.
    pub operation: &'a OperationConfig,
    /// How long the call may take.
    pub timeout: Duration,
    /// When it began.
    pub now: Timestamp,
}

/// A question about an earlier attempt whose outcome is unknown.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What is known of the event.
    pub facts: &'a Facts,
    /// The operation as it is configured.
    pub operation: &'a OperationConfig,
    /// How long the answer may take.
    pub timeout: Duration,
    /// When it was asked.
    pub now: Timestamp,
}

/// What a destination said of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It had its effect.
    Found,
    /// It had none: the call is made again at once.
    Absent,
    /// The destination answered and cannot say: the job goes to a person.
    CannotTell(Report),
    /// No answer was to be had, for the reported reason: it is asked again by the operation's schedule.
    NoAnswer(Report),
    /// The operation does not know how to ask: the worker asks at the configured address.
    AtAddress,
}

impl Call<'_> {
    /// What the configuration says beside the name of a linked operation.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Report> {
        settings(self.operation)
    }
}

impl Question<'_> {
    /// What the configuration says beside the name of a linked operation.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Report> {
        settings(self.operation)
    }
}

/// A call that was not made because the configuration is at fault: it works once that is mended.
fn settings<T: DeserializeOwned>(operation: &OperationConfig) -> Result<T, Report> {
    let Target::Custom { settings, .. } = &operation.target else {
        return Err(misconfigured("settings", "only a linked operation has settings"));
    };
    // Without any, defaults can still be read.
    let none = Value::Object(Map::new());
    let settings = if settings.is_null() { &none } else { settings };
    T::deserialize(settings).map_err(|error| misconfigured("settings", &error.to_string()))
}

/// A call that was not made because something around it is not configured as it must be.
pub(crate) fn misconfigured(code: &str, detail: &str) -> Report {
    Report::new(Outcome::Transient { retry_after: None }, code, detail)
}

/// [`Operation`] as an object.
pub(crate) trait Linked: Send + Sync {
    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Report>;
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Asked>;
}

impl<O: Operation> Linked for O {
    fn call<'a>(&'a self, call: &'a Call<'a>) -> BoxFuture<'a, Report> {
        Operation::call(self, call).boxed()
    }

    fn ask<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Asked> {
        Operation::ask(self, question).boxed()
    }
}
