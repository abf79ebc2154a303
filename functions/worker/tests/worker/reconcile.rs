//! Destinations that can be asked what became of an earlier call.

use hookbox_core::integration::Idempotency;
use hookbox_core::job::{Job, ReviewReason, State, Status};
use hookbox_core::key::JobKey;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_worker::{Asked, Call, Operation, Question, Worker};
use wiremock::matchers::{method, path_regex};
use wiremock::{Mock, ResponseTemplate};

use crate::world::{World, own, reconcile};

/// A job whose call was answered with 500, so that its outcome is unknown, and which is due again. `POST`s go on to be
/// answered with `then`, questions with `status`.
async fn unknown(world: &World, then: u16, status: u16) -> JobKey {
    let answer = ResponseTemplate::new;
    Mock::given(method("POST")).respond_with(answer(500)).up_to_n_times(1).mount(&world.destination).await;
    Mock::given(method("POST")).respond_with(answer(then)).mount(&world.destination).await;
    Mock::given(method("GET")).and(path_regex("^/ask/")).respond_with(answer(status)).mount(&world.destination).await;
    let address = format!("{}/ask/{{job_key}}", world.destination.uri());
    let key = world.one(world.http("/in", reconcile(&address))).await;
    world.invoke(&world.worker(), std::slice::from_ref(&key)).await;
    let State::Retrying { next_attempt_at } = world.job(&key).await.state else { panic!() };
    world.clock.set(next_attempt_at);
    key
}

async fn sent_and_asked(world: &World) -> (usize, usize) {
    let calls = world.calls().await;
    let sent = calls.iter().filter(|call| call.method == http::Method::POST).count();
    (sent, calls.len() - sent)
}

fn review(job: &Job) -> Option<ReviewReason> {
    if let State::Review { reason } = job.state { Some(reason) } else { None }
}

#[tokio::test]
async fn an_effect_that_is_found_completes_the_job_without_another_call() {
    let world = World::new().await;
    let key = unknown(&world, 200, 200).await;
    // What was done needs no payload any more.
    world.table.delete_item(&key.receipt.to_string(), "payload#000").await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((job.status(), job.uncertain), (Status::Completed, None));
    assert_eq!(sent_and_asked(&world).await, (1, 1));
    let asked = world.calls().await.remove(1);
    assert_eq!(asked.url.path(), format!("/ask/{}", key.to_string().replace(':', "%3A")));
    assert!(asked.headers.contains_key("webhook-signature") && asked.body.is_empty());
}

#[tokio::test]
async fn an_effect_that_is_absent_is_sent_again_in_the_same_claim() {
    let world = World::new().await;
    let key = unknown(&world, 200, 404).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((job.status(), job.attempts.len()), (Status::Completed, 2));
    assert_eq!(sent_and_asked(&world).await, (2, 1));
}

#[tokio::test]
async fn a_refusal_after_an_absent_effect_is_a_certain_one() {
    let world = World::new().await;
    let key = unknown(&world, 422, 404).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!(review(&job), Some(ReviewReason::Permanent));
}

#[tokio::test]
async fn an_answer_that_cannot_tell_goes_to_a_person_without_another_call() {
    let world = World::new().await;
    let key = unknown(&world, 200, 400).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((review(&job), job.attempts.len()), (Some(ReviewReason::Uncertain), 2));
    assert_eq!(job.last_error.unwrap().code.as_str(), "ask-http-400");
    assert_eq!(sent_and_asked(&world).await, (1, 1));
}

#[tokio::test]
async fn no_answer_is_asked_for_again_and_never_sent_blindly() {
    let world = World::new().await;
    let key = unknown(&world, 200, 503).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((review(&job), job.attempts.len()), (Some(ReviewReason::Uncertain), 5));
    assert_eq!(sent_and_asked(&world).await, (1, 4));
}

#[tokio::test]
async fn a_question_that_is_unauthorized_holds_the_job_as_uncertain_as_it_was() {
    let world = World::new().await;
    let key = unknown(&world, 200, 401).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!((job.status(), job.attempts.len()), (Status::Held, 1));
    assert!(job.uncertain.is_some());
    assert_eq!(sent_and_asked(&world).await, (1, 1));
}

#[tokio::test]
async fn an_attempt_is_judged_by_the_promise_under_which_it_was_made() {
    let world = World::new().await;
    let key = unknown(&world, 200, 404).await;
    world.configure(vec![world.http("/in", Idempotency::key())], Some(1)).await;
    let job = world.work_off(&world.worker(), &key).await;
    assert_eq!(review(&job), Some(ReviewReason::Uncertain), "it was to be asked for, and no longer can be");
    assert_eq!(sent_and_asked(&world).await, (1, 0));
}

/// A store that can be asked in its own way.
struct Store(Asked);

impl Operation for Store {
    async fn call(&self, call: &Call<'_>) -> Report {
        if call.facts.attempt == 1 { Report::new(Outcome::Unknown, "lost", "") } else { Report::done("stored") }
    }

    async fn ask(&self, question: &Question<'_>) -> Asked {
        assert_eq!(question.settings::<serde_json::Value>().unwrap()["limit"], 3);
        assert!(question.timeout >= std::time::Duration::from_secs(1));
        self.0.clone()
    }
}

#[tokio::test]
async fn a_linked_operation_is_asked_itself() {
    let said = |outcome| Report::new(outcome, "said", "");
    let cases = [
        (Asked::Found, Status::Completed, 2),
        (Asked::Absent, Status::Completed, 2),
        (Asked::CannotTell(said(Outcome::Unknown)), Status::Review, 2),
        (Asked::NoAnswer(said(Outcome::Unknown)), Status::Review, 5),
        (Asked::NoAnswer(said(Outcome::Permanent)), Status::Review, 2),
        (Asked::AtAddress, Status::Review, 5),
    ];
    for (asked, status, attempts) in cases {
        let world = World::new().await;
        let builder = Worker::builder().operation("own", Store(asked.clone()));
        let worker = world.worker_of(builder, world.ledger.clone());
        // Nobody listens there.
        let key = world.one(own("deliver", reconcile("http://127.0.0.1:1/{event_id}"))).await;
        let job = world.work_off(&worker, &key).await;
        assert_eq!((job.status(), job.attempts.len()), (status, attempts), "{asked:?}");
    }
}

#[tokio::test]
async fn a_question_without_an_answer_never_turns_into_a_blind_repetition() {
    let world = World::new().await;
    let silent = Store(Asked::NoAnswer(Report::new(Outcome::Unknown, "said", "")));
    let worker = world.worker_of(Worker::builder().operation("own", silent), world.ledger.clone());
    let key = world.one(own("deliver", reconcile("http://127.0.0.1:1/"))).await;
    assert!(world.invoke(&worker, std::slice::from_ref(&key)).await.is_empty());
    // From now on repetitions with the key are declared safe. The call that was made before was not.
    world.configure(vec![own("deliver", Idempotency::key())], Some(1)).await;
    let State::Retrying { next_attempt_at } = world.job(&key).await.state else { panic!() };
    world.clock.set(next_attempt_at);
    let job = world.work_off(&worker, &key).await;
    assert_eq!((review(&job), job.attempts.len()), (Some(ReviewReason::Uncertain), 5));
}
