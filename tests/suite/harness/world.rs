//! What there is.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use aws_types::SdkConfig;
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::limits::DEFAULT_KEY_RETENTION;
use hookbox_core::name::{Account, Provider as ProviderName};
use hookbox_core::retry::Schedule;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::{Faults, TestClock, TestTable};
use hookbox_queue::test_support::TestQueues;
use serde_json::{Value, json};

use super::configured::Configured;
use super::destination::{Destination, KEY_RETENTION};
use super::heard::Heard;
use super::interrupts::Interrupts;
use super::process::{Parts, Processes, now};
use super::promises::{Broken, Watch};
use super::provider::Provider;
use super::queue::Messages;
use super::stream::Stream;
use super::table::Copy;

const START: Timestamp = Timestamp::from_seconds(1_764_500_000);
/// The time that a run of the sweeper has, as `template.yaml` says.
const SWEEP: Duration = Duration::from_secs(55);

/// When failed attempts are made again: short, because every attempt has its calls and every call its cuts.
const SCHEDULE: [u64; 2] = [1, 30];
/// Attempts of one round.
pub(crate) const ATTEMPTS: usize = SCHEDULE.len() + 1;

/// Everything around the functions, and the functions.
pub(crate) struct World {
    pub(crate) clock: TestClock,
    pub(crate) faults: Faults,
    pub(crate) interrupts: Interrupts,
    pub(crate) table: TestTable,
    pub(crate) queues: TestQueues,
    pub(crate) parts: Parts,
    pub(crate) processes: Processes,
    pub(crate) copy: Mutex<Copy>,
    pub(crate) stream: Mutex<Stream>,
    pub(crate) messages: Mutex<Messages>,
    pub(crate) destination: Arc<Destination>,
    pub(crate) provider: Mutex<Provider>,
    /// Lines of metrics.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
    /// Lines of the log.
    pub(crate) heard: Heard,
    /// Replays that a person asked for and that were refused.
    pub(crate) refused: Mutex<usize>,
    pub(crate) configured: Mutex<Configured>,
    pub(crate) watch: Mutex<Watch>,
    pub(crate) broken: Mutex<Vec<Broken>>,
    /// How many calls were made while something could go wrong.
    pub(crate) troubled_calls: OnceLock<usize>,
}

/// A connection to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Connection {
    /// Stripe: one event a delivery.
    Single,
    /// A generic sender: a list of events a delivery.
    Batch,
    /// Mailgun, which signs a token that is good for one delivery.
    Token,
}

