use std::time::Duration;

use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_ledger::test_support::{TestClock, TestTable};

use super::super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::terminal::Format;
use crate::testing::{Captured, attempt, begin, clock, event, ingest, load, table, terminal};

const HOUR: Duration = Duration::from_secs(3_600);

/// A job of `deliver` (by key, remembered for 24 h) after one attempt.
async fn scene(outcome: Outcome) -> (Table, TestClock, JobKey) {
    let clock = clock();
    let table = table(&clock).await;
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let key = JobKey::first(receipt, "deliver".parse().unwrap());
    attempt(&key, &Report::new(outcome, "http-422", "answered 422"), &table, &clock).await;
    (table, clock, key)
}

fn decision(job: &JobKey, verb: Verb) -> Decision<'_> {
    let author = Author::Named("jane".to_owned());
    Decision { job, verb, reason: "the CRM was down", intent: Intent::Write, author }
}

const REPLAY: Verb = Verb::Replay(ForgottenKey::Refuse);

async fn carry_out(decision: &Decision<'_>, table: &Table, clock: &TestClock) -> (Result<Answer, Failure>, Captured) {
    let (mut terminal, captured) = terminal(Format::Table);
    (decision.carry_out(table, clock, &mut terminal).await, captured)
}

async fn status(key: &JobKey, table: &Table) -> Status {
    load(&key.receipt, table).await.job(key).unwrap().status()
}

#[tokio::test]
async fn a_replay_opens_a_new_round_and_says_who_and_why() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    let (answer, captured) = carry_out(&decision(&key, REPLAY), &table, &clock).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(captured.out(), format!("replayed {key}: review → pending\n"));
    let loaded = load(&key.receipt, &table).await;
    let job = loaded.job(&key).unwrap();
    assert_eq!((job.status(), job.round, job.attempts_total), (Status::Pending, 2, 1));
    let deed = &loaded.audit[0];
    assert_eq!(
        (deed.who.as_str(), deed.what.as_str(), deed.why.as_deref()),
        ("jane", "replay", Some("the CRM was down"))
    );
    assert_eq!(deed.before.as_deref(), Some("review, round 1: permanent; 2026-11-30T08:00:00.125Z http-422"));
    assert_eq!(deed.after.as_deref(), Some("pending, round 2"));
    assert_eq!(deed.expires_at, None, "it is kept as its job is");
}

#[tokio::test]
async fn the_record_of_a_decision_outlives_the_job_that_it_is_about() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    carry_out(&decision(&key, REPLAY), &table, &clock).await.0.unwrap();
    attempt(&key, &Report::new(Outcome::Permanent, "http-422", "answered 422"), &table, &clock).await;
    clock.advance(100 * 24 * HOUR);
    let expiries = async || {
        let loaded = load(&key.receipt, &table).await;
        (loaded.receipt.unwrap().expires_at, loaded.audit.iter().map(|deed| deed.expires_at).collect::<Vec<_>>())
    };
    assert_eq!(expiries().await, (None, vec![None]), "in review for a hundred days");
    carry_out(&decision(&key, Verb::Dismiss), &table, &clock).await.0.unwrap();
    let (receipt, records) = expiries().await;
    assert!(receipt.is_some());
    assert_eq!(records, [receipt, receipt], "they expire together");
}

/// Two replays, each after the other's end, run twice: neither is taken for a repetition of the other.
#[tokio::test]
async fn a_second_replay_is_not_swallowed() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    for round in [2, 3] {
        carry_out(&decision(&key, REPLAY), &table, &clock).await.0.unwrap();
        attempt(&key, &Report::done("http-200"), &table, &clock).await;
        let job = load(&key.receipt, &table).await.job(&key).unwrap().clone();
        assert_eq!((job.status(), job.round, job.attempts_total), (Status::Completed, round, round));
    }
    assert_eq!(load(&key.receipt, &table).await.audit.len(), 2);
}

#[tokio::test]
async fn a_job_that_has_not_ended_is_not_replayed() {
    let (table, clock, key) = scene(Outcome::Transient { retry_after: None }).await;
    clock.advance(HOUR);
    for status in ["retrying", "processing"] {
        let (answer, _) = carry_out(&decision(&key, REPLAY), &table, &clock).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code(), 3);
        assert!(failure.to_string().contains(&format!("it is {status}")), "{failure}");
        if status == "retrying" {
            begin(&key, &table, &clock).await;
        }
    }
    assert!(load(&key.receipt, &table).await.audit.is_empty());
}

