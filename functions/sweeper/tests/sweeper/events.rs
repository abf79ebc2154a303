//! The event says nothing that matters.

use std::fs;
use std::path::Path;

use hookbox_sweeper::DEADLINE_MARGIN;
use lambda_runtime::{Context, LambdaEvent};
use serde_json::{Value, json};

use crate::world::{HOUR, MINUTE, WORK, World};

fn sample(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn whatever_the_event_says_the_run_is_the_same() {
    let mut reports = Vec::new();
    for event in [sample("sweeper.example.json"), sample("sweeper.overreach.json"), json!(null), json!([1])] {
        let world = World::new().await;
        for n in 0..4 {
            world.commit(&format!("evt_{n}"), &["deliver"]).await;
        }
        world.clock.advance(HOUR);
        let mut context = Context::default();
        context.deadline = u64::try_from(world.now().plus(MINUTE).as_millis()).unwrap();
        let swept = world.sweeper.handle(LambdaEvent::new(event, context)).await.unwrap();
        assert_eq!(world.queues.messages(WORK).len(), 4);
        reports.push(serde_json::to_value(swept).unwrap());
    }
    assert!(reports.iter().all(|report| *report == reports[0]));
    assert_eq!(reports[0]["woken"], 4);
    assert_eq!(reports[0]["unfinished"], json!([]));
    assert_eq!(reports[0]["gauges"]["open"], 4);
}

#[tokio::test]
async fn the_deadline_is_the_invocations_own() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    world.clock.advance(HOUR);
    let mut context = Context::default();
    context.deadline = u64::try_from(world.now().plus(DEADLINE_MARGIN).as_millis()).unwrap();
    let event = json!({"deadline": 99_999_999_999_999_u64});
    let swept = world.sweeper.handle(LambdaEvent::new(event, context)).await.unwrap();
    assert_eq!((swept.tally.woken, swept.unfinished.len()), (0, 1));
}
