//! Every answer of the function, on a real ledger.

mod addresses;
mod answers;
mod documents;
mod erased;
mod kept;
mod large;
mod stage;
mod vectors;
mod weak;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookbox_core::integration::SecretRef;
use hookbox_core::job::{Job, Status};
use hookbox_core::receipt::Receipt;
use hookbox_ledger::test_support::Fault;
use hookbox_ledger::{Loaded, OwnProfile};
use hookbox_providers::SampleValues;
use hookbox_runtime::telemetry;
use serde_json::{Value, json};

use stage::{Answer, NOW, OLD_SECRET, SECRET, Sender, Stage, delivery, integration, received};

async fn loaded(stage: &Stage, receipt: &str) -> Loaded {
    let id = receipt.parse().expect("an id");
    stage.table.ledger().load(&id).await.expect("readable").expect("stored")
}

async fn receipt(stage: &Stage, receipt: &str) -> Receipt {
    loaded(stage, receipt).await.receipt.expect("a receipt")
}

async fn stored_nothing(stage: &Stage) -> bool {
    let items = stage.table.items().await;
    items.iter().all(|item| {
        let pk = format!("{:?}", item.get("pk"));
        pk.contains("integration#") || pk.contains("directory")
    })
}

#[tokio::test]
async fn a_new_event_is_committed_with_its_job_and_payload_and_then_acknowledged() {
    let stage = Stage::with("stripe").await;
    let answer = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    assert_eq!((answer.status, answer.state().as_str()), (200, "created"));
    let id = answer.receipt();
    assert_eq!(answer.json(), json!({"success": true, "state": "created", "receiptId": id, "alreadyProcessed": false}));

    let folder = loaded(&stage, &id).await;
    let receipt = folder.receipt.expect("a receipt");
    assert_eq!(receipt.event_id.as_deref(), Some("evt_1"));
    assert_eq!(receipt.received_at, NOW);
    assert_eq!(receipt.arrivals[0].request_id, "request-1");
    assert_eq!(folder.jobs.iter().map(Job::status).collect::<Vec<_>>(), [Status::Pending]);
    let payload = stage.table.ledger().payload(&receipt.id).await.unwrap().expect("a payload");
    assert!(String::from_utf8(payload.body).unwrap().contains("evt_1"));
    assert_eq!(stage.counted("EventsCreated"), 1);
}

#[tokio::test]
async fn a_duplicate_gets_the_same_success_and_is_counted_on_the_receipt() {
    let stage = Stage::with("stripe").await;
    let first = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    stage.clock.advance(Duration::from_secs(3));
    let second = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    assert_eq!((second.status, second.state().as_str()), (200, "duplicate"));
    assert_eq!(second.json()["alreadyProcessed"], true);
    assert_eq!(second.receipt(), first.receipt());

    let folder = loaded(&stage, &first.receipt()).await;
    let receipt = folder.receipt.expect("a receipt");
    assert_eq!((receipt.duplicate_count, folder.jobs.len()), (1, 1));
    assert_eq!(receipt.last_duplicate_at, Some(NOW.plus(Duration::from_secs(3))));
    assert_eq!(receipt.arrivals.len(), 2);
}

#[tokio::test]
async fn fifty_deliveries_at_once_are_one_receipt_and_one_job() {
    let stage = Stage::with("stripe").await;
    let event = Sender::of("stripe").sample("evt_1");
    let answers = futures_util::future::join_all((0..50).map(|_| stage.answer(event.clone()))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(answers.iter().filter(|answer| answer.state() == "created").count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.state() == "duplicate").count(), 49);
    let folder = loaded(&stage, &answers[0].receipt()).await;
    assert_eq!(folder.jobs.len(), 1);
    assert_eq!(folder.receipt.expect("a receipt").duplicate_count, 49);
}

