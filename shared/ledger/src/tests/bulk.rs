use std::collections::BTreeMap;

use hookbox_core::key::JobKey;

use super::*;
use crate::{Bulk, BulkState, LedgerError, Stored};

fn started() -> Bulk {
    Bulk {
        id: "replay-20260109-1".parse().unwrap(),
        rev: 1,
        what: "replay".to_owned(),
        who: "jane".to_owned(),
        why: Some("the destination was down".to_owned()),
        query: "{\"state\":\"review\"}".to_owned(),
        jobs: 0,
        cursor: None,
        counts: BTreeMap::new(),
        state: BulkState::Running,
        started_at: START,
        updated_at: START,
        expires_at: START.plus(DAY).to_epoch_seconds(),
    }
}

#[tokio::test]
async fn a_bulk_operation_that_was_stopped_does_not_go_on() {
    let world = World::new().await;
    let first = started();
    assert_eq!(world.ledger.bulk(&first.id).await.unwrap(), None);
    world.ledger.put_bulk(&first, None).await.unwrap();
    let stopped = Bulk { rev: 2, state: BulkState::Cancelled, ..first.clone() };
    world.ledger.put_bulk(&stopped, Some(1)).await.unwrap();
    let counts = BTreeMap::from([("replayed".to_owned(), 25)]);
    let further = Bulk { rev: 2, cursor: Some("c".to_owned()), counts, ..first.clone() };
    let error = world.ledger.put_bulk(&further, Some(1)).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Bulk(stored) } if *stored == stopped));
    assert_eq!(world.ledger.bulk(&first.id).await.unwrap(), Some(stopped));
}

#[tokio::test]
async fn the_jobs_of_a_bulk_operation_are_kept_in_their_order_and_are_whole_or_none() {
    let world = World::new().await;
    let key = |n: usize| format!("{:064x}:{}:v65535", n * 7_919 % 6_001, "a".repeat(40)).parse().unwrap();
    let jobs: Vec<JobKey> = (0..6_001).map(key).collect();
    let bulk = Bulk { jobs: 6_001, ..started() };
    world.ledger.start_bulk(&bulk, &jobs).await.unwrap();
    assert_eq!(world.ledger.bulk(&bulk.id).await.unwrap().as_ref(), Some(&bulk));
    assert_eq!(world.ledger.bulk_jobs(&bulk).await.unwrap(), Some(jobs.clone()));
    let error = world.ledger.start_bulk(&bulk, &jobs[..3]).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }), "another of that name stays as it is: {error}");
    assert_eq!(world.ledger.bulk_jobs(&bulk).await.unwrap(), Some(jobs));
    world.table.delete_item(&format!("bulk#{}", bulk.id), "jobs#001").await;
    assert_eq!(world.ledger.bulk_jobs(&bulk).await.unwrap(), None);
}

#[tokio::test]
async fn the_record_of_a_bulk_operation_expires() {
    let world = World::new().await;
    let job = format!("{:064x}:deliver:v1", 1).parse().unwrap();
    world.ledger.start_bulk(&Bulk { jobs: 1, ..started() }, &[job]).await.unwrap();
    world.clock.advance(DAY + Duration::from_secs(1));
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 2, "and so do its jobs");
    assert_eq!(world.ledger.bulk(&started().id).await.unwrap(), None);
}
