//! The largest delivery that a provider sends, and what becomes of one that is not finished in time.

use std::time::Duration;

use hookbox_core::integration::{Integration, SecretRef};
use hookbox_ledger::test_support::Fault;
use serde_json::Value;

use super::stage::{Answer, Stage, delivery, integration};

/// How the body below is signed.
fn signed() -> Value {
    serde_json::from_str(include_str!("sendgrid.json")).unwrap()
}

fn event(n: u64) -> String {
    format!(
        r#"{{"email":"ada.lovelace@example.com","timestamp":1764499000,"smtp-id":"<14c5d75ce93.dfd.64b469@ismtpd-555>","event":"click","category":["cat facts"],"sg_event_id":"AAAAAAAAAAAAAAAA{n:06}","sg_message_id":"14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0","useragent":"Mozilla/4.0 (compatible; MSIE 6.1; Windows XP)","ip":"203.0.113.9","url":"http://www.example.com/"}}"#
    )
}

/// 768 KB of clicks, which is when `SendGrid` sends what it has.
fn body() -> Vec<u8> {
    let events: Vec<String> = (0..signed()["events"].as_u64().unwrap()).map(event).collect();
    let body = format!("[{}]\r\n", events.join(","));
    assert_eq!(body.len() as u64, signed()["bytes"].as_u64().unwrap());
    body.into_bytes()
}

/// The key that a variable of this name holds.
pub(super) fn variable(name: &str) -> Option<String> {
    (name == "SENDGRID").then(|| signed()["key"].as_str().unwrap().to_owned())
}

async fn sendgrid() -> (Stage, Value) {
    let stage = Stage::new().await;
    let secrets = vec![SecretRef::Env("SENDGRID".into())];
    let of = integration("sendgrid");
    stage.configure(&Integration { secrets, url: None, operations: Vec::new(), ..of }).await;
    let text = |name: &str| signed()[name].as_str().unwrap().to_owned();
    let headers = [
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("X-Twilio-Email-Event-Webhook-Signature".to_owned(), text("signature")),
        ("X-Twilio-Email-Event-Webhook-Timestamp".to_owned(), text("timestamp")),
    ];
    (stage, delivery("/hooks/sendgrid/demo", &headers, &body()))
}

fn count(answer: &Answer, state: &str) -> usize {
    answer.json()["receipts"].as_array().unwrap().iter().filter(|receipt| receipt["state"] == state).count()
}

/// Commits that were asked for since the last time.
fn commits(stage: &Stage, seen: &mut usize) -> usize {
    let log = stage.faults.log();
    let new = log[*seen..].iter().filter(|effect| effect.operation == "TransactWriteItems").count();
    *seen = log.len();
    new
}

/// Nobody can make a provider send less at once, so each delivery of the same events comes further than the one before.
#[tokio::test]
async fn a_delivery_that_is_not_finished_in_time_goes_on_with_its_redelivery_until_all_is_stored() {
    let (stage, sent) = sendgrid().await;
    let events = usize::try_from(signed()["events"].as_u64().unwrap()).unwrap();
    let (mut seen, mut asked) = (0, 0);
    assert!(events > 1_500, "{events}");
    // In each of the first two the time is over within the commits.
    for cut in [600, 1_200] {
        stage.faults.at(stage.faults.count() + 650, Fault::DelayReply(Duration::from_secs(20)));
        let answer = stage.answer(sent.clone()).await;
        assert_eq!(answer.status, 503, "{cut}");
        asked += commits(&stage, &mut seen);
        assert!(asked >= cut, "{asked}: what is stored already is not asked for again");
    }
    let answer = stage.answer(sent.clone()).await;
    assert_eq!(answer.status, 200);
    let (created, known) = (count(&answer, "created"), count(&answer, "duplicate"));
    assert_eq!(created + known, events);
    assert_eq!(commits(&stage, &mut seen), created, "and the last one commits the rest alone");
    assert!(asked - known <= 2 * 16, "what was under way when the time was over: {}", asked - known);
    assert_eq!(stage.counted("CommitFailed"), 2);

    let first = answer.json()["receipts"][0]["receiptId"].as_str().unwrap().to_owned();
    let payload = stage.table.ledger().payload(&first.parse().unwrap()).await.unwrap().expect("a payload");
    assert_eq!(String::from_utf8(payload.body).unwrap(), format!("[{}]", event(0)), "byte for byte");
    assert_eq!(payload.headers, [], "neither the signature nor its time");
}

#[tokio::test]
async fn a_repetition_of_a_large_delivery_is_told_by_a_look_and_a_changed_event_in_it_as_well() {
    let stage = Stage::with("yelp").await;
    let updates = |changed: u64| {
        let update = |n: u64| {
            let text = if n == changed { "changed" } else { "as it was" };
            serde_json::json!({"event_type": "NEW_EVENT", "event_id": format!("e{n}"), "lead_id": "l", "text": text})
        };
        super::yelp_updates(&(0..250).map(update).collect::<Vec<_>>().into())
    };
    assert_eq!(count(&stage.answer(updates(999)).await, "created"), 250);
    let mut seen = stage.faults.count();
    let again = stage.answer(updates(7)).await;
    assert_eq!((count(&again, "duplicate"), count(&again, "conflict")), (249, 1));
    let looks = stage.faults.log()[seen..].iter().filter(|effect| effect.operation == "BatchGetItem").count();
    assert_eq!((looks, commits(&stage, &mut seen)), (3, 0));
    assert_eq!((stage.counted("EventsDuplicate"), stage.counted("EventsConflict")), (249, 1));

    // Without the look nothing is known, and so nothing is acknowledged.
    for _ in 0..40 {
        stage.faults.on_next("BatchGetItem", Fault::Throttle);
    }
    assert_eq!(stage.answer(updates(999)).await.status, 503);
}

/// What has no id is known by its content for a while: meanwhile a look finds it as it finds everything else.
#[tokio::test]
async fn a_repetition_of_events_without_ids_is_told_by_a_look_and_their_return_by_the_commit() {
    let stage = Stage::with("yelp").await;
    let update =
        |n: u64| serde_json::json!({"event_type": "CONSUMER_PHONE_NUMBER_OPT_IN_EVENT", "lead_id": format!("l{n}")});
    let sent = super::yelp_updates(&(0..150).map(update).collect::<Vec<_>>().into());
    assert_eq!(count(&stage.answer(sent.clone()).await, "created"), 150);
    let mut seen = stage.faults.count();
    assert_eq!(count(&stage.answer(sent.clone()).await, "duplicate"), 150);
    assert_eq!(commits(&stage, &mut seen), 0);
    stage.clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(count(&stage.answer(sent).await, "created"), 150, "much later they are others");
}
