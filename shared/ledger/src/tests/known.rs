use hookbox_core::key::ReceiptId;

use super::*;
use crate::LedgerError;
use crate::test_support::Fault;

/// The ids of events, the first `stored` of them committed.
async fn events(world: &World, stored: usize, of: usize) -> Vec<ReceiptId> {
    let mut ids = Vec::new();
    for n in 0..of {
        let folder = folder(&format!("evt_{n}"), &[], world.now());
        if n < stored {
            world.ledger.ingest(&folder, &payload("{}"), world.soon()).await.unwrap();
        }
        ids.push(folder.receipt.id);
    }
    ids
}

#[tokio::test]
async fn what_is_stored_is_known_in_one_call_and_nothing_else() {
    let world = World::new().await;
    let faults = Faults::none();
    let ids = events(&world, 60, Ledger::KNOWN_AT_ONCE).await;
    let known = world.through(&faults).known(&ids).await.unwrap();
    assert_eq!(faults.count(), 1);
    assert_eq!(known.len(), 60);
    for id in &ids[..60] {
        let loaded = world.ledger.load(id).await.unwrap().unwrap();
        assert_eq!(known.get(id), loaded.receipt.as_ref(), "as it is stored");
    }
    assert_eq!(world.ledger.known(&[]).await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_receipt_of_a_newer_version_is_left_to_the_commit() {
    let world = World::new().await;
    let ids = events(&world, 2, 2).await;
    let mut newer = world.table.item(&ids[0].to_string(), "head").await.unwrap();
    newer.insert("schema".to_owned(), crate::expression::number(99));
    world.table.put_item(newer).await;
    let known = world.ledger.known(&ids).await.unwrap();
    assert_eq!(known.keys().collect::<Vec<_>>(), [&ids[1]]);
}

#[tokio::test]
async fn a_look_is_made_again_while_that_can_help_and_for_no_longer() {
    let world = World::new().await;
    let ids = events(&world, 3, 3).await;
    let faults = Faults::none();
    faults.on_next("BatchGetItem", Fault::Throttle).on_next("BatchGetItem", Fault::LoseReply);
    assert_eq!(world.through(&faults).known(&ids).await.unwrap().len(), 3);
    assert!(faults.all_happened());

    for _ in 0..40 {
        faults.on_next("BatchGetItem", Fault::Throttle);
    }
    let error = world.through(&faults).until(world.soon()).known(&ids).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(matches!(error, LedgerError::Throttled | LedgerError::OutOfTime { .. }), "{error}");
}
