//! What is erased is gone for good, whoever is at work on it, and what is left is evidence.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::body::SdkBody;
use hookbox_core::event::IdentityWindow;
use hookbox_core::job::{DismissReason, State, Status};
use hookbox_core::receipt::{Conflict, Receipt};
use hookbox_core::transition::replay::{ForgottenKey, replay};
use serde_json::json;

use super::on_the_way::{before_call, on_the_way};
use super::*;
use crate::test_support::Fault;
use crate::{Audit, Erasure, HistoryQuery, LedgerError, OpenQuery, ResourceQuery, Stored, Subject, Taken};

/// The words by which somebody could be found.
const PERSONAL: [&str; 9] = [
    "pi_3QF3zQ2eZvKYlo2C1vDp0aJw",
    "evt_1QF3zR2eZvKYlo2C8X7rJ4kT",
    "page-of-jane",
    "version-of-jane",
    "jane.doe@example.com",
    "jane-doe",
    "JKJaXmPLvHcESHA=",
    "request-of-jane",
    "Stripe/1.0",
];

fn personal_event() -> Event {
    Event { tenant: Some("page-of-jane".to_owned()), version: Some("version-of-jane".to_owned()), ..event("evt_1") }
}

fn personal_folder(operations: &[&str], now: Timestamp) -> Folder {
    Folder::open(&personal_event(), &integration(operations), arrival(now, "JKJaXmPLvHcESHA="), None)
}

fn deed(at: Timestamp) -> Audit {
    Audit {
        subject: Subject::Receipt(folder("evt_1", &[], START).receipt.id),
        at,
        who: "maria".to_owned(),
        what: "erase".to_owned(),
        on: None,
        why: Some("ticket 17".to_owned()),
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    }
}

fn conflict(at: Timestamp) -> Conflict {
    let request_id = "request-of-jane".to_owned();
    Conflict { at, event_digest: Digest::of(b"other"), delivery_digest: Digest::of(b"more"), request_id }
}

impl World {
    /// An event about somebody: one job in review with an error that names her, decisions that quote it, one that is
    /// done, one that waits, a duplicate and a conflict.
    async fn personal(&self) -> Loaded {
        let folder = personal_folder(&["deliver", "done", "waits"], self.now());
        self.ledger.ingest(&folder, &payload(BODY), self.soon()).await.unwrap();
        let loaded = self.load(&folder).await;
        let job = |name: &str| loaded.jobs.iter().find(|job| job.key.operation.as_str() == name).unwrap();
        let running = self.claimed(&loaded, job("done")).await;
        self.ledger.write_job(&loaded, &running, &completed(&running, self.now())).await.unwrap();
        let running = self.claimed(&loaded, job("deliver")).await;
        let report = Report::new(Outcome::Permanent, "jane-doe", "jane.doe@example.com is unknown");
        let schedule = &operation("deliver").schedule;
        let failed = Finish { now: self.now(), report: &report, schedule, jitter: Jitter(0) };
        self.ledger.write_job(&loaded, &running, &finish(&running, failed).unwrap()).await.unwrap();
        let loaded = self.load(&folder).await;
        let before = loaded.job(&running.key).unwrap();
        let again = replay(before, ForgottenKey::Accept, self.now()).unwrap();
        let quoting = Audit {
            what: "replay".to_owned(),
            before: Some("review: jane-doe".to_owned()),
            after: Some("pending: jane-doe".to_owned()),
            ..deed(self.now())
        };
        self.ledger.write_job_audited(&loaded, before, &again, &quoting).await.unwrap();
        let running = self.claimed(&loaded, &again).await;
        self.ledger.write_job(&loaded, &running, &finish(&running, failed).unwrap()).await.unwrap();
        self.ledger.count_duplicate(&loaded.id, &arrival(self.now(), "request-of-jane")).await.unwrap();
        self.ledger.record_conflict(&loaded.id, &conflict(self.now())).await.unwrap();
        self.load(&folder).await
    }

