//! The worker and how it is put together.

use std::collections::BTreeMap;
use std::sync::Arc;

use hookbox_core::surroundings::{Clock, Random};
use hookbox_core::time::Timestamp;
use hookbox_ledger::Ledger;
use hookbox_queue::Queue;
use hookbox_runtime::{Metrics, Secrets, SettingsError, SystemClock, SystemRandom, WorkerSettings, sdk_config};
use lambda_runtime::{LambdaEvent, service_fn};

use crate::batch::Batch;
use crate::operation::exchange::{Client, ClientError, Exchange};
use crate::operation::http::HttpOperation;
use crate::operation::sqs::SqsOperation;
use crate::operation::{Linked, Operation};

/// The types of the configuration that mean the built-in operations.
const BUILT_IN: [&str; 2] = ["http", "sqs"];

/// The worker of one process.
pub struct Worker {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    pub(crate) operations: Operations,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) metrics: Metrics,
}

/// What a worker works with, so that a test or a simulation brings its own.
pub struct Surroundings {
    /// The ledger.
    pub ledger: Ledger,
    /// The work queue, for the wake-ups of retries.
    pub queue: Queue,
    /// Where signing secrets come from.
    pub secrets: Secrets,
    /// The way to HTTP destinations.
    pub exchange: Arc<dyn Exchange>,
    /// The way to SQS destinations.
    pub sqs: SqsOperation,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Jitter of the retry delays.
    pub random: Arc<dyn Random>,
    /// Where metrics go.
    pub metrics: Metrics,
}

/// Why a worker cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An operation of the team has the name of a built-in one.
    #[error("`{0}` is built in: link the operation under another name")]
    BuiltIn(String),
    /// Two operations have one name.
    #[error("`{0}` is linked twice")]
    Twice(String),
    /// A setting is missing or wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no HTTP client.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Puts a worker together.
#[derive(Default)]
pub struct Builder {
    linked: Vec<(String, Box<dyn Linked>)>,
}

/// Every operation that this worker can call.
pub(crate) struct Operations {
    http: HttpOperation,
    sqs: SqsOperation,
    custom: BTreeMap<String, Box<dyn Linked>>,
}

impl Builder {
    /// Links an operation under the `type` by which the configuration names it.
    #[must_use]
    pub fn operation(mut self, name: impl Into<String>, operation: impl Operation + 'static) -> Self {
        self.linked.push((name.into(), Box::new(operation)));
        self
    }

    /// The worker of a Lambda function, with everything that the environment says.
    pub async fn build(self) -> Result<Worker, BuildError> {
        let settings = WorkerSettings::from_env()?;
        let config = sdk_config().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        self.build_on(Surroundings {
            ledger: Ledger::new(&config, settings.table, settings.shards, random.clone()),
            queue: Queue::new(&config, settings.work_queue_url),
            secrets: Secrets::new(&config, clock.clone()),
            exchange: Arc::new(Client::new()?),
            sqs: SqsOperation::new(&config),
            metrics: Metrics::new(clock.clone(), "worker"),
            clock,
            random,
        })
    }

    /// A worker in surroundings of the caller's.
    pub fn build_on(self, surroundings: Surroundings) -> Result<Worker, BuildError> {
        let mut custom = BTreeMap::new();
        for (name, operation) in self.linked {
            if BUILT_IN.contains(&name.as_str()) {
                return Err(BuildError::BuiltIn(name));
            }
            if custom.insert(name.clone(), operation).is_some() {
                return Err(BuildError::Twice(name));
            }
        }
        let Surroundings { ledger, queue, secrets, exchange, sqs, clock, random, metrics } = surroundings;
        let operations = Operations { http: HttpOperation::new(exchange, secrets), sqs, custom };
        Ok(Worker { ledger, queue, operations, clock, random, metrics })
    }
}

impl Worker {
    /// Begins a worker with the built-in operations.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Serves invocations until Lambda ends the process.
    pub async fn run(self) -> Result<(), lambda_runtime::Error> {
        let worker = &self;
        let handler = service_fn(async |event: LambdaEvent<Batch>| {
            let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
            let answer = worker.handle(&event.payload, Timestamp::from_millis(deadline)).await;
            answer.map_err(lambda_runtime::Error::from)
        });
        lambda_runtime::run(handler).await
    }
}

impl Operations {
    pub(crate) fn http(&self) -> &HttpOperation {
        &self.http
    }

    pub(crate) fn sqs(&self) -> &SqsOperation {
        &self.sqs
    }

    pub(crate) fn custom(&self, name: &str) -> Option<&dyn Linked> {
        self.custom.get(name).map(AsRef::as_ref)
    }
}
