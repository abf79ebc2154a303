//! What was erased is delivered again: the provider does not know.

use hookbox_ledger::{Audit, Erasure, Subject};

use super::stage::Sender;
use super::*;

/// Nothing of the event is in the table, but that it arrived.
async fn erase(stage: &Stage, id: &str) {
    let subject = Subject::Receipt(id.parse().unwrap());
    let deed = Audit {
        subject,
        at: NOW,
        who: "maria".into(),
        what: "erase".into(),
        on: None,
        why: Some("request 17".into()),
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    };
    let erased = stage.table.ledger().erase(&id.parse().unwrap(), &deed).await.unwrap();
    assert!(matches!(erased, Erasure::Takes(_)), "{erased:?}");
}

async fn holds_nothing_personal(stage: &Stage, id: &str) {
    let items = format!("{:?}", stage.table.items().await);
    for personal in ["evt_", "request-1", "pi_"] {
        assert!(!items.contains(personal), "{personal}: {items}");
    }
    assert!(!stage.table.ledger().has_payload(&id.parse().unwrap()).await.unwrap());
}

#[tokio::test]
async fn an_erased_event_that_is_delivered_again_is_a_duplicate_and_brings_nothing_back() {
    let stage = Stage::with("stripe").await;
    let first = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    let id = first.receipt();
    assert!(format!("{:?}", stage.table.items().await).contains("evt_1"));
    erase(&stage, &id).await;
    stage.clock.advance(Duration::from_secs(3));
    let second = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    assert_eq!((second.status, second.state().as_str(), second.receipt()), (200, "duplicate", id.clone()));
    holds_nothing_personal(&stage, &id).await;
    let set = json!({"note": "changed"});
    let changed =
        SampleValues { event_id: Some("evt_1"), occurred_at: NOW, set: Some(&set), ..SampleValues::default() };
    let third = stage.answer(Sender::of("stripe").signed(&changed)).await;
    assert_eq!((third.status, third.state().as_str()), (200, "conflict"), "both digests are there to tell");
    holds_nothing_personal(&stage, &id).await;
    let folder = loaded(&stage, &id).await;
    let receipt = folder.receipt.expect("a receipt");
    assert_eq!((receipt.duplicate_count, receipt.arrivals.len(), receipt.conflicts.len()), (2, 2, 1));
    assert_eq!(folder.jobs.iter().map(Job::status).collect::<Vec<_>>(), [Status::Dismissed], "and nothing is done");
}

/// Its receipt has expired before its jobs: the redelivery puts back what an erased receipt has.
#[tokio::test]
async fn an_erased_event_whose_receipt_is_restored_stays_erased() {
    let stage = Stage::with("stripe").await;
    let id = stage.answer(Sender::of("stripe").sample("evt_1")).await.receipt();
    erase(&stage, &id).await;
    stage.table.delete_item(&id, "head").await;
    let again = stage.answer(Sender::of("stripe").sample("evt_1")).await;
    assert_eq!((again.status, again.state().as_str()), (200, "duplicate"));
    holds_nothing_personal(&stage, &id).await;
    assert_eq!(receipt(&stage, &id).await.erased_at, Some(NOW));
}