    async fn words(&self) -> Vec<&'static str> {
        let items = format!("{:?}", self.table.items().await);
        PERSONAL.into_iter().filter(|word| items.contains(word)).collect()
    }

    async fn erase(&self, loaded: &Loaded) -> Erasure {
        self.ledger.erase(&loaded.id, &deed(self.now())).await.unwrap()
    }

    /// Nothing personal is anywhere in the table, and everything that is evidence is there.
    async fn is_erased(&self, before: &Loaded, what: &str) {
        assert_eq!(self.words().await, [""; 0], "{what}");
        let after = self.reload(before).await;
        let (was, is) = (before.receipt.as_ref().unwrap(), after.receipt.as_ref().unwrap());
        assert!(is.erased_at.is_some(), "{what}");
        let evidence = |receipt: &Receipt| {
            let Receipt { id, provider, account, kind, occurred_at, received_at, disposition, operations, .. } =
                receipt;
            let names = format!(
                "{id} {provider} {account} {kind} {occurred_at:?} {received_at} {disposition:?} {operations:?}"
            );
            (names, receipt.delivery_digest, receipt.event_digest, receipt.config_rev)
        };
        assert_eq!(evidence(is), evidence(was), "{what}");
        assert!(after.jobs.iter().all(|job| job.has_ended() && job.erased_at.is_some()), "{what}");
        assert_eq!(after.jobs.len(), before.jobs.len(), "{what}");
        assert!(!self.ledger.has_payload(&before.id).await.unwrap(), "{what}");
        assert_eq!(self.fates(before).await.1, [""; 0], "{what}: what is left expires");
        let erasures = after.audit.iter().filter(|audit| audit.what == "erase" && audit.who == "maria");
        assert!(erasures.count() >= 1, "{what}");
    }
}

#[tokio::test]
async fn an_erased_folder_is_evidence_without_anything_personal_in_one_transaction() {
    let world = World::new().await;
    let before = world.personal().await;
    assert_eq!(world.words().await, PERSONAL);
    world.clock.advance(DAY);
    let faults = Faults::none();
    let looked = world.ledger.erasure(&before.id, world.now()).await.unwrap();
    assert_eq!(looked, Erasure::Takes(Taken { open_jobs: 2, payload: true }));
    let erased = world.through(&faults).erase(&before.id, &deed(world.now())).await.unwrap();
    assert_eq!(erased, looked);
    let calls: Vec<_> = faults.log().into_iter().map(|effect| effect.operation).collect();
    assert_eq!(calls, ["Query", "Query", "TransactWriteItems"]);
    world.is_erased(&before, "at rest").await;

    let after = world.reload(&before).await;
    let receipt = after.receipt.as_ref().unwrap();
    assert_eq!((receipt.erased_at, receipt.duplicate_count), (Some(world.now()), 2));
    let was = before.receipt.as_ref().unwrap();
    assert_eq!(
        receipt.arrivals,
        was.arrivals.iter().map(Arrival::erased).collect::<Vec<_>>(),
        "times and digests stay"
    );
    assert_eq!(receipt.conflicts, was.conflicts.iter().map(Conflict::erased).collect::<Vec<_>>());
    let job = |name: &str| after.jobs.iter().find(|job| job.key.operation.as_str() == name).unwrap();
    let erased = State::Dismissed { at: world.now(), reason: DismissReason::Erased };
    assert_eq!((&job("deliver").state, &job("waits").state), (&erased, &erased));
    assert_eq!(job("done").state, State::Completed { at: START }, "what it came to stays");
    let deeds: Vec<_> = after.audit.iter().map(|audit| (audit.what.as_str(), audit.before.as_ref())).collect();
    assert_eq!(deeds, [("replay", None), ("erase", None)]);
    assert_eq!(after.audit[1].why.as_deref(), Some("ticket 17"));

    let again = world.erase(&before).await;
    assert_eq!(again, Erasure::Before { at: world.now() });
    assert_eq!(world.reload(&before).await, after, "done again it writes nothing");
}

