//! A new version of a job: added once, with its record, to a folder that is kept for it.

use hookbox_core::key::JobKey;
use hookbox_core::limits::{MAX_JOBS, MAX_TRANSACTION_ITEMS};
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::new_version::new_version;
use hookbox_core::transition::replay::{ForgottenKey, replay};

use super::*;
use crate::plan::{Part, Plan};
use crate::test_support::{Fault, deed};
use crate::{Added, LedgerError, OpenQuery, Stored};

/// A completed job, and its next version, which is not written yet.
async fn scene(world: &World) -> (Loaded, Job, Job) {
    let loaded = world.committed(&["deliver", "other"]).await;
    let running = world.claimed(&loaded, loaded.jobs.first().unwrap()).await;
    let done = completed(&running, world.now());
    world.ledger.write_job(&loaded, &running, &done).await.unwrap();
    let loaded = world.reload(&loaded).await;
    let next = new_version(&done, &loaded.jobs, world.now()).unwrap();
    (loaded, done, next)
}

#[tokio::test]
async fn a_new_version_is_added_with_its_record_and_its_folder_is_kept() {
    let world = World::new().await;
    let (loaded, done, next) = scene(&world).await;
    assert_eq!(world.fates(&loaded).await.1, [""; 0]);
    let deed = deed("new-version", &next.key, START);
    assert_eq!(world.ledger.add_job(&loaded, &done, &next, &deed).await.unwrap(), Added::Written);
    let after = world.reload(&loaded).await;
    assert_eq!((after.job(&done.key), after.job(&next.key)), (Some(&done), Some(&next)), "the first stays as it is");
    assert_eq!((after.jobs.len(), &after.audit), (3, &vec![deed]));
    let (expiring, kept) = world.fates(&after).await;
    assert_eq!((expiring.len(), kept.len()), (0, 1 + 3 + 1 + 1), "receipt, jobs, payload, record");
    assert_eq!(after.receipt.as_ref().unwrap().version, loaded.receipt.as_ref().unwrap().version + 1);
    let shard = next.key.receipt.shard(world.ledger.shards());
    let due = world.ledger.open_entries(&OpenQuery::Due { shard }, next.open_at.unwrap(), 10, None).await.unwrap();
    assert!(due.items.iter().any(|entry| entry.key == next.key), "the sweeper looks after it");

    world.clock.advance(400 * DAY);
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 0);
    let running = world.claimed(&after, &next).await;
    world.ledger.write_job(&after, &running, &completed(&running, world.now())).await.unwrap();
    let other = after.jobs.last().unwrap();
    assert_eq!(other.key.operation.as_str(), "other");
    assert_eq!(world.fates(&after).await.0, [""; 0], "another job is open");
    let waiting = world.reviewed(&after, other).await;
    let loaded = world.reload(&after).await;
    world.ledger.write_job(&loaded, &waiting, &dismiss(&waiting, world.now()).unwrap()).await.unwrap();
    assert_eq!(world.fates(&after).await.1, [""; 0], "all have ended, and all expires");
}

#[tokio::test]
async fn of_two_that_ask_for_the_same_version_one_is_told_so() {
    let world = World::new().await;
    let (loaded, done, next) = scene(&world).await;
    let deed = deed("new-version", &next.key, START);
    world.ledger.add_job(&loaded, &done, &next, &deed).await.unwrap();
    let error = world.ledger.add_job(&loaded, &done, &next, &deed).await.unwrap_err();
    let LedgerError::ConditionFailed { stored: Stored::Job(stored) } = error else { panic!("{error}") };
    assert_eq!(*stored, next);
    assert_eq!(world.reload(&loaded).await.audit.len(), 1);
}

