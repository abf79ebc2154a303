//! Who holds a job, and what becomes of outcomes that come too late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join, join_all};
use futures_util::poll;
use hookbox_core::integration::Idempotency;
use hookbox_core::job::{AttemptOutcome, ReviewReason, State, Status};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::{Fault, Faults};
use hookbox_runtime::Metric;
use hookbox_worker::{Call, Operation, Worker};
use tokio::sync::Semaphore;

use crate::world::{INVOCATION, World, own, reconcile};

/// Begins, and ends when it is let go.
#[derive(Clone)]
struct Gate {
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
    report: Report,
}

impl Gate {
    fn reporting(report: Report) -> Self {
        Self { begun: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(0)), report }
    }
}

impl Operation for Gate {
    async fn call(&self, _: &Call<'_>) -> Report {
        self.begun.add_permits(1);
        self.let_go.acquire().await.unwrap().forget();
        self.report.clone()
    }
}

fn worker_with(world: &World, gate: &Gate) -> Worker {
    world.worker_of(Worker::builder().operation("own", gate.clone()), world.ledger.clone())
}

#[tokio::test]
async fn a_second_message_during_the_call_is_acknowledged_and_does_nothing() {
    let world = World::new().await;
    let key = world.one(own("deliver", Idempotency::key())).await;
    let gate = Gate::reporting(Report::done("ok"));
    let worker = worker_with(&world, &gate);
    let other = async {
        gate.begun.acquire().await.unwrap().forget();
        let claimed = world.job(&key).await;
        let until = world.clock_now().plus(INVOCATION).plus(Duration::from_secs(15));
        assert_eq!(claimed.state, State::Processing { lease_expires_at: until }, "the invocation's end and 15 s");
        let answer = world.invoke(&worker_with(&world, &gate), std::slice::from_ref(&key)).await;
        assert!(answer.is_empty() && world.job(&key).await == claimed);
        gate.let_go.add_permits(1);
    };
    let keys = [key.clone()];
    let (answer, ()) = join(world.invoke(&worker, &keys), other).await;
    assert!(answer.is_empty());
    assert_eq!((world.status(&key).await, world.job(&key).await.attempts_total), (Status::Completed, 1));
    assert!(world.wake_ups().await.is_empty(), "a lease of another is no reason for a message");
}

#[tokio::test]
async fn many_messages_of_one_job_make_one_call() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let workers: Vec<_> = (0..8).map(|_| world.worker()).collect();
    let keys = vec![key.clone(); 3];
    let answers = join_all(workers.iter().map(|worker| world.invoke(worker, &keys))).await;
    assert!(answers.iter().all(Vec::is_empty));
    assert_eq!((world.status(&key).await, world.calls().await.len()), (Status::Completed, 1));
}

#[tokio::test]
async fn a_late_outcome_is_refused_and_the_one_that_took_over_stands() {
    for late in
        [Outcome::Done, Outcome::Permanent, Outcome::CredentialRefused, Outcome::Transient { retry_after: None }]
    {
        let world = World::new().await;
        let key = world.one(own("deliver", Idempotency::key())).await;
        let slow = Gate::reporting(Report::new(late, "late", ""));
        let quick = Gate::reporting(Report::done("quick"));
        quick.let_go.add_permits(1);
        let worker = worker_with(&world, &slow);
        let takes_over = async {
            slow.begun.acquire().await.unwrap().forget();
            world.clock.advance(INVOCATION + Duration::from_secs(15));
            assert!(world.invoke(&worker_with(&world, &quick), std::slice::from_ref(&key)).await.is_empty());
            slow.let_go.add_permits(1);
            world.job(&key).await
        };
        let keys = [key.clone()];
        let (answer, stands) = join(world.invoke(&worker, &keys), takes_over).await;
        assert_eq!(stands.status(), Status::Completed);
        let outcomes: Vec<_> = stands.attempts.iter().map(|a| a.result.clone().unwrap().outcome).collect();
        assert_eq!(outcomes, [AttemptOutcome::Uncertain, AttemptOutcome::Done]);
        assert_eq!(world.job(&key).await, stands, "{late:?}");
        assert!(answer.is_empty(), "{late:?}: there is nothing left to do");
        assert_eq!(world.counted(Metric::LateOutcomes), 1, "{late:?}");
    }
}