#[tokio::test]
async fn the_same_key_with_another_content_is_a_conflict_that_keeps_both_digests() {
    let stage = Stage::with("stripe").await;
    let first = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    let set = json!({"note": "changed"});
    let changed =
        SampleValues { event_id: Some("evt_1"), occurred_at: NOW, set: Some(&set), ..SampleValues::default() };
    let second = stage.answer(Sender::of("stripe").signed(&changed)).await;
    assert_eq!((second.status, second.state().as_str()), (200, "conflict"));

    let folder = loaded(&stage, &first.receipt()).await;
    let receipt = folder.receipt.expect("a receipt");
    assert_eq!((receipt.conflicts.len(), folder.jobs.len()), (1, 1));
    assert_ne!(receipt.conflicts[0].event_digest, receipt.event_digest);
    assert_eq!(stage.counted("EventsConflict"), 1);
    assert_eq!(stage.counted("EventsWeak"), 0, "its provider gives it an id");
}

#[tokio::test]
async fn a_retry_counter_in_the_body_is_no_conflict() {
    let stage = Stage::with("stripe").await;
    let body = |pending: u8| {
        let text = format!(
            r#"{{"id":"evt_1","object":"event","created":1764500000,"pending_webhooks":{pending},"type":"a.b","data":{{"object":{{"id":"x"}}}}}}"#
        );
        Sender::of("stripe").body(text.as_bytes(), &[], None)
    };
    assert_eq!(stage.answer(body(2)).await.state(), "created");
    assert_eq!(stage.answer(body(1)).await.state(), "duplicate");
}

#[tokio::test]
async fn an_unknown_endpoint_answers_byte_for_byte_like_a_bad_signature() {
    let stage = Stage::with("stripe").await;
    let body = br#"{"id":"evt_1"}"#;
    let forged = [("Stripe-Signature".to_owned(), format!("t=1764500000,v1={}", "0".repeat(64)))];
    let bad = stage.answer(delivery("/hooks/stripe/demo", &forged, body)).await;
    assert_eq!(bad.status, 401);
    for path in [
        "/hooks/stripe/other",
        "/hooks/nobody/demo",
        "/hooks/stripe",
        "/hooks/stripe/demo/x/y",
        "/hooks/STRIPE/demo",
        "/",
        "/hooks/stripe/%00",
    ] {
        assert_eq!(stage.answer(delivery(path, &forged, body)).await, bad, "{path}");
    }
    assert!(stored_nothing(&stage).await);
    assert_eq!((stage.counted("VerificationFailed"), stage.counted("UnknownIntegration")), (1, 7));
}

#[tokio::test]
async fn a_signature_that_is_bad_missing_stale_or_there_twice_is_refused_and_stores_nothing() {
    let stage = Stage::with("stripe").await;
    let mut late = Sender::of("stripe").sample("evt_1");
    let good = late["headers"]["stripe-signature"].as_str().expect("a signature").to_owned();
    let with = |value: Value| {
        let mut event = Sender::of("stripe").sample("evt_1");
        event["headers"]["stripe-signature"] = value;
        event
    };
    for refused in [with("".into()), with("nonsense".into()), with(format!("{good}, {good}").into())] {
        let shown = refused["headers"].to_string();
        assert_eq!(stage.answer(refused).await.status, 401, "{shown}");
    }
    let mut missing = Sender::of("stripe").sample("evt_2");
    missing["headers"].as_object_mut().unwrap().remove("stripe-signature");
    assert_eq!(stage.answer(missing).await.status, 401);
    let foreign = Sender::of("stripe").with_secret("whsec_someone-else").sample("evt_3");
    assert_eq!(stage.answer(foreign).await.status, 401);
    stage.clock.advance(Duration::from_secs(301));
    late["requestContext"]["requestId"] = "late".into();
    assert_eq!(stage.answer(late).await.status, 401);
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn every_secret_of_the_list_verifies_and_receipt_and_metric_say_which() {
    let stage = Stage::with("stripe").await;
    let answer = stage.answer(Sender::of("stripe").with_secret(OLD_SECRET).sample("evt_1")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(receipt(&stage, &answer.receipt()).await.arrivals[0].secret_index, 1);
    // A repetition is signed too, and a forgery is not.
    stage.answer(Sender::of("stripe").with_secret(OLD_SECRET).sample("evt_1")).await;
    stage.answer(Sender::of("stripe").sample("evt_2")).await;
    stage.answer(Sender::of("stripe").with_secret("whsec_someone-else").sample("evt_3")).await;
    assert_eq!(stage.verified_with(), ["1", "1", "0"]);
    let line = stage.published("DeliveriesVerified").remove(0);
    assert_eq!(line["Provider"], "stripe");
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[], ["Provider", "Secret"]]));
}

