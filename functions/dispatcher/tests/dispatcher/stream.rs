//! What the stream of a real table calls for.

use std::time::Duration;

use aws_lambda_events::event::dynamodb::Event;
use hookbox_core::integration::{Idempotency, Operation, Target};
use hookbox_core::job::{Job, ReviewReason};
use hookbox_core::outcome::Report;
use hookbox_core::retry::Jitter;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::claim::{Claim, Claimed, claim};
use hookbox_core::transition::finish::{Finish, finish};
use hookbox_core::transition::new_version::new_version;
use hookbox_core::transition::review::review;
use hookbox_core::transition::wake::{Backlog, Wake, wake};
use hookbox_ledger::Added;
use hookbox_ledger::test_support::deed;
use hookbox_queue::Message;
use serde_json::{Value, json};

use crate::world::{DEAD, WORK, World, all_good, key};

#[tokio::test]
async fn every_job_of_a_new_event_goes_to_the_work_queue_and_nothing_else_does() {
    let world = World::new().await;
    let folder = world.commit("evt_1", &["crm-upsert", "deliver"]).await;
    let stream = world.stream();
    assert_eq!(stream["Records"].as_array().unwrap().len(), 4, "receipt, payload and two jobs");

    assert_eq!(world.dispatch(&stream).await, all_good());
    let expected = ["crm-upsert", "deliver"].map(|name| Message::wake_up(key(folder.id, name)));
    let mut sent = world.queues.messages(WORK);
    sent.sort_by_key(|message| message.job.clone());
    assert_eq!(sent, expected);
    assert!(world.queues.sent(WORK).iter().all(|sent| sent.delay == 0));
    assert!(world.queues.sent(DEAD).is_empty());
    assert_eq!(world.counted("RecordsDispatched", "Queue"), [("work".to_owned(), 2)]);
}

#[tokio::test]
async fn only_a_change_to_pending_or_review_sends_anything() {
    let world = World::new().await;
    let folder = world.commit("evt_1", &["deliver"]).await;
    let pending = folder.jobs[0].clone();
    world.clock.advance(Duration::from_secs(400));
    let Wake::Send(moved) = wake(&pending, Backlog::No, world.clock.now()) else { panic!("overdue") };
    assert!(world.ledger.move_entry(&pending, &moved).await.unwrap());
    let processing = claimed(&moved, &world);
    world.ledger.write_job(&folder, &moved, &processing).await.unwrap();
    let completed = finished(&processing, &world);
    world.ledger.write_job(&folder, &processing, &completed).await.unwrap();
    world.table.delete_item(&folder.id.to_string(), "job#deliver#v0001").await;

    assert_eq!(world.dispatch(&world.stream()).await, all_good());
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(pending.key)], "once, for the insert");
    assert!(world.queues.sent(DEAD).is_empty());
    assert_eq!(world.counted("RecordsPassed", "Reason"), []);
}

#[tokio::test]
async fn a_new_version_goes_to_the_work_queue_when_it_is_added() {
    let world = World::new().await;
    let folder = world.commit("evt_1", &["deliver"]).await;
    let pending = &folder.jobs[0];
    let first = review(pending, ReviewReason::OperationRemoved, "", world.clock.now()).unwrap();
    world.ledger.write_job(&folder, pending, &first).await.unwrap();
    let folder = world.ledger.load(&folder.id).await.unwrap().unwrap();
    let second = new_version(&first, &folder.jobs, world.clock.now()).unwrap();
    let deed = deed("new-version", &second.key, world.clock.now());
    assert_eq!(world.ledger.add_job(&folder, &first, &second, &deed).await.unwrap(), Added::Written);

    assert_eq!(world.dispatch(&world.stream()).await, all_good());
    let expected = [Message::wake_up(pending.key.clone()), Message::wake_up(second.key)];
    assert_eq!(world.queues.messages(WORK), expected);
    assert_eq!(world.queues.messages(DEAD).len(), 1, "the first waits for a person as before");
}

