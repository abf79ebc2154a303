//! What happens, as data.

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::key::JobKey;
use hookbox_core::limits::{LEASE_MARGIN, WORKER_TIMEOUT};
use hookbox_core::transition::replay::ForgottenKey;
use hookbox_ledger::test_support::Fault;

use super::destination::Mood;
use super::process::virtual_time;
use super::provider::Delivery;
use super::queue::BATCH;
use super::world::{Connection, World};

/// Everything that happens in one run, before everything works again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    /// What the events of the first connection require, where it is configured.
    pub(crate) single: Option<Vec<&'static str>>,
    /// What the events of the second connection require, where it is configured.
    pub(crate) batch: Option<Vec<&'static str>>,
    /// What the events of the third connection require, where it is configured.
    pub(crate) token: Option<Vec<&'static str>>,
    pub(crate) steps: Vec<Step>,
    pub(crate) troubles: Vec<Trouble>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The provider delivers.
    Deliver(Delivery),
    /// The provider delivers again what has no success yet.
    DeliverAgain,
    /// The stream gives the dispatcher a batch.
    Dispatch,
    /// The queue gives the worker up to so many messages, beginning with any of them.
    Work { most: usize, first: usize },
    /// The sweeper runs.
    Sweep,
    /// Time passes, in seconds.
    Wait(u64),
    /// Days pass; the sweeper runs in each, and time to live deletes.
    WaitDays(u64),
    /// The stream delivers nothing from now on, or again.
    Stream { off: bool },
    /// The stream delivers its last batch again.
    RepeatBatch,
    /// A message is received although somebody works on it.
    RepeatMessage(usize),
    /// A message is lost.
    LoseMessage(usize),
    /// The destination of an operation changes its mood.
    Be(&'static str, Mood),
    /// A person pauses an operation.
    Pause(Connection, &'static str),
    /// A person ends the pause of an operation.
    Resume(Connection, &'static str),
    /// A person asks for the effect of a job again; jobs are counted in the order of their keys.
    Replay(usize),
    /// The same, unless the destination may have forgotten its key.
    ReplayRemembered(usize),
    /// A person decides that a job is not needed.
    Dismiss(usize),
    /// A person writes the configuration of a connection.
    Configure(Connection, Vec<&'static str>),
    /// Everything that can be done now is done, until nothing is left.
    Settle,
}

/// What goes wrong with the call of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) call: usize,
    pub(crate) what: What,
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A fault.
    Fault(Fault),
    /// Somebody acts just before it; at a destination, before its answer.
    Meanwhile(Intruder),
}

/// Who acts in the middle of somebody else's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intruder {
    /// Another worker, with another copy of a message.
    Worker,
    /// A sweeper.
    Sweeper,
    /// The provider delivers its latest delivery once more.
    Provider,
    /// A person ends all pauses.
    Person,
    /// So much time passes that a lease has expired; a sweeper and another worker take over.
    TakeOver,
}

impl History {
    /// A history of the first connection alone.
    pub(crate) fn of_single(operations: &[&'static str], steps: Vec<Step>) -> Self {
        Self { single: Some(operations.to_vec()), steps, ..Self::default() }
    }

    /// A history of the second connection alone.
    pub(crate) fn of_batch(operations: &[&'static str], steps: Vec<Step>) -> Self {
        Self { batch: Some(operations.to_vec()), steps, ..Self::default() }
    }

    /// A history of the third connection alone.
    pub(crate) fn of_token(operations: &[&'static str], steps: Vec<Step>) -> Self {
        Self { token: Some(operations.to_vec()), steps, ..Self::default() }
    }

    /// The same with one more thing that goes wrong.
    pub(crate) fn with(&self, trouble: Trouble) -> Self {
        let mut troubled = self.clone();
        troubled.troubles.push(trouble);
        troubled
    }

    /// Plays it, and then lets everything come to rest without anything going wrong.
    pub(crate) fn play(&self) -> Arc<World> {
        let runtime = virtual_time();
        let _entered = runtime.enter();
        let world = World::new([self.single.as_deref(), self.batch.as_deref(), self.token.as_deref()]);
        let _listening = world.heard.listen();
        for Trouble { call, what } in &self.troubles {
            match what {
                What::Fault(fault) => {
                    world.faults.at(*call, *fault);
                }
                What::Meanwhile(intruder) => world.interrupts.before(*call, *intruder),
            }
        }
        for step in &self.steps {
            world.take(step);
        }
        world.calm_down();
        world
    }
}

impl World {
    fn take(&self, step: &Step) {
        match step {
            Step::Deliver(delivery) => self.deliver(delivery),
            Step::DeliverAgain => {
                self.deliver_again();
            }
            Step::Dispatch => {
                self.dispatch();
            }
            Step::Work { most, first } => {
                self.work(*most, *first);
            }
            Step::Sweep => self.sweep(),
            Step::Wait(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            Step::WaitDays(days) => self.wait_days(*days),
            Step::Stream { off } => self.stream.lock().unwrap().off = *off,
            Step::RepeatBatch => self.stream.lock().unwrap().repeat(),
            Step::RepeatMessage(place) => self.messages.lock().unwrap().repeat(*place, self.now()),
            Step::LoseMessage(place) => self.messages.lock().unwrap().lose(*place),
            Step::Be(operation, mood) => self.destination.be(operation, *mood),
            Step::Pause(connection, operation) => self.pause(*connection, operation),
            Step::Resume(connection, operation) => self.resume(*connection, operation),
            Step::Replay(place) => self.with_job(*place, |world, job| world.replay(job, ForgottenKey::Accept)),
            Step::ReplayRemembered(place) => {
                self.with_job(*place, |world, job| world.replay(job, ForgottenKey::Refuse));
            }
            Step::Dismiss(place) => self.with_job(*place, Self::dismiss),
            Step::Configure(connection, operations) => self.configure(*connection, operations),
            Step::Settle => self.settle(),
        }
    }

    /// Half a day at a time, because a sweeper that never runs in days is not what is promised for.
    fn wait_days(&self, days: u64) {
        for _ in 0..2 * days {
            self.clock.advance(Duration::from_secs(12 * 3_600));
            self.sweep();
            while self.work(BATCH, 0) {}
            self.expire();
        }
    }

    fn with_job(&self, place: usize, act: impl Fn(&Self, &JobKey)) {
        let jobs = self.jobs();
        if !jobs.is_empty() {
            act(self, &jobs[place % jobs.len()]);
        }
    }

    /// Lets somebody act in the middle of somebody else's step.
    pub(crate) fn let_in(&self, intruder: Intruder) {
        // What was done in the middle of the step counts from now on.
        self.follow();
        match intruder {
            Intruder::Worker => {
                self.collect_messages();
                self.messages.lock().unwrap().repeat(0, self.now());
                self.work(BATCH, 0);
            }
            Intruder::Sweeper => self.sweep(),
            Intruder::Provider => self.deliver_twice(),
            Intruder::Person => {
                for connection in Connection::ALL {
                    for operation in self.paused(connection) {
                        self.resume(connection, &operation);
                    }
                }
            }
            Intruder::TakeOver => {
                self.clock.advance(WORKER_TIMEOUT + LEASE_MARGIN + Duration::from_secs(60));
                self.sweep();
                self.work(BATCH, 0);
            }
        }
    }
}