#[tokio::test]
async fn the_metric_of_the_secrets_has_ten_values_however_long_the_list_is() {
    let stage = Stage::new().await;
    let mut secrets = vec![SecretRef::Env("OLD_SECRET".into()); 9];
    secrets.extend([SecretRef::Env("SECRET".into()), SecretRef::Env("SECRET".into())]);
    stage.configure(&hookbox_core::integration::Integration { secrets, ..integration("stripe") }).await;
    stage.answer(Sender::of("stripe").with_secret(OLD_SECRET).sample("evt_1")).await;
    stage.answer(Sender::of("stripe").sample("evt_2")).await;
    assert_eq!(stage.verified_with(), ["0", "9+"], "the first that matches");
}

#[tokio::test]
async fn a_broken_verifier_refuses_everything_with_503() {
    for secrets in [vec![SecretRef::Env("UNSET".into())], vec![SecretRef::Env("EMPTY".into())], Vec::new()] {
        let stage = Stage::new().await;
        stage.configure(&hookbox_core::integration::Integration { secrets, ..integration("stripe") }).await;
        let answer = stage.answer(Sender::of("stripe").sample("evt_1")).await;
        assert_eq!(answer.status, 503);
        assert!(stored_nothing(&stage).await);
        assert_eq!(stage.counted("VerifierBroken"), 1);
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_does_not_stand_in_the_way_of_the_others() {
    let stage = Stage::new().await;
    let secrets = vec![SecretRef::Env("UNSET".into()), SecretRef::Env("OLD_SECRET".into())];
    stage.configure(&hookbox_core::integration::Integration { secrets, ..integration("stripe") }).await;
    let answer = stage.answer(Sender::of("stripe").with_secret(OLD_SECRET).sample("evt_1")).await;
    assert_eq!(receipt(&stage, &answer.receipt()).await.arrivals[0].secret_index, 1, "its place in the configuration");
    let lines = Lines::default();
    let writer = lines.clone();
    let logging = tracing::subscriber::set_default(telemetry::subscriber(None, move || writer.clone()));
    let unsure = stage.answer(Sender::of("stripe").sample("evt_2")).await;
    drop(logging);
    assert_eq!(unsure.status, 503, "the unreadable secret might have been the right one");
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("`env:UNSET` does not exist"), "which one, and why: {log}");
    assert!(!log.contains(OLD_SECRET), "{log}");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_never_cut() {
    let stage = Stage::with("stripe").await;
    let body = vec![b' '; hookbox_core::limits::MAX_BODY_BYTES + 1];
    let answer = stage.answer(Sender::of("stripe").body(&body, &[], None)).await;
    assert_eq!(answer.status, 413);
    let unknown = stage.answer(delivery("/hooks/stripe/nobody", &[], &body)).await;
    assert_eq!(unknown, answer, "whether the endpoint exists or not");
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn what_is_not_the_documented_shape_is_refused_without_an_echo() {
    let stage = Stage::with("stripe").await;
    let mallory: [&[u8]; 4] =
        [b"{\"mallory\":", b"", b"[\"mallory\"] trailing", b"\xff\xfe{\"object\":\"event\",\"id\":\"mallory\"}"];
    for body in mallory {
        let answer = stage.answer(Sender::of("stripe").body(body, &[], None)).await;
        assert_eq!(answer.status, 400, "{body:?}");
        assert!(!answer.text.contains("mallory"), "{}", answer.text);
    }
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn an_unsupported_kind_is_evidence_without_work() {
    let stage = Stage::with("stripe").await;
    let body = br#"{"id":"evt_9","object":"something.new","type":"x"}"#;
    let answer = stage.answer(Sender::of("stripe").body(body, &[], None)).await;
    assert_eq!((answer.status, answer.state().as_str()), (200, "ignored"));
    assert!(loaded(&stage, &answer.receipt()).await.jobs.is_empty());
}

#[tokio::test]
async fn an_event_without_a_stable_key_is_refused_where_the_profile_says_so() {
    let stage = Stage::with("generic").await;
    let answer = stage.answer(Sender::of("generic").body(br#"{"type":"order.paid"}"#, &[], None)).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    assert!(stored_nothing(&stage).await);
}

fn yelp_updates(updates: &Value) -> Value {
    let body = json!({"time": "2022-06-09T10:00:00+00:00", "object": "business",
        "data": {"id": "biz", "updates": updates}});
    Sender::of("yelp").body(body.to_string().as_bytes(), &[], None)
}

#[tokio::test]
async fn each_element_of_a_batch_has_its_receipt_and_a_bad_one_fails_no_other() {
    let stage = Stage::with("yelp").await;
    let event = |id: &str| json!({"event_type": "NEW_EVENT", "event_id": id, "lead_id": "lead-1"});
    let bad = json!({"event_type": "NEW_EVENT", "event_id": {"not": "a text"}, "lead_id": "lead-1"});
    let updates = json!([event("a"), bad, event("b"), {"event_type": "SOMETHING_ELSE"}, event("a")]);
    let answer = stage.answer(yelp_updates(&updates)).await;
    assert_eq!(answer.status, 200);
    let receipts = answer.json()["receipts"].as_array().expect("a batch").clone();
    let states: Vec<_> = receipts.iter().map(|receipt| receipt["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["created", "rejected", "created", "ignored", "duplicate"]);
    assert_eq!(receipts[0]["receiptId"], receipts[4]["receiptId"]);

    let again = stage.answer(yelp_updates(&updates)).await.json();
    let states: Vec<_> = again["receipts"].as_array().unwrap().iter().map(|r| r["state"].clone()).collect();
    assert_eq!(states, ["duplicate"; 5], "a redelivery finds all of it");
}

#[tokio::test]
async fn a_repetition_within_a_batch_is_compared_with_what_is_stored() {
    let stage = Stage::with("yelp").await;
    let event = |text: &str| json!({"event_type": "NEW_EVENT", "event_id": "m", "lead_id": "l", "text": text});
    assert_eq!(stage.answer(yelp_updates(&json!([event("one")]))).await.state(), "created");
    let answer = stage.answer(yelp_updates(&json!([event("two"), event("one")]))).await.json();
    let states: Vec<_> = answer["receipts"].as_array().unwrap().iter().map(|r| r["state"].clone()).collect();
    assert_eq!(states, ["conflict", "duplicate"]);
    let answer = stage.answer(yelp_updates(&json!([event("two"), event("two")]))).await.json();
    let states: Vec<_> = answer["receipts"].as_array().unwrap().iter().map(|r| r["state"].clone()).collect();
    assert_eq!(states, ["conflict", "conflict"]);
}

#[tokio::test]
async fn a_receipt_of_a_newer_version_is_a_duplicate_by_its_key_alone() {
    let stage = Stage::with("stripe").await;
    let event = Sender::of("stripe").sample("evt_1");
    let first = stage.answer(event.clone()).await;
    let mut newer = stage.table.item(&first.receipt(), "head").await.expect("a receipt");
    newer.insert("schema".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("99".to_owned()));
    stage.table.put_item(newer.clone()).await;
    assert_eq!(stage.answer(event).await.state(), "duplicate");
    assert_eq!(stage.table.item(&first.receipt(), "head").await, Some(newer), "and is left alone");
}

#[tokio::test]
async fn a_handshake_is_answered_and_leaves_no_receipt() {
    let stage = Stage::with("yelp").await;
    let mut hello = yelp_updates(&json!([]));
    hello["requestContext"]["http"]["method"] = "GET".into();
    hello["rawQueryString"] = "verification=abc123".into();
    hello["body"] = Value::Null;
    let answer = stage.answer(hello.clone()).await;
    assert_eq!((answer.status, answer.json()), (200, json!({"verification": "abc123"})));
    hello["rawPath"] = "/hooks/yelp/demo/wrong".into();
    assert_eq!(stage.answer(hello).await.status, 401);
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn a_table_out_of_reach_is_503_and_the_redelivery_gets_the_ordinary_success() {
    let stage = Stage::with("stripe").await;
    let event = Sender::of("stripe").sample("evt_1");
    assert_eq!(stage.answer(Sender::of("stripe").sample("evt_0")).await.status, 200, "the configuration is known");
    let tries = 12;
    for _ in 0..tries {
        stage.faults.on_next("TransactWriteItems", Fault::Throttle);
    }
    let failed = stage.answer(event.clone()).await;
    assert_eq!(failed.status, 503);
    assert_eq!(stage.counted("CommitFailed"), 1);
    assert!(stage.faults.all_happened());
    assert_eq!(stage.answer(event).await.state(), "created", "what was refused left nothing");
}

#[tokio::test]
async fn a_lost_reply_is_found_again_by_our_own_retry_and_counts_no_duplicate() {
    let stage = Stage::with("stripe").await;
    stage.faults.on_next("TransactWriteItems", Fault::LoseReply);
    let answer = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    assert_eq!((answer.status, answer.state().as_str()), (200, "created"));
    assert_eq!(receipt(&stage, &answer.receipt()).await.duplicate_count, 0);
    assert!(stage.faults.all_happened());
}

#[tokio::test]
async fn failing_to_count_a_duplicate_never_fails_the_answer() {
    let stage = Stage::with("stripe").await;
    let event = Sender::of("stripe").sample("evt_1");
    stage.answer(event.clone()).await;
    for _ in 0..100 {
        stage.faults.on_next("UpdateItem", Fault::Throttle);
    }
    let answer = stage.answer(event).await;
    assert_eq!(answer.state(), "duplicate");
    assert_eq!(receipt(&stage, &answer.receipt()).await.duplicate_count, 0, "it could not be counted");
}

#[tokio::test]
async fn an_event_of_a_foreign_tenant_is_stored_nowhere() {
    let stage = Stage::new().await;
    let tenants = vec!["biz".to_owned()];
    stage.configure(&hookbox_core::integration::Integration { tenants, ..integration("yelp") }).await;
    let update = json!([{"event_type": "NEW_EVENT", "event_id": "a", "lead_id": "lead-1"}]);
    assert_eq!(stage.answer(yelp_updates(&update)).await.state(), "created");
    let before = stage.table.items().await.len();
    let foreign = json!({"time": "2022-06-09T10:00:00+00:00", "object": "business",
        "data": {"id": "another", "updates": [{"event_type": "NEW_EVENT", "event_id": "b", "lead_id": "lead-1"}]}});
    let answer = stage.answer(Sender::of("yelp").body(foreign.to_string().as_bytes(), &[], None)).await;
    assert_eq!((answer.status, stage.table.items().await.len()), (403, before));
    assert_eq!(stage.counted("VerificationFailed"), 1);
}

#[tokio::test]
async fn neither_answers_nor_metrics_nor_items_hold_a_secret() {
    let stage = Stage::with("yelp").await;
    let event = yelp_updates(&json!([{"event_type": "NEW_EVENT", "event_id": "a", "lead_id": "b"}]));
    assert!(
        event["rawPath"].as_str().unwrap().contains(SECRET.split('=').next().unwrap()),
        "the path holds the secret"
    );
    let Answer { status, text, headers, .. } = stage.answer(event).await;
    assert_eq!(status, 200);
    let items = format!("{:?}", stage.table.items().await);
    for (place, said) in
        [("answer", text), ("headers", format!("{headers:?}")), ("metrics", stage.lines()), ("items", items)]
    {
        assert!(!said.contains("bmV2ZXItdG8tYmUtc2Vlbg"), "{place}: {said}");
    }
}

#[test]
fn what_may_not_stand_in_a_uri_ends_no_process() {
    for (path, query) in [
        ("/hooks/stripe/a b\"<>\\^`{|}", "a=<b>&c=\"d\"&e={f}|\\^`"),
        ("/hooks/stripe/ü\u{0}\n", "ü=\u{7f}&%zz=%"),
        ("", "?"),
    ] {
        let mut event = delivery(path, &[("host".to_owned(), "a.example".to_owned())], b"");
        event["rawQueryString"] = query.into();
        event["headers"]["x-forwarded-proto"] = "a b".into();
        event["headers"]["host"] = "a b".into();
        received(event);
    }
}

/// A profile that this version does not bring along.
const ACME: &str = r#"
name = "acme"
title = "Acme CRM"
[delivery]
[[verify]]
scheme = "token"
header = "X-Acme-Token"
[body]
format = "json"
[[event]]
id = "body:$.id"
kind = "body:$.type"
[sample]
event_id = "chg_1"
kind = "contact.created"
resource = "con_7"
body = '{"id":"{event_id}","type":"{kind}"}'
"#;

fn of_acme(id: &str) -> Value {
    let headers = [("X-Acme-Token".to_owned(), SECRET.to_owned())];
    delivery("/hooks/acme/demo", &headers, format!(r#"{{"id":"{id}","type":"contact.created"}}"#).as_bytes())
}

#[tokio::test]
async fn a_team_s_own_profile_is_found_and_a_change_of_it_takes_effect() {
    let stage = Stage::with("acme").await;
    assert_eq!(stage.answer(of_acme("chg_1")).await.status, 503, "nobody has applied it");
    let own = |rev, toml: &str| OwnProfile { name: "acme".parse().unwrap(), rev, toml: toml.to_owned() };
    stage.table.ledger().put_own_profile(&own(1, ACME), None).await.unwrap();
    let answer = stage.answer(of_acme("chg_1")).await;
    assert_eq!((answer.status, answer.state().as_str()), (200, "created"));
    assert_eq!(receipt(&stage, &answer.receipt()).await.kind, "contact.created");

    // As a configuration is, it is used for a while before it is read again.
    stage.table.ledger().put_own_profile(&own(2, "name = 7"), Some(1)).await.unwrap();
    assert_eq!(stage.answer(of_acme("chg_2")).await.status, 200);
    stage.clock.advance(Duration::from_secs(11));
    let broken = stage.answer(of_acme("chg_3")).await;
    assert_eq!(broken.status, 503);
    assert_eq!(stage.counted("VerifierBroken"), 2);
}

#[tokio::test]
async fn a_clock_that_was_set_back_keeps_no_old_configuration_alive() {
    let stage = Stage::with("stripe").await;
    stage.clock.advance(Duration::from_secs(120));
    assert_eq!(stage.answer(Sender::of("stripe").sample("evt_1")).await.status, 200);
    stage.clock.set(NOW);
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    stage.table.ledger().retire_integration(&provider, &account, 1, NOW).await.unwrap();
    assert_eq!(stage.answer(Sender::of("stripe").sample("evt_2")).await.status, 401);
}
