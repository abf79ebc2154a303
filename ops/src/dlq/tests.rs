use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use hookbox_core::key::JobKey;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_queue::{Message, Queue};
use serde_json::{Value, json};

use super::*;
use crate::connection::{NamedQueue, Table};
use crate::terminal::Format;
use crate::testing::{attempt, clock, configured, event, held, ingest, load, pause as put_pause, table, terminal};

/// As much of SQS as looking at a queue needs: messages are visible until they are received, and again when they are
/// released. A message comes with at most one other in an answer, as they do.
#[derive(Clone, Default)]
struct Sqs(Arc<Mutex<Board>>);

#[derive(Default)]
struct Board {
    /// Body and whether it is visible, by the message's id, which is its handle too.
    messages: BTreeMap<String, (String, bool)>,
    /// From which look on there is no such queue.
    fails_from: Option<usize>,
    looks: usize,
}

impl Sqs {
    fn holding(bodies: &[String]) -> Self {
        let sqs = Self::default();
        let messages = bodies.iter().enumerate().map(|(n, body)| (format!("message-{n}"), (body.clone(), true)));
        sqs.0.lock().unwrap().messages = messages.collect();
        sqs
    }

    fn hidden(&self) -> usize {
        self.0.lock().unwrap().messages.values().filter(|(_, visible)| !visible).count()
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
}

async fn answer(State(sqs): State<Sqs>, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let call: Value = serde_json::from_slice(&body).unwrap();
    let mut board = sqs.0.lock().unwrap_or_else(PoisonError::into_inner);
    let target = headers["x-amz-target"].to_str().unwrap();
    board.looks += usize::from(target == "AmazonSQS.ReceiveMessage");
    if target == "AmazonSQS.ReceiveMessage" && board.fails_from.is_some_and(|from| board.looks >= from) {
        let error = json!({"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "gone"});
        return (StatusCode::BAD_REQUEST, error.to_string());
    }
    let answer = match target {
        "AmazonSQS.ReceiveMessage" => {
            let visible = board.messages.iter_mut().filter(|(_, (_, visible))| *visible).take(2);
            let messages: Vec<Value> = visible
                .map(|(id, (body, visible))| {
                    *visible = false;
                    json!({"MessageId": id, "ReceiptHandle": id, "Body": body, "Attributes": {
                        "SentTimestamp": "1796025600000", "ApproximateReceiveCount": "1"
                    }})
                })
                .collect();
            json!({ "Messages": messages })
        }
        "AmazonSQS.ChangeMessageVisibility" => {
            assert_eq!(call["VisibilityTimeout"], 0);
            board.messages.get_mut(call["ReceiptHandle"].as_str().unwrap()).unwrap().1 = true;
            json!({})
        }
        other => panic!("{other} is not looking"),
    };
    (StatusCode::OK, answer.to_string())
}

async fn in_review(event_id: &str, table: &Table, clock: &TestClock) -> JobKey {
    let id = ingest(&event(event_id, "charge.refunded"), table, clock).await;
    let key = JobKey::first(id, "deliver".parse().unwrap());
    attempt(&key, &Report::new(Outcome::Permanent, "http-400", "no such order"), table, clock).await;
    key
}

/// Two jobs in review, one of them with two notices; a notice of a job that is done; one of a job that is not there;
/// and poison.
async fn scene() -> (Table, Sqs) {
    let clock = clock();
    let table = table(&clock).await;
    let noticed = in_review("evt_1", &table, &clock).await;
    in_review("evt_2", &table, &clock).await;
    let done = ingest(&event("evt_3", "charge.refunded"), &table, &clock).await;
    let done = JobKey::first(done, "deliver".parse().unwrap());
    attempt(&done, &Report::done("http-200"), &table, &clock).await;
    let missing: JobKey = format!("{}:deliver:v1", "ab".repeat(32)).parse().unwrap();
    let sqs = Sqs::holding(&[
        Message::notice(noticed.clone(), "permanent").to_json(),
        Message::notice(noticed, "permanent").to_json(),
        Message::notice(done, "uncertain").to_json(),
        Message::wake_up(missing).to_json(),
        "{\"card\": \"4111 1111\"}".to_owned(),
    ]);
    (table, sqs)
}

async fn listed(table: &Table, sqs: &Sqs, format: Format, limit: u32) -> String {
    let list = List::make(table, &sqs.queue().await, limit).await.unwrap();
    let (mut terminal, captured) = terminal(format);
    list.show(&mut terminal).unwrap();
    captured.out()
}

#[tokio::test]
async fn jobs_in_review_are_joined_with_their_notices() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Table, 100).await;
    insta::assert_snapshot!(out);
    assert!(!out.contains("4111"), "poison is not repeated");
    assert_eq!(sqs.hidden(), 0, "every message is given back");
    let again = listed(&table, &sqs, Format::Table, 100).await;
    assert_eq!(again, out, "looking changes nothing");
}

#[tokio::test]
async fn programs_get_the_list_as_json() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Json, 100).await;
    insta::assert_snapshot!(out);
}

