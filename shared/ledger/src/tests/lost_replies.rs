//! Every write, with the answer of each of its calls lost in turn.

use aws_smithy_runtime_api::client::http::HttpConnector as _;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::hold::hold;
use hookbox_core::transition::replay::{ForgottenKey, replay};
use hookbox_core::transition::wake::{Backlog, Wake, wake};

use serde_json::Value;

use super::on_the_way::{before_call, on_the_way};
use super::*;
use crate::test_support::Fault;
use crate::{Audit, Held, Subject};

/// The ways in which a call can have happened without our knowing, or twice.
const AMBIGUOUS: [Fault; 2] = [Fault::LoseReply, Fault::DoTwice];

#[tokio::test]
async fn ingest_recognises_itself() {
    for fault in AMBIGUOUS {
        let world = World::new().await;
        let faults = Faults::none();
        faults.at(0, fault);
        let folder = folder("evt_1", &["deliver"], START);
        let ingested = world.through(&faults).ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
        assert_eq!(ingested, Ingested::Created, "{fault:?}");
        assert!(faults.all_happened());
        let loaded = world.load(&folder).await;
        assert_eq!((loaded.jobs, loaded.receipt.unwrap().duplicate_count), (folder.jobs, 0));
    }
}

/// After ten minutes DynamoDB has forgotten a client token: then only the one that is stored tells.
#[tokio::test]
async fn ingest_recognises_itself_by_the_stored_token() {
    let world = World::new().await;
    let faults = Faults::none();
    faults.at(0, Fault::LoseReply);
    let folder = folder("evt_1", &["deliver"], START);
    let config = forgetting(&faults.wrap(&world.table.config()));
    let ledger = world.table.ledger_with(&config);
    assert_eq!(ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap(), Ingested::Created);
    assert_eq!(faults.count(), 2);
    let again = ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
    assert!(matches!(again, Ingested::Duplicate { .. }), "another call has another token");
}

#[tokio::test]
async fn a_claim_and_a_completion_recognise_themselves() {
    for fault in AMBIGUOUS {
        let world = World::new().await;
        let loaded = world.committed(&["deliver"]).await;
        let faults = Faults::none();
        faults.at(0, fault).on_next("UpdateItem", fault);
        let ledger = world.through(&faults);
        let running = claimed(&loaded.jobs[0], START);
        ledger.write_job(&loaded, &loaded.jobs[0], &running).await.unwrap();
        let done = completed(&running, START);
        ledger.write_job(&loaded, &running, &done).await.unwrap();
        assert!(faults.all_happened());
        assert_eq!(world.reload(&loaded).await.jobs, [done], "{fault:?}");
    }
}

#[tokio::test]
async fn a_review_and_a_dismissal_recognise_themselves_and_change_expiry_once() {
    for fault in AMBIGUOUS {
        let world = World::new().await;
        let loaded = world.committed(&["deliver"]).await;
        let faults = Faults::none();
        faults.on_next("TransactWriteItems", fault).on_next("TransactWriteItems", fault);
        let ledger = world.table.ledger_with(&forgetting(&faults.wrap(&world.table.config())));
        let waiting = in_review(&loaded.jobs[0], START);
        ledger.write_job(&loaded, &loaded.jobs[0], &waiting).await.unwrap();
        let loaded = world.reload(&loaded).await;
        assert_eq!(loaded.receipt.as_ref().unwrap().version, 2);
        assert_eq!(world.fates(&loaded).await.0, [""; 0]);
        let dismissed = dismiss(&waiting, START).unwrap();
        ledger.write_job(&loaded, &waiting, &dismissed).await.unwrap();
        assert!(faults.all_happened());
        let loaded = world.reload(&loaded).await;
        assert_eq!(loaded.jobs, [dismissed], "{fault:?}");
        assert_eq!(loaded.receipt.as_ref().unwrap().version, 3);
        assert_eq!(world.fates(&loaded).await.1, [""; 0]);
    }
}

/// A worker may be quicker than our second try. Whoever is told that nothing was done asks for the effect once more.
#[tokio::test]
async fn a_person_s_deed_recognises_itself_when_a_worker_was_quicker() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let waiting = world.reviewed(&loaded, &loaded.jobs[0]).await;
    let loaded = world.reload(&loaded).await;
    let replayed = replay(&waiting, ForgottenKey::Refuse, START).unwrap();
    let deed = Audit {
        subject: Subject::Receipt(loaded.id),
        at: START,
        who: "jane".to_owned(),
        what: "replay".to_owned(),
        on: None,
        why: None,
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    };
    let faults = Faults::none();
    faults.at(0, Fault::LoseReply);
    let (worker, read, folder) = (world.ledger.clone(), replayed.clone(), loaded.clone());
    let running = claimed(&replayed, START);
    let config = before_call(1, &faults.wrap(&world.table.config()), async move {
        worker.write_job(&folder, &read, &running).await.unwrap();
    });
    world.table.ledger_with(&config).write_job_audited(&loaded, &waiting, &replayed, &deed).await.unwrap();
    let after = world.reload(&loaded).await;
    assert_eq!((after.jobs[0].round, after.jobs[0].attempts.len(), after.audit.len()), (2, 1, 1));
}

