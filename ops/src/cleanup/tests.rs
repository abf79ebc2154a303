use std::time::Duration;

use hookbox_core::integration::{Integration, Retention};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::receipt::Folder;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestClock;
use hookbox_ledger::{Audit, Subject};

use super::*;
use crate::connection::Table;
use crate::terminal::Format;
use crate::testing::{arrival, attempt, clock, event, held, integration, load, pause, table, terminal};

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn short() -> Integration {
    let days = |days: u32| DAY * days;
    Integration { retention: Retention { payload: days(4), receipt: days(10) }, rev: 1, ..integration() }
}

async fn ingest(name: &str, table: &Table, clock: &TestClock) -> ReceiptId {
    let event = event(name, "charge.refunded");
    let folder = Folder::open(&event, &short(), arrival("first", "req-1", clock), None);
    table.ledger.ingest(&folder, &event.payload, clock.now().plus(Duration::from_secs(5))).await.unwrap();
    folder.receipt.id
}

fn deliver(receipt: ReceiptId) -> JobKey {
    JobKey::first(receipt, "deliver".parse().unwrap())
}

/// One receipt a day over eleven days, the last arriving now. All are done, but: one of the first day is in review, one of
/// the second held, one of the third waits and is kept by the sweeper, and one of the eighth was erased.
async fn scene() -> (TestClock, Table) {
    let clock = clock();
    let table = table(&clock).await;
    table.ledger.put_integration(&short(), None).await.unwrap();
    let retired = Integration { account: "old".parse().unwrap(), ..short() };
    table.ledger.put_integration(&retired, None).await.unwrap();
    table.ledger.retire_integration(&retired.provider, &retired.account, 1, clock.now()).await.unwrap();
    for day in 1..=11 {
        let id = ingest(&format!("evt_{day}"), &table, &clock).await;
        attempt(&deliver(id), &Report::done("http-200"), &table, &clock).await;
        let other = ingest(&format!("other_{day}"), &table, &clock).await;
        match day {
            1 => attempt(&deliver(other), &Report::new(Outcome::Permanent, "http-422", "no"), &table, &clock).await,
            2 => {
                let pause = pause("deliver", "maintenance", &table, &clock).await;
                held(&deliver(other), &pause, &table, &clock).await;
            }
            3 => table.ledger.keep(&load(&other, &table).await).await.unwrap(),
            _ => attempt(&deliver(other), &Report::done("http-200"), &table, &clock).await,
        }
        if day == 8 {
            let deed = Audit {
                subject: Subject::Receipt(other),
                at: clock.now(),
                who: "maria".into(),
                what: "erase".into(),
                on: None,
                why: None,
                bulk: None,
                before: None,
                after: None,
                expires_at: None,
            };
            table.ledger.erase(&other, &deed).await.unwrap();
        }
        if day < 11 {
            clock.advance(Duration::from_secs(24 * 3_600 - 10));
        }
    }
    (clock, table)
}

async fn survey(days: u32, reads: u64, table: &Table, clock: &TestClock) -> Survey {
    let wanted = Wanted { within: DAY * days, connections: ConnectionArgs::default(), reads };
    Survey::make(&wanted, table, clock.now()).await.unwrap()
}

#[tokio::test]
async fn what_expires_is_counted_and_what_is_kept_has_its_reason() {
    let (clock, table) = scene().await;
    for format in [Format::Table, Format::Json] {
        let (mut terminal, captured) = terminal(format);
        survey(3, 1_000, &table, &clock).await.show(&mut terminal).unwrap();
        insta::assert_snapshot!(format!("three_days_{format:?}"), captured.out());
    }
    let json = async |days| {
        let (mut terminal, captured) = terminal(Format::Json);
        survey(days, 1_000, &table, &clock).await.show(&mut terminal).unwrap();
        captured.json()["connections"][0].clone()
    };
    // Ten days are the whole retention: everything that is not kept, and has not expired already. The two that have just
    // arrived expire some milliseconds later: whole seconds are rounded up.
    let all = json(10).await;
    assert_eq!((&all["receipts_expiring"], &all["payloads_expiring"]), (&17.into(), &9.into()));
    let soon = json(0).await;
    assert_eq!((&soon["receipts_expiring"], &soon["payloads_expiring"]), (&0.into(), &0.into()));
    assert_eq!(soon["kept"], serde_json::json!({"review": 1, "held": 1, "open": 1}));
}

/// Whatever is said to expire does, and whatever is said to be kept does not.
#[tokio::test]
async fn time_to_live_does_what_was_announced() {
    let clock = clock();
    let (storage, table) = crate::testing::stored(&clock).await;
    table.ledger.put_integration(&short(), None).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..6 {
        let id = ingest(&format!("evt_{n}"), &table, &clock).await;
        let outcome = if n == 0 { Outcome::Permanent } else { Outcome::Done };
        attempt(&deliver(id), &Report::new(outcome, "code", ""), &table, &clock).await;
        ids.push(id);
        clock.advance(DAY);
    }
    let survey = survey(6, 1_000, &table, &clock).await;
    let connection = &survey.connections[0];
    clock.set(survey.until);
    storage.database().sweep_ttl().unwrap();
    let mut gone = 0;
    for id in &ids {
        gone += u64::from(table.ledger.load(id).await.unwrap().is_none());
    }
    assert_eq!((connection.receipts, connection.kept.review), (gone, 1));
    assert!(table.ledger.has_payload(&ids[0]).await.unwrap(), "nothing of a job in review goes");
}

#[tokio::test]
async fn what_is_read_is_bounded_and_then_numbers_are_lower_bounds() {
    let (clock, table) = scene().await;
    let bounded = survey(10, 5, &table, &clock).await;
    assert_eq!((bounded.reads.made, bounded.reads.complete), (5, false));
    let (mut terminal_, captured) = terminal(Format::Table);
    bounded.show(&mut terminal_).unwrap();
    assert!(captured.out().contains("≥ 1"), "{}", captured.out());
    assert!(captured.out().ends_with("there is more: --reads allows 5 only\n"), "{}", captured.out());
    let (mut terminal, captured) = terminal(Format::Json);
    bounded.show(&mut terminal).unwrap();
    assert_eq!(captured.json()["reads"], serde_json::json!({"made": 5, "limit": 5, "complete": false}));
}

#[tokio::test]
async fn without_a_connection_nothing_is_said_to_be_kept() {
    let clock = clock();
    let table = table(&clock).await;
    let (mut terminal, captured) = terminal(Format::Table);
    survey(7, 10, &table, &clock).await.show(&mut terminal).unwrap();
    assert_eq!(captured.out(), "there is no such connection: nothing was applied yet\n");
}
