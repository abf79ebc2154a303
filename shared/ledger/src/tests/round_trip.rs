//! Whatever the core can make of a receipt or a job comes back from the table as it was.

use hookbox_core::event::IdentityWindow;
use hookbox_core::job::{Attempt, AttemptOutcome, AttemptResult, DismissReason, LastError, Mode, State};
use hookbox_core::outcome::{Code, ErrorText};
use hookbox_core::receipt::Conflict;
use hookbox_core::time::EpochSeconds;
use proptest::prelude::*;

use super::*;
use crate::config::DirectoryEntry;
use crate::item::integration::StoredIntegration;
use crate::item::job::StoredJob;
use crate::item::receipt::StoredReceipt;
use crate::{Audit, Bulk, BulkState, OwnProfile, Pause, Subject};

fn shards() -> hookbox_core::key::Shards {
    hookbox_core::key::Shards::new(4).unwrap()
}

fn time() -> impl Strategy<Value = Timestamp> {
    // Every time at which we could be asked, and then some.
    (0..253_402_300_799_999_i64).prop_map(Timestamp::from_millis)
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<u64>().prop_map(|n| Digest::of(&n.to_be_bytes()))
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,20}"
}

fn maybe<T: std::fmt::Debug + Clone + 'static>(
    strategy: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(strategy)
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = (time(), digest(), any::<u16>(), text()).prop_map(|(at, digest, secret_index, request_id)| Arrival {
        at,
        digest,
        secret_index,
        request_id,
    });
    proptest::collection::vec(arrival, 0..20)
}

fn conflicts() -> impl Strategy<Value = Vec<Conflict>> {
    let conflict = (time(), digest(), digest(), text()).prop_map(|(at, event_digest, delivery_digest, request_id)| {
        Conflict { at, event_digest, delivery_digest, request_id }
    });
    proptest::collection::vec(conflict, 0..10)
}

fn disposition() -> impl Strategy<Value = Disposition> {
    prop_oneof![
        Just(Disposition::Accepted),
        text().prop_map(Disposition::Ignored),
        text().prop_map(Disposition::Rejected)
    ]
}

prop_compose! {
    fn receipt()(
        (tenant, event_id, event_version) in (maybe(text()), maybe(text()), maybe(text())),
        (kind, resource, disposition) in (text(), maybe(text()), disposition()),
        (occurred_at, received_at, last_duplicate_at) in (maybe(time()), time(), maybe(time())),
        (arrivals, conflicts, event_digest) in (arrivals(), conflicts(), digest()),
        (window, config_rev, version, count) in (maybe(0..u64::MAX), any::<u64>(), any::<u64>(), any::<u64>()),
        erased_at in maybe(time()),
        (keep_payload, keep_receipt, expires_at) in (any::<u32>(), any::<u32>(), maybe(any::<u32>())),
    ) -> hookbox_core::receipt::Receipt {
        let base = folder("evt_1", &["deliver", "crm-upsert"], START).receipt;
        hookbox_core::receipt::Receipt {
            tenant, event_id, kind, resource, occurred_at, event_version, received_at, disposition, event_digest,
            window: window.map(|ms| IdentityWindow(Duration::from_millis(ms))),
            config_rev, version, duplicate_count: count, last_duplicate_at, arrivals, conflicts, erased_at,
            retention: Retention {
                payload: Duration::from_secs(keep_payload.into()),
                receipt: Duration::from_secs(keep_receipt.into()),
            },
            expires_at: expires_at.map(|at| EpochSeconds::new(at.into())),
            ..base
        }
    }
}

