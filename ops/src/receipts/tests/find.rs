use std::time::Duration;

use hookbox_core::event::Disposition;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::receipt::Conflict;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestClock;

use super::super::*;
use crate::connection::Table;
use crate::failure::Failure;
use crate::terminal::Format;
use crate::testing::{args, arrival, attempt, clock, configured, event, ingest, new_version, table, terminal};

const HOUR: Duration = Duration::from_secs(3_600);

/// Receipts of two days: one an hour, every third of another kind and every fifth ignored.
async fn two_days(table: &Table, clock: &TestClock) -> Vec<ReceiptId> {
    configured(table).await;
    let mut ids = Vec::new();
    for n in 0..40 {
        clock.advance(HOUR);
        let mut event = event(&format!("evt_{n}"), if n % 3 == 0 { "charge.refunded" } else { "invoice.paid" });
        event.resource = Some(format!("cus_{}", n % 2));
        if n % 5 == 0 {
            event.disposition = Disposition::Ignored("not a kind that we take".into());
        }
        ids.push(ingest(&event, table, clock).await);
    }
    ids
}

#[tokio::test]
async fn the_first_page_takes_a_read_for_each_shard_however_much_there_is() {
    let clock = clock();
    let storage = hookbox_ledger::test_support::TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    for n in 0..120 {
        clock.advance(Duration::from_secs(30));
        ingest(&event(&format!("evt_{n}"), "invoice.paid"), &table, &clock).await;
    }
    let faults = hookbox_ledger::test_support::Faults::none();
    let table = Table::new(storage.ledger_through(&faults), "hookbox", "in eu-west-1");
    assert_eq!(ids(&found(&[], &table, &clock).await).len(), 50);
    assert_eq!(faults.count(), 1 + 4 + 1, "and the directory, and the receipts themselves, which may have been erased");
}

async fn found(words: &[&str], table: &Table, clock: &TestClock) -> serde_json::Value {
    let (mut terminal, captured) = terminal(Format::Json);
    Receipts::find(&args(words), table, clock.now()).await.unwrap().show(&mut terminal).unwrap();
    captured.json()
}

