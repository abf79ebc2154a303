//! Faults that other systems of this kind have had, each played once and named.

use std::time::Duration;

use hookbox_core::job::{Job, ReviewReason, State, Status};
use hookbox_core::limits::WORKER_TIMEOUT;
use hookbox_ledger::test_support::Fault;
use hookbox_worker::Batch;
use serde_json::json;

use crate::harness::process::{now, virtual_time};
use crate::harness::world::ATTEMPTS;
use crate::harness::world::Connection::Single;
use crate::harness::{Delivery, History, Intruder, Manner, Mood, Step, Trouble, What, World};

fn arrival() -> Step {
    Step::Deliver(Delivery::one(Single, 1))
}

fn kept(world: &World) {
    assert_eq!(world.fault(), None);
}

/// The only job of an operation.
fn job(world: &World, operation: &str) -> Job {
    let key = world.jobs().into_iter().find(|key| key.operation.as_str() == operation).expect("a job");
    world.stored(&key).expect("a stored job")
}

fn effects(world: &World, operation: &str) -> usize {
    world.destination.effects(&job(world, operation).key.to_string())
}

/// The first call of this name, in a run without trouble.
fn first_call(history: &History, operation: &str) -> usize {
    history.play().faults.log().iter().position(|effect| effect.operation == operation).expect("such a call")
}

/// The marker is committed, the message never sent.
#[test]
fn a_job_whose_message_was_never_sent_is_done() {
    let steps = vec![Step::Stream { off: true }, arrival(), Step::Settle];
    let world = History::of_single(&["key"], steps).play();
    kept(&world);
    assert_eq!((job(&world, "key").status(), effects(&world, "key")), (Status::Completed, 1));

    let history = History::of_single(&["key"], vec![arrival(), Step::Settle]);
    let call = first_call(&history, "SendMessageBatch");
    let world = history.with(Trouble { call, what: What::Fault(Fault::StopBefore) }).play();
    kept(&world);
    assert_eq!((job(&world, "key").status(), effects(&world, "key")), (Status::Completed, 1));
}

/// Whoever held the lease is dead.
#[test]
fn a_lease_whose_holder_is_dead_is_taken_over() {
    let history = History::of_single(&["key"], vec![arrival(), Step::Settle]);
    let call = first_call(&history, "POST");
    for fault in [Fault::StopBefore, Fault::StopAfter] {
        let world = history.with(Trouble { call, what: What::Fault(fault) }).play();
        kept(&world);
        assert_eq!((job(&world, "key").status(), effects(&world, "key")), (Status::Completed, 1), "{fault:?}");
        assert_eq!(job(&world, "key").attempts_total, 2, "{fault:?}");
    }
}

/// Every worker dies in its call: taking over counts as an attempt.
#[test]
fn taking_over_does_not_go_past_the_bound_of_attempts() {
    let mut history = History::of_single(&["key"], vec![arrival(), Step::Settle]);
    for _ in 0..20 {
        let log = history.play().faults.log();
        let Some(call) = log.iter().position(|effect| effect.operation == "POST" && effect.fault.is_none()) else {
            break;
        };
        history = history.with(Trouble { call, what: What::Fault(Fault::StopAfter) });
    }
    let world = history.play();
    kept(&world);
    assert_eq!(history.troubles.len(), ATTEMPTS);
    let job = job(&world, "key");
    assert_eq!((job.status(), job.attempts.len()), (Status::Review, ATTEMPTS));
}

/// The first worker comes back after another one has finished.
#[test]
fn a_late_worker_does_not_overwrite() {
    let refuses_first = Step::Be("key", Mood::First(1, Manner::Answers(422)));
    let work = Step::Work { most: 1, first: 0 };
    let steps = vec![refuses_first, Step::Stream { off: true }, arrival(), Step::Wait(300), Step::Sweep, work];
    let history = History::of_single(&["key"], steps);
    let call = first_call(&history, "POST");
    let world = history.with(Trouble { call, what: What::Meanwhile(Intruder::TakeOver) }).play();
    kept(&world);
    assert_eq!((job(&world, "key").status(), effects(&world, "key")), (Status::Completed, 1));
    let late = world.said.lock().unwrap().iter().any(|line| line.contains("LateOutcomes"));
    assert!(late, "the late outcome is recorded");
}