#[tokio::test]
async fn a_job_in_review_goes_to_the_dead_letter_queue_with_its_reason() {
    let world = World::new().await;
    let folder = world.commit("evt_1", &["deliver"]).await;
    let pending = &folder.jobs[0];
    let next = review(pending, ReviewReason::PayloadExpired, "gone", world.clock.now()).unwrap();
    world.ledger.write_job(&folder, pending, &next).await.unwrap();

    assert_eq!(world.dispatch(&world.stream()).await, all_good());
    assert_eq!(world.queues.messages(DEAD), [Message::notice(pending.key.clone(), "payload-expired")]);
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(pending.key.clone())]);
    let body = &world.queues.sent(DEAD)[0].body;
    assert_eq!(*body, format!("{{\"job\":\"{}\",\"reason\":\"payload-expired\"}}", pending.key));
}

#[tokio::test]
async fn what_can_never_be_sent_is_counted_and_passed_and_its_neighbours_are_sent() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    let newer = world.commit("evt_2", &["deliver"]).await;
    let broken = world.commit("evt_3", &["deliver"]).await;
    world.commit("evt_4", &["deliver"]).await;
    let mut stream = world.stream();
    set(&mut stream, &newer.id.to_string(), "schema", &json!({"N": "99"}));
    set(&mut stream, &broken.id.to_string(), "status", &json!({"S": "card-4111"}));
    let records = stream["Records"].as_array_mut().unwrap();
    // The first two lists hold no record at all, the third one of an attribute type that does not exist.
    let poison = json!({"eventName": "INSERT", "dynamodb": {
        "Keys": {"pk": {"S": "card-4111"}, "sk": {"S": "job#card-4111\n"}},
        "SequenceNumber": "77", "NewImage": {"card": {"XX": "4111"}},
    }});
    let empty = json!({"dynamodb": {"SequenceNumber": "card-4111"}});
    records.splice(0..0, [Value::Null, json!(4111), json!("card-4111"), json!([]), json!({}), empty, poison]);

    assert_eq!(world.dispatch(&stream).await, all_good());
    assert_eq!(world.queues.messages(WORK).len(), 2);
    let mut passed = world.counted("RecordsPassed", "Reason");
    passed.sort();
    let unparseable = vec![("unparseable".to_owned(), 1); 7];
    assert_eq!(passed[2..], unparseable);
    assert_eq!(passed[..2], [("corrupt".to_owned(), 1), ("newer-schema".to_owned(), 1)]);
    let logs = world.logs();
    assert!(logs.contains(&newer.id.to_string()) && logs.contains("\"77\""), "what is passed is named: {logs}");
    let unnamed = logs.lines().filter(|line| !line.contains(&broken.id.to_string())).collect::<String>();
    assert!(!unnamed.contains("4111"), "nothing of its content: {unnamed}");
}

/// The records of the real stream stay readable with the types of the Lambda runtime.
#[tokio::test]
async fn the_stream_is_what_lambda_says_it_is() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    let event: Event = serde_json::from_value(world.stream()).unwrap();
    assert!(event.records.iter().all(|record| record.change.sequence_number.is_some()));
}

fn set(stream: &mut Value, pk: &str, attribute: &str, value: &Value) {
    for record in stream["Records"].as_array_mut().unwrap() {
        let image = &mut record["dynamodb"]["NewImage"];
        if image["pk"]["S"] == pk && image["sk"]["S"].as_str().unwrap().starts_with("job#") {
            image[attribute] = value.clone();
        }
    }
}

fn operation() -> Operation {
    let target = Target::Sqs { queue_url: "https://sqs.eu-west-1.amazonaws.com/1/theirs".to_owned() };
    Operation::new("deliver".parse().unwrap(), Idempotency::key(), target)
}

fn claimed(job: &Job, world: &World) -> Job {
    let now = world.clock.now();
    let operation = operation();
    let lease_expires_at = now.plus(Duration::from_secs(60));
    let Ok(Claimed::Call { job, .. }) =
        claim(job, Claim { now, lease_expires_at, operation: &operation, config_rev: 1 })
    else {
        panic!("a pending job can be claimed");
    };
    job
}

fn finished(job: &Job, world: &World) -> Job {
    let report = Report::done("http-200");
    let schedule = operation().schedule;
    finish(job, Finish { now: world.clock.now(), report: &report, schedule: &schedule, jitter: Jitter(0) }).unwrap()
}
