use super::*;
use crate::test_support::Fault;
use crate::{Audit, DirectoryEntry, LedgerError, Stored, Subject};

#[tokio::test]
async fn a_configuration_is_replaced_only_at_the_revision_that_was_read() {
    let world = World::new().await;
    let first = integration(&["deliver"]);
    let Integration { provider, account, .. } = &first;
    assert_eq!(world.ledger.integration(provider, account).await.unwrap(), None);
    world.ledger.put_integration(&first, None).await.unwrap();
    let error = world.ledger.put_integration(&integration(&["x"]), None).await.unwrap_err();
    let LedgerError::ConditionFailed { stored: Stored::Integration(stored) } = error else { panic!("{error}") };
    assert_eq!(*stored, first);

    let second = Integration { rev: 2, ..integration(&["deliver", "crm-upsert"]) };
    world.ledger.put_integration(&second, Some(1)).await.unwrap();
    let third = Integration { rev: 3, ..first.clone() };
    assert!(world.ledger.put_integration(&third, Some(1)).await.is_err());
    assert_eq!(world.ledger.integration(provider, account).await.unwrap(), Some(second));
    let line = DirectoryEntry {
        provider: provider.clone(),
        account: account.clone(),
        rev: 2,
        retired_at: None,
        operations: ["crm-upsert", "deliver"].map(|name| name.parse().unwrap()).into(),
    };
    assert_eq!(world.ledger.directory().await.unwrap().items, [line]);
}

#[tokio::test]
async fn a_retired_connection_stays_in_the_directory_and_may_come_back() {
    let world = World::new().await;
    let first = integration(&["deliver"]);
    let Integration { provider, account, .. } = &first;
    let line = |rev, retired_at, operations: &[&str]| DirectoryEntry {
        provider: provider.clone(),
        account: account.clone(),
        rev,
        retired_at,
        operations: operations.iter().map(|name| name.parse().unwrap()).collect(),
    };
    world.ledger.put_integration(&first, None).await.unwrap();
    assert!(world.ledger.retire_integration(provider, account, 7, START).await.is_err());
    world.ledger.retire_integration(provider, account, 1, START).await.unwrap();
    assert_eq!(world.ledger.integration(provider, account).await.unwrap(), None);
    assert_eq!(world.ledger.integration_with_pauses(provider, account).await.unwrap(), None);
    assert_eq!(world.ledger.directory().await.unwrap().items, [line(1, Some(START), &["deliver"])]);
    world.ledger.put_integration(&Integration { rev: 2, ..integration(&["other"]) }, None).await.unwrap();
    assert_eq!(world.ledger.directory().await.unwrap().items, [line(2, None, &["deliver", "other"])]);
}

#[tokio::test]
async fn configuration_and_pauses_come_together_without_the_audit() {
    let world = World::new().await;
    let first = integration(&["deliver", "crm-upsert"]);
    let Integration { provider, account, operations, .. } = &first;
    world.ledger.put_integration(&first, None).await.unwrap();
    let why = "http 401".to_owned().into();
    let pause = world.ledger.put_pause(provider, account, &operations[1].name, &why, START).await.unwrap();
    let again = "another reason".to_owned().into();
    let same = world.ledger.put_pause(provider, account, &operations[1].name, &again, START.plus(DAY)).await.unwrap();
    assert_eq!(same, pause, "what is paused stays as it is");
    let deed = Audit {
        subject: Subject::Integration(provider.clone(), account.clone()),
        at: START,
        who: "jane".to_owned(),
        what: "apply".to_owned(),
        on: None,
        why: None,
        bulk: None,
        before: None,
        after: Some("rev 1".to_owned()),
        expires_at: None,
    };
    world.ledger.put_audit(&deed).await.unwrap();
    let configured = world.ledger.integration_with_pauses(provider, account).await.unwrap().unwrap();
    assert_eq!(configured.integration, first);
    assert_eq!(configured.pauses.items, std::slice::from_ref(&pause));
    assert_eq!(configured.pause(&operations[1].name).unwrap(), Some(&pause));
    assert_eq!(configured.pause(&operations[0].name).unwrap(), None);
    assert_eq!(world.ledger.integration_audit(provider, account).await.unwrap().items, [deed]);

    world.committed(&["deliver"]).await;
    let items = world.table.items().await;
    assert_eq!(items.len(), 7, "one of every kind");
    for item in items {
        assert!(item["schema"].as_n().is_ok_and(|schema| schema == "1"), "{:?}", crate::item::names(&item));
    }
}

