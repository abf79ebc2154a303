//! How a call is made again: a bounded, jittered loop that takes its time from the configuration.

use std::future::Future;
use std::time::{Duration, UNIX_EPOCH};

use aws_sdk_dynamodb::error::SdkError;
use aws_smithy_async::future::timeout::Timeout;
use aws_smithy_async::rt::sleep::{AsyncSleep as _, SharedAsyncSleep, default_async_sleep};
use aws_smithy_async::time::SharedTimeSource;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_types::SdkConfig;
use hookbox_core::surroundings::Random;
use hookbox_core::time::Timestamp;

use crate::classify::{Classify, Failure, failure};
use crate::error::LedgerError;

/// How long a call may take, with all that it tries again, when the caller states nothing.
const BUDGET: Duration = Duration::from_secs(10);
/// The most tries of one call.
const MAX_TRIES: u32 = 12;
/// The wait before the second try.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Where calls take their time from, and until when they may.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    time: SharedTimeSource,
    sleep: Option<SharedAsyncSleep>,
    deadline: Option<Timestamp>,
}

impl Pace {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        Self {
            time: config.time_source().unwrap_or_default(),
            sleep: config.sleep_impl().or_else(default_async_sleep),
            deadline: None,
        }
    }

    pub(crate) fn until(&self, deadline: Timestamp) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    fn now(&self) -> Timestamp {
        let since_epoch = self.time.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(0).plus(since_epoch)
    }

    /// The tries of one call.
    pub(crate) fn tries<'a>(&'a self, random: &'a dyn Random) -> Tries<'a> {
        let deadline = self.deadline.unwrap_or_else(|| self.now().plus(BUDGET));
        Tries { pace: self, random, deadline, made: 0 }
    }
}

/// The tries of one call, counted and timed.
#[derive(Debug)]
pub(crate) struct Tries<'a> {
    pace: &'a Pace,
    random: &'a dyn Random,
    deadline: Timestamp,
    made: u32,
}

impl Tries<'_> {
    /// Makes one try, which ends at the deadline at the latest.
    pub(crate) fn make<'s, T, E: Classify>(
        &'s mut self,
        call: impl Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send + 's,
    ) -> impl Future<Output = Result<T, Failure>> + Send + 's {
        // The SDK's futures are several kilobytes, and every caller up to the handler would hold them in its own.
        let call = Box::pin(call);
        self.made += 1;
        async move {
            let left = self.deadline.since(self.pace.now());
            if left.is_zero() {
                return Err(Failure::Error(LedgerError::OutOfTime { last: None }));
            }
            let Some(sleep) = &self.pace.sleep else { return call.await.map_err(failure) };
            match Timeout::new(call, sleep.sleep(left)).await {
                Ok(answer) => answer.map_err(failure),
                Err(timed_out) => {
                    let last = LedgerError::Unavailable { source: Box::new(timed_out) };
                    Err(Failure::Error(LedgerError::OutOfTime { last: Some(Box::new(last)) }))
                }
            }
        }
    }

    /// Waits before the next try, or gives up: when trying again cannot help, when there were enough, and when the
    /// deadline would pass.
    pub(crate) async fn again(&mut self, failure: Failure) -> Result<(), LedgerError> {
        let error = failure.into_error();
        let passing = error.is_transient() && !matches!(error, LedgerError::OutOfTime { .. });
        if !passing || self.made >= MAX_TRIES {
            return Err(error);
        }
        let wait = self.wait();
        if self.pace.now().plus(wait) >= self.deadline {
            return Err(LedgerError::OutOfTime { last: Some(Box::new(error)) });
        }
        tracing::debug!(%error, tries = self.made, "trying again");
        if let Some(sleep) = &self.pace.sleep {
            sleep.sleep(wait).await;
        }
        Ok(())
    }

    /// Doubles with every try; between half and all of it is waited, so that racers do not meet again.
    fn wait(&self) -> Duration {
        let full = FIRST_WAIT.saturating_mul(1 << self.made.saturating_sub(1).min(10)).min(LONGEST_WAIT);
        let half = u64::try_from(full.as_millis() / 2).unwrap_or(0);
        Duration::from_millis(half + self.random.next_u64() % (half + 1))
    }
}