#[tokio::test]
async fn no_index_leads_from_a_person_to_what_was_erased() {
    let world = World::new().await;
    let before = world.personal().await;
    let Receipt { provider, account, resource, received_at, .. } = before.receipt.clone().unwrap();
    let resource = ResourceQuery { provider: provider.clone(), account: account.clone(), resource: resource.unwrap() };
    assert_eq!(world.ledger.of_resource(&resource, 10, None).await.unwrap().items.len(), 1);
    world.erase(&before).await;
    assert_eq!(world.ledger.of_resource(&resource, 10, None).await.unwrap().items, []);
    let shard = before.id.shard(world.ledger.shards());
    let (since, until) = (received_at, received_at);
    let day = HistoryQuery { provider, account, day: received_at, shard, since, until, earliest_first: true };
    let entry = world.ledger.history(&day, 10, None).await.unwrap().items.remove(0);
    assert_eq!((entry.id, entry.event_id, entry.resource), (before.id, None, None), "that it arrived is still told");
    for list in [OpenQuery::Due { shard }, OpenQuery::Review { shard }] {
        let far = world.now().plus(1_000 * DAY);
        assert_eq!(world.ledger.open_entries(&list, far, 10, None).await.unwrap().items, []);
    }
}

/// The provider does not know that anybody has asked for it.
#[tokio::test]
async fn what_is_erased_stays_erased_when_it_is_delivered_again() {
    let world = World::new().await;
    let before = world.personal().await;
    world.erase(&before).await;
    world.clock.advance(DAY);
    let again = personal_folder(&["deliver", "done", "waits"], world.now());
    let ingested = world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
    let Ingested::Duplicate { stored } = ingested else { panic!("{ingested:?}") };
    assert_eq!((stored.event_id.as_ref(), stored.event_digest), (None, again.receipt.event_digest));
    let known = world.ledger.known(&[before.id]).await.unwrap();
    assert_eq!(known[&before.id].event_digest, again.receipt.event_digest, "a large batch can tell it from a conflict");
    for _ in 0..25 {
        world.ledger.count_duplicate(&before.id, &arrival(world.now(), "request-of-jane")).await.unwrap();
        world.ledger.record_conflict(&before.id, &conflict(world.now())).await.unwrap();
    }
    world.is_erased(&before, "delivered again").await;
    let receipt = world.reload(&before).await.receipt.unwrap();
    assert_eq!((receipt.duplicate_count, receipt.arrivals.len(), receipt.conflicts.len()), (52, 20, 10));
    let last = receipt.arrivals.last().unwrap();
    assert_eq!((last.at, last.digest), (world.now(), Digest::of(BODY.as_bytes())), "that it came, when, and of what");
    assert_eq!(receipt.last_duplicate_at, Some(world.now()));
}

/// Time to live has deleted the receipt before its jobs, and the redelivery puts it back.
#[tokio::test]
async fn what_is_erased_stays_erased_when_its_receipt_is_restored() {
    for orphan_first in [false, true] {
        let world = World::new().await;
        let before = world.personal().await;
        if orphan_first {
            world.table.delete_item(&before.id.to_string(), "head").await;
        }
        let taken = Taken { open_jobs: 2, payload: true };
        assert_eq!(world.erase(&before).await, Erasure::Takes(taken));
        if !orphan_first {
            world.table.delete_item(&before.id.to_string(), "head").await;
        }
        assert_eq!(world.erase(&before).await, Erasure::Before { at: START }, "a folder without a receipt says so too");
        world.clock.advance(DAY);
        let again = personal_folder(&["deliver", "done", "waits"], world.now());
        let ingested = world.ledger.ingest(&again, &payload(BODY), world.soon()).await.unwrap();
        assert!(matches!(&ingested, Ingested::Duplicate { stored } if stored.erased_at == Some(START)), "{ingested:?}");
        world.ledger.count_duplicate(&before.id, &arrival(world.now(), "request-of-jane")).await.unwrap();
        assert_eq!(world.words().await, [""; 0]);
        assert!(!world.ledger.has_payload(&before.id).await.unwrap());
        assert_eq!(world.reload(&before).await.receipt.unwrap().erased_at, Some(START));
    }
}

