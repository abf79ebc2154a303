//! The sample events of the repository are what the worker reads.

use std::fs;
use std::path::Path;

use hookbox_worker::Batch;
use serde_json::json;

use crate::world::{INVOCATION, World};

fn batch(name: &str) -> Batch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[tokio::test]
async fn every_sample_event_of_the_worker_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.starts_with("worker.")).collect();
    assert!(names.len() >= 2);
    let world = World::new().await;
    for name in names {
        let batch = batch(&name);
        // None of their jobs exists, so every message goes back.
        let answer = world.worker().handle(&batch, world.clock_now().plus(INVOCATION)).await.unwrap();
        assert_eq!(answer.failures.len(), batch.records.len(), "{name}");
    }
}

#[test]
fn an_event_that_is_not_of_sqs_is_refused_as_a_whole() {
    assert!(serde_json::from_value::<Batch>(json!({"detail": {}})).is_err());
}
