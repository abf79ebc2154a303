use std::collections::BTreeSet;

use hookbox_core::receipt::Conflict;

use super::*;
use crate::test_support::Fault;
use crate::{LedgerError, Stored};

#[tokio::test]
async fn an_event_is_stored_whole() {
    let world = World::new().await;
    let folder = folder("evt_1", &["deliver", "crm-upsert"], START);
    assert_eq!(world.ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap(), Ingested::Created);
    let loaded = world.load(&folder).await;
    assert_eq!(loaded.receipt.as_ref(), Some(&folder.receipt));
    let by_key = |jobs: &[Job]| jobs.iter().map(|job| job.key.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(by_key(&loaded.jobs), by_key(&folder.jobs));
    for job in &folder.jobs {
        assert_eq!(loaded.job(&job.key), Some(job));
    }
    assert!(loaded.audit.is_empty() && loaded.unreadable.is_empty());
    assert_eq!(world.ledger.payload(&folder.receipt.id).await.unwrap(), Some(payload(BODY)));
}

#[tokio::test]
async fn a_repetition_is_a_duplicate_of_the_first() {
    let world = World::new().await;
    let first = folder("evt_1", &["deliver"], START);
    world.ledger.ingest(&first, &payload(BODY), world.soon()).await.unwrap();
    let later = folder("evt_1", &["deliver", "another"], START.plus(DAY));
    let ingested = world.ledger.ingest(&later, &payload("{}"), world.soon()).await.unwrap();
    assert_eq!(ingested, Ingested::Duplicate { stored: Box::new(first.receipt.clone()) });
    let loaded = world.load(&first).await;
    assert_eq!(loaded.jobs.len(), 1, "no job is added");
    assert_eq!(
        world.ledger.payload(&first.receipt.id).await.unwrap(),
        Some(payload(BODY)),
        "nor is the payload changed"
    );
}

/// With and without jobs, because a job's condition alone would stop the second of two writers too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_thirty_racing_deliveries_one_is_created() {
    let table = TestTable::start().await;
    for operations in [&["deliver"][..], &[]] {
        let folder = folder(&format!("evt_{}", operations.len()), operations, START);
        let racers: Vec<_> = (0..30)
            .map(|_| {
                // Each is an instance of its own: with connections and random numbers of its own.
                let (ledger, folder) = (table.ledger(), folder.clone());
                let later = Timestamp::from_millis(i64::MAX);
                tokio::spawn(async move { ledger.ingest(&folder, &payload(BODY), later).await.unwrap() })
            })
            .collect();
        let mut created = 0;
        for racer in racers {
            match racer.await.unwrap() {
                Ingested::Created => created += 1,
                Ingested::Duplicate { stored } => assert_eq!(*stored, folder.receipt),
            }
        }
        assert_eq!(created, 1);
        let items = table.partition(&folder.receipt.id.to_string()).await;
        assert_eq!(items.len(), 2 + operations.len(), "one receipt, one payload, a job an operation");
    }
}

#[tokio::test]
async fn duplicates_are_counted_and_the_first_are_described() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    for n in 1..=25 {
        let at = START.plus(Duration::from_secs(n));
        world.ledger.count_duplicate(&loaded.id, &arrival(at, &format!("request-{n}"))).await.unwrap();
    }
    let receipt = world.reload(&loaded).await.receipt.unwrap();
    assert_eq!(receipt.duplicate_count, 25);
    assert_eq!(receipt.last_duplicate_at, Some(START.plus(Duration::from_secs(25))));
    assert_eq!(receipt.arrivals.len(), 20);
    assert_eq!(receipt.arrivals[19].request_id, "request-19");
    assert_eq!(receipt.version, 1, "counting is no change of state");
}

#[tokio::test]
async fn a_duplicate_costs_one_call_while_it_is_described() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let faults = Faults::none();
    let ledger = world.through(&faults);
    ledger.count_duplicate(&loaded.id, &arrival(START, "request-1")).await.unwrap();
    assert_eq!(faults.count(), 1);
}

#[tokio::test]
async fn conflicts_are_counted_and_the_first_are_described() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let conflict = |n: u64| Conflict {
        at: START.plus(Duration::from_secs(n)),
        event_digest: Digest::of(&n.to_be_bytes()),
        delivery_digest: Digest::of(b"delivery"),
        request_id: format!("request-{n}"),
    };
    for n in 1..=12 {
        world.ledger.record_conflict(&loaded.id, &conflict(n)).await.unwrap();
    }
    let receipt = world.reload(&loaded).await.receipt.unwrap();
    assert_eq!(receipt.conflicts, (1..=10).map(conflict).collect::<Vec<_>>());
    assert_eq!(receipt.duplicate_count, 12);
}

#[tokio::test]
async fn a_receipt_that_has_expired_is_not_counted_back_into_existence() {
    let world = World::new().await;
    let id = folder("evt_9", &[], START).receipt.id;
    let error = world.ledger.count_duplicate(&id, &arrival(START, "r")).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Nothing }), "{error}");
    assert!(world.table.items().await.is_empty());
}

#[tokio::test]
async fn a_transaction_that_is_refused_at_first_is_created_and_not_its_own_duplicate() {
    for fault in [Fault::Throttle, Fault::ExceedThroughput, Fault::Conflict, Fault::InProgress, Fault::Internal] {
        let world = World::new().await;
        let faults = Faults::none();
        faults.at(0, fault).at(1, fault);
        let folder = folder("evt_1", &["deliver"], START);
        let ingested = world.through(&faults).ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
        assert_eq!(ingested, Ingested::Created, "{fault:?}");
        assert_eq!(faults.count(), 3);
        assert!(world.now() > START, "it waited in between");
    }
}

#[tokio::test]
async fn a_token_that_was_used_for_another_event_is_changed() {
    let world = World::new().await;
    // Two processes whose randomness begins at the same seed.
    let ledger = || {
        let random = crate::test_support::TestRandom::seeded(7);
        Ledger::new(&world.table.config(), world.table.name(), world.ledger.shards(), random)
    };
    let (one, other) = (folder("evt_1", &["deliver"], START), folder("evt_2", &["deliver"], START));
    assert_eq!(ledger().ingest(&one, &payload(BODY), world.soon()).await.unwrap(), Ingested::Created);
    assert_eq!(ledger().ingest(&other, &payload(BODY), world.soon()).await.unwrap(), Ingested::Created);
    assert_eq!(world.load(&other).await.jobs.len(), 1);
}
