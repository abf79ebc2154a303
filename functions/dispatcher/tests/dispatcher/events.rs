//! The sample events of `events/`.

use std::fs;
use std::path::Path;

use aws_lambda_events::event::dynamodb::Event;
use serde_json::Value;

use crate::world::{DEAD, WORK, World, all_good};

fn sample(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn every_sample_is_a_stream_event_and_sends_what_it_says() {
    // work, review
    let cases =
        [("dispatcher.example.json", 1, 1), ("dispatcher.removed.json", 0, 0), ("dispatcher.poison.json", 1, 0)];
    for (name, work, review) in cases {
        let world = World::new().await;
        let event = sample(name);
        let typed = serde_json::from_value::<Event>(event.clone());
        assert_eq!(typed.is_ok(), name != "dispatcher.poison.json", "{name}");
        assert_eq!(world.dispatch(&event).await, all_good(), "{name}");
        assert_eq!(world.queues.messages(WORK).len(), work, "{name}");
        assert_eq!(world.queues.messages(DEAD).len(), review, "{name}");
    }
}