fn state() -> impl Strategy<Value = State> {
    use ReviewReason::{Exhausted, KeyExpired, NeverClaimed, OperationRemoved, PayloadExpired, Permanent, Uncertain};
    let reasons = [Exhausted, Permanent, Uncertain, NeverClaimed, PayloadExpired, KeyExpired, OperationRemoved];
    prop_oneof![
        Just(State::Pending),
        Just(State::Held),
        time().prop_map(|lease_expires_at| State::Processing { lease_expires_at }),
        time().prop_map(|next_attempt_at| State::Retrying { next_attempt_at }),
        proptest::sample::select(reasons.to_vec()).prop_map(|reason| State::Review { reason }),
        time().prop_map(|at| State::Completed { at }),
        (time(), proptest::sample::select(&[DismissReason::NotNeeded, DismissReason::Erased][..]))
            .prop_map(|(at, reason)| State::Dismissed { at, reason }),
    ]
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![time().prop_map(|until| Mode::Key { until }), Just(Mode::Reconcile), Just(Mode::None)]
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    use AttemptOutcome::{Done, Permanent, Transient, Uncertain};
    let outcome = proptest::sample::select(&[Done, Transient, Uncertain, Permanent][..]);
    let result = (outcome, text(), any::<u32>()).prop_map(|(outcome, code, ms)| AttemptResult {
        outcome,
        code: Code::new(&code),
        took: Duration::from_millis(ms.into()),
    });
    let attempt = (time(), mode(), any::<u64>(), maybe(result)).prop_map(|(at, mode, config_rev, result)| Attempt {
        at,
        mode,
        config_rev,
        result,
    });
    proptest::collection::vec(attempt, 0..6)
}