#[tokio::test]
async fn an_expired_lease_is_judged_by_the_mode_of_its_attempt() {
    let cases = [
        (Idempotency::key(), Status::Completed),
        (reconcile("http://127.0.0.1:1/"), Status::Retrying),
        (Idempotency::None, Status::Review),
    ];
    for (idempotency, status) in cases {
        let world = World::new().await;
        let key = world.one(own("deliver", idempotency)).await;
        crash_in_call(&world, &key).await;
        let quick = Gate::reporting(Report::done("quick"));
        quick.let_go.add_permits(1);
        assert!(world.invoke(&worker_with(&world, &quick), std::slice::from_ref(&key)).await.is_empty());
        let job = world.job(&key).await;
        assert_eq!(job.status(), status);
        assert_eq!(job.attempts[0].result.as_ref().unwrap().code.as_str(), "lease-expired");
    }
}

/// A worker claims the job and dies in its call; then the lease expires.
async fn crash_in_call(world: &World, key: &hookbox_core::key::JobKey) {
    let gate = Gate::reporting(Report::done("never"));
    let worker = worker_with(world, &gate);
    let keys = [key.clone()];
    {
        let mut invocation = Box::pin(world.invoke(&worker, &keys));
        while gate.begun.try_acquire().is_err() {
            assert!(poll!(&mut invocation).is_pending());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(world.status(key).await, Status::Processing);
    world.clock.advance(INVOCATION + Duration::from_secs(15));
}

#[tokio::test]
async fn crashes_are_attempts_and_end_in_review_at_the_bound() {
    let world = World::new().await;
    let key = world.one(own("deliver", Idempotency::key())).await;
    for crash in 1..=5 {
        crash_in_call(&world, &key).await;
        assert_eq!(world.job(&key).await.attempts_total, crash);
    }
    let gate = Gate::reporting(Report::done("never"));
    world.invoke(&worker_with(&world, &gate), std::slice::from_ref(&key)).await;
    let job = world.job(&key).await;
    assert_eq!(job.state, State::Review { reason: ReviewReason::Uncertain });
    assert_eq!((job.attempts_total, gate.begun.available_permits()), (5, 0));
}

/// Notes when it was called; the first call is never answered.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<Timestamp>>>);

impl Operation for Noted {
    async fn call(&self, call: &Call<'_>) -> Report {
        let mut calls = self.0.lock().unwrap();
        calls.push(call.now);
        if calls.len() == 1 { Report::new(Outcome::Unknown, "lost", "") } else { Report::done("stored") }
    }
}

/// The claim is in time, and then its answer is slow: what is sent must still meet a destination that remembers the key.
#[tokio::test]
async fn a_repetition_is_never_on_its_way_when_the_key_is_forgotten() {
    let retention = Duration::from_secs(3_600);
    for before in [1, 15, 60, 80] {
        let world = World::new().await;
        let key = world.one(own("deliver", Idempotency::Key { retention })).await;
        let noted = Noted::default();
        let faults = Faults::none();
        let worker =
            world.worker_of(Worker::builder().operation("own", noted.clone()), world.table.ledger_through(&faults));
        assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
        let forgotten = noted.0.lock().unwrap()[0].plus(retention);
        world.clock.set(forgotten.minus(Duration::from_secs(before)));
        faults.on_next("UpdateItem", Fault::DelayReply(Duration::from_secs(20)));
        world.invoke(&worker, std::slice::from_ref(&key)).await;
        let (job, calls) = (world.job(&key).await, noted.0.lock().unwrap().clone());
        assert!(calls.iter().all(|at| *at < forgotten), "{before} s before it was forgotten: {calls:?} {forgotten}");
        if before < 75 {
            assert_eq!(job.state, State::Review { reason: ReviewReason::Uncertain }, "{before}");
        } else {
            assert_eq!((job.status(), calls.len()), (Status::Completed, 2));
        }
    }
}
