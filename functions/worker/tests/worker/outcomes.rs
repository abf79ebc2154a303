//! What becomes of a job, by what its destination does.

use std::time::Duration;

use hookbox_core::integration::Idempotency;
use hookbox_core::job::{AttemptOutcome, Job, ReviewReason, State, Status};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::transition::new_version::new_version;
use hookbox_ledger::Added;
use hookbox_ledger::test_support::deed;
use hookbox_runtime::Metric;
use hookbox_worker::{Call, Operation, Worker};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use wiremock::matchers::path;
use wiremock::{Mock, ResponseTemplate};

use crate::world::{World, http_to, own, reconcile};

fn in_review(job: &Job) -> ReviewReason {
    let State::Review { reason } = job.state else { panic!("{:?}", job.state) };
    reason
}

#[tokio::test]
async fn a_success_completes_the_job_with_one_signed_call() {
    let world = World::new().await;
    world.answers("/ok", &[200]).await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    let job = world.job(&key).await;
    assert_eq!((job.status(), job.attempts.len(), job.last_error.clone()), (Status::Completed, 1, None));

    let calls = world.calls().await;
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(call.body, br#"{"id":"evt_1"}"#);
    let header = |name: &str| call.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let expected = [
        ("idempotency-key", &*key.to_string()),
        ("hookbox-tenant", "acct_9"),
        ("hookbox-event-id", "evt_1"),
        ("hookbox-resource", "pi_1"),
        ("hookbox-event-version", "17"),
        ("hookbox-occurred-at", "2025-11-30T10:53:15.000Z"),
        ("hookbox-received-at", "2025-11-30T10:53:20.000Z"),
        ("hookbox-attempt", "1"),
        ("x-kept", "yes"),
    ];
    for (name, value) in expected {
        assert_eq!(header(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(header("authorization"), None);
    assert!(world.wake_ups().await.is_empty());
    assert_eq!(world.counted(Metric::Attempts), 1);
}

/// What a person asked for as a new effect is one for the destination, and has its payload however old the event is.
#[tokio::test]
async fn a_new_version_is_called_under_a_key_of_its_own() {
    let world = World::new().await;
    world.answers("/ok", &[503, 200]).await;
    let first = world.one(world.http("/ok", Idempotency::key())).await;
    let done = world.work_off(&world.worker(), &first).await;
    let loaded = world.ledger.load(&first.receipt).await.unwrap().unwrap();
    let next = new_version(&done, &loaded.jobs, world.clock_now()).unwrap();
    let deed = deed("new-version", &next.key, world.clock_now());
    assert_eq!(world.ledger.add_job(&loaded, &done, &next, &deed).await.unwrap(), Added::Written);
    world.clock.advance(Duration::from_secs(200 * 24 * 3_600));
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 0);

    let second = world.work_off(&world.worker(), &next.key).await;
    assert_eq!((second.status(), second.attempts_total), (Status::Completed, 1));
    assert_eq!(world.job(&first).await, done, "the first stays as it is");
    let calls = world.calls().await;
    let keys: Vec<_> = calls.iter().map(|call| call.headers["idempotency-key"].to_str().unwrap()).collect();
    assert_eq!(keys, [first.to_string(), first.to_string(), next.key.to_string()]);
    assert_eq!(calls[2].headers["webhook-id"], next.key.to_string().as_str());
    assert_eq!(
        (&calls[2].body, &calls[2].headers["hookbox-attempt"]),
        (&calls[0].body, &calls[0].headers["hookbox-attempt"])
    );
}

#[tokio::test]
async fn a_destination_that_fails_twice_and_then_works_gets_three_attempts_under_one_key() {
    let world = World::new().await;
    world.answers("/flaky", &[503, 503, 200]).await;
    let key = world.one(world.http("/flaky", Idempotency::key())).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!(job.status(), Status::Completed);
    let outcomes: Vec<_> = job.attempts.iter().map(|attempt| attempt.result.clone().unwrap().outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Uncertain, AttemptOutcome::Uncertain, AttemptOutcome::Done]);
    let calls = world.calls().await;
    let sent =
        |name: &str| calls.iter().map(|call| call.headers[name].to_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(sent("idempotency-key"), vec![key.to_string(); 3]);
    assert_eq!(sent("hookbox-attempt"), ["1", "2", "3"]);
    // 1 s and 5 s with their jitter, rounded up.
    let delays: Vec<_> = world.wake_ups().await.into_iter().map(|(woken, delay)| (woken == key, delay)).collect();
    assert!(matches!(delays[..], [(true, 1..=2), (true, 5..=6)]), "{delays:?}");
    let State::Completed { at } = job.state else { panic!("{:?}", job.state) };
    let since_receipt = at.since(job.received_at);
    assert!(since_receipt >= Duration::from_secs(6), "{since_receipt:?}");
    assert_eq!(
        u128::from(world.counted(Metric::CompletionDuration)),
        since_receipt.as_millis(),
        "once, and from receipt"
    );
}

#[tokio::test]
async fn a_permanent_refusal_goes_to_review_at_once() {
    let world = World::new().await;
    world.answers("/broken", &[400]).await;
    let key = world.one(world.http("/broken", Idempotency::key())).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::Permanent, 1));
    assert_eq!(job.last_error.unwrap().code.as_str(), "http-400");
    assert_eq!(world.counted(Metric::JobsToReview), 1);
}

#[tokio::test]
async fn a_job_whose_attempts_are_used_up_goes_to_review() {
    let world = World::new().await;
    world.answers("/busy", &[429]).await;
    let key = world.one(world.http("/busy", Idempotency::None)).await;
    let worker = world.worker();
    let job = world.work_off(&worker, &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::Exhausted, 5));
    // A late message of the job changes nothing.
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    assert_eq!((world.job(&key).await, world.calls().await.len()), (job, 5));
}

