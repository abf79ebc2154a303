//! Which messages go back to the queue, and in which words.

use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::integration::Idempotency;
use hookbox_core::job::Status;
use hookbox_core::key::JobKey;
use hookbox_ledger::test_support::{Fault, Faults};
use hookbox_queue::Message;
use hookbox_runtime::Metric;
use hookbox_worker::{Batch, Worker};
use serde_json::json;

use crate::world::{INVOCATION, World, invoke_within, record};

fn unknown_job() -> JobKey {
    JobKey::first(Digest::of(b"nobody").to_string().parse().unwrap(), "deliver".parse().unwrap())
}

#[tokio::test]
async fn one_bad_message_does_not_fail_the_batch_and_the_answer_has_the_shape_that_sqs_reads() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let records = vec![
        record("not-json", "hello"),
        record("good", &Message::wake_up(key.clone()).to_json()),
        record("not-a-key", r#"{"job":"x"}"#),
        json!({"messageId": "no-body"}),
        json!({"messageId": "odd-body", "body": {"job": key.to_string()}}),
    ];
    let answer = world.worker().handle(&Batch { records }, world.clock_now().plus(INVOCATION)).await.unwrap();
    let expected = json!({"batchItemFailures": [
        {"itemIdentifier": "not-json"},
        {"itemIdentifier": "not-a-key"},
        {"itemIdentifier": "no-body"},
        {"itemIdentifier": "odd-body"},
    ]});
    assert_eq!(serde_json::to_value(&answer).unwrap(), expected);
    assert_eq!(world.status(&key).await, Status::Completed);
    assert_eq!(world.counted(Metric::MessagesUnusable), 4);
    let none = world.worker().handle(&Batch { records: Vec::new() }, world.clock_now()).await.unwrap();
    assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"batchItemFailures":[]}"#);
}

#[tokio::test]
async fn a_record_without_an_id_fails_the_invocation_after_its_neighbours_were_worked_on() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let records = vec![json!("odd"), record("good", &Message::wake_up(key.clone()).to_json())];
    assert!(world.worker().handle(&Batch { records }, world.clock_now().plus(INVOCATION)).await.is_err());
    assert_eq!(world.status(&key).await, Status::Completed);
}

#[tokio::test]
async fn a_message_whose_job_is_not_found_is_never_acknowledged_away() {
    let world = World::new().await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let other = JobKey { operation: "other".parse().unwrap(), ..key };
    let answer = world.invoke(&world.worker(), &[unknown_job(), other]).await;
    assert_eq!(answer, ["m0", "m1"], "no folder, and a folder without the job");
    assert_eq!(world.counted(Metric::MessagesUnusable), 2);
}

#[tokio::test]
async fn an_item_of_a_newer_schema_is_left_alone_and_its_message_goes_back() {
    let world = World::new().await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let (pk, sk) = (key.receipt.to_string(), format!("job#{}#v0001", key.operation));
    let mut item = world.table.item(&pk, &sk).await.unwrap();
    // A number that is there already, and larger than any schema.
    item.insert("schema".into(), item["expires_at"].clone());
    world.table.put_item(item.clone()).await;
    assert_eq!(world.invoke(&world.worker(), &[key]).await, ["m0"]);
    assert_eq!(world.table.item(&pk, &sk).await.unwrap(), item);
    assert_eq!(world.counted(Metric::ItemsUnreadable), 1);
    assert!(world.calls().await.is_empty());
}

#[tokio::test]
async fn with_too_little_time_nothing_is_claimed_and_the_message_goes_back() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let worker = world.worker();
    // Ten seconds for the call and two for writing; a deadline that has passed is no time at all.
    for left in [0, 1, 11_999] {
        let deadline = world.clock_now().plus(Duration::from_millis(left));
        assert_eq!(invoke_within(&worker, std::slice::from_ref(&key), deadline).await, ["m0"], "{left}");
    }
    let past = world.clock_now().minus(Duration::from_secs(1));
    assert_eq!(invoke_within(&worker, std::slice::from_ref(&key), past).await, ["m0"]);
    assert_eq!((world.job(&key).await.version, world.calls().await.len()), (1, 0));
    let deadline = world.clock_now().plus(Duration::from_secs(12));
    assert!(invoke_within(&worker, std::slice::from_ref(&key), deadline).await.is_empty());
    assert_eq!(world.status(&key).await, Status::Completed);
}

#[tokio::test]
async fn a_message_that_comes_early_sends_its_wake_up_on() {
    let world = World::new().await;
    world.answers("/busy", &[429]).await;
    let key = world.one(world.http("/busy", Idempotency::None)).await;
    let worker = world.worker();
    world.invoke(&worker, std::slice::from_ref(&key)).await;
    let before = world.job(&key).await;
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    assert_eq!((world.job(&key).await, world.calls().await.len()), (before, 1), "no attempt, no write");
    let wake_ups = world.wake_ups().await;
    assert_eq!(wake_ups.len(), 2);
    assert!(wake_ups.iter().all(|(woken, delay)| *woken == key && (1..=2).contains(delay)), "{wake_ups:?}");
}

#[tokio::test]
async fn state_that_cannot_be_read_or_written_sends_the_message_back() {
    for operation in ["Query", "UpdateItem"] {
        let world = World::new().await;
        world.answers("/ok", &[200]).await;
        let key = world.one(world.http("/ok", Idempotency::key())).await;
        let faults = Faults::none();
        for _ in 0..50 {
            faults.on_next(operation, Fault::Internal);
        }
        let worker = world.worker_of(Worker::builder(), world.table.ledger_through(&faults));
        assert_eq!(world.invoke(&worker, std::slice::from_ref(&key)).await, ["m0"], "{operation}");
        assert_eq!((world.status(&key).await, world.calls().await.len()), (Status::Pending, 0), "{operation}");
    }
}

#[tokio::test]
async fn the_call_is_not_made_before_the_claim_is_durable() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let faults = Faults::none();
    // The claim is done and its answer lost: the second try must recognise it as ours.
    faults.on_next("UpdateItem", Fault::LoseReply);
    let worker = world.worker_of(Worker::builder(), world.table.ledger_through(&faults));
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    assert!(faults.all_happened());
    let job = world.job(&key).await;
    assert_eq!((job.status(), job.attempts.len(), world.calls().await.len()), (Status::Completed, 1, 1));
}
