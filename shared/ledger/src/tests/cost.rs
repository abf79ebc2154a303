//! What an event costs in write units, as DynamoDB bills them.

use super::*;
use crate::test_support::{Consumed, Meter};

fn show(name: &str, calls: &[Consumed]) {
    for call in calls {
        let (operation, table, indexes) = (&call.operation, call.table, &call.indexes);
        println!("{name}: {operation} {total} (table {table}, indexes {indexes:?})", total = call.total());
    }
}

/// An event of 1 KB with one operation, from receipt to completion.
async fn event(resource: bool) -> (f64, f64) {
    let world = World::new().await;
    let meter = Meter::default();
    let ledger = world.table.ledger_with(&meter.wrap(&world.table.config()));
    let mut event = super::event("evt_1QF3zR2eZvKYlo2C8X7rJ4kT");
    if !resource {
        event.resource = None;
    }
    let arrival = arrival(START, "JKJaXmPLvHcESHA=");
    let folder = Folder::open(&event, &integration(&["deliver"]), arrival, None);
    ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
    show("ingest", &meter.calls());
    let loaded = ledger.load(&folder.receipt.id).await.unwrap().unwrap();
    let running = claimed(&loaded.jobs[0], START);
    ledger.write_job(&loaded, &loaded.jobs[0], &running).await.unwrap();
    ledger.payload(&folder.receipt.id).await.unwrap().unwrap();
    ledger.write_job(&loaded, &running, &completed(&running, START)).await.unwrap();
    show("until completion", &meter.calls()[1..]);
    for item in world.table.items().await {
        println!("{} {} bytes", crate::item::names(&item).1, crate::item::size(&item));
    }
    (meter.written(), meter.read())
}

#[tokio::test]
async fn an_event_costs_at_most_twelve_write_units_from_receipt_to_completion() {
    assert_eq!(BODY.len(), 1_024);
    let (written, read) = event(true).await;
    println!("write units {written}, read units {read}");
    assert!(written <= 12.0, "{written}");
}

#[tokio::test]
async fn an_event_without_a_resource_costs_one_unit_less() {
    let (written, _) = event(false).await;
    assert!(written <= 11.0, "{written}");
}

#[tokio::test]
async fn a_duplicate_costs_what_a_cancelled_transaction_and_a_count_cost() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let meter = Meter::default();
    let ledger = world.table.ledger_with(&meter.wrap(&world.table.config()));
    ledger.count_duplicate(&loaded.id, &arrival(START, "JKJaXmPLvHcESHA=")).await.unwrap();
    assert!(meter.written() <= 1.0, "counting rewrites no index: {:?}", meter.calls());
}
