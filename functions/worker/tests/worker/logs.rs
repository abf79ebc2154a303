//! What the log says of an attempt: `hookbox tail` shows it, so the names of its fields are a promise.

use std::io;
use std::sync::{Mutex, Once};

use hookbox_core::integration::Idempotency;
use hookbox_core::key::JobKey;
use hookbox_runtime::telemetry;
use serde_json::{Value, json};

use crate::world::World;

/// What all workers of this process have logged. A subscriber of one test alone would not do: whether a line is logged at
/// all is decided once for all threads.
static HEARD: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Ear;

impl io::Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        HEARD.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to listen, in every test before its first line.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(telemetry::subscriber(None, || Ear)).unwrap());
}

/// The lines about this job with this message, without what differs from run to run.
fn lines(job: &JobKey, message: &str) -> Vec<Value> {
    let text = String::from_utf8(HEARD.lock().unwrap().clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let without = |mut line: Value| {
        for name in ["timestamp", "level", "target", "ms"] {
            line.as_object_mut().unwrap().remove(name);
        }
        line
    };
    let wanted = |line: &Value| line["message"] == message && line["receipt"] == json!(job.receipt);
    lines.filter(wanted).map(without).collect()
}

/// The job of an event that no other test has.
async fn job(world: &World, event_id: &str, at: &str) -> JobKey {
    world.configure(vec![world.http(at, Idempotency::key())], None).await;
    world.receive(event_id).await.remove(0)
}

#[tokio::test]
async fn an_attempt_ends_in_one_line_that_says_of_what_and_how() {
    let world = World::new().await;
    world.answers("/flaky", &[503, 200]).await;
    let key = job(&world, "evt_logged", "/flaky").await;
    world.work_off(&world.worker(), &key).await;
    let line = |attempt: u32, outcome: &str, status: &str, code: &str| {
        json!({
            "message": "attempt ended", "receipt": key.receipt, "operation": "deliver", "job": key,
            "provider": "stripe", "account": "demo", "kind": "payment_intent.succeeded",
            "attempt": attempt, "outcome": outcome, "status": status, "code": code,
        })
    };
    let expected = [line(1, "uncertain", "retrying", "http-503"), line(2, "done", "completed", "http-200")];
    assert_eq!(lines(&key, "attempt ended"), expected);
}

#[tokio::test]
async fn a_job_that_is_held_is_one_line_too() {
    let world = World::new().await;
    world.answers("/closed", &[401]).await;
    let key = job(&world, "evt_held", "/closed").await;
    world.invoke(&world.worker(), std::slice::from_ref(&key)).await;
    let expected = json!({
        "message": "held", "receipt": key.receipt, "operation": "deliver", "job": key, "provider": "stripe",
        "account": "demo", "kind": "payment_intent.succeeded", "attempt": 1, "outcome": "held", "status": "held",
    });
    assert_eq!(lines(&key, "held"), [expected]);
}
