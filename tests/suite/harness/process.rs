//! The functions as processes: whoever dies loses what was in memory.

use std::future::Future;
use std::sync::{Arc, Mutex};

use aws_types::SdkConfig;
use futures_util::FutureExt as _;
use hookbox_core::key::Shards;
use hookbox_dispatcher::Dispatcher;
use hookbox_ingest::Ingest;
use hookbox_ledger::Ledger;
use hookbox_ledger::test_support::TestRandom;
use hookbox_providers::Profiles;
use hookbox_queue::Queue;
use hookbox_runtime::{Documents, Https, Metrics, Secrets};
use hookbox_sweeper::Sweeper;
use hookbox_worker::operation::sqs::SqsOperation;
use hookbox_worker::{Surroundings, Worker};

use super::world::World;

/// Verifies deliveries, and must never be seen anywhere.
pub(crate) const PROVIDER_SECRET: &str = "whsec_bmV2ZXItdG8tYmUtc2Vlbg==";
/// Signs what is sent to destinations, and must never be seen anywhere.
pub(crate) const SIGNING_SECRET: &str = "whsec_b3V0Z29pbmctbmV2ZXItc2Vlbg==";

/// One list of each kind: what happens to several is the sweeper's own test, and each costs a call in every run.
const SHARDS: Shards = Shards::new(1).unwrap();

/// Tells the tokens of these ledgers from those of ledgers that tests make.
const LEDGERS: u64 = 0x1ed_6e25;

/// The processes that are alive.
#[derive(Default)]
pub(crate) struct Processes {
    ingest: Mutex<Option<Arc<Ingest>>>,
    dispatcher: Mutex<Option<Arc<Dispatcher>>>,
    worker: Mutex<Option<Arc<Worker>>>,
    sweeper: Mutex<Option<Arc<Sweeper>>>,
    born: Mutex<u64>,
}

/// What a process is made from.
pub(crate) struct Parts {
    /// To the table, through faults and interrupts.
    pub(crate) table: SdkConfig,
    /// To the queues, through faults and interrupts.
    pub(crate) sqs: SdkConfig,
}

impl World {
    /// Runs something of a process to its end. `None` when the process died on the way: nobody hears what it said, and
    /// the next one begins with nothing.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let said = now(work);
        if self.faults.is_stopped() {
            self.faults.restart();
            self.processes.die();
            return None;
        }
        Some(said)
    }

    pub(crate) fn ingest(&self) -> Arc<Ingest> {
        living(&self.processes.ingest, || {
            let metrics = self.metrics("ingest");
            let clock = Arc::new(self.clock.clone());
            // None of the profiles here needs a document.
            let documents = Documents::new(Arc::new(Https::default()), clock.clone());
            Ingest::new(self.ledger(), Profiles::built_in(), self.secrets(), documents, clock, metrics)
        })
    }

    pub(crate) fn dispatcher(&self) -> Arc<Dispatcher> {
        living(&self.processes.dispatcher, || {
            Dispatcher::new(self.queue("work"), self.queue("dead"), self.metrics("dispatcher"))
        })
    }

    pub(crate) fn worker(&self) -> Arc<Worker> {
        living(&self.processes.worker, || {
            let surroundings = Surroundings {
                ledger: self.ledger(),
                queue: self.queue("work"),
                secrets: self.secrets(),
                exchange: self.destination.clone(),
                sqs: SqsOperation::new(&self.parts.sqs),
                clock: Arc::new(self.clock.clone()),
                random: TestRandom::seeded(self.processes.birth()),
                metrics: self.metrics("worker"),
            };
            Worker::builder().build_on(surroundings).unwrap()
        })
    }

    pub(crate) fn sweeper(&self) -> Arc<Sweeper> {
        living(&self.processes.sweeper, || {
            let clock = Arc::new(self.clock.clone());
            Sweeper::new(self.ledger(), self.queue("work"), self.queue("dead"), clock, self.metrics("sweeper"))
        })
    }

    /// The ledger of a new process.
    pub(crate) fn ledger(&self) -> Ledger {
        let random = TestRandom::seeded(self.processes.birth() << 40 | LEDGERS);
        Ledger::new(&self.parts.table, self.table.name(), SHARDS, random)
    }

    fn queue(&self, name: &str) -> Queue {
        Queue::new(&self.parts.sqs, format!("http://sqs.invalid/1/{name}"))
    }

    fn secrets(&self) -> Secrets {
        let environment = |name: &str| match name {
            "PROVIDER" => Some(PROVIDER_SECRET.to_owned()),
            "SIGNING" => Some(SIGNING_SECRET.to_owned()),
            _ => None,
        };
        Secrets::new(&self.parts.table, Arc::new(self.clock.clone())).with_environment(environment)
    }

    fn metrics(&self, function: &'static str) -> Metrics {
        let said = Arc::clone(&self.said);
        let sink = move |line: &str| said.lock().unwrap().push(line.to_owned());
        Metrics::to(Arc::new(self.clock.clone()), function, Arc::new(sink))
    }
}

impl Processes {
    /// A number that no other process of this world has, the same in every run.
    fn birth(&self) -> u64 {
        let mut born = self.born.lock().unwrap();
        *born += 1;
        *born
    }

    /// All of them: a process that is not the dead one loses nothing that it may rely on.
    fn die(&self) {
        *self.ingest.lock().unwrap() = None;
        *self.dispatcher.lock().unwrap() = None;
        *self.worker.lock().unwrap() = None;
        *self.sweeper.lock().unwrap() = None;
    }
}

fn living<T>(slot: &Mutex<Option<Arc<T>>>, born: impl FnOnce() -> T) -> Arc<T> {
    if let Some(alive) = slot.lock().unwrap().as_ref() {
        return Arc::clone(alive);
    }
    let new = Arc::new(born());
    *slot.lock().unwrap() = Some(Arc::clone(&new));
    new
}

/// For timeouts of the product, which are never reached.
pub(crate) fn virtual_time() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// The result of something that never waits.
pub(crate) fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("on virtual time everything is done when it is polled once")
}
