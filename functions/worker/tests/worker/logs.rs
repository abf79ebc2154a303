//! What the log says of an attempt: `hookbox tail` shows it, so the names of its fields are a promise.

use std::io;
use std::sync::{Arc, Mutex};

use hookbox_core::integration::Idempotency;
use hookbox_runtime::telemetry;
use serde_json::{Value, json};

use crate::world::World;

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl io::Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines with this message, without what differs from run to run.
fn lines(heard: &Heard, message: &str) -> Vec<Value> {
    let text = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let without = |mut line: Value| {
        for name in ["timestamp", "level", "target", "ms"] {
            line.as_object_mut().unwrap().remove(name);
        }
        line
    };
    lines.filter(|line| line["message"] == message).map(without).collect()
}

#[tokio::test]
async fn an_attempt_ends_in_one_line_that_says_of_what_and_how() {
    let heard = Heard::default();
    let writer = heard.clone();
    let _logging = tracing::subscriber::set_default(telemetry::subscriber(None, move || writer.clone()));
    let world = World::new().await;
    world.answers("/flaky", &[503, 200]).await;
    let key = world.one(world.http("/flaky", Idempotency::key())).await;
    world.work_off(&world.worker(), &key).await;
    let line = |attempt: u32, outcome: &str, status: &str, code: &str| {
        json!({
            "message": "attempt ended", "receipt": key.receipt, "operation": "deliver", "job": key,
            "provider": "stripe", "account": "demo", "kind": "payment_intent.succeeded",
            "attempt": attempt, "outcome": outcome, "status": status, "code": code,
        })
    };
    let expected = [line(1, "uncertain", "retrying", "http-503"), line(2, "done", "completed", "http-200")];
    assert_eq!(lines(&heard, "attempt ended"), expected);
}

#[tokio::test]
async fn a_job_that_is_held_is_one_line_too() {
    let heard = Heard::default();
    let writer = heard.clone();
    let _logging = tracing::subscriber::set_default(telemetry::subscriber(None, move || writer.clone()));
    let world = World::new().await;
    world.answers("/closed", &[401]).await;
    let key = world.one(world.http("/closed", Idempotency::key())).await;
    world.invoke(&world.worker(), std::slice::from_ref(&key)).await;
    let expected = json!({
        "message": "held", "receipt": key.receipt, "operation": "deliver", "job": key, "provider": "stripe",
        "account": "demo", "kind": "payment_intent.succeeded", "attempt": 1, "outcome": "held", "status": "held",
    });
    assert_eq!(lines(&heard, "held"), [expected]);
}
