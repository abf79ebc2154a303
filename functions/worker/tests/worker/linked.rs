//! The example's operations, as a team links them.

use std::sync::atomic::Ordering;

use hookbox_core::integration::{Idempotency, Operation as OperationConfig, Target};
use hookbox_core::job::Status;
use hookbox_core::outcome::Report;
use hookbox_worker::{BuildError, Call, Operation, Worker};
use serde_json::{Value, json};

use crate::own_operations::{Crm, CrmUpsert, InitialResponse, Outbox};
use crate::world::{World, reconcile};

fn linked(name: &str, idempotency: Idempotency, settings: Value) -> OperationConfig {
    let target = Target::Custom { name: name.to_owned(), settings };
    OperationConfig::new(name.parse().unwrap(), idempotency, target)
}

#[tokio::test]
async fn the_example_does_each_effect_once_although_an_answer_is_lost() {
    let world = World::new().await;
    let (outbox, crm) = (Outbox::default(), Crm::default());
    crm.loses_an_answer.store(true, Ordering::SeqCst);
    let operations = vec![
        linked("initial-response", Idempotency::key(), Value::Null),
        linked("crm-upsert", reconcile("http://127.0.0.1:1/"), Value::Null),
    ];
    world.configure(operations, None).await;
    let keys = world.receive_body("evt_1", br#"{"id":"evt_1","name":"Ada"}"#).await;
    let builder = Worker::builder()
        .operation("initial-response", InitialResponse { outbox: outbox.clone() })
        .operation("crm-upsert", CrmUpsert { crm: crm.clone() });
    let worker = world.worker_of(builder, world.ledger.clone());
    assert_eq!(world.work_off(&worker, &keys[0]).await.status(), Status::Completed);
    assert_eq!(outbox.0.lock().unwrap().get(&keys[0].to_string()).unwrap(), "Thank you, Ada!");
    let job = world.work_off(&worker, &keys[1]).await;
    assert_eq!((job.status(), job.attempts.len()), (Status::Completed, 2), "unknown, then asked and found");
    assert_eq!(crm.contacts.lock().unwrap().as_slice(), [keys[1].to_string()]);
}

#[tokio::test]
async fn the_example_s_refusals_reach_their_states() {
    let cases = [("", Status::Review), ("forbidden", Status::Held)];
    for (list, status) in cases {
        let world = World::new().await;
        let builder = Worker::builder().operation("crm-upsert", CrmUpsert { crm: Crm::default() });
        let worker = world.worker_of(builder, world.ledger.clone());
        let key = world.one(linked("crm-upsert", Idempotency::None, json!({"list": list}))).await;
        assert_eq!(world.work_off(&worker, &key).await.status(), status, "{list}");
    }
    let world = World::new().await;
    let builder = Worker::builder().operation("initial-response", InitialResponse { outbox: Outbox::default() });
    let worker = world.worker_of(builder, world.ledger.clone());
    let key = world.one(linked("initial-response", Idempotency::key(), Value::Null)).await;
    assert_eq!(world.work_off(&worker, &key).await.last_error.unwrap().code.as_str(), "not-a-lead");
}

struct Nothing;

impl Operation for Nothing {
    async fn call(&self, _: &Call<'_>) -> Report {
        Report::done("nothing")
    }
}

#[tokio::test]
async fn a_name_is_linked_once_and_never_that_of_a_built_in_operation() {
    let world = World::new().await;
    let build = |builder: hookbox_worker::Builder| builder.build_on(world.surroundings(world.ledger.clone())).map(drop);
    let twice = Worker::builder().operation("a", Nothing).operation("a", Nothing);
    assert!(matches!(build(twice), Err(BuildError::Twice(name)) if name == "a"));
    for name in ["http", "sqs"] {
        assert!(matches!(build(Worker::builder().operation(name, Nothing)), Err(BuildError::BuiltIn(_))));
    }
    assert!(build(Worker::builder().operation("a", Nothing).operation("b", Nothing)).is_ok());
}
