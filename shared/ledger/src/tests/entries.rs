use std::collections::BTreeSet;

use hookbox_core::transition::hold::hold;

use super::*;
use crate::{Cursor, HistoryQuery, OpenEntry, OpenQuery, ResourceQuery};

async fn open(world: &World, list: impl Fn(u16) -> OpenQuery, until: Timestamp) -> Vec<OpenEntry> {
    let mut all = Vec::new();
    for shard in world.ledger.shards().all() {
        let mut after = None;
        loop {
            let page = world.ledger.open_entries(&list(shard), until, 2, after).await.unwrap();
            assert!(page.items.len() <= 2 && page.unreadable.is_empty());
            assert!(page.items.is_sorted_by_key(|entry| entry.open_at), "earliest first");
            all.extend(page.items);
            let Some(next) = page.next else { break };
            // It survives being kept as text.
            after = Some(next.to_string().parse::<Cursor>().unwrap());
        }
    }
    all
}

fn due(shard: u16) -> OpenQuery {
    OpenQuery::Due { shard }
}

#[tokio::test]
async fn the_open_lists_hold_every_open_job_at_its_time() {
    let world = World::new().await;
    let folders: Vec<_> =
        (0..20).map(|n| folder(&format!("evt_{n}"), &["deliver"], START.plus(Duration::from_secs(n)))).collect();
    for folder in &folders {
        world.ledger.ingest(folder, &payload(BODY), world.soon()).await.unwrap();
    }
    let due_at = |n: u64| START.plus(Duration::from_secs(300 + n));
    assert_eq!(open(&world, due, due_at(4)).await.len(), 5, "only those whose time has come");
    let all = open(&world, due, due_at(100)).await;
    let keys: BTreeSet<_> = all.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(keys, folders.iter().map(|folder| folder.jobs[0].key.clone()).collect());
    let first = all.iter().find(|entry| entry.key == folders[0].jobs[0].key).unwrap();
    let job = &folders[0].jobs[0];
    let expected = OpenEntry {
        key: job.key.clone(),
        open_at: due_at(0),
        received_at: START,
        provider: job.provider.clone(),
        account: job.account.clone(),
        kind: job.kind.clone(),
    };
    assert_eq!(*first, expected);
}

#[tokio::test]
async fn a_job_stands_in_the_list_of_its_state() {
    let world = World::new().await;
    let loaded = world.committed(&["a", "b", "c", "d"]).await;
    let job = |name: &str| loaded.jobs.iter().find(|job| job.key.operation.as_str() == name).unwrap();
    let (account, provider) = (job("a").account.clone(), job("a").provider.clone());
    let why = "credential refused".to_owned().into();
    let pause = world.ledger.put_pause(&provider, &account, &"a".parse().unwrap(), &why, START).await.unwrap();
    world.ledger.hold_job(&loaded, job("a"), &hold(job("a"), START).unwrap(), &pause).await.unwrap();
    let loaded_again = world.reload(&loaded).await;
    world.reviewed(&loaded_again, job("b")).await;
    let running = world.claimed(&loaded, job("c")).await;
    world.ledger.write_job(&loaded, &running, &completed(&running, START)).await.unwrap();

    let names =
        |entries: Vec<OpenEntry>| entries.iter().map(|entry| entry.key.operation.to_string()).collect::<Vec<_>>();
    let held = |shard| OpenQuery::Held {
        provider: provider.clone(),
        account: account.clone(),
        operation: "a".parse().unwrap(),
        shard,
    };
    let until = START.plus(DAY);
    assert_eq!(names(open(&world, held, until).await), ["a"]);
    assert_eq!(names(open(&world, |shard| OpenQuery::Review { shard }, until).await), ["b"]);
    assert_eq!(names(open(&world, due, until).await), ["d"], "c has ended");
}

#[tokio::test]
async fn an_entry_is_moved_by_one_sweeper_and_the_job_stays_as_it_is() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let moved = Job { open_at: Some(START.plus(DAY)), wakes: 1, ..job.clone() };
    assert!(world.ledger.move_entry(job, &moved).await.unwrap());
    assert!(!world.ledger.move_entry(job, &moved).await.unwrap(), "the entry's time is not what was read");
    assert_eq!(world.reload(&loaded).await.jobs, std::slice::from_ref(&moved));
    let running = world.claimed(&loaded, &moved).await;
    assert!(!world.ledger.move_entry(&moved, job).await.unwrap(), "nor is the version");
    assert_eq!(world.reload(&loaded).await.jobs, [running]);
}

#[tokio::test]
async fn receipts_are_found_by_day_and_by_resource_latest_first() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for n in 0..5u64 {
        let mut event = event(&format!("evt_{n}"));
        event.occurred_at = (n != 2).then(|| START.plus(Duration::from_secs(n)));
        event.disposition =
            if n == 3 { Disposition::Ignored("not a kind that we take".to_owned()) } else { Disposition::Accepted };
        let at = if n == 4 { START.plus(DAY) } else { START.plus(Duration::from_secs(10 + n)) };
        let folder = Folder::open(&event, &integration(&["deliver"]), arrival(at, "r"), None);
        world.ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
        ids.push(folder.receipt.id);
    }
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let query = ResourceQuery { provider, account, resource: "pi_3QF3zQ2eZvKYlo2C1vDp0aJw".to_owned() };
    let first = world.ledger.of_resource(&query, 3, None).await.unwrap();
    let rest = world.ledger.of_resource(&query, 3, first.next).await.unwrap();
    let found: Vec<_> = first.items.iter().chain(&rest.items).map(|entry| entry.id).collect();
    // Number 2 has no time of its own and stands at its arrival, twelve seconds later.
    assert_eq!(found, [ids[2], ids[4], ids[3], ids[1], ids[0]]);
    assert_eq!(first.items[2].state, "ignored");
    assert_eq!(first.items[2].operations, []);
    assert_eq!(first.items[0].operations, ["deliver".parse().unwrap()]);
    assert_eq!(first.items[0].resource.as_deref(), Some("pi_3QF3zQ2eZvKYlo2C1vDp0aJw"));
    assert_eq!(rest.next, None);

    let mut day = Vec::new();
    for shard in world.ledger.shards().all() {
        let query = HistoryQuery {
            provider: "stripe".parse().unwrap(),
            account: "demo".parse().unwrap(),
            day: START.plus(Duration::from_secs(3_600)),
            shard,
            since: START,
            until: START.plus(Duration::from_secs(24 * 3_600)),
            earliest_first: false,
        };
        let page = world.ledger.history(&query, 100, None).await.unwrap();
        assert!(page.items.is_sorted_by_key(|entry| std::cmp::Reverse(entry.received_at)));
        day.extend(page.items.into_iter().map(|entry| entry.id));
    }
    assert_eq!(day.iter().collect::<BTreeSet<_>>(), ids[..4].iter().collect(), "all but the next day's");
}

#[test]
fn a_cursor_of_another_kind_is_refused() {
    for bad in ["", "x", "1 pk", "pk sk 1"] {
        assert!(bad.parse::<Cursor>().is_err(), "{bad}");
    }
}