/// A key in another spelling, and the queue takes the failures for done.
#[test]
fn failures_are_answered_in_the_shape_that_the_queue_and_the_stream_read() {
    let runtime = virtual_time();
    let _entered = runtime.enter();
    let world = World::new([Some(&["key"]), None, None]);
    let answer = now(world.worker().handle(&batch(&["no message"]), world.now()));
    let expected = json!({"batchItemFailures": [{"itemIdentifier": "m0"}]});
    assert_eq!(serde_json::to_value(answer.unwrap()).unwrap(), expected);

    world.deliver(&Delivery::one(Single, 1));
    let event = json!({"Records": world.stream.lock().unwrap().batch(1)});
    let sequence_number = event["Records"][0]["dynamodb"]["SequenceNumber"].as_str().expect("a sequence number");
    for _ in 0..12 {
        world.faults.on_next("SendMessageBatch", Fault::Internal);
    }
    let answer = now(world.dispatcher().dispatch(&event));
    let expected = json!({"batchItemFailures": [{"itemIdentifier": sequence_number}]});
    assert_eq!(serde_json::to_value(answer.unwrap()).unwrap(), expected);
}

/// One body that is no message beside one that is.
#[test]
fn one_bad_body_does_not_fail_its_batch() {
    let runtime = virtual_time();
    let _entered = runtime.enter();
    let world = World::new([Some(&["key"]), None, None]);
    world.deliver(&Delivery::one(Single, 1));
    let message = hookbox_queue::Message::wake_up(job(&world, "key").key).to_json();
    let deadline = world.now().plus(WORKER_TIMEOUT);
    let answer = now(world.worker().handle(&batch(&["{", &message]), deadline)).unwrap();
    let back: Vec<_> = answer.failures.iter().map(|failure| failure.message_id.as_str()).collect();
    assert_eq!(back, ["m0"], "only the bad one comes back");
    world.follow();
    assert_eq!(job(&world, "key").status(), Status::Completed);
}

/// The table is throttled while a message comes again and again.
#[test]
fn receives_without_a_claim_use_no_attempt() {
    let runtime = virtual_time();
    let _entered = runtime.enter();
    let world = World::new([Some(&["key"]), None, None]);
    world.deliver(&Delivery::one(Single, 1));
    world.dispatch();
    for _ in 0..3 {
        for _ in 0..12 {
            world.faults.on_next("Query", Fault::Throttle);
        }
        assert!(world.work(10, 0));
        assert!(world.faults.all_happened());
        assert_eq!((job(&world, "key").status(), job(&world, "key").attempts_total), (Status::Pending, 0));
        world.clock.advance(Duration::from_secs(400));
    }
    assert!(world.work(10, 0));
    assert_eq!((job(&world, "key").status(), job(&world, "key").attempts_total), (Status::Completed, 1));
}

/// No time left is not the same as no limit.
#[test]
fn a_remaining_time_of_zero_is_no_time() {
    let runtime = virtual_time();
    let _entered = runtime.enter();
    let world = World::new([Some(&["key"]), None, None]);
    world.deliver(&Delivery::one(Single, 1));
    let key = job(&world, "key").key;
    let message = hookbox_queue::Message::wake_up(key).to_json();
    let answer = now(world.worker().handle(&batch(&[&message]), world.now())).unwrap();
    assert_eq!(answer.failures.len(), 1, "the message goes back");
    assert_eq!(job(&world, "key").attempts_total, 0);
}

/// Two operations of one event fail at once: each has its own retries.
#[test]
fn two_operations_do_not_share_a_retry() {
    let fails = |operation| Step::Be(operation, Mood::First(2, Manner::Unreachable));
    let steps = vec![fails("key"), fails("none"), arrival(), Step::Settle];
    let world = History::of_single(&["key", "none"], steps).play();
    kept(&world);
    for operation in ["key", "none"] {
        let job = job(&world, operation);
        assert_eq!((job.status(), job.attempts_total), (Status::Completed, 3), "{operation}");
    }
}

/// The destination leaves the configuration while a job waits for it.
#[test]
fn a_job_whose_destination_is_removed_goes_to_a_person() {
    let steps = vec![Step::Stream { off: true }, arrival(), Step::Configure(Single, vec![]), Step::Settle];
    let world = History::of_single(&["key"], steps).play();
    kept(&world);
    assert_eq!(job(&world, "key").state, State::Review { reason: ReviewReason::OperationRemoved });
}

/// A person replays a job, and after its end once more.
#[test]
fn a_second_replay_by_hand_is_not_swallowed() {
    let steps = vec![arrival(), Step::Settle, Step::Replay(0), Step::Settle, Step::Replay(0), Step::Settle];
    let world = History::of_single(&["key"], steps).play();
    kept(&world);
    let job = job(&world, "key");
    assert_eq!((job.status(), job.round, job.attempts_total), (Status::Completed, 3, 3));
}

fn batch(bodies: &[&str]) -> Batch {
    let record = |(i, body): (usize, &&str)| json!({"messageId": format!("m{i}"), "body": body});
    Batch { records: bodies.iter().enumerate().map(record).collect() }
}