prop_compose! {
    fn job()(
        (kind, resource, occurred_at, received_at) in (text(), maybe(text()), maybe(time()), time()),
        (state, attempts, uncertain) in (state(), attempts(), maybe(mode())),
        (version, round, attempts_total, wakes) in (1..u64::MAX - 1, any::<u32>(), any::<u32>(), any::<u32>()),
        (first_sent_at, send_before, open_at, erased_at) in (maybe(time()), maybe(time()), time(), maybe(time())),
        last_error in maybe((text(), "\\PC{0,600}")),
        job_version in 1..u16::MAX,
    ) -> Job {
        let mut base = folder("evt_1", &["crm-upsert"], START).jobs.remove(0);
        base.key.version = job_version;
        let mut job = Job {
            kind, resource, occurred_at, received_at, state, version, round, attempts, attempts_total, first_sent_at,
            send_before, uncertain, wakes, erased_at, open_at: None,
            last_error: last_error.map(|(code, detail)| LastError {
                code: Code::new(&code),
                detail: ErrorText::new(&detail),
            }),
            ..base
        };
        job.open_at = (!job.has_ended()).then_some(open_at);
        job
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn receipts(receipt in receipt(), chunks in 0..100usize, token in "[0-9a-f]{32}") {
        let stored = StoredReceipt { receipt, token, chunks };
        prop_assert_eq!(StoredReceipt::from_item(stored.to_item(shards()).unwrap()).unwrap(), stored);
    }

    #[test]
    fn jobs(job in job(), token in maybe("[0-9a-f]{32}"), expires_at in maybe(any::<u32>())) {
        let expires_at = expires_at.map(|at| EpochSeconds::new(at.into()));
        let stored = StoredJob { job, wake_token: token.clone(), token, expires_at };
        prop_assert_eq!(StoredJob::from_item(stored.to_item(shards()).unwrap()).unwrap(), stored);
    }

    #[test]
    fn audits(words in proptest::collection::vec(text(), 7), at in time(), some: bool, of_receipt: bool) {
        let word = |n: usize| some.then(|| words[n].clone());
        let subject = if of_receipt {
            Subject::Receipt(folder("evt_1", &[], START).receipt.id)
        } else {
            Subject::Integration("stripe".parse().unwrap(), "demo".parse().unwrap())
        };
        let audit = Audit {
            subject, at, who: words[0].clone(), what: words[1].clone(), on: word(2), why: word(3), bulk: word(4),
            before: word(5), after: word(6), expires_at: some.then(|| at.to_epoch_seconds()),
        };
        prop_assert_eq!(Audit::from_item(audit.to_item("id").unwrap()).unwrap(), audit);
    }

    #[test]
    fn pauses(reason in text(), rev in any::<u64>(), at in time()) {
        let pause = Pause {
            provider: "stripe".parse().unwrap(), account: "a.b_C-9".parse().unwrap(), operation: "x".parse().unwrap(),
            rev, reason: ErrorText::new(&reason), at,
        };
        prop_assert_eq!(Pause::from_item(pause.to_item().unwrap()).unwrap(), pause);
    }

    #[test]
    fn own_profiles(rev in any::<u64>(), toml in text()) {
        let profile = OwnProfile { name: "acme-crm".parse().unwrap(), rev, toml };
        prop_assert_eq!(OwnProfile::from_item(profile.to_item().unwrap()).unwrap(), profile);
    }

    #[test]
    fn bulks(
        (rev, jobs, words) in (any::<u64>(), any::<u64>(), proptest::collection::vec(text(), 5)),
        (some, expires_at) in (any::<bool>(), any::<u32>()),
        (started_at, updated_at) in (time(), time()),
        counts in proptest::collection::btree_map(text(), any::<u64>(), 0..4),
        state in proptest::sample::select(&[BulkState::Running, BulkState::Cancelled, BulkState::Finished][..]),
    ) {
        let bulk = Bulk {
            id: "b-1".parse().unwrap(), rev, what: words[0].clone(), who: words[1].clone(),
            why: some.then(|| words[2].clone()), query: words[3].clone(), jobs, cursor: some.then(|| words[4].clone()),
            counts, state, started_at, updated_at, expires_at: EpochSeconds::new(expires_at.into()),
        };
        prop_assert_eq!(Bulk::from_item(bulk.to_item().unwrap()).unwrap(), bulk);
    }

    #[test]
    fn configurations(
        rev in any::<u64>(),
        tenants in proptest::collection::vec(text(), 0..3),
        url in maybe(text()),
        retired_at in maybe(time()),
        operations in proptest::collection::btree_set("[a-z0-9-]{1,40}", 0..4),
    ) {
        let integration = Integration {
            rev, tenants, url, verify: Some(serde_json::json!({"header": "x-sig", "tolerance": 300, "f": 0.1})),
            ..integration(&["deliver"])
        };
        let line = DirectoryEntry {
            provider: integration.provider.clone(), account: integration.account.clone(), rev, retired_at,
            operations: operations.iter().map(|name| name.parse().unwrap()).collect(),
        };
        let stored = StoredIntegration { integration, token: "t".into() };
        prop_assert_eq!(StoredIntegration::from_item(stored.to_item().unwrap()).unwrap(), stored);
        prop_assert_eq!(DirectoryEntry::from_item(line.to_item().unwrap()).unwrap(), line);
    }

    #[test]
    fn payloads(
        body in proptest::collection::vec(any::<u8>(), 0..2_000),
        headers in proptest::collection::vec((text(), text()), 0..4),
        content_type in maybe(text()),
        query in maybe(text()),
    ) {
        let payload = Payload { body, content_type, headers, query };
        let id = folder("evt_1", &[], START).receipt.id;
        let items = crate::item::payload::to_items(id, &payload, None).unwrap();
        prop_assert_eq!(crate::item::payload::from_items(&items).unwrap(), Some(payload));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Through the engine too: from any job to any other, what is written is what is read.
    #[test]
    fn any_job_becomes_any_other(before in job(), after in job(), receipt in receipt()) {
        block_on(async {
            let world = World::new().await;
            let after = Job {
                key: before.key.clone(),
                // Written once.
                kind: before.kind.clone(),
                resource: before.resource.clone(),
                occurred_at: before.occurred_at,
                received_at: before.received_at,
                version: before.version + 1,
                ..after
            };
            let folder = Folder { receipt, jobs: vec![before.clone()] };
            world.ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
            let loaded = world.load(&folder).await;
            assert_eq!(loaded.receipt.as_ref(), Some(&folder.receipt));
            assert_eq!(loaded.jobs, std::slice::from_ref(&before));
            world.ledger.write_job(&loaded, &before, &after).await.unwrap();
            assert_eq!(world.reload(&loaded).await.jobs, [after]);
        });
    }
}