/// The receipt comes back between the look and the write: the erasure must see it.
#[tokio::test]
async fn a_receipt_that_is_restored_during_the_erasure_is_erased_too() {
    let world = World::new().await;
    let before = world.personal().await;
    world.table.delete_item(&before.id.to_string(), "head").await;
    let (provider, again) = (world.ledger.clone(), personal_folder(&["deliver", "done", "waits"], START));
    let soon = world.soon();
    let config = before_call(2, &world.table.config(), async move {
        let ingested = provider.ingest(&again, &payload(BODY), soon).await.unwrap();
        assert!(matches!(&ingested, Ingested::Duplicate { stored } if stored.erased_at.is_none()));
    });
    let erased = world.table.ledger_with(&config).erase(&before.id, &deed(START)).await.unwrap();
    assert!(matches!(erased, Erasure::Takes(_)));
    assert_eq!(world.words().await, [""; 0]);
    assert!(!world.ledger.has_payload(&before.id).await.unwrap());
}

#[tokio::test]
async fn a_weak_identity_is_still_believed_for_its_window_and_no_longer() {
    let world = World::new().await;
    let mut weak = personal_folder(&["deliver"], START);
    weak.receipt.window = Some(IdentityWindow(DAY));
    world.ledger.ingest(&weak, &payload(BODY), world.soon()).await.unwrap();
    let loaded = world.load(&weak).await;
    world.erase(&loaded).await;
    let receipt = world.reload(&loaded).await.receipt.unwrap();
    assert!(!receipt.window_has_passed(receipt.window, START.plus(DAY)));
    assert!(receipt.window_has_passed(receipt.window, START.plus(2 * DAY)));
    assert!(world.ledger.outlive(&loaded.id, receipt.expires_at.unwrap()).await.unwrap());
}

#[tokio::test]
async fn a_leased_job_refuses_the_erasure_until_its_lease_has_ended() {
    let world = World::new().await;
    let loaded = world.personal().await;
    let waits = loaded.jobs.iter().find(|job| job.status() == Status::Pending).unwrap();
    let running = world.claimed(&loaded, waits).await;
    let until = START.plus(Duration::from_secs(75));
    let (before, items) = (world.reload(&loaded).await, world.table.items().await.len());
    let leased = Erasure::Leased { job: running.key.clone(), until };
    assert_eq!(world.ledger.erasure(&loaded.id, world.now()).await.unwrap(), leased);
    assert_eq!(world.erase(&loaded).await, leased);
    assert_eq!((world.reload(&loaded).await, world.table.items().await.len()), (before, items), "nothing was written");

    world.clock.advance(Duration::from_secs(75));
    assert!(matches!(world.erase(&loaded).await, Erasure::Takes(_)));
    world.is_erased(&loaded, "after the lease").await;
    // The worker was late, and what it has to say is refused.
    let error = world.ledger.write_job(&loaded, &running, &completed(&running, world.now())).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Job(_) }), "{error}");
    world.is_erased(&loaded, "after the late worker").await;
}