#[tokio::test]
async fn resuming_ends_one_pause_and_never_a_later_one() {
    let world = World::new().await;
    let first = integration(&["deliver"]);
    let Integration { provider, account, operations, .. } = &first;
    let why = "http 401".to_owned().into();
    let old = world.ledger.put_pause(provider, account, &operations[0].name, &why, START).await.unwrap();
    world.ledger.delete_pause(&old).await.unwrap();
    world.ledger.delete_pause(&old).await.unwrap();
    let new = world.ledger.put_pause(provider, account, &operations[0].name, &why, START).await.unwrap();
    assert_ne!(old.rev, new.rev);
    let error = world.ledger.delete_pause(&old).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Pause(stored) } if *stored == new));
    assert_eq!(world.ledger.pauses(provider, account).await.unwrap().items, [new]);
}

#[tokio::test]
async fn names_that_begin_alike_do_not_meet() {
    let world = World::new().await;
    let first = integration(&["deliver"]);
    let longer = Integration { account: "demo2".parse().unwrap(), ..first.clone() };
    world.ledger.put_integration(&first, None).await.unwrap();
    world.ledger.put_integration(&longer, None).await.unwrap();
    assert_eq!(world.ledger.integration(&first.provider, &longer.account).await.unwrap(), Some(longer));
    assert_eq!(world.ledger.directory().await.unwrap().items.len(), 2);
}

/// Who paused and resumed is recorded with what they did, or neither is.
#[tokio::test]
async fn a_pause_and_its_end_are_recorded_with_who_made_them() {
    let world = World::new().await;
    let first = integration(&["deliver"]);
    let Integration { provider, account, operations, .. } = &first;
    let name = &operations[0].name;
    let deed = |what: &str, who: &str| Audit {
        subject: Subject::Integration(provider.clone(), account.clone()),
        at: START,
        who: who.to_owned(),
        what: what.to_owned(),
        on: Some(name.to_string()),
        why: None,
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    };
    let faults = Faults::none();
    faults.on_next("TransactWriteItems", Fault::LoseReply).on_next("TransactWriteItems", Fault::LoseReply);
    let ledger = world.through(&faults);
    let why = "maintenance".to_owned().into();
    let paused = ledger.put_pause_audited(provider, account, name, &why, &deed("pause", "jane")).await.unwrap();
    let again = ledger.put_pause_audited(provider, account, name, &why, &deed("pause", "joe")).await.unwrap();
    assert_eq!(again, paused, "what is paused stays as it is, and joe has done nothing");
    ledger.delete_pause_audited(&paused, &deed("resume", "jane")).await.unwrap();
    ledger.delete_pause_audited(&paused, &deed("resume", "joe")).await.unwrap();
    assert!(faults.all_happened());
    let deeds = world.ledger.integration_audit(provider, account).await.unwrap().items;
    let mut deeds: Vec<_> = deeds.into_iter().map(|deed| (deed.what, deed.who)).collect();
    deeds.sort_unstable();
    assert_eq!(deeds, [("pause".to_owned(), "jane".to_owned()), ("resume".to_owned(), "jane".to_owned())]);

    let new = world.ledger.put_pause(provider, account, name, &why, START).await.unwrap();
    let error = world.ledger.delete_pause_audited(&paused, &deed("resume", "joe")).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Pause(stored) } if *stored == new));
    assert_eq!(world.ledger.integration_audit(provider, account).await.unwrap().items.len(), 2);
}
