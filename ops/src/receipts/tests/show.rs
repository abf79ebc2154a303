use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::Disposition;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::receipt::Conflict;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestClock;

use hookbox_core::key::{JobKey, ReceiptId};

use super::super::show::parse_receipt;
use super::super::*;
use crate::connection::Table;
use crate::failure::Answer;
use crate::terminal::Format;
use crate::testing::{
    arrival, attempt, begin, clock, event, held, ingest, load, new_version, pause as put_pause, table, terminal,
};

async fn shown(wanted: &Wanted, table: &Table) -> String {
    let (mut terminal, captured) = terminal(Format::Table);
    assert_eq!(show(wanted, table, &mut terminal).await.unwrap(), Answer::Yes);
    captured.out()
}

async fn json(id: ReceiptId, table: &Table) -> serde_json::Value {
    let (mut terminal, captured) = terminal(Format::Json);
    assert_eq!(show(&Wanted::Id(id), table, &mut terminal).await.unwrap(), Answer::Yes);
    captured.json()
}

/// A receipt with duplicates, a conflict, a job that failed once and then worked, and one whose outcome nobody knows.
async fn eventful(table: &Table, clock: &TestClock) -> ReceiptId {
    let id = ingest(&event("evt_1", "payment_intent.succeeded"), table, clock).await;
    for n in 2..=23 {
        clock.advance(Duration::from_millis(10));
        table.ledger.count_duplicate(&id, &arrival("first", &format!("req-{n}"), clock)).await.unwrap();
    }
    clock.advance(Duration::from_secs(1));
    let conflict = Conflict {
        at: clock.now(),
        event_digest: Digest::of(b"another event"),
        delivery_digest: Digest::of(b"another delivery"),
        request_id: "req-24".into(),
    };
    table.ledger.record_conflict(&id, &conflict).await.unwrap();

    let deliver = JobKey::first(id, "deliver".parse().unwrap());
    let busy = Report::new(Outcome::Transient { retry_after: None }, "http-503", "the destination is busy");
    attempt(&deliver, &busy, table, clock).await;
    clock.advance(Duration::from_secs(2));
    attempt(&deliver, &Report::done("http-200"), table, clock).await;
    let audit = JobKey::first(id, "audit".parse().unwrap());
    attempt(&audit, &Report::new(Outcome::Unknown, "timeout", "no answer within 10 s"), table, clock).await;
    id
}

#[tokio::test]
async fn people_see_everything_that_happened() {
    let clock = clock();
    let table = table(&clock).await;
    let id = eventful(&table, &clock).await;
    insta::assert_snapshot!(shown(&Wanted::Id(id), &table).await);
}

#[tokio::test]
async fn programs_see_everything_that_happened() {
    let clock = clock();
    let table = table(&clock).await;
    let id = eventful(&table, &clock).await;
    insta::assert_json_snapshot!(json(id, &table).await);
}

#[tokio::test]
async fn an_event_is_found_by_the_provider_s_id() {
    let clock = clock();
    let table = table(&clock).await;
    let id = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let by_event = Wanted::Event { provider, account, event_id: "evt_1".into() };
    assert_eq!(by_event.id(), id);
    insta::assert_snapshot!(shown(&by_event, &table).await);
}

#[tokio::test]
async fn what_is_under_way_says_how_far_it_is() {
    let clock = clock();
    let table = table(&clock).await;
    let id = ingest(&event("evt_1", "payment_intent.succeeded"), &table, &clock).await;
    let (deliver, audit) = (JobKey::first(id, "deliver".parse().unwrap()), JobKey::first(id, "audit".parse().unwrap()));
    begin(&deliver, &table, &clock).await;
    attempt(&audit, &Report::new(Outcome::Transient { retry_after: None }, "throttled", ""), &table, &clock).await;
    insta::assert_snapshot!(shown(&Wanted::Id(id), &table).await);
    let json = json(id, &table).await;
    let of = |operation: &str| {
        let jobs = json["jobs"].as_array().unwrap();
        jobs.iter().find(|job| job["operation"] == operation).unwrap().clone()
    };
    assert_eq!(of("deliver")["attempts"][0]["outcome"], "running");
    assert_eq!(of("deliver")["lease_expires_at"], "2026-11-30T08:01:00.125Z");
    assert_eq!(of("audit")["next_attempt_at"], "2026-11-30T08:00:01.245Z");
}

#[tokio::test]
async fn a_held_job_says_why_since_when_and_how_it_goes_on() {
    let clock = clock();
    let table = table(&clock).await;
    let id = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let pause = put_pause("deliver", "answered 401 Unauthorized", &table, &clock).await;
    clock.advance(Duration::from_secs(60));
    held(&JobKey::first(id, "deliver".parse().unwrap()), &pause, &table, &clock).await;
    insta::assert_snapshot!(shown(&Wanted::Id(id), &table).await);
    let of_job = json(id, &table).await["jobs"][0]["pause"].clone();
    let expected = serde_json::json!({"since": "2026-11-30T08:00:00.125Z", "reason": "answered 401 Unauthorized"});
    assert_eq!(of_job, expected);

    table.ledger.delete_pause(&pause).await.unwrap();
    let shown = shown(&Wanted::Id(id), &table).await;
    assert!(shown.contains("held: its operation is resumed, and the sweeper releases it within minutes\n"), "{shown}");
    assert_eq!(json(id, &table).await["jobs"][0]["pause"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_new_version_stands_beside_the_first() {
    let clock = clock();
    let table = table(&clock).await;
    let id = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let first = JobKey::first(id, "deliver".parse().unwrap());
    attempt(&first, &Report::done("http-200"), &table, &clock).await;
    clock.advance(Duration::from_secs(60));
    new_version(&first, &table, &clock).await;
    insta::assert_snapshot!(shown(&Wanted::Id(id), &table).await);
    insta::assert_json_snapshot!(json(id, &table).await);
}

#[tokio::test]
async fn a_receipt_without_jobs_says_why() {
    let clock = clock();
    let table = table(&clock).await;
    let mut ignored = event("evt_1", "account.updated");
    ignored.disposition = Disposition::Ignored("the profile does not support this kind".into());
    let id = ingest(&ignored, &table, &clock).await;
    assert_eq!(load(&id, &table).await.jobs, []);
    let shown = shown(&Wanted::Id(id), &table).await;
    assert!(shown.contains("state     ignored: the profile does not support this kind\n"), "{shown}");
    assert!(shown.ends_with("\nNo jobs\n"), "{shown}");
}

#[tokio::test]
async fn what_is_not_there_is_said_with_the_key_that_was_tried() {
    let table = table(&clock()).await;
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let by_event = Wanted::Event { provider, account, event_id: "evt_9".into() };
    for (name, wanted) in [("by event", by_event.clone()), ("by id", Wanted::Id(by_event.id()))] {
        let (mut terminal, captured) = terminal(Format::Json);
        let failure = show(&wanted, &table, &mut terminal).await.unwrap_err();
        assert_eq!(failure.code(), 1, "{name}");
        assert_eq!(captured.out(), "", "{name}");
        insta::assert_snapshot!(name.replace(' ', "_"), failure);
    }
}

#[test]
fn a_job_key_leads_to_its_receipt() {
    let id = "ab".repeat(32);
    assert_eq!(parse_receipt(&id).unwrap().to_string(), id);
    assert_eq!(parse_receipt(&format!("{id}:deliver:v1")).unwrap().to_string(), id);
    assert!(parse_receipt("evt_1").is_err());
}
