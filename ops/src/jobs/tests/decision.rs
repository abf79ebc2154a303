use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_ledger::test_support::{TestClock, TestTable};

use super::super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::terminal::Format;
use crate::testing::{
    Captured, attempt, begin, clock, configured, event, held, ingest, load, pause as put_pause, table, terminal,
};

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

/// Everywhere else a replay is refused with the state, whichever form it has.
#[tokio::test]
async fn a_replay_is_refused_wherever_nobody_s_decision_is_needed() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    let keys: Vec<_> = {
        let mut keys = Vec::new();
        for id in ["evt_1", "evt_2", "evt_3", "evt_4"] {
            let receipt = ingest(&event(id, "charge.refunded"), &table, &clock).await;
            keys.push(JobKey::first(receipt, "deliver".parse().unwrap()));
        }
        keys
    };
    begin(&keys[1], &table, &clock).await;
    attempt(&keys[2], &Report::new(Outcome::Transient { retry_after: None }, "http-503", ""), &table, &clock).await;
    let pause = put_pause("deliver", "answered 401", &table, &clock).await;
    held(&keys[3], &pause, &table, &clock).await;
    for (key, state) in keys.iter().zip(["pending", "processing", "retrying", "held"]) {
        for verb in [REPLAY, Verb::Replay(ForgottenKey::Accept), Verb::NewVersion] {
            let failure = carry_out(&decision(key, verb), &table, &clock).await.0.unwrap_err();
            assert_eq!(failure.code(), 3);
            assert!(failure.to_string().contains(&format!("it is {state}: ")), "{failure}");
        }
        let loaded = load(&key.receipt, &table).await;
        assert_eq!((loaded.job(key).unwrap().status().as_str(), loaded.jobs.len()), (state, 1));
        assert!(loaded.audit.is_empty());
    }
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
async fn each_decision_is_shown_to_people_and_to_programs() {
    for verb in [REPLAY, Verb::NewVersion, Verb::Dismiss] {
        for format in [Format::Table, Format::Json] {
            let (table, clock, key) = scene(Outcome::Permanent).await;
            let (mut terminal, captured) = terminal(format);
            let dry = Decision { intent: Intent::DryRun, ..decision(&key, verb) };
            dry.carry_out(&table, &clock, &mut terminal).await.unwrap();
            assert_eq!(load(&key.receipt, &table).await.audit.len(), 0);
            decision(&key, verb).carry_out(&table, &clock, &mut terminal).await.unwrap();
            let shown = format!("{}--- notes\n{}", captured.out(), captured.notes());
            insta::assert_snapshot!(format!("{}_{format:?}", verb.code()), shown);
        }
    }
}

/// Two forms of identity: the same effect again keeps its key, a new one has another.
#[tokio::test]
async fn a_new_version_is_a_second_effect_under_a_key_of_its_own() {
    let (table, clock, first) = scene(Outcome::Done).await;
    carry_out(&decision(&first, Verb::NewVersion), &table, &clock).await.0.unwrap();
    let second = first.following().unwrap();
    let loaded = load(&first.receipt, &table).await;
    let (before, after) = (loaded.job(&first).unwrap(), loaded.job(&second).unwrap());
    assert_eq!((before.status(), before.round), (Status::Completed, 1), "it stays as it is");
    assert_eq!((after.status(), after.round, after.attempts_total), (Status::Pending, 1, 0));
    let deed = &loaded.audit[0];
    let (on, before) = (deed.on.as_deref(), deed.before.as_deref());
    assert_eq!((deed.who.as_str(), deed.what.as_str(), on), ("jane", "new-version", Some(second.to_string().as_str())));
    assert_eq!(before, Some("v1: completed, round 1; 2026-11-30T08:00:00.125Z http-422"));
    assert_eq!(deed.after.as_deref(), Some("pending, round 1"));

    // The first has its successor; only the newest gets another, and not while it is under way.
    let failure = carry_out(&decision(&first, Verb::NewVersion), &table, &clock).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains(&format!("there is a newer version of it: {second}\n")), "{failure}");
    attempt(&second, &Report::done("http-200"), &table, &clock).await;
    carry_out(&decision(&second, Verb::NewVersion), &table, &clock).await.0.unwrap();
    let third = second.following().unwrap();
    assert_eq!(status(&third, &table).await, Status::Pending);
    let failure = carry_out(&decision(&third, Verb::NewVersion), &table, &clock).await.0.unwrap_err();
    assert!(failure.to_string().contains("it is pending: "), "{failure}");
}

#[tokio::test]
async fn a_new_version_is_not_made_without_its_payload_or_of_what_cannot_be_read() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let key = JobKey::first(receipt, "deliver".parse().unwrap());
    attempt(&key, &Report::done("http-200"), &table, &clock).await;
    let pk = receipt.to_string();
    let mut newer = storage.item(&pk, "job#deliver#v0001").await.unwrap();
    newer.insert("sk".to_owned(), AttributeValue::S("job#deliver#v0002".to_owned()));
    newer.insert("schema".to_owned(), AttributeValue::N("99".to_owned()));
    storage.put_item(newer).await;
    for intent in [Intent::DryRun, Intent::Write] {
        let decision = Decision { intent, ..decision(&key, Verb::NewVersion) };
        let failure = carry_out(&decision, &table, &clock).await.0.unwrap_err();
        assert_eq!(failure.code(), 3);
        assert!(failure.to_string().contains("v0002 has schema 99"), "{failure}");
    }
    storage.delete_item(&pk, "job#deliver#v0002").await;
    storage.delete_item(&pk, "payload#000").await;
    let failure = carry_out(&decision(&key, Verb::NewVersion), &table, &clock).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("its payload has expired: there is nothing to send"), "{failure}");
    assert_eq!(load(&receipt, &table).await.jobs.len(), 1);
}

#[tokio::test]
async fn what_a_new_version_means_is_said_before_it_is_asked() {
    let (table, clock, key) = scene(Outcome::Done).await;
    let asking = Decision { intent: Intent::Ask, ..decision(&key, Verb::NewVersion) };
    let (mut terminal, captured) = Captured::answering("n\n");
    assert_eq!(asking.carry_out(&table, &clock, &mut terminal).await.unwrap_err().code(), 1);
    let question = format!(
        "{key} is completed. As a new version its destination sees another key and does its work once more. Replay \
         it? [y/N] "
    );
    assert_eq!(captured.notes(), question);
    assert_eq!(load(&key.receipt, &table).await.jobs.len(), 1);
}
