mod drain;
mod list;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use futures_util::future::BoxFuture;
use hookbox_core::key::JobKey;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_queue::{Message, Queue};
use serde_json::{Value, json};

use super::*;
use crate::testing::{attempt, clock, event, ingest, table};

/// As much of SQS as looking at a queue and deleting from it need: messages are visible until they are received, and again
/// when they are released. A message comes with at most one other in an answer, as they do, and each receive has a handle
/// of its own.
#[derive(Clone, Default)]
struct Sqs(Arc<Mutex<Board>>);

#[derive(Default)]
struct Board {
    /// By their ids.
    messages: BTreeMap<String, Held>,
    /// From which look on there is no such queue.
    fails_from: Option<usize>,
    looks: usize,
    /// Deleting these fails for another reason than their handles.
    stuck: BTreeSet<String>,
    /// These are received by somebody else at once.
    taken: BTreeSet<String>,
    /// These are visible again at once, the first time that they are received.
    again: BTreeSet<String>,
    /// A look takes so long on this clock.
    slow: Option<(TestClock, Duration)>,
    deletes: usize,
}

struct Held {
    body: String,
    visible: bool,
    receives: usize,
}

impl Sqs {
    fn holding(bodies: &[String]) -> Self {
        let sqs = Self::default();
        let held = |body: &String| Held { body: body.clone(), visible: true, receives: 0 };
        let messages = bodies.iter().enumerate().map(|(n, body)| (format!("message-{n}"), held(body)));
        sqs.board().messages = messages.collect();
        sqs
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hidden(&self) -> usize {
        self.board().messages.values().filter(|held| !held.visible).count()
    }

    /// The ids of the messages that it holds.
    fn ids(&self) -> Vec<String> {
        self.board().messages.keys().cloned().collect()
    }

    async fn queue(&self) -> NamedQueue {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/1/dead", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let endpoint = url.trim_end_matches("/1/dead");
        let config = TestTable::start().await.config().into_builder().endpoint_url(endpoint).build();
        NamedQueue::new(Queue::new(&config, &url), "in eu-west-1")
    }

    /// Stops when there were so many looks.
    fn stop_after(&self, looks: usize) -> BoxFuture<'static, ()> {
        let sqs = self.clone();
        Box::pin(std::future::poll_fn(move |_| {
            if sqs.board().looks >= looks { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        }))
    }
}

/// Nobody stops it.
fn never() -> BoxFuture<'static, ()> {
    Box::pin(std::future::pending())
}

async fn answer(State(sqs): State<Sqs>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let call: Value = serde_json::from_slice(&body).unwrap();
    let mut board = sqs.board();
    let answer = match headers["x-amz-target"].to_str().unwrap() {
        "AmazonSQS.ReceiveMessage" => board.receive(),
        "AmazonSQS.ChangeMessageVisibility" => {
            assert_eq!(call["VisibilityTimeout"], 0);
            board.of_handle(&call).map(|id| {
                board.messages.get_mut(&id).unwrap().visible = true;
                json!({})
            })
        }
        "AmazonSQS.DeleteMessage" => {
            board.deletes += 1;
            board.of_handle(&call).and_then(|id| {
                if board.stuck.contains(&id) {
                    return Err("AccessDenied");
                }
                board.messages.remove(&id);
                Ok(json!({}))
            })
        }
        other => panic!("{other} is neither looking nor deleting"),
    };
    match answer {
        Ok(answer) => (StatusCode::OK, answer.to_string()),
        Err(code) => {
            let error = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "no"});
            (StatusCode::BAD_REQUEST, error.to_string())
        }
    }
}

impl Board {
    fn receive(&mut self) -> Result<Value, &'static str> {
        self.looks += 1;
        if let Some((clock, takes)) = &self.slow {
            clock.advance(*takes);
        }
        if self.fails_from.is_some_and(|from| self.looks >= from) {
            return Err("QueueDoesNotExist");
        }
        let mut messages = Vec::new();
        for (id, held) in self.messages.iter_mut().filter(|(_, held)| held.visible).take(2) {
            held.visible = held.receives == 0 && self.again.contains(id);
            held.receives += 1;
            messages.push(json!({
                "MessageId": id, "ReceiptHandle": format!("{id} {}", held.receives), "Body": held.body,
                "Attributes": {
                    "SentTimestamp": "1796025600000", "ApproximateReceiveCount": held.receives.to_string(),
                }
            }));
            held.receives += usize::from(self.taken.contains(id));
        }
        Ok(json!({ "Messages": messages }))
    }

    /// The message of a handle, if it is the one of its last receive.
    fn of_handle(&self, call: &Value) -> Result<String, &'static str> {
        let (id, receive) = call["ReceiptHandle"].as_str().unwrap().split_once(' ').unwrap();
        let held = self.messages.get(id).ok_or("ReceiptHandleIsInvalid")?;
        let is_last = receive == held.receives.to_string();
        is_last.then(|| id.to_owned()).ok_or("ReceiptHandleIsInvalid")
    }
}

async fn in_review(event_id: &str, table: &Table, clock: &TestClock) -> JobKey {
    let id = ingest(&event(event_id, "charge.refunded"), table, clock).await;
    let key = JobKey::first(id, "deliver".parse().unwrap());
    attempt(&key, &Report::new(Outcome::Permanent, "http-400", "no such order"), table, clock).await;
    key
}

async fn done(event_id: &str, table: &Table, clock: &TestClock) -> JobKey {
    let id = ingest(&event(event_id, "charge.refunded"), table, clock).await;
    let key = JobKey::first(id, "deliver".parse().unwrap());
    attempt(&key, &Report::done("http-200"), table, clock).await;
    key
}

fn missing() -> JobKey {
    format!("{}:deliver:v1", "ab".repeat(32)).parse().unwrap()
}

const POISON: &str = "{\"card\": \"4111 1111\", \"authorization\": \"Bearer abc\"}";

/// Two jobs in review, one of them with two notices; a notice of a job that is done; one of a job that is not there;
/// and poison.
async fn scene() -> (Table, Sqs) {
    let clock = clock();
    let table = table(&clock).await;
    let noticed = in_review("evt_1", &table, &clock).await;
    in_review("evt_2", &table, &clock).await;
    let sqs = Sqs::holding(&[
        Message::notice(noticed.clone(), "permanent").to_json(),
        Message::notice(noticed, "permanent").to_json(),
        Message::notice(done("evt_3", &table, &clock).await, "uncertain").to_json(),
        Message::wake_up(missing()).to_json(),
        POISON.to_owned(),
    ]);
    (table, sqs)
}
