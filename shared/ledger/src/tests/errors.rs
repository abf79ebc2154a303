use super::*;
use crate::LedgerError;
use crate::test_support::Fault;

async fn ingest_with(faults: &Faults) -> (World, Result<Ingested, LedgerError>) {
    let world = World::new().await;
    let ledger = world.through(faults);
    let ingested = ledger.ingest(&folder("evt_1", &["deliver"], START), &payload(BODY), world.soon()).await;
    (world, ingested)
}

#[tokio::test]
async fn what_stays_refused_is_out_of_time_with_the_reason() {
    for fault in [Fault::Throttle, Fault::ExceedThroughput, Fault::Conflict, Fault::FailBefore, Fault::Internal] {
        let faults = Faults::none();
        (0..100).for_each(|number| {
            faults.at(number, fault);
        });
        let world = World::new().await;
        let ledger = world.through(&faults);
        let deadline = START.plus(Duration::from_secs(2));
        let error = ledger.ingest(&folder("evt_1", &[], START), &payload(BODY), deadline).await.unwrap_err();
        assert!(world.now() < deadline, "it gives up in time");
        assert!(error.is_transient());
        let LedgerError::OutOfTime { last: Some(last) } = error else { panic!("{fault:?}: {error:?}") };
        match fault {
            Fault::Throttle | Fault::ExceedThroughput => assert!(matches!(*last, LedgerError::Throttled), "{last:?}"),
            Fault::Conflict => assert!(matches!(*last, LedgerError::TransactionConflict), "{last:?}"),
            _ => assert!(matches!(*last, LedgerError::Unavailable { .. }), "{last:?}"),
        }
    }
}

#[tokio::test]
async fn without_a_deadline_tries_are_bounded() {
    let faults = Faults::none();
    (0..100).for_each(|number| {
        faults.at(number, Fault::Throttle);
    });
    let world = World::new().await;
    let error = world.through(&faults).load(&folder("evt_1", &[], START).receipt.id).await.unwrap_err();
    assert!(matches!(error, LedgerError::Throttled), "{error:?}");
    assert_eq!(faults.count(), 12);
    assert!(world.now() < START.plus(Duration::from_secs(10)));
}

#[tokio::test]
async fn a_deadline_that_has_passed_is_not_tried() {
    let world = World::new().await;
    let faults = Faults::none();
    let (ledger, folder) = (world.through(&faults), folder("evt_1", &[], START));
    let error = ledger.ingest(&folder, &payload(BODY), START).await.unwrap_err();
    assert!(matches!(error, LedgerError::OutOfTime { last: None }), "{error:?}");
    let error = ledger.until(START).load(&folder.receipt.id).await.unwrap_err();
    assert!(matches!(error, LedgerError::OutOfTime { last: None }), "{error:?}");
    assert_eq!(faults.count(), 0);
}

/// In real time, so that the wait is a real one.
#[tokio::test]
async fn a_call_that_hangs_is_left_at_the_deadline_and_may_have_been_done() {
    let table = TestTable::start().await;
    let faults = Faults::none();
    faults.at(0, Fault::DelayReply(Duration::from_secs(60)));
    let now = Timestamp::from_millis(0)
        .plus(table.config().time_source().unwrap_or_default().now().duration_since(std::time::UNIX_EPOCH).unwrap());
    let folder = folder("evt_1", &["deliver"], now);
    let deadline = now.plus(Duration::from_millis(700));
    let error = table.ledger_through(&faults).ingest(&folder, &payload(BODY), deadline).await.unwrap_err();
    assert!(matches!(error, LedgerError::OutOfTime { last: Some(_) }), "{error:?}");
    let again = table.ledger().ingest(&folder, &payload(BODY), now.plus(DAY)).await.unwrap();
    assert!(matches!(again, Ingested::Duplicate { .. }), "the redelivery finds it");
}

#[tokio::test]
async fn a_stopped_process_has_no_effect_any_more() {
    let faults = Faults::none();
    faults.at(0, Fault::StopAfter);
    let (world, ingested) = ingest_with(&faults).await;
    assert!(ingested.unwrap_err().is_transient());
    assert!(faults.is_stopped());
    let id = folder("evt_1", &[], START).receipt.id;
    let ledger = world.through(&faults);
    assert!(ledger.load(&id).await.is_err());
    faults.restart();
    assert!(ledger.load(&id).await.unwrap().is_some(), "it was done before the process died");

    let faults = Faults::none();
    faults.at(0, Fault::StopBefore);
    let (world, ingested) = ingest_with(&faults).await;
    assert!(ingested.is_err());
    assert!(world.table.items().await.is_empty());
}

#[tokio::test]
async fn what_never_helps_is_not_tried_again() {
    let world = World::new().await;
    let faults = Faults::none();
    let ledger = Ledger::new(
        &faults.wrap(&world.table.config()),
        "another-table",
        world.ledger.shards(),
        crate::test_support::TestRandom::fresh(),
    );
    let error = ledger.ingest(&folder("evt_1", &[], START), &payload(BODY), world.soon()).await.unwrap_err();
    let LedgerError::Refused { code, .. } = &error else { panic!("{error:?}") };
    assert_eq!(code, "ResourceNotFoundException");
    assert!(!error.is_transient());
    assert_eq!(faults.count(), 1);
}