/// What the events of a connection require.
pub(crate) type Operations = [&'static str];

impl World {
    /// A world whose connections, in the order of [`Connection::ALL`], require these operations, named by their mode:
    /// `key`, `reconcile` or `none`, with anything behind a hyphen. A connection of which nothing is said is not
    /// configured.
    pub(crate) fn new(required: [Option<&Operations>; 3]) -> Arc<Self> {
        let clock = TestClock::at(START);
        let faults = Faults::none();
        let interrupts = Interrupts::of(&faults);
        let table = now(TestTable::on(&clock));
        let queues = TestQueues::new();
        let through = |config: &SdkConfig| interrupts.wrap(&faults.wrap(config));
        let sqs = queues.config().to_builder().sleep_impl(clock.clone()).time_source(clock.clone()).build();
        let parts = Parts { table: through(&table.config()), sqs: through(&sqs) };
        let copy = Mutex::new(Copy::of(table.database()));
        let destination = Arc::new(Destination::new(&clock, &faults, &interrupts));
        for (connection, operations) in Connection::ALL.into_iter().zip(required) {
            let Some(operations) = operations else { continue };
            now(table.ledger().put_integration(&connection.integration(1, operations), None)).unwrap();
        }
        let world = Arc::new(Self {
            clock,
            faults,
            interrupts,
            table,
            queues,
            parts,
            processes: Processes::default(),
            copy,
            stream: Mutex::default(),
            messages: Mutex::default(),
            destination,
            provider: Mutex::default(),
            said: Arc::default(),
            heard: Heard::default(),
            refused: Mutex::default(),
            configured: Mutex::default(),
            watch: Mutex::default(),
            broken: Mutex::default(),
            troubled_calls: OnceLock::new(),
        });
        world.interrupts.act_in(&Arc::downgrade(&world));
        world.follow();
        world
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Looks at what has changed in the table, and hands it to the stream.
    pub(crate) fn follow(&self) {
        let changes = self.copy.lock().unwrap().follow();
        for change in changes {
            self.look_at_change(&change);
            if change.passes_the_filter() {
                self.stream.lock().unwrap().push(change.record);
            }
        }
    }

    /// One run of the sweeper.
    pub(crate) fn sweep(&self) {
        self.collect_messages();
        let visible = self.messages.lock().unwrap().visible(self.now());
        self.queues.set_waiting("work", visible as u64);
        let sweeper = self.sweeper();
        // What a run came to is in the table and on the queues.
        let _ = self.run(sweeper.sweep(self.now().plus(SWEEP)));
        // In this order: a notice of this run may be of an earlier review than the one that this run has caused.
        self.collect_messages();
        self.follow();
    }

    /// Time to live deletes what has expired.
    pub(crate) fn expire(&self) {
        self.table.database().sweep_ttl().unwrap();
        self.follow();
    }

    /// The first thing that was promised and is not so.
    pub(crate) fn fault(&self) -> Option<String> {
        let broken = self.broken.lock().unwrap();
        broken.first().map(|broken| format!("{}: {}", broken.promise, broken.what))
    }

    /// Something that was promised is not so.
    pub(crate) fn report(&self, promise: &'static str, what: String) {
        self.broken.lock().unwrap().push(Broken { promise, what });
    }
}

impl Connection {
    pub(crate) const ALL: [Self; 3] = [Self::Single, Self::Batch, Self::Token];

    pub(crate) fn provider(self) -> ProviderName {
        match self {
            Self::Single => "stripe".parse().unwrap(),
            Self::Batch => "generic".parse().unwrap(),
            Self::Token => "mailgun".parse().unwrap(),
        }
    }

    #[expect(clippy::unused_self, reason = "stands beside `provider`")]
    pub(crate) fn account(self) -> Account {
        "demo".parse().unwrap()
    }

    /// What the integration changes of its profile.
    pub(crate) fn verify(self) -> Option<Value> {
        let each = json!([{"as": "item", "path": "$[*]"}]);
        let event = json!({"each": each, "id": "item:$.id", "kind": "item:$.type", "resource": "item:$.data.id"});
        (self == Self::Batch).then(|| json!({"event": event}))
    }

    /// How long what comes through it is kept: shorter than anybody would, so that histories outlive it.
    pub(crate) fn retention(self) -> Retention {
        let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
        match self {
            Self::Single => Retention { payload: days(7), receipt: days(12) },
            Self::Batch | Self::Token => Retention { payload: days(4), receipt: days(6) },
        }
    }

    /// The configuration with these operations.
    pub(crate) fn integration(self, rev: u64, operations: &Operations) -> Integration {
        Integration {
            provider: self.provider(),
            account: self.account(),
            url: None,
            rev,
            secrets: vec![SecretRef::Env("PROVIDER".to_owned())],
            variant: None,
            verify: self.verify(),
            tenants: Vec::new(),
            operations: operations.iter().map(|name| operation(name)).collect(),
            retention: self.retention(),
        }
    }
}

const _: () = assert!(KEY_RETENTION.as_secs() == DEFAULT_KEY_RETENTION.as_secs());

fn operation(name: &str) -> Operation {
    let mode = name.split('-').next().unwrap_or_default();
    let idempotency = match mode {
        "key" => Idempotency::key(),
        "reconcile" => Idempotency::Reconcile { url: "https://destination.invalid/asked/{job_key}".to_owned() },
        "none" => Idempotency::None,
        other => panic!("no mode {other}"),
    };
    let target = Target::Http {
        url: format!("https://destination.invalid/{mode}/{name}"),
        signing_secret: SecretRef::Env("SIGNING".to_owned()),
        not_done_statuses: Vec::new(),
    };
    let schedule = Schedule::new(SCHEDULE.map(Duration::from_secs).to_vec()).unwrap();
    Operation { schedule, ..Operation::new(name.parse().unwrap(), idempotency, target) }
}
