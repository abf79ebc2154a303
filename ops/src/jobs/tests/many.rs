use std::pin::pin;
use std::time::Duration;

use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::replay::ForgottenKey;
use hookbox_ledger::test_support::TestClock;
use hookbox_ledger::{Bulk, BulkState};

use super::super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::terminal::Format;
use crate::testing::{attempt, clock, event, ingest, load, surroundings, table, terminal};

/// Jobs of `deliver`: `failed` in review, and one that is retried.
async fn scene(failed: usize) -> (Table, TestClock, Vec<JobKey>) {
    let clock = clock();
    let table = table(&clock).await;
    let mut keys = Vec::new();
    for n in 0..=failed {
        let receipt = ingest(&event(&format!("evt_{n}"), "charge.refunded"), &table, &clock).await;
        let key = JobKey::first(receipt, "deliver".parse().unwrap());
        let outcome = if n < failed { Outcome::Permanent } else { Outcome::Transient { retry_after: None } };
        attempt(&key, &Report::new(outcome, "http-422", "no"), &table, &clock).await;
        keys.push(key);
    }
    (table, clock, keys)
}

fn many(jobs: &[JobKey], intent: Intent) -> Many<'static> {
    Many {
        jobs: jobs.to_vec(),
        verb: Verb::Replay(ForgottenKey::Refuse),
        reason: "the CRM was down",
        query: "all".to_owned(),
        rate: 10,
        intent,
        author: Author::Named("jane".to_owned()),
    }
}

/// Carries it out; stopped when so many jobs were read again.
async fn carried(
    many: &Many<'_>,
    table: &Table,
    clock: &TestClock,
    stop_after: usize,
    format: Format,
) -> (Answer, String) {
    let (mut terminal, captured) = terminal(format);
    let answer = pin!(many.carry_out(table, surroundings(clock, stop_after), &mut terminal)).await.unwrap();
    (answer, captured.out())
}

async fn bulk(table: &Table) -> Option<Bulk> {
    table.ledger.bulk(&"replay-20261130-00000007".parse().unwrap()).await.unwrap()
}

async fn status(key: &JobKey, table: &Table) -> Status {
    load(&key.receipt, table).await.job(key).unwrap().status()
}

#[tokio::test]
async fn many_are_replayed_at_their_rate_and_recorded_as_one() {
    let (table, clock, keys) = scene(120).await;
    let before = clock.now();
    let (answer, out) = carried(&many(&keys, Intent::Write), &table, &clock, usize::MAX, Format::Table).await;
    assert_eq!(answer, Answer::Yes);
    assert!(out.starts_with("would replay 120 of 121 jobs\n"), "{out}");
    assert!(out.contains("\n  and 115 more\nnot 1: retrying\n"), "{out}");
    assert!(out.ends_with("finished: 120 replayed, 1 retrying (replay-20261130-00000007)\n"), "{out}");
    assert_eq!(clock.now().since(before), Duration::from_millis(11_900), "ten a second");
    for key in &keys[..120] {
        let loaded = load(&key.receipt, &table).await;
        assert_eq!((loaded.jobs[0].status(), loaded.jobs[0].round), (Status::Pending, 2));
        assert_eq!(loaded.audit[0].bulk.as_deref(), Some("replay-20261130-00000007"));
        assert_eq!(loaded.audit[0].who, "jane");
    }
    assert_eq!(status(&keys[120], &table).await, Status::Retrying);
    let bulk = bulk(&table).await.unwrap();
    assert_eq!((bulk.state, bulk.cursor, bulk.counts["replayed"]), (BulkState::Finished, None, 120));
    assert_eq!((bulk.why.as_deref(), bulk.query.as_str()), (Some("the CRM was down"), "all"));
}

#[tokio::test]
async fn stopped_in_between_what_was_replayed_stays_and_nothing_else_is() {
    let (table, clock, keys) = scene(20).await;
    let (answer, out) = carried(&many(&keys, Intent::Write), &table, &clock, 8, Format::Json).await;
    assert_eq!(answer, Answer::No);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&said["state"], &said["counts"]["replayed"]), (&"cancelled".into(), &8.into()));
    let bulk = bulk(&table).await.unwrap();
    assert_eq!((bulk.state, bulk.counts["replayed"]), (BulkState::Cancelled, 8));
    assert_eq!(bulk.cursor, Some(keys[7].to_string()));
    for (n, key) in keys[..20].iter().enumerate() {
        let expected = if n < 8 { Status::Pending } else { Status::Review };
        assert_eq!(status(key, &table).await, expected, "number {n}");
    }
}

#[tokio::test]
async fn a_dry_run_counts_and_names_some_and_writes_nothing() {
    let (table, clock, keys) = scene(7).await;
    let (answer, out) = carried(&many(&keys, Intent::DryRun), &table, &clock, usize::MAX, Format::Json).await;
    assert_eq!(answer, Answer::Yes);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["counts"], serde_json::json!({"replayed": 7, "retrying": 1}));
    assert_eq!((&said["bulk"], said["samples"].as_array().unwrap().len()), (&serde_json::Value::Null, 5));
    assert_eq!(bulk(&table).await, None);
    assert_eq!(status(&keys[0], &table).await, Status::Review);
}

#[tokio::test]
async fn what_changes_between_the_count_and_its_turn_is_counted_as_it_is_then() {
    let (table, clock, keys) = scene(2).await;
    let doubled = [keys[0].clone(), keys[1].clone(), keys[0].clone()];
    let (_, out) = carried(&many(&doubled, Intent::Write), &table, &clock, usize::MAX, Format::Json).await;
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["counts"], serde_json::json!({"asked": 3, "replayed": 2, "pending": 1}));
}

#[tokio::test]
async fn jobs_are_named_or_asked_for_and_never_all_by_accident() {
    let key = format!("{}:deliver:v1", "0".repeat(64));
    let no_clock = clock();
    for words in [
        &["--reason", "x"][..],
        &["--reason", "x", &key, "--provider", "stripe"],
        &["--reason", "x", "--state", "retrying"],
    ] {
        let args: ReplayArgs = crate::testing::args(words);
        let (mut terminal, _) = terminal(Format::Table);
        let failure = replay(&args, surroundings(&no_clock, usize::MAX), &mut terminal).await.unwrap_err();
        assert_eq!(failure.code(), 2, "{words:?}: {failure}");
    }
}
