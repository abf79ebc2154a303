//! What the stream is told when a queue fails.

use hookbox_dispatcher::DispatchError;
use hookbox_queue::test_support::Badly;
use serde_json::{Value, json};

use crate::world::{DEAD, WORK, World, all_good};

/// Records of `count` jobs in stream order; those at `in_review` wait for a person. Sequence numbers grow from 95 on, so
/// that their order as text is another one.
fn batch(count: usize, in_review: &[usize]) -> Value {
    let record = |n: usize| {
        let status = if in_review.contains(&n) { "review" } else { "pending" };
        let (pk, sk) = (format!("{n:064x}"), "job#deliver#v0001");
        json!({
            "eventID": n.to_string(), "eventName": "INSERT", "awsRegion": "eu-west-1", "eventSource": "aws:dynamodb",
            "dynamodb": {
                "Keys": {"pk": {"S": pk}, "sk": {"S": sk}},
                "NewImage": {"pk": {"S": pk}, "sk": {"S": sk}, "schema": {"N": "1"}, "status": {"S": status},
                             "reason": {"S": "exhausted"}},
                "SequenceNumber": (95 + n).to_string(), "SizeBytes": 1, "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        })
    };
    json!({"Records": (0..count).map(record).collect::<Vec<_>>()})
}

fn failed_at(number: &str) -> Value {
    json!({"batchItemFailures": [{"itemIdentifier": number}]})
}

#[tokio::test]
async fn the_first_failed_record_in_the_order_of_the_stream_is_reported() {
    let world = World::new().await;
    // The entries of records 13 and 4 of the work queue's second and first ten.
    world.queues.answer(|call| {
        let entries = call.body["Entries"].as_array().unwrap();
        let at = |n: usize| {
            let key = format!("{n:064x}");
            entries.iter().position(|entry| entry["MessageBody"].as_str().unwrap().contains(&key))
        };
        Some(Badly::Entries([at(13), at(4)].into_iter().flatten().collect(), "InternalError"))
    });
    let answer = world.dispatch(&batch(25, &[])).await;
    assert_eq!(answer, failed_at("99"), "record 4 is before record 13, although 108 sorts before 99 as text");
    assert_eq!(answer.to_string(), r#"{"batchItemFailures":[{"itemIdentifier":"99"}]}"#);
    assert_eq!(world.queues.messages(WORK).len(), 23);
    assert_eq!(world.counted("RecordsReturned", "Queue"), [("work".to_owned(), 2)]);
    assert_eq!(world.counted("RecordsDispatched", "Queue"), [("work".to_owned(), 23)]);

    world.queues.recover();
    assert_eq!(world.dispatch(&batch(25, &[])).await, all_good(), "what comes again is sent again");
}

#[tokio::test]
async fn the_earlier_of_both_queues_failures_counts() {
    for (dead_fails_at, expected) in [(3, "98"), (20, "102")] {
        let world = World::new().await;
        let fails = [format!("{dead_fails_at:064x}"), format!("{:064x}", 7)];
        world.queues.answer(move |call| {
            let entries = call.body["Entries"].as_array().unwrap().iter().enumerate();
            let bad = |body: &str| fails.iter().any(|key| body.contains(key));
            let failing = entries.filter(|(_, entry)| bad(entry["MessageBody"].as_str().unwrap()));
            Some(Badly::Entries(failing.map(|(i, _)| i).collect(), "InternalError"))
        });
        assert_eq!(world.dispatch(&batch(25, &[3, 20])).await, failed_at(expected));
    }
}

#[tokio::test]
async fn one_queue_that_is_gone_does_not_stop_the_other() {
    let world = World::new().await;
    world.queues.answer(|call| call.url.ends_with(WORK).then_some(Badly::Refuse(400, "QueueDoesNotExist")));
    assert_eq!(world.dispatch(&batch(30, &[0, 1])).await, failed_at("97"));
    assert_eq!(world.queues.messages(DEAD).len(), 2);
    let calls = world.queues.calls().iter().filter(|call| call.url.ends_with(WORK)).count();
    assert_eq!(calls, 1, "a queue that does not exist is not asked again");
}

#[tokio::test]
async fn a_message_that_the_queue_never_takes_is_passed() {
    let world = World::new().await;
    world.queues.answer(|_| Some(Badly::Entries(vec![1], "InvalidMessageContents")));
    assert_eq!(world.dispatch(&batch(3, &[])).await, all_good());
    assert_eq!(world.counted("RecordsPassed", "Reason"), [("refused".to_owned(), 1)]);
    assert_eq!(world.queues.messages(WORK).len(), 2);
}

#[tokio::test]
async fn without_a_sequence_number_the_whole_batch_comes_again() {
    let world = World::new().await;
    world.queues.answer(|_| Some(Badly::Refuse(503, "ServiceUnavailable")));
    let mut event = batch(2, &[]);
    event["Records"][0]["dynamodb"].as_object_mut().unwrap().remove("SequenceNumber");
    assert_eq!(world.dispatcher.dispatch(&event).await, Err(DispatchError::NoSequenceNumber));
}

#[tokio::test]
async fn an_event_without_records_is_no_success() {
    let world = World::new().await;
    for event in [json!({}), json!({"Records": {}}), json!([]), Value::Null] {
        assert_eq!(world.dispatcher.dispatch(&event).await, Err(DispatchError::NoRecords));
    }
    assert_eq!(world.dispatch(&json!({"Records": []})).await, all_good());
    assert!(world.queues.calls().is_empty());
}
