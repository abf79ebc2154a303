//! Time to live deletes single items, late and in any order.

use hookbox_core::job::State;
use hookbox_core::transition::dismiss::dismiss;

use super::on_the_way::before_call;
use super::*;
use crate::LedgerError;
use crate::test_support::Fault;

#[tokio::test]
async fn a_redelivery_onto_an_orphaned_folder_restores_the_receipt_and_touches_no_job() {
    for lose in [None, Some(1)] {
        let world = World::new().await;
        let loaded = world.committed(&["deliver", "other"]).await;
        let running = world.claimed(&loaded, &loaded.jobs[0]).await;
        let done = completed(&running, START);
        world.ledger.write_job(&loaded, &running, &done).await.unwrap();
        let id = loaded.id.to_string();
        for gone in ["head", "payload#000", "job#other#v0001"] {
            world.table.delete_item(&id, gone).await;
        }
        let orphan = world.item(&loaded, "job#deliver#v0001").await;

        world.clock.advance(91 * DAY);
        let faults = Faults::none();
        if let Some(number) = lose {
            faults.at(number, Fault::LoseReply);
        }
        let again = folder("evt_1", &["deliver", "other"], world.now());
        let ledger = world.through(&faults);
        let ingested = ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
        let Ingested::Duplicate { stored } = ingested else { panic!("{ingested:?}") };
        assert_eq!(*stored, again.receipt);
        let restored = world.load(&again).await;
        assert_eq!(restored.receipt, Some(again.receipt.clone()));
        assert_eq!(world.item(&loaded, "job#deliver#v0001").await, orphan, "no job is touched");
        assert_eq!(restored.jobs, [done], "and none is made: what it did is done");
        assert_eq!(world.ledger.payload(&loaded.id).await.unwrap(), Some(payload(BODY)));

        let third = ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
        assert!(matches!(third, Ingested::Duplicate { .. }));
    }
}

#[tokio::test]
async fn a_receipt_that_is_restored_beside_an_open_job_does_not_expire() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let waiting = world.reviewed(&loaded, &loaded.jobs[0]).await;
    world.table.delete_item(&loaded.id.to_string(), "head").await;
    let again = folder("evt_1", &["deliver"], world.now());
    world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
    let loaded = world.load(&again).await;
    assert_eq!(world.fates(&loaded).await.0, [""; 0]);
    world.ledger.write_job(&loaded, &waiting, &dismiss(&waiting, world.now()).unwrap()).await.unwrap();
    assert_eq!(world.fates(&loaded).await.1, [""; 0]);
}

/// The receipt is gone, and a job that was read with it enters review.
#[tokio::test]
async fn a_job_that_has_lost_its_receipt_is_kept_with_its_payload() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    world.table.delete_item(&loaded.id.to_string(), "head").await;
    let waiting = world.reviewed(&loaded, &loaded.jobs[0]).await;
    assert_eq!(world.fates(&loaded).await, (vec![], vec!["job#deliver#v0001".into(), "payload#000".into()]));
    let orphan = world.reload(&loaded).await;
    assert_eq!(orphan.receipt, None);
    let dismissed = dismiss(&waiting, START).unwrap();
    world.ledger.write_job(&orphan, &waiting, &dismissed).await.unwrap();
    assert_eq!(world.reload(&loaded).await.jobs, [dismissed]);
}

#[tokio::test]
async fn parts_that_are_gone_are_not_written_back_as_stumps() {
    let world = World::new().await;
    let loaded = world.committed(&["a", "b", "c"]).await;
    let id = loaded.id.to_string();
    for gone in ["job#b#v0001", "payload#000"] {
        world.table.delete_item(&id, gone).await;
    }
    let job = loaded.jobs.iter().find(|job| job.key.operation.as_str() == "a").unwrap();
    let waiting = world.reviewed(&loaded, job).await;
    let expected: Vec<String> = ["head", "job#a#v0001", "job#c#v0001"].map(String::from).into();
    assert_eq!(world.fates(&loaded).await, (vec![], expected.clone()));
    world.table.delete_item(&id, "job#c#v0001").await;
    // `loaded` still believes in every one of them.
    world.ledger.write_job(&loaded, &waiting, &dismiss(&waiting, START).unwrap()).await.unwrap();
    let expected: Vec<String> = ["head", "job#a#v0001"].map(String::from).into();
    assert_eq!(world.fates(&loaded).await, (expected, vec![]));
}

