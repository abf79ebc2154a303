//! How a call is made again.

use std::time::Duration;

use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use aws_smithy_async::time::{SharedTimeSource, TimeSource as _};
use aws_types::SdkConfig;
use hookbox_core::time::Timestamp;

/// How long a call may take, with all that it tries again, when the caller states nothing.
const BUDGET: Duration = Duration::from_secs(10);

/// When and how often a call is made again.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    time: SharedTimeSource,
    sleep: Option<SharedAsyncSleep>,
    deadline: Option<Timestamp>,
}

impl Pace {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        Self { time: config.time_source().unwrap_or_default(), sleep: config.sleep_impl(), deadline: None }
    }

    pub(crate) fn until(&self, deadline: Timestamp) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }
}