/// Whatever the other one does just before the transaction arrives, it is read again.
#[tokio::test]
async fn a_racing_delivery_is_not_lost_and_a_racing_worker_is_seen() {
    let world = World::new().await;
    let loaded = world.personal().await;
    let provider = world.ledger.clone();
    let (id, at) = (loaded.id, world.now());
    let config = before_call(2, &world.table.config(), async move {
        provider.count_duplicate(&id, &arrival(at, "request-of-jane")).await.unwrap();
    });
    let erased = world.table.ledger_with(&config).erase(&loaded.id, &deed(at)).await.unwrap();
    assert_eq!(erased, Erasure::Takes(Taken { open_jobs: 2, payload: true }));
    world.is_erased(&loaded, "a delivery").await;
    let receipt = world.reload(&loaded).await.receipt.unwrap();
    assert_eq!((receipt.duplicate_count, receipt.arrivals.len()), (3, 3), "described before the erasure, and still");

    let world = World::new().await;
    let loaded = world.personal().await;
    let waits = loaded.jobs.iter().find(|job| job.status() == Status::Pending).unwrap();
    let (worker, folder, before, running) =
        (world.ledger.clone(), loaded.clone(), waits.clone(), claimed(waits, START));
    let claim = running.clone();
    let config = before_call(2, &world.table.config(), async move {
        worker.write_job(&folder, &before, &claim).await.unwrap();
    });
    let erased = world.table.ledger_with(&config).erase(&loaded.id, &deed(START)).await.unwrap();
    assert!(matches!(erased, Erasure::Leased { .. }), "{erased:?}");
    assert!(world.ledger.has_payload(&loaded.id).await.unwrap(), "the worker needs it");

    // It finishes in the middle of the next try.
    world.clock.advance(Duration::from_secs(75));
    let (worker, folder, before) = (world.ledger.clone(), loaded.clone(), running.clone());
    let (done, finished_at) = (completed(&running, world.now()), world.now());
    let config = before_call(2, &world.table.config(), async move {
        worker.write_job(&folder, &before, &done).await.unwrap();
    });
    let erased = world.table.ledger_with(&config).erase(&loaded.id, &deed(world.now())).await.unwrap();
    assert_eq!(erased, Erasure::Takes(Taken { open_jobs: 1, payload: true }));
    world.is_erased(&loaded, "a worker").await;
    let job = world.reload(&loaded).await.job(&running.key).unwrap().clone();
    assert_eq!(job.state, State::Completed { at: finished_at }, "its effect happened, and that stays known");
}

/// Somebody decides about a job while it is erased: whoever is second finds out.
#[tokio::test]
async fn a_racing_replay_is_dismissed_or_refused() {
    let world = World::new().await;
    let loaded = world.personal().await;
    let reviewed = loaded.jobs.iter().find(|job| job.status() == Status::Review).unwrap().clone();
    let again = replay(&reviewed, ForgottenKey::Accept, START).unwrap();
    let (person, folder, before, after) = (world.ledger.clone(), loaded.clone(), reviewed.clone(), again.clone());
    let config = before_call(2, &world.table.config(), async move {
        person.write_job(&folder, &before, &after).await.unwrap();
    });
    world.table.ledger_with(&config).erase(&loaded.id, &deed(START)).await.unwrap();
    world.is_erased(&loaded, "replayed before").await;
    let error = world.ledger.write_job(&loaded, &reviewed, &again).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }), "{error}");
    world.is_erased(&loaded, "replayed afterwards").await;
}

#[tokio::test]
async fn who_is_always_quicker_is_given_up_and_nothing_is_half_done() {
    let world = World::new().await;
    let loaded = world.personal().await;
    let (provider, id, at) = (world.ledger.clone(), loaded.id, world.now());
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let config = on_the_way(&world.table.config(), move |inner, request| {
        let (provider, counted) = (provider.clone(), Arc::clone(&counted));
        let writes = request.headers().get("x-amz-target").unwrap().ends_with("TransactWriteItems");
        HttpConnectorFuture::new(async move {
            if writes {
                counted.fetch_add(1, Ordering::SeqCst);
                provider.count_duplicate(&id, &arrival(at, "request-of-jane")).await.unwrap();
            }
            inner.call(request).await
        })
    });
    let error = world.table.ledger_with(&config).erase(&loaded.id, &deed(at)).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!((2..=12).contains(&tries.load(Ordering::SeqCst)), "{tries:?}");
    assert_eq!(world.reload(&loaded).await.jobs, loaded.jobs);
    assert!(world.ledger.has_payload(&loaded.id).await.unwrap());
    world.erase(&loaded).await;
    world.is_erased(&loaded, "in quieter times").await;
}

#[tokio::test]
async fn an_erasure_whose_answer_is_lost_recognises_itself_and_is_recorded_once() {
    for fault in [Fault::LoseReply, Fault::DoTwice, Fault::FailBefore, Fault::Throttle, Fault::Conflict] {
        let world = World::new().await;
        let loaded = world.personal().await;
        let faults = Faults::none();
        faults.on_next("TransactWriteItems", fault);
        let erased = world.through(&faults).erase(&loaded.id, &deed(START)).await.unwrap();
        assert_eq!(erased, Erasure::Takes(Taken { open_jobs: 2, payload: true }), "{fault:?}");
        assert!(faults.all_happened());
        world.is_erased(&loaded, &format!("{fault:?}")).await;
        let erasures = world.reload(&loaded).await.audit.iter().filter(|audit| audit.what == "erase").count();
        assert_eq!(erasures, 1, "{fault:?}");
    }
}