#[tokio::test]
async fn a_version_that_was_replayed_meanwhile_gets_no_next_one() {
    let world = World::new().await;
    let (loaded, done, next) = scene(&world).await;
    let again = replay(&done, ForgottenKey::Refuse, START).unwrap();
    world.ledger.write_job(&loaded, &done, &again).await.unwrap();
    let error = world.ledger.add_job(&loaded, &done, &next, &deed("new-version", &next.key, START)).await.unwrap_err();
    let LedgerError::ConditionFailed { stored: Stored::Job(stored) } = error else { panic!("{error}") };
    assert_eq!(*stored, again);
    world.table.delete_item(&loaded.id.to_string(), "job#deliver#v0001").await;
    let error = world.ledger.add_job(&loaded, &done, &next, &deed("new-version", &next.key, START)).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Nothing }), "{error}");
    let after = world.reload(&loaded).await;
    assert_eq!((after.job(&next.key), after.audit.len()), (None, 0));
}

#[tokio::test]
async fn without_its_whole_payload_nothing_is_added() {
    for orphaned in [false, true] {
        let world = World::new().await;
        let (mut loaded, done, next) = scene(&world).await;
        world.table.delete_item(&loaded.id.to_string(), "payload#000").await;
        if orphaned {
            world.table.delete_item(&loaded.id.to_string(), "head").await;
            loaded = world.reload(&loaded).await;
        }
        let added = world.ledger.add_job(&loaded, &done, &next, &deed("new-version", &next.key, START)).await.unwrap();
        assert_eq!(added, Added::PayloadExpired);
        let after = world.reload(&loaded).await;
        assert_eq!((after.job(&next.key), after.audit.len()), (None, 0), "orphaned: {orphaned}");
    }
}

#[tokio::test]
async fn what_is_left_of_a_folder_is_kept_with_the_new_version() {
    let world = World::new().await;
    let (loaded, done, next) = scene(&world).await;
    for gone in ["head", "job#other#v0001"] {
        world.table.delete_item(&loaded.id.to_string(), gone).await;
    }
    let added = world.ledger.add_job(&loaded, &done, &next, &deed("new-version", &next.key, START)).await.unwrap();
    assert_eq!(added, Added::Written, "decided on what is there now");
    let after = world.reload(&loaded).await;
    let (expiring, kept) = world.fates(&after).await;
    assert_eq!((after.receipt, expiring.len(), kept.len()), (None, 0, 2 + 1 + 1));
}

#[tokio::test]
async fn a_lost_answer_is_found_again_and_nothing_is_added_twice() {
    for fault in [Fault::LoseReply, Fault::DoTwice] {
        let world = World::new().await;
        let (loaded, done, next) = scene(&world).await;
        let faults = Faults::none();
        faults.on_next("TransactWriteItems", fault);
        let added = world
            .through(&faults)
            .add_job(&loaded, &done, &next, &deed("new-version", &next.key, START))
            .await
            .unwrap();
        assert!(faults.all_happened());
        let after = world.reload(&loaded).await;
        assert_eq!((added, after.job(&next.key), after.audit.len()), (Added::Written, Some(&next), 1), "{fault:?}");
    }
}

/// As many jobs as there can be, the largest payload and more records than there is room for.
#[tokio::test]
async fn the_largest_folder_is_kept_in_one_transaction() {
    let world = World::new().await;
    let (mut loaded, done, next) = scene(&world).await;
    let version = |version| Job { key: JobKey { version, ..done.key.clone() }, ..done.clone() };
    loaded.jobs = (1..=u16::try_from(MAX_JOBS).unwrap()).map(version).collect();
    (loaded.chunks, loaded.records) = (12, (0..90).map(|n| format!("log#{n:02}")).collect());
    let newest = loaded.jobs.last().unwrap().clone();
    let plan = Plan::of_addition(&loaded, &newest, Item::new(), &[]).unwrap();
    assert_eq!(plan.parts.len(), MAX_TRANSACTION_ITEMS - 2, "a record is still to come");
    let records: Vec<_> = plan.parts.iter().filter(|part| matches!(part, Part::Record(_))).collect();
    assert_eq!(records.first(), Some(&&Part::Record("log#89".to_owned())), "the latest");
    assert!(records.len() >= 30, "{}", records.len());
    assert_ne!(next.key, newest.key);
}