#[tokio::test]
async fn a_folder_without_any_item_is_none_and_an_expired_payload_is_none() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    world.clock.advance(8 * DAY);
    world.table.database().sweep_ttl().unwrap();
    assert_eq!(world.ledger.payload(&loaded.id).await.unwrap(), None);
    assert!(world.reload(&loaded).await.receipt.is_some(), "the evidence outlives it");
    world.clock.advance(90 * DAY);
    world.table.database().sweep_ttl().unwrap();
    assert_eq!(world.ledger.load(&loaded.id).await.unwrap(), None);
    let error = world.ledger.write_job(&loaded, &loaded.jobs[0], &claimed(&loaded.jobs[0], START)).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }));
}

/// The job enters review while the receipt is being restored: whoever is second must notice.
#[tokio::test]
async fn a_restored_receipt_and_a_review_agree_on_expiry_in_either_order() {
    for review_first in [true, false] {
        let world = World::new().await;
        let loaded = world.committed(&["deliver"]).await;
        world.table.delete_item(&loaded.id.to_string(), "head").await;
        let orphan = world.reload(&loaded).await;
        let again = folder("evt_1", &["deliver"], world.now());
        if !review_first {
            world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
        }
        let waiting = world.reviewed(&orphan, &orphan.jobs[0]).await;
        if review_first {
            world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
        }
        assert!(matches!(waiting.state, State::Review { .. }));
        assert_eq!(world.fates(&loaded).await.0, [""; 0], "review first: {review_first}");
    }
}

/// Between the look at the jobs and the receipt's return a job that this delivery does not know of enters review, and
/// the whole folder is kept.
#[tokio::test]
async fn a_receipt_that_comes_back_does_not_expire_in_a_folder_that_was_kept_meanwhile() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver", "retired"]).await;
    world.table.delete_item(&loaded.id.to_string(), "head").await;
    let orphan = world.reload(&loaded).await;
    let job = orphan.jobs.iter().find(|job| job.key.operation.as_str() == "retired").unwrap().clone();
    let waiting = in_review(&job, world.now());
    let ledger = world.ledger.clone();
    let config = before_call(1, &world.table.config(), async move {
        ledger.write_job(&orphan, &job, &waiting).await.unwrap();
    });
    let again = folder("evt_1", &["deliver"], world.now());
    let ledger = world.table.ledger_with(&config);
    let ingested = ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
    assert!(matches!(ingested, Ingested::Duplicate { .. }));
    let (expiring, kept) = world.fates(&loaded).await;
    assert_eq!((expiring.len(), kept.len()), (0, 4));
}

/// Another redelivery puts the receipt back first, and a third one is noted on it.
#[tokio::test]
async fn of_two_redeliveries_onto_an_orphaned_folder_the_second_overwrites_nothing() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    world.table.delete_item(&loaded.id.to_string(), "head").await;
    let (again, ledger, soon) = (folder("evt_1", &["deliver"], world.now()), world.ledger.clone(), world.soon());
    let first = again.clone();
    let config = before_call(1, &world.table.config(), async move {
        ledger.ingest(&first, &payload(BODY), soon).await.unwrap();
        ledger.count_duplicate(&first.receipt.id, &arrival(soon, "third")).await.unwrap();
    });
    let ingested = world.table.ledger_with(&config).ingest(&again, &payload(BODY), world.soon()).await.unwrap();
    let Ingested::Duplicate { stored } = ingested else { panic!("{ingested:?}") };
    assert_eq!(stored.duplicate_count, 1);
    assert_eq!(world.load(&again).await.receipt, Some(*stored));
}
