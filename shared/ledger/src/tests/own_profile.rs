use super::*;
use crate::test_support::Fault;
use crate::{LedgerError, OwnProfile, Stored};

fn profile(rev: u64, toml: &str) -> OwnProfile {
    OwnProfile { name: "acme-crm".parse().unwrap(), rev, toml: toml.to_owned() }
}

#[tokio::test]
async fn a_profile_is_replaced_only_at_the_revision_that_was_read() {
    let world = World::new().await;
    let name = profile(1, "").name;
    assert_eq!(world.ledger.own_profile(&name).await.unwrap(), None);
    let first = profile(1, "scheme = \"hmac\"");
    world.ledger.put_own_profile(&first, None).await.unwrap();
    let error = world.ledger.put_own_profile(&profile(1, "other"), None).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Profile(stored) } if *stored == first));
    let second = profile(2, "scheme = \"basic\"");
    world.ledger.put_own_profile(&second, Some(1)).await.unwrap();
    assert!(world.ledger.put_own_profile(&profile(2, "late"), Some(1)).await.is_err());
    assert_eq!(world.ledger.own_profile(&name).await.unwrap(), Some(second));
    let item = world.table.item("profile#acme-crm", "profile").await.unwrap();
    assert_eq!(item["schema"].as_n().unwrap(), "1");
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_recognised() {
    let world = World::new().await;
    let faults = Faults::none();
    let ledger = world.through(&faults);
    for (first, replaces) in [(profile(1, "a"), None), (profile(2, "b"), Some(1))] {
        faults.on_next("PutItem", Fault::LoseReply);
        ledger.put_own_profile(&first, replaces).await.unwrap();
        assert!(faults.all_happened());
    }
    let stored = world.ledger.own_profile(&profile(1, "").name).await.unwrap();
    assert_eq!(stored, Some(profile(2, "b")));
}

#[tokio::test]
async fn a_profile_that_nobody_stored_is_not_replaced() {
    let world = World::new().await;
    let error = world.ledger.put_own_profile(&profile(2, "x"), Some(1)).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Nothing }), "{error}");
}