#[tokio::test]
async fn a_key_that_the_destination_has_forgotten_is_accepted_only_when_it_is_said() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    clock.advance(25 * HOUR);
    let failure = carry_out(&decision(&key, REPLAY), &table, &clock).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    insta::assert_snapshot!(failure.to_string().replace(&key.to_string(), "JOB"));
    assert_eq!(status(&key, &table).await, Status::Review);
    let accepted = decision(&key, Verb::Replay(ForgottenKey::Accept));
    carry_out(&accepted, &table, &clock).await.0.unwrap();
    assert_eq!(status(&key, &table).await, Status::Pending);
}

#[tokio::test]
async fn without_a_payload_there_is_nothing_to_replay() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let key = JobKey::first(receipt, "deliver".parse().unwrap());
    attempt(&key, &Report::done("http-200"), &table, &clock).await;
    storage.delete_item(&receipt.to_string(), "payload#000").await;
    let failure = carry_out(&decision(&key, REPLAY), &table, &clock).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("its payload has expired"), "{failure}");
    assert_eq!(status(&key, &table).await, Status::Completed);
}

#[tokio::test]
async fn only_a_job_in_review_is_dismissed() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    carry_out(&decision(&key, Verb::Dismiss), &table, &clock).await.0.unwrap();
    assert_eq!(status(&key, &table).await, Status::Dismissed);
    let failure = carry_out(&decision(&key, Verb::Dismiss), &table, &clock).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("it is dismissed"), "{failure}");
    carry_out(&decision(&key, REPLAY), &table, &clock).await.0.unwrap();
    let deeds: Vec<_> = load(&key.receipt, &table).await.audit.into_iter().map(|deed| deed.what).collect();
    assert_eq!(deeds.len(), 2);
}

#[tokio::test]
async fn a_dry_run_and_a_no_write_nothing() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    let dry = Decision { intent: Intent::DryRun, ..decision(&key, REPLAY) };
    let (answer, captured) = carry_out(&dry, &table, &clock).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(captured.out(), format!("would replay {key}: review → pending\n"));
    let asking = Decision { intent: Intent::Ask, ..decision(&key, REPLAY) };
    let (mut terminal, _) = Captured::answering("n\n");
    assert_eq!(asking.carry_out(&table, &clock, &mut terminal).await.unwrap_err().code(), 1);
    assert_eq!(status(&key, &table).await, Status::Review);
}

/// Nothing keeps the destination from doing it twice, so whoever decides is told.
#[tokio::test]
async fn a_replay_of_what_nobody_knows_says_so() {
    let clock = clock();
    let table = table(&clock).await;
    let receipt = ingest(&event("evt_1", "payment_intent.succeeded"), &table, &clock).await;
    let key = JobKey::first(receipt, "audit".parse().unwrap());
    attempt(&key, &Report::new(Outcome::Unknown, "timeout", "no answer"), &table, &clock).await;
    let (answer, captured) = carry_out(&decision(&key, REPLAY), &table, &clock).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert!(captured.notes().contains("nobody knows what came of an earlier call"), "{}", captured.notes());
    let (table, clock, known) = scene(Outcome::Permanent).await;
    let (_, captured) = carry_out(&decision(&known, REPLAY), &table, &clock).await;
    assert_eq!(captured.notes(), "");
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_a_negative_answer() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    let other = JobKey::first(key.receipt, "crm-upsert".parse().unwrap());
    assert_eq!(carry_out(&decision(&other, REPLAY), &table, &clock).await.0.unwrap_err().code(), 1);
}

#[tokio::test]
async fn programs_get_the_decision_as_json() {
    let (table, clock, key) = scene(Outcome::Permanent).await;
    let (mut terminal, captured) = terminal(Format::Json);
    decision(&key, Verb::Dismiss).carry_out(&table, &clock, &mut terminal).await.unwrap();
    let expected = serde_json::json!({
        "job": key.to_string(), "decision": "dismiss", "before": "review", "after": "dismissed", "round": 1,
        "written": true,
    });
    assert_eq!(captured.json(), expected);
}