/// A folder about which people have decided a hundred times.
async fn large(world: &World) -> Loaded {
    let loaded = world.personal().await;
    for n in 0..120 {
        let before = Some(format!("review {n}: jane-doe"));
        world.ledger.put_audit(&Audit { what: "replay".to_owned(), before, ..deed(START) }).await.unwrap();
    }
    world.reload(&loaded).await
}

/// The process dies before or after each of its calls, and somebody begins again.
#[tokio::test]
async fn an_erasure_of_a_large_folder_goes_on_where_it_was_cut() {
    let calls = {
        let world = World::new().await;
        let (loaded, faults) = (large(&world).await, Faults::none());
        world.through(&faults).erase(&loaded.id, &deed(START)).await.unwrap();
        world.is_erased(&loaded, "uncut").await;
        faults.log()
    };
    let writes = calls.iter().filter(|effect| effect.operation == "TransactWriteItems").count();
    assert_eq!(writes, 4, "jobs, payload, most decisions, what is left with the receipt");
    for number in 0..calls.len() {
        for fault in [Fault::StopBefore, Fault::StopAfter] {
            let what = format!("{fault:?} at {number}, {}", calls[number].operation);
            let world = World::new().await;
            let (loaded, faults) = (large(&world).await, Faults::none());
            faults.at(number, fault);
            let cut = world.through(&faults).erase(&loaded.id, &deed(world.now())).await;
            assert!(faults.all_happened() && faults.is_stopped(), "{what}");
            let last = number + 1 == calls.len();
            assert!(cut.is_err(), "{what}: {cut:?}");
            let half = world.reload(&loaded).await;
            let (jobs_erased, has_payload) = (
                half.jobs.iter().all(|job| job.erased_at.is_some()),
                world.ledger.has_payload(&loaded.id).await.unwrap(),
            );
            assert!(jobs_erased || has_payload, "{what}: what could be worked on has its payload");
            assert!(jobs_erased || half.jobs == loaded.jobs, "{what}: all jobs or none");
            let marked = half.receipt.as_ref().unwrap().erased_at.is_some();
            assert!(!marked || (last && fault == Fault::StopAfter), "{what}: the mark comes last");
            if jobs_erased {
                assert!(half.audit.iter().any(|audit| audit.what == "erase"), "{what}: nothing is changed unrecorded");
            }
            // Meanwhile the provider delivers again.
            world.ledger.count_duplicate(&loaded.id, &arrival(world.now(), "request-of-jane")).await.unwrap();
            let again = world.erase(&loaded).await;
            assert_eq!(matches!(again, Erasure::Before { .. }), marked, "{what}: {again:?}");
            world.is_erased(&loaded, &what).await;
        }
    }
}

