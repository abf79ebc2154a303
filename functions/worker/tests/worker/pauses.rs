//! A refused credential pauses its operation, and paused jobs are held.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::FutureExt as _;
use hookbox_core::integration::Idempotency;
use hookbox_core::job::{AttemptOutcome, State, Status};
use hookbox_core::key::JobKey;
use hookbox_core::outcome::{ErrorText, Report};
use hookbox_ledger::Pause;
use hookbox_runtime::Metric;
use hookbox_worker::{Call, Operation, Worker};

use crate::world::{INVOCATION, World, own};

async fn pauses(world: &World) -> Vec<Pause> {
    world.ledger.pauses(&"stripe".parse().unwrap(), &"demo".parse().unwrap()).await.unwrap().items
}

async fn pause(world: &World, key: &JobKey) -> Pause {
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let reason = ErrorText::new("maintenance");
    world.ledger.put_pause(&provider, &account, &key.operation, &reason, world.clock_now()).await.unwrap()
}

#[tokio::test]
async fn a_refused_credential_pauses_the_operation_and_holds_its_jobs_with_their_attempts() {
    let world = World::new().await;
    world.answers("/unauthorized", &[401]).await;
    let key = world.one(world.http("/unauthorized", Idempotency::None)).await;
    let worker = world.worker();
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    let job = world.job(&key).await;
    assert_eq!((job.status(), job.attempts.len()), (Status::Held, 0));
    assert_eq!(job.last_error.unwrap().code.as_str(), "http-401");
    let stands = pauses(&world).await;
    assert_eq!(
        (stands.len(), stands[0].reason.as_str(), stands[0].at),
        (1, "answered 401 Unauthorized", world.clock_now())
    );

    let next = world.receive("evt_2").await.remove(0);
    assert!(world.invoke(&worker, std::slice::from_ref(&next)).await.is_empty());
    assert_eq!((world.status(&next).await, world.calls().await.len()), (Status::Held, 1), "no second call");
    assert_eq!((world.counted(Metric::OperationPaused), world.counted(Metric::JobsHeld)), (1, 2));
    // A message of a held job changes nothing.
    let held = world.job(&key).await;
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    assert_eq!(world.job(&key).await, held);
}

#[tokio::test]
async fn only_the_paused_operation_is_held() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let mut other = world.http("/ok", Idempotency::key());
    other.name = "other".parse().unwrap();
    world.configure(vec![world.http("/ok", Idempotency::key()), other], None).await;
    let keys = world.receive("evt_1").await;
    pause(&world, &keys[0]).await;
    assert!(world.invoke(&world.worker(), &keys).await.is_empty());
    assert_eq!(world.status(&keys[0]).await, Status::Held);
    assert_eq!(world.status(&keys[1]).await, Status::Completed);
}

#[tokio::test]
async fn an_operation_resumed_while_its_job_was_being_held_is_due_at_once() {
    let world = World::new().await;
    world.answers("/unauthorized", &[401]).await;
    let key = world.one(world.http("/unauthorized", Idempotency::key())).await;
    let ledger = world.ledger.clone();
    *world.meanwhile.lock().unwrap() = Some(Box::new(move |line| {
        if line.get(Metric::OperationPaused.name()).is_some() {
            // The table is in this process: every call is done when it is polled once.
            let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
            let pause = ledger.pauses(&provider, &account).now_or_never().unwrap().unwrap().items.remove(0);
            ledger.delete_pause(&pause).now_or_never().unwrap().unwrap();
        }
    }));
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    let job = world.job(&key).await;
    assert_eq!((job.status(), job.attempts.len()), (Status::Retrying, 0), "the attempt is given back");
    assert_eq!(world.wake_ups().await, [(key, 0)]);
    assert!(pauses(&world).await.is_empty());
}

/// After a rollback a pause may be newer than the worker: its jobs wait, whatever time it takes.
#[tokio::test]
async fn under_a_pause_that_cannot_be_read_jobs_wait_and_use_nothing_up() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    pause(&world, &key).await;
    wait_under_a_newer(&world, &key, "pause#deliver").await;
    world.table.delete_item("integration#stripe#demo", "pause#deliver").await;
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    assert_eq!((world.status(&key).await, world.calls().await.len()), (Status::Completed, 1));
}

/// So may the configuration, and what it requires of the job is not known until a newer worker reads it.
#[tokio::test]
async fn under_a_configuration_that_cannot_be_read_jobs_wait_and_use_nothing_up() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let readable = world.table.item("integration#stripe#demo", "config").await.unwrap();
    wait_under_a_newer(&world, &key, "config").await;
    world.table.put_item(readable).await;
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    assert_eq!((world.status(&key).await, world.calls().await.len()), (Status::Completed, 1));
}

/// Twenty looks at a job while this item of its connection is of a newer version.
async fn wait_under_a_newer(world: &World, key: &JobKey, item: &str) {
    let mut newer = world.table.item("integration#stripe#demo", item).await.unwrap();
    newer.insert("schema".to_owned(), AttributeValue::N("2".to_owned()));
    world.table.put_item(newer).await;
    let worker = world.worker();
    for looked in 1..=20 {
        assert!(world.invoke(&worker, std::slice::from_ref(key)).await.is_empty());
        let job = world.job(key).await;
        let State::Retrying { next_attempt_at } = job.state else { panic!("{:?}", job.state) };
        assert_eq!((job.attempts_total, job.wakes), (0, 0));
        assert_eq!(world.counted(Metric::ItemsUnreadable), looked);
        world.clock.set(next_attempt_at);
    }
}

/// Its process dies in the call.
struct Dies;

impl Operation for Dies {
    async fn call(&self, _: &Call<'_>) -> Report {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_expired_lease_under_a_pause_is_resolved_and_held_without_a_call() {
    for (idempotency, status) in [(Idempotency::key(), Status::Held), (Idempotency::None, Status::Review)] {
        let world = World::new().await;
        let key = world.one(own("deliver", idempotency)).await;
        let worker = world.worker_of(Worker::builder().operation("own", Dies), world.ledger.clone());
        let keys = [key.clone()];
        assert!(world.invoke(&worker, &keys).now_or_never().is_none());
        world.clock.advance(INVOCATION + Duration::from_secs(15));
        pause(&world, &key).await;
        assert!(world.invoke(&worker, &keys).await.is_empty());
        let job = world.job(&key).await;
        assert_eq!((job.status(), job.attempts.len()), (status, 1), "only the attempt that was made");
        assert_eq!(job.attempts[0].result.as_ref().unwrap().outcome, AttemptOutcome::Uncertain);
        assert!(job.uncertain.is_some());
    }
}
