use std::collections::BTreeSet;
use std::time::Duration;

use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestClock;

use super::super::list::OPEN;
use super::super::*;
use crate::connection::Table;
use crate::terminal::Format;
use crate::testing::{
    args, attempt, begin, clock, configured, event, held, ingest, new_version, pause as put_pause, table, terminal,
};

/// One job of `deliver` in every state but dismissed, a minute apart.
async fn every_state(table: &Table, clock: &TestClock) {
    configured(table).await;
    let reports = [
        None,
        Some(Report::new(Outcome::Transient { retry_after: None }, "http-503", "busy")),
        Some(Report::new(Outcome::Permanent, "http-422", "no such contact")),
        Some(Report::done("http-200")),
    ];
    for (n, report) in reports.iter().enumerate() {
        clock.advance(Duration::from_secs(60));
        let receipt = ingest(&event(&format!("evt_{n}"), "charge.refunded"), table, clock).await;
        let key = JobKey::first(receipt, "deliver".parse().unwrap());
        if let Some(report) = report {
            attempt(&key, report, table, clock).await;
        }
    }
    let key = async |id: &str| {
        clock.advance(Duration::from_secs(60));
        JobKey::first(ingest(&event(id, "invoice.paid"), table, clock).await, "deliver".parse().unwrap())
    };
    begin(&key("evt_running").await, table, clock).await;
    let waiting = key("evt_held").await;
    let pause = put_pause("deliver", "answered 401", table, clock).await;
    held(&waiting, &pause, table, clock).await;
}

async fn found(states: &[Status], words: &[&str], table: &Table, clock: &TestClock) -> Vec<String> {
    let which: WhichArgs = args(words);
    let filter = which.filter(states.iter().copied().collect::<BTreeSet<_>>(), clock.now());
    let (mut terminal, captured) = terminal(Format::Json);
    Jobs::find(&filter, table, 100).await.unwrap().show(&mut terminal).unwrap();
    let lines = captured.json()["jobs"].as_array().unwrap().clone();
    lines.iter().map(|line| line["status"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn jobs_are_found_in_every_state_and_by_what_is_known_of_them() {
    use Status::{Completed, Held, Pending, Processing, Retrying, Review};
    let clock = clock();
    let table = table(&clock).await;
    every_state(&table, &clock).await;
    for state in [Pending, Retrying, Review, Completed, Processing, Held] {
        assert_eq!(found(&[state], &[], &table, &clock).await, [state.as_str()]);
    }
    let open = [Pending, Retrying, Review, Processing, Held];
    let all = ["pending", "retrying", "review", "processing", "held"];
    assert_eq!(found(&open, &[], &table, &clock).await, all, "in the order of arrival");
    for (words, expected) in [
        (&["--kind", "invoice.paid"][..], &["processing", "held"][..]),
        (&["--error-code", "http-503"], &["retrying"]),
        (&["--operation", "audit"], &[]),
        (&["--provider", "github"], &[]),
        (&["--until", "2026-11-30T08:02:00.125Z"], &["pending"]),
        (&["--since", "2026-11-30T08:06:00Z"], &["held"]),
    ] {
        assert_eq!(found(&open, words, &table, &clock).await, expected, "{words:?}");
    }
    clock.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(found(&[Completed], &[], &table, &clock).await, [""; 0], "what has ended is looked for in a day");
    assert_eq!(found(&[Completed, Review], &["--since", "2d"], &table, &clock).await, ["review", "completed"]);
}

#[tokio::test]
async fn jobs_are_shown_to_people_and_to_programs() {
    let clock = clock();
    let table = table(&clock).await;
    every_state(&table, &clock).await;
    for format in [Format::Table, Format::Json, Format::Jsonl] {
        let (mut terminal, captured) = terminal(format);
        let filter = args::<WhichArgs>(&[]).filter(OPEN.into(), clock.now());
        Jobs::find(&filter, &table, 3).await.unwrap().show(&mut terminal).unwrap();
        insta::assert_snapshot!(
            format!("list_{format:?}"),
            format!("{}--- notes\n{}", captured.out(), captured.notes())
        );
    }
}

#[tokio::test]
async fn what_needs_a_person_is_shown_to_people_and_to_programs() {
    let clock = clock();
    let table = table(&clock).await;
    every_state(&table, &clock).await;
    let which: FailedArgs = args(&["--error-code", "http-422"]);
    for format in [Format::Table, Format::Json] {
        let (mut terminal, captured) = terminal(format);
        let filter = which.which.filter([Status::Review].into(), clock.now());
        Jobs::find(&filter, &table, which.limit as usize).await.unwrap().show(&mut terminal).unwrap();
        insta::assert_snapshot!(format!("failed_{format:?}"), captured.out());
    }
}

#[tokio::test]
async fn every_version_of_a_job_is_found_and_shown_by_itself() {
    let clock = clock();
    let table = table(&clock).await;
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    let first = JobKey::first(receipt, "deliver".parse().unwrap());
    attempt(&first, &Report::done("http-200"), &table, &clock).await;
    let second = new_version(&first, &table, &clock).await;
    attempt(&second, &Report::done("http-200"), &table, &clock).await;
    let third = new_version(&second, &table, &clock).await;
    assert_eq!(found(&[Status::Pending], &["--operation", "deliver"], &table, &clock).await, ["pending"]);
    let all = [Status::Completed, Status::Pending];
    assert_eq!(found(&all, &[], &table, &clock).await, ["completed", "completed", "pending"]);
    for (name, key) in [("first", &first), ("third", &third)] {
        for format in [Format::Table, Format::Json] {
            let (mut terminal, captured) = terminal(format);
            receipts::show_job(key, &table, &mut terminal).await.unwrap();
            insta::assert_snapshot!(format!("version_{name}_{format:?}"), captured.out());
        }
    }
}

#[tokio::test]
async fn one_job_is_shown_with_what_was_decided_about_it_alone() {
    let clock = clock();
    let table = table(&clock).await;
    let receipt = ingest(&event("evt_1", "payment_intent.succeeded"), &table, &clock).await;
    let keys = ["deliver", "audit"].map(|operation| JobKey::first(receipt, operation.parse().unwrap()));
    for key in &keys {
        attempt(key, &Report::new(Outcome::Permanent, "http-422", "no such contact"), &table, &clock).await;
        let (mut terminal, _) = terminal(Format::Table);
        let author = crate::deed::Author::Named("jane".to_owned());
        let (verb, intent) = (Verb::Replay(ForgottenKey::Refuse), crate::deed::Intent::Write);
        let decision = Decision { job: key, verb, reason: "mended there", intent, author };
        decision.carry_out(&table, &clock, &mut terminal).await.unwrap();
    }
    for format in [Format::Table, Format::Json] {
        let (mut terminal, captured) = terminal(format);
        assert_eq!(receipts::show_job(&keys[0], &table, &mut terminal).await.unwrap(), Answer::Yes);
        insta::assert_snapshot!(format!("show_{format:?}"), captured.out());
    }
    let (mut terminal, _) = terminal(Format::Table);
    let none = JobKey::first(receipt, "other".parse().unwrap());
    assert_eq!(receipts::show_job(&none, &table, &mut terminal).await.unwrap_err().code(), 1);
}