#[tokio::test]
async fn retry_after_is_honoured_and_a_long_wait_is_left_to_the_sweeper() {
    let world = World::new().await;
    let answer = |seconds: &str| ResponseTemplate::new(429).insert_header("retry-after", seconds);
    Mock::given(path("/later")).respond_with(answer("800")).up_to_n_times(1).mount(&world.destination).await;
    Mock::given(path("/later")).respond_with(answer("901")).mount(&world.destination).await;
    let key = world.one(world.http("/later", Idempotency::None)).await;
    let worker = world.worker();
    world.invoke(&worker, std::slice::from_ref(&key)).await;
    assert_eq!(world.wake_ups().await, [(key.clone(), 800)]);
    world.clock.advance(Duration::from_secs(800));
    world.invoke(&worker, std::slice::from_ref(&key)).await;
    let State::Retrying { next_attempt_at } = world.job(&key).await.state else { panic!() };
    assert_eq!(next_attempt_at, world.clock_now().plus(Duration::from_secs(901)));
    assert_eq!(world.wake_ups().await.len(), 1, "SQS delays no message by more than 900 s");
}

#[tokio::test]
async fn a_connection_that_is_refused_had_no_effect_even_without_idempotency() {
    let world = World::new().await;
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let key = world.one(http_to(&format!("http://{address}/"), Idempotency::None)).await;
    world.invoke(&world.worker(), std::slice::from_ref(&key)).await;
    let job = world.job(&key).await;
    assert_eq!((job.status(), job.uncertain), (Status::Retrying, None));
    assert_eq!(job.last_error.unwrap().code.as_str(), "connect");
}

#[tokio::test]
async fn a_connection_that_is_dropped_after_reading_is_unknown() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"}") {
            connection.read_buf(&mut read).await.unwrap();
        }
    });
    let key = world.one(http_to(&url, Idempotency::None)).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::Uncertain, 1));
    served.await.unwrap();
}

/// Never ends.
struct Endless;