#[tokio::test]
async fn what_is_paused_waits_for_a_person_too() {
    let (clock, sqs) = (clock(), Sqs::default());
    let table = table(&clock).await;
    configured(&table).await;
    let pause = put_pause("deliver", "answered 401 Unauthorized", &table, &clock).await;
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    held(&JobKey::first(receipt, "deliver".parse().unwrap()), &pause, &table, &clock).await;
    insta::assert_snapshot!(listed(&table, &sqs, Format::Table, 100).await, @r"
    PAUSED SINCE                 INTEGRATION  OPERATION  HELD JOBS  REASON
    2026-11-30 08:00:00.125 UTC  stripe/demo  deliver    1          answered 401 Unauthorized

    hookbox resume --provider stripe --account demo --operation deliver
    ");
    let listed: Value = serde_json::from_str(&listed(&table, &sqs, Format::Json, 100).await).unwrap();
    assert_eq!(
        listed,
        json!([{
            "status": "paused", "provider": "stripe", "account": "demo", "operation": "deliver",
            "since": "2026-11-30T08:00:00.125Z", "reason": "answered 401 Unauthorized",
            "held_jobs": 1, "held_jobs_more": false,
        }])
    );
}

#[tokio::test]
async fn an_index_that_is_behind_lists_nothing() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let key = in_review("evt_1", &table, &clock).await;
    let (pk, sk) = (key.receipt.to_string(), "job#deliver#v0001");
    let before = storage.item(&pk, sk).await.unwrap();
    let loaded = load(&key.receipt, &table).await;
    let job = loaded.job(&key).unwrap();
    table.ledger.write_job(&loaded, job, &dismiss(job, clock.now()).unwrap()).await.unwrap();
    let mut item = storage.item(&pk, sk).await.unwrap();
    for attribute in ["open_pk", "open_at"] {
        item.insert(attribute.to_owned(), before[attribute].clone());
    }
    storage.put_item(item).await;
    let sqs = Sqs::default();
    assert_eq!(listed(&table, &sqs, Format::Json, 100).await, "[]\n");
}

#[tokio::test]
async fn a_limit_is_said() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Table, 1).await;
    assert!(out.contains("in review (there are more: --limit)"), "{out}");
}

#[tokio::test]
async fn nothing_is_said_to_be_nothing() {
    let (clock, sqs) = (clock(), Sqs::default());
    let table = table(&clock).await;
    let out = listed(&table, &sqs, Format::Table, 100).await;
    assert_eq!(out, "nothing waits for a person, and the dead-letter queue is empty\n");
    assert_eq!(listed(&table, &sqs, Format::Json, 100).await, "[]\n");
}

#[tokio::test]
async fn a_queue_that_cannot_be_seen_is_not_an_empty_queue() {
    let (table, sqs) = scene().await;
    for (fails_from, seen) in [(1, 0), (2, 2)] {
        sqs.0.lock().unwrap().fails_from = Some(fails_from);
        sqs.0.lock().unwrap().looks = 0;
        let failure = List::make(&table, &sqs.queue().await, 100).await.unwrap_err();
        assert_eq!(failure.code(), 3);
        let text = failure.to_string();
        assert!(text.contains("the queue does not exist") && text.contains("--dead-letter-queue-url"), "{text}");
        assert_eq!(sqs.hidden(), 0, "the {seen} messages that were seen are given back");
    }
}
