//! A rollback loses nothing: newer items are left alone, unknown attributes stay.

use aws_sdk_dynamodb::types::AttributeValue;

use super::*;
use crate::{ItemError, LedgerError};

fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Changes one attribute of a stored item.
async fn change(world: &World, loaded: &Loaded, sk: &str, attribute: &str, value: AttributeValue) -> Item {
    let mut item = world.item(loaded, sk).await.unwrap();
    item.insert(attribute.to_owned(), value);
    world.table.put_item(item.clone()).await;
    item
}

#[tokio::test]
async fn a_newer_job_is_named_and_left_alone() {
    let world = World::new().await;
    let before = world.committed(&["deliver", "other"]).await;
    let job = before.jobs.iter().find(|job| job.key.operation.as_str() == "deliver").unwrap();
    let newer = change(&world, &before, "job#deliver#v0001", "schema", number(2)).await;
    let loaded = world.reload(&before).await;
    assert_eq!(loaded.jobs.len(), 1, "the other job is read all the same");
    assert!(matches!(loaded.unreadable_job(&job.key), Some(ItemError::NewerSchema { schema: 2, .. })));

    // Somebody who has read it before it became newer.
    let moved = Job { open_at: Some(START.plus(DAY)), ..job.clone() };
    for error in [
        world.ledger.write_job(&before, job, &claimed(job, START)).await.unwrap_err(),
        world.ledger.write_job(&before, job, &in_review(job, START)).await.unwrap_err(),
        world.ledger.move_entry(job, &moved).await.unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::NewerSchema { schema: 2, .. }), "{error}");
    }
    assert_eq!(world.item(&before, "job#deliver#v0001").await, Some(newer));
    assert_eq!(world.fates(&before).await.1, [""; 0], "nothing of the folder was changed");
}

#[tokio::test]
async fn a_newer_receipt_is_left_alone() {
    let world = World::new().await;
    let before = world.committed(&["deliver"]).await;
    let newer = change(&world, &before, "head", "schema", number(2)).await;
    let again = folder("evt_1", &["deliver"], START);
    let loaded = world.reload(&before).await;
    for error in [
        world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap_err(),
        world.ledger.count_duplicate(&before.id, &arrival(START, "r")).await.unwrap_err(),
        world.ledger.write_job(&before, &before.jobs[0], &in_review(&before.jobs[0], START)).await.unwrap_err(),
        world.ledger.write_job(&loaded, &before.jobs[0], &in_review(&before.jobs[0], START)).await.unwrap_err(),
        world.ledger.keep(&loaded).await.unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::NewerSchema { .. }), "{error}");
        assert!(!error.is_transient());
    }
    assert_eq!(world.item(&before, "head").await, Some(newer));
    world.claimed(&loaded, &loaded.jobs[0]).await;
}

#[tokio::test]
async fn a_newer_sibling_is_left_alone_and_may_be_open() {
    let world = World::new().await;
    let before = world.committed(&["a", "b"]).await;
    let job = before.jobs.iter().find(|job| job.key.operation.as_str() == "a").unwrap();
    world.ledger.keep(&before).await.unwrap();
    let newer = change(&world, &before, "job#b#v0001", "schema", number(2)).await;
    let loaded = world.reload(&before).await;
    let running = world.claimed(&loaded, job).await;
    world.ledger.write_job(&loaded, &running, &completed(&running, START)).await.unwrap();
    assert_eq!(world.item(&before, "job#b#v0001").await, Some(newer));
    assert_eq!(world.reload(&before).await.receipt.unwrap().expires_at, None, "it may still need the folder");
}

/// It became newer after the folder was read.
#[tokio::test]
async fn a_newer_sibling_does_not_stand_in_the_way_and_a_newer_payload_does() {
    let world = World::new().await;
    let before = world.committed(&["a", "b"]).await;
    let job = |name: &str| before.jobs.iter().find(|job| job.key.operation.as_str() == name).unwrap();
    let newer = change(&world, &before, "job#b#v0001", "schema", number(2)).await;
    world.reviewed(&before, job("a")).await;
    assert_eq!(world.item(&before, "job#b#v0001").await, Some(newer));

    let world = World::new().await;
    let before = world.committed(&["a"]).await;
    let newer = change(&world, &before, "payload#000", "schema", number(2)).await;
    let after = in_review(&before.jobs[0], START);
    let error = world.ledger.write_job(&before, &before.jobs[0], &after).await.unwrap_err();
    assert!(matches!(error, LedgerError::NewerSchema { .. }), "{error}");
    assert_eq!(world.item(&before, "payload#000").await, Some(newer));
    assert_eq!(world.reload(&before).await.jobs, before.jobs);
}

