use hookbox_core::job::Status;
use hookbox_core::key::JobKey;

use super::*;
use crate::HistoryQuery;
use crate::test_support::Meter;

/// Receipts of one moment with a job each, committed.
async fn receipts(world: &World, count: usize) -> Vec<Folder> {
    let folders: Vec<_> = (0..count).map(|n| folder(&format!("evt_{n}"), &["deliver"], world.now())).collect();
    for folder in &folders {
        world.ledger.ingest(folder, &payload("{}"), world.soon()).await.unwrap();
    }
    folders
}

fn keys(folders: &[Folder]) -> Vec<JobKey> {
    folders.iter().map(|folder| folder.jobs[0].key.clone()).collect()
}

fn history(shard: u16) -> HistoryQuery {
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    HistoryQuery { provider, account, day: START, shard, since: START, until: START, earliest_first: true }
}

#[tokio::test]
async fn receipts_are_counted_with_their_operations_and_say_what_that_costs() {
    let world = World::new().await;
    receipts(&world, 30).await;
    let none = folder("evt_none", &[], world.now());
    let two = folder("evt_two", &["a", "b"], world.now());
    for folder in [&none, &two] {
        world.ledger.ingest(folder, &payload("{}"), world.soon()).await.unwrap();
    }
    let meter = Meter::default();
    let ledger = world.table.ledger_with(&meter.wrap(&world.table.config()));
    let (mut counted, mut units) = (std::collections::HashMap::new(), 0.0);
    for shard in ledger.shards().all() {
        let mut after = None;
        loop {
            let page = ledger.history_counts(&history(shard), 5, after).await.unwrap();
            assert!(page.items.len() <= 5 && page.unreadable.is_empty());
            counted.extend(page.items.iter().map(|receipt| (receipt.id, receipt.operations)));
            units += page.read_units;
            after = page.next;
            assert!(after.as_ref().is_none_or(|after| after.at() == START), "where it goes on");
            if after.is_none() {
                break;
            }
        }
    }
    assert_eq!(counted.len(), 32);
    assert_eq!(counted.values().sum::<usize>(), 32);
    assert_eq!((counted[&none.receipt.id], counted[&two.receipt.id]), (0, 2));
    assert!(units > 0.0);
    assert_eq!(units, meter.read());
}

#[tokio::test]
async fn how_jobs_stand_is_read_in_one_call_and_what_cannot_be_read_is_named() {
    let world = World::new().await;
    let folders = receipts(&world, 3).await;
    let loaded = world.load(&folders[1]).await;
    world.reviewed(&loaded, &loaded.jobs[0]).await;
    let newer = folders[2].receipt.id.to_string();
    let mut item = world.table.item(&newer, "job#deliver#v0001").await.unwrap();
    item.insert("schema".to_owned(), crate::expression::number(99));
    world.table.put_item(item).await;
    let mut asked = keys(&folders);
    asked.push(JobKey::first(folder("evt_nowhere", &[], START).receipt.id, "deliver".parse().unwrap()));
    let meter = Meter::default();
    let ledger = world.table.ledger_with(&meter.wrap(&world.table.config()));
    let standings = ledger.standings(&asked).await.unwrap();
    assert_eq!(meter.calls().len(), 1);
    let expected = [(asked[0].clone(), Status::Pending), (asked[1].clone(), Status::Review)];
    assert_eq!(standings.of, expected.into());
    assert_eq!(standings.unreadable.len(), 1);
    assert_eq!(standings.unreadable[0].pk, newer);
    assert!(standings.read_units >= 3.0, "consistently: {}", standings.read_units);
    assert_eq!(standings.read_units, meter.read());
}