impl Operation for Endless {
    async fn call(&self, _: &Call<'_>) -> Report {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_timeout_is_judged_by_the_declared_idempotency() {
    let world = World::new().await;
    let mut operations = vec![
        own("by-key", Idempotency::key()),
        own("by-asking", reconcile("http://127.0.0.1:1/{job_key}")),
        own("by-nothing", Idempotency::None),
    ];
    for operation in &mut operations {
        operation.timeout = Duration::from_secs(1);
    }
    world.configure(operations, None).await;
    let keys = world.receive("evt_1").await;
    // Side by side: three timeouts take as long as one.
    let worker = world.worker_of(Worker::builder().operation("own", Endless), world.ledger.clone());
    let all = world.invoke(&worker, &keys);
    assert!(tokio::time::timeout(Duration::from_secs(4), all).await.unwrap().is_empty());
    let [by_key, by_asking, by_nothing] = &keys[..] else { panic!() };
    for (key, status) in [(by_key, Status::Retrying), (by_asking, Status::Retrying), (by_nothing, Status::Review)] {
        let job = world.job(key).await;
        assert_eq!((job.status(), job.last_error.unwrap().code.as_str()), (status, "timeout"), "{key}");
        assert!(job.uncertain.is_some());
    }
}

/// Says what the test wants.
struct Says(Report);

impl Operation for Says {
    async fn call(&self, call: &Call<'_>) -> Report {
        assert_eq!(call.settings::<serde_json::Value>().unwrap()["limit"], 3);
        assert_eq!(call.payload.body, br#"{"id":"evt_1"}"#);
        self.0.clone()
    }
}

#[tokio::test]
async fn a_linked_operation_decides_by_its_report_alone() {
    let cases = [
        (Outcome::Done, Status::Completed),
        (Outcome::Transient { retry_after: None }, Status::Retrying),
        (Outcome::Unknown, Status::Retrying),
        (Outcome::Permanent, Status::Review),
        (Outcome::CredentialRefused, Status::Held),
    ];
    for (outcome, status) in cases {
        let world = World::new().await;
        let builder = Worker::builder().operation("own", Says(Report::new(outcome, "said", "so")));
        let worker = world.worker_of(builder, world.ledger.clone());
        let key = world.one(own("deliver", Idempotency::key())).await;
        world.invoke(&worker, std::slice::from_ref(&key)).await;
        assert_eq!(world.status(&key).await, status, "{outcome:?}");
    }
}

#[tokio::test]
async fn an_operation_that_this_worker_does_not_have_is_tried_again_and_then_reviewed() {
    let world = World::new().await;
    let key = world.one(own("deliver", Idempotency::None)).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::Exhausted, 5));
    assert_eq!(job.last_error.unwrap().code.as_str(), "not-linked");
}

#[tokio::test]
async fn a_wake_up_that_cannot_be_sent_is_no_failure() {
    let world = World::new().await;
    world.sqs.reset().await;
    Mock::given(wiremock::matchers::any()).respond_with(ResponseTemplate::new(500)).mount(&world.sqs).await;
    world.answers("/busy", &[429]).await;
    let key = world.one(world.http("/busy", Idempotency::None)).await;
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    let job = world.job(&key).await;
    let State::Retrying { next_attempt_at } = job.state else { panic!() };
    assert_eq!(job.open_at, Some(next_attempt_at.plus(Duration::from_secs(60))), "the sweeper heals it");
}

#[tokio::test]
async fn a_payload_that_is_gone_is_said_so_and_nothing_is_sent() {
    let world = World::new().await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    world.table.delete_item(&key.receipt.to_string(), "payload#000").await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::PayloadExpired, 1));
    assert!(world.calls().await.is_empty());
}

#[tokio::test]
async fn an_operation_that_is_no_longer_configured_is_said_so() {
    let world = World::new().await;
    let key = world.one(world.http("/ok", Idempotency::key())).await;
    let mut other = world.http("/ok", Idempotency::key());
    other.name = "other".parse().unwrap();
    world.configure(vec![other], Some(1)).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((in_review(&job), job.attempts.len()), (ReviewReason::OperationRemoved, 0));
    assert!(world.calls().await.is_empty());
}