#[tokio::test]
async fn a_broken_payload_does_not_keep_its_job_from_ending() {
    let world = World::new().await;
    let before = world.committed(&["a"]).await;
    let mut broken = world.item(&before, "payload#000").await.unwrap();
    broken.remove("schema");
    world.table.put_item(broken.clone()).await;
    let reviewed = world.reviewed(&before, &before.jobs[0]).await;
    let loaded = world.reload(&before).await;
    let dismissed = hookbox_core::transition::dismiss::dismiss(&reviewed, START).unwrap();
    world.ledger.write_job(&loaded, &reviewed, &dismissed).await.unwrap();
    assert_eq!(world.reload(&before).await.jobs, [dismissed]);
    assert_eq!(world.item(&before, "payload#000").await, Some(broken));
}

#[tokio::test]
async fn attributes_that_this_version_does_not_know_are_kept() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let later = AttributeValue::S("of a later version".to_owned());
    for sk in ["head", "job#deliver#v0001", "payload#000"] {
        change(&world, &loaded, sk, "later", later.clone()).await;
    }
    let running = world.claimed(&loaded, &loaded.jobs[0]).await;
    let retrying = finished(&running, Outcome::Unknown, START);
    world.ledger.write_job(&loaded, &running, &retrying).await.unwrap();
    let moved = Job { open_at: Some(START), ..retrying.clone() };
    assert!(world.ledger.move_entry(&retrying, &moved).await.unwrap());
    world.reviewed(&loaded, &moved).await;
    world.ledger.count_duplicate(&loaded.id, &arrival(START, "r")).await.unwrap();
    for sk in ["head", "job#deliver#v0001", "payload#000"] {
        assert_eq!(world.item(&loaded, sk).await.unwrap().get("later"), Some(&later), "{sk}");
    }
}

#[tokio::test]
async fn a_corrupt_item_is_named_and_hides_nothing_else() {
    let world = World::new().await;
    let before = world.committed(&["a", "b"]).await;
    change(&world, &before, "job#a#v0001", "status", AttributeValue::S("lost".to_owned())).await;
    let mut stranger = world.item(&before, "job#b#v0001").await.unwrap();
    stranger.insert("sk".to_owned(), AttributeValue::S("letter#1".to_owned()));
    world.table.put_item(stranger).await;
    let loaded = world.reload(&before).await;
    assert_eq!(loaded.jobs.len(), 1);
    let names: Vec<_> = loaded.unreadable.iter().map(|item| item.sk.as_str()).collect();
    assert_eq!(names, ["job#a#v0001", "letter#1"]);
    assert!(loaded.unreadable.iter().all(|item| matches!(item.error, ItemError::Corrupt { .. })));
}

#[tokio::test]
async fn an_error_does_not_quote_a_payload() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    change(&world, &loaded, "payload#000", "headers", AttributeValue::S("secret content".to_owned())).await;
    let error = world.ledger.payload(&loaded.id).await.unwrap_err();
    assert!(matches!(error, LedgerError::Corrupt { .. }));
    assert!(!format!("{error} {error:?}").contains("secret content"), "{error:?}");
}

#[tokio::test]
async fn one_bad_line_or_pause_hides_no_other() {
    let world = World::new().await;
    let good = integration(&["a", "b"]);
    let Integration { provider, account, operations, .. } = &good;
    let bad = Integration { account: "other".parse().unwrap(), ..good.clone() };
    for one in [&good, &bad] {
        world.ledger.put_integration(one, None).await.unwrap();
    }
    for operation in operations {
        let reason = "http 401".to_owned().into();
        world.ledger.put_pause(provider, account, &operation.name, &reason, START).await.unwrap();
    }
    let spoil = async |pk: &str, sk: &str, attribute: &str, value: AttributeValue| {
        let mut item = world.table.item(pk, sk).await.unwrap();
        item.insert(attribute.to_owned(), value);
        world.table.put_item(item).await;
    };
    let line = format!("integration#{provider}#{}", bad.account);
    spoil("directory", &line, "schema", number(2)).await;
    spoil(&format!("integration#{provider}#{account}"), "pause#b", "at", AttributeValue::Bool(true)).await;

    let directory = world.ledger.directory().await.unwrap();
    assert_eq!(directory.items.len(), 1);
    assert_eq!(directory.of_connection(provider, account).unwrap(), directory.items.first());
    let error = directory.of_connection(provider, &bad.account).unwrap_err();
    assert!(matches!(error, ItemError::NewerSchema { schema: 2, .. }), "{error}");

    let configured = world.ledger.integration_with_pauses(provider, account).await.unwrap().unwrap();
    let pauses = world.ledger.pauses(provider, account).await.unwrap();
    assert_eq!(configured.pauses, pauses);
    assert_eq!(pauses.items.iter().map(|pause| pause.operation.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(configured.pause(&operations[0].name).unwrap().is_some());
    let error = configured.pause(&operations[1].name).unwrap_err();
    assert!(matches!(error, ItemError::Corrupt { .. }), "an unreadable pause is no free way: {error}");
}
