use std::collections::BTreeMap;

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
async fn the_record_of_a_bulk_operation_expires() {
    let world = World::new().await;
    world.ledger.put_bulk(&started(), None).await.unwrap();
    world.clock.advance(DAY + Duration::from_secs(1));
    world.table.database().sweep_ttl().unwrap();
    assert_eq!(world.ledger.bulk(&started().id).await.unwrap(), None);
}