fn ids(found: &serde_json::Value) -> Vec<ReceiptId> {
    found["receipts"].as_array().unwrap().iter().map(|line| line["id"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn receipts_are_listed_latest_first_and_page_by_page_without_a_gap() {
    let clock = clock();
    let table = table(&clock).await;
    let mut expected = two_days(&table, &clock).await;
    expected.reverse();
    assert_eq!(ids(&found(&[], &table, &clock).await), expected[..25], "a day without --since");
    assert_eq!(ids(&found(&["--since", "7d"], &table, &clock).await), expected);
    let mut pages = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let mut words = vec!["--since", "7d", "--limit", "7"];
        words.extend(token.iter().flat_map(|token| ["--page-token", token.as_str()]));
        let page = found(&words, &table, &clock).await;
        pages.extend(ids(&page));
        token = page["next_page_token"].as_str().map(str::to_owned);
        if token.is_none() {
            break;
        }
        assert_eq!(pages.len() % 7, 0, "every page but the last is full");
    }
    assert_eq!(pages, expected);
}

#[tokio::test]
async fn receipts_are_narrowed_by_what_is_known_of_them() {
    let clock = clock();
    let table = table(&clock).await;
    let all = two_days(&table, &clock).await;
    let numbers = |found: &serde_json::Value| -> Vec<usize> {
        let mut numbers: Vec<_> =
            ids(found).iter().map(|id| all.iter().position(|known| known == id).unwrap()).collect();
        numbers.sort_unstable();
        numbers
    };
    let which = |keep: fn(usize) -> bool| (0..40).filter(|n| keep(*n)).collect::<Vec<_>>();
    for (words, expected) in [
        (&["--kind", "charge.refunded"][..], which(|n| n % 3 == 0)),
        (&["--kind", "charge.refunded", "--kind", "invoice.paid"], which(|_| true)),
        (&["--state", "ignored"], which(|n| n % 5 == 0)),
        (&["--resource", "cus_1"], which(|n| n % 2 == 1)),
        (&["--resource", "cus_1", "--state", "ignored", "--limit", "3"], vec![25, 35, 15]),
        (&["--provider", "stripe", "--account", "demo"], which(|_| true)),
        (&["--provider", "github"], vec![]),
        (&["--until", "2026-12-01T00:00:00.125Z"], which(|n| n < 15)),
        (&["--until", "2026-12-01T00:00:00.126Z"], which(|n| n < 16)),
    ] {
        let mut expected = expected;
        expected.sort_unstable();
        let words: Vec<_> = ["--since", "7d"].iter().chain(words).copied().collect();
        assert_eq!(numbers(&found(&words, &table, &clock).await), expected, "{words:?}");
    }
}

#[tokio::test]
async fn lists_are_shown_to_people_and_to_programs() {
    let clock = clock();
    let table = table(&clock).await;
    two_days(&table, &clock).await;
    let words = ["--since", "4h", "--limit", "3"];
    for format in [Format::Table, Format::Json, Format::Jsonl] {
        let (mut terminal, captured) = terminal(format);
        Receipts::find(&args(&words), &table, clock.now()).await.unwrap().show(&mut terminal).unwrap();
        insta::assert_snapshot!(
            format!("list_{format:?}"),
            format!("{}--- notes\n{}", captured.out(), captured.notes())
        );
    }
    let nothing = Receipts::find(&args(&["--kind", "none"]), &table, clock.now()).await.unwrap();
    let (mut terminal, captured) = terminal(Format::Table);
    nothing.show(&mut terminal).unwrap();
    assert_eq!(captured.out(), "nothing arrived that fits: --since looks further back\n");
}

#[tokio::test]
async fn a_timeline_tells_one_resource_s_story_in_order() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    let first = ingest(&event("evt_1", "payment_intent.succeeded"), &table, &clock).await;
    let deliver = |id| JobKey::first(id, "deliver".parse().unwrap());
    let busy = Report::new(Outcome::Transient { retry_after: None }, "http-503", "busy");
    attempt(&deliver(first), &busy, &table, &clock).await;
    clock.advance(HOUR);
    table.ledger.count_duplicate(&first, &arrival("first", "req-2", &clock)).await.unwrap();
    let second = ingest(&event("evt_2", "charge.refunded"), &table, &clock).await;
    attempt(&deliver(second), &Report::done("http-200"), &table, &clock).await;
    clock.advance(HOUR);
    let version = new_version(&deliver(second), &table, &clock).await;
    clock.advance(Duration::from_secs(1));
    attempt(&version, &busy, &table, &clock).await;
    attempt(&deliver(first), &Report::new(Outcome::Permanent, "http-422", "no"), &table, &clock).await;
    let digest = hookbox_core::digest::Digest::of(b"another");
    let (at, request_id) = (clock.now(), "req-3".to_owned());
    let conflict = Conflict { at, event_digest: digest, delivery_digest: digest, request_id };
    table.ledger.record_conflict(&second, &conflict).await.unwrap();
    let mut other = event("evt_3", "charge.refunded");
    other.resource = Some("pi_2".into());
    ingest(&other, &table, &clock).await;
    clock.advance(HOUR);

    for format in [Format::Table, Format::Json, Format::Jsonl] {
        let (mut terminal, captured) = terminal(format);
        let moments = Moment::all(&args(&["--resource", "pi_1"]), &table, clock.now()).await.unwrap();
        Moment::show(&moments, &mut terminal).unwrap();
        insta::assert_snapshot!(format!("timeline_{format:?}"), captured.out());
    }
    for (words, code) in [(&["--resource", "pi_9"][..], 1), (&["--resource", "pi_1", "--limit", "1"], 2)] {
        let failure: Failure = Moment::all(&args(words), &table, clock.now()).await.unwrap_err();
        assert_eq!(failure.code(), code, "{words:?}");
    }
}