/// DynamoDB counts the bytes of what is deleted too, and only it knows them.
#[tokio::test]
async fn a_folder_too_large_for_one_transaction_is_erased_in_several() {
    let world = World::new().await;
    let loaded = world.personal().await;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let config = on_the_way(&world.table.config(), move |inner, request| {
        let writes = !request.headers().get("x-amz-target").unwrap().ends_with("Query");
        if writes && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            let message = "Transaction size exceeded the maximum allowed";
            let body = json!({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": message});
            let mut response = HttpResponse::new(400.try_into().unwrap(), SdkBody::from(body.to_string()));
            response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
            return HttpConnectorFuture::ready(Ok(response));
        }
        inner.call(request)
    });
    let erased = world.table.ledger_with(&config).erase(&loaded.id, &deed(START)).await.unwrap();
    assert_eq!(erased, Erasure::Takes(Taken { open_jobs: 2, payload: true }));
    assert_eq!(made.load(Ordering::SeqCst), 5, "the refused one, jobs, payload, decisions, receipt");
    world.is_erased(&loaded, "in several").await;
}

#[tokio::test]
async fn every_chunk_of_a_large_payload_goes_and_a_broken_one_too() {
    let world = World::new().await;
    let noise = (0..40_000_u64).flat_map(|n| *Digest::of(&n.to_be_bytes()).as_bytes()).collect();
    let folder = personal_folder(&["deliver"], START);
    world.ledger.ingest(&folder, &Payload { body: noise, ..payload("") }, world.soon()).await.unwrap();
    let loaded = world.load(&folder).await;
    let mut broken = world.item(&loaded, "payload#001").await.unwrap();
    broken.remove("schema");
    world.table.put_item(broken).await;
    world.erase(&loaded).await;
    world.is_erased(&loaded, "large").await;
    let left: Vec<_> =
        world.table.partition(&loaded.id.to_string()).await.iter().map(|item| crate::item::names(item).1).collect();
    assert_eq!(left.iter().filter(|sk| !sk.starts_with("log#")).count(), 2, "{left:?}");
}

#[tokio::test]
async fn nobody_says_that_nothing_is_left_of_what_cannot_be_read() {
    for (sk, attribute, value) in [
        ("head", "schema", AttributeValue::N("2".to_owned())),
        ("job#deliver#v0001", "schema", AttributeValue::N("2".to_owned())),
        ("payload#000", "schema", AttributeValue::N("2".to_owned())),
        ("job#deliver#v0001", "status", AttributeValue::S("lost".to_owned())),
    ] {
        let world = World::new().await;
        let loaded = world.personal().await;
        let mut item = world.item(&loaded, sk).await.unwrap();
        item.insert(attribute.to_owned(), value);
        world.table.put_item(item).await;
        let items = world.table.partition(&loaded.id.to_string()).await;
        let looked = world.ledger.erasure(&loaded.id, START).await.unwrap_err();
        let error = world.ledger.erase(&loaded.id, &deed(START)).await.unwrap_err();
        for error in [looked, error] {
            assert!(matches!(error, LedgerError::NewerSchema { .. } | LedgerError::Corrupt { .. }), "{sk}: {error}");
        }
        assert_eq!(world.table.partition(&loaded.id.to_string()).await, items, "{sk}");
    }
}

#[tokio::test]
async fn an_event_without_jobs_is_erased_and_what_is_not_there_is_missing() {
    let world = World::new().await;
    let mut ignored = personal_event();
    ignored.disposition = Disposition::Ignored("no rule takes it".to_owned());
    let folder = Folder::open(&ignored, &integration(&["deliver"]), arrival(START, "JKJaXmPLvHcESHA="), None);
    assert_eq!(world.ledger.erase(&folder.receipt.id, &deed(START)).await.unwrap(), Erasure::Missing);
    assert_eq!(world.table.items().await.len(), 0, "and nothing is recorded");
    world.ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
    let loaded = world.load(&folder).await;
    assert_eq!(world.erase(&loaded).await, Erasure::Takes(Taken { open_jobs: 0, payload: true }));
    world.is_erased(&loaded, "ignored").await;
}

/// What an older version has written of a dismissed job, and does not know of an erased one.
#[tokio::test]
async fn a_dismissed_job_without_a_reason_is_one_that_was_not_needed() {
    let world = World::new().await;
    let loaded = world.personal().await;
    world.erase(&loaded).await;
    let mut item = world.item(&loaded, "job#deliver#v0001").await.unwrap();
    assert_eq!(item.get("schema"), Some(&AttributeValue::N("1".to_owned())), "a former version reads it too");
    assert_eq!(item.get("status"), Some(&AttributeValue::S("dismissed".to_owned())));
    assert_eq!(item.get("reason"), None, "it knows the reasons of a review only");
    item.remove("dismissed_because");
    item.remove("erased_at");
    world.table.put_item(item).await;
    let job = world.reload(&loaded).await.jobs.into_iter().find(|job| job.key.operation.as_str() == "deliver").unwrap();
    assert_eq!(job.state, State::Dismissed { at: START, reason: DismissReason::NotNeeded });
    assert_eq!(job.erased_at, None);
}