#[tokio::test]
async fn a_hold_recognises_itself() {
    for fault in AMBIGUOUS {
        let world = World::new().await;
        let loaded = world.committed(&["deliver"]).await;
        let job = &loaded.jobs[0];
        let pause = world
            .ledger
            .put_pause(&job.provider, &job.account, &job.key.operation, &"credential refused".to_owned().into(), START)
            .await
            .unwrap();
        let faults = Faults::none();
        faults.at(0, fault);
        let ledger = world.table.ledger_with(&forgetting(&faults.wrap(&world.table.config())));
        let held = hold(job, START).unwrap();
        assert_eq!(ledger.hold_job(&loaded, job, &held, &pause).await.unwrap(), Held::Written, "{fault:?}");
        assert_eq!(world.reload(&loaded).await.jobs, [held]);
    }
}

#[tokio::test]
async fn a_moved_entry_recognises_itself_and_disturbs_no_worker() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    world.clock.advance(Duration::from_secs(600));
    let Wake::Send(moved) = wake(job, Backlog::No, world.now()) else { panic!() };
    let faults = Faults::none();
    faults.at(0, Fault::LoseReply);
    assert!(world.through(&faults).move_entry(job, &moved).await.unwrap());
    assert!(!world.ledger.move_entry(job, &moved).await.unwrap(), "a second sweeper is not entitled to send");

    // The claim landed before the entry was moved, and its answer was lost: the worker still knows its own write.
    let running = claimed(&moved, world.now());
    let later = Job { open_at: Some(world.now().plus(DAY)), ..running.clone() };
    let faults = Faults::none();
    faults.at(0, Fault::LoseReply);
    let (sweeper, read) = (world.ledger.clone(), running.clone());
    let config = before_call(1, &faults.wrap(&world.table.config()), async move {
        assert!(sweeper.move_entry(&read, &later).await.unwrap());
    });
    world.table.ledger_with(&config).write_job(&loaded, job, &running).await.unwrap();
}

#[tokio::test]
async fn a_duplicate_is_counted_once() {
    for fault in [Fault::LoseReply, Fault::FailBefore, Fault::Throttle] {
        let world = World::new().await;
        let loaded = world.committed(&["deliver"]).await;
        let faults = Faults::none();
        faults.at(0, fault);
        world.through(&faults).count_duplicate(&loaded.id, &arrival(START, "request-1")).await.unwrap();
        let receipt = world.reload(&loaded).await.receipt.unwrap();
        assert_eq!((receipt.duplicate_count, receipt.arrivals.len()), (1, 2), "{fault:?}");
        assert_eq!(faults.count(), 2);
    }
}

#[tokio::test]
async fn pauses_and_configurations_recognise_themselves() {
    for fault in AMBIGUOUS {
        let world = World::new().await;
        let faults = Faults::none();
        let ledger = world.table.ledger_with(&forgetting(&faults.wrap(&world.table.config())));
        let integration = integration(&["deliver"]);
        let Integration { provider, account, operations, .. } = &integration;
        faults.on_next("TransactWriteItems", fault).on_next("PutItem", fault).on_next("DeleteItem", fault);
        ledger.put_integration(&integration, None).await.unwrap();
        let pause = ledger.put_pause(provider, account, &operations[0].name, &"why".to_owned().into(), START).await;
        let pause = pause.unwrap();
        assert_eq!(
            world.ledger.pauses(provider, account).await.unwrap().items,
            std::slice::from_ref(&pause),
            "{fault:?}"
        );
        ledger.delete_pause(&pause).await.unwrap();
        assert_eq!(world.ledger.pauses(provider, account).await.unwrap().items, []);
        faults.on_next("TransactWriteItems", fault);
        ledger.retire_integration(provider, account, 1, START).await.unwrap();
        assert!(faults.all_happened());
        assert_eq!(world.ledger.integration(provider, account).await.unwrap(), None);
    }
}

/// The same configuration without client tokens, as a table that has forgotten them.
fn forgetting(config: &SdkConfig) -> SdkConfig {
    on_the_way(config, |inner, mut request| {
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        body.as_object_mut().unwrap().remove("ClientRequestToken");
        *request.body_mut() = SdkBody::from(body.to_string());
        inner.call(request)
    })
}
