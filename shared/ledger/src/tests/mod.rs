//! The ledger against a real engine, through the real client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::float_cmp)]

mod add_job;
mod answers;
mod bulk;
mod config;
mod cost;
mod counts;
mod deployed;
mod entries;
mod erase;
mod errors;
mod expiry;
mod ingest;
mod known;
mod lost_replies;
mod on_the_way;
mod orphans;
mod own_profile;
mod rate;
mod round_trip;
mod schema;
mod sizes;
mod stream;
mod token;
mod write_job;

use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::job::{Job, ReviewReason};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::retry::Jitter;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::claim::{Claim, Claimed, claim};
use hookbox_core::transition::finish::{Finish, finish};
use hookbox_core::transition::review::review;

use crate::item::Item;
use crate::test_support::{Faults, TestClock, TestTable};
use crate::{Ingested, Ledger, Loaded};

/// A Friday morning.
const START: Timestamp = Timestamp::from_seconds(1_767_945_600);

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A table on virtual time.
struct World {
    clock: TestClock,
    table: TestTable,
    ledger: Ledger,
}

impl World {
    async fn new() -> Self {
        let clock = TestClock::at(START);
        let table = TestTable::on(&clock).await;
        let ledger = table.ledger();
        Self { clock, table, ledger }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Half a minute from now.
    fn soon(&self) -> Timestamp {
        self.now().plus(Duration::from_secs(30))
    }

    fn through(&self, faults: &Faults) -> Ledger {
        self.table.ledger_through(faults)
    }

    /// A committed event with these operations.
    async fn committed(&self, operations: &[&str]) -> Loaded {
        let folder = folder("evt_1", operations, self.now());
        assert_eq!(self.ledger.ingest(&folder, &payload(BODY), self.soon()).await.unwrap(), Ingested::Created);
        self.load(&folder).await
    }

    async fn load(&self, folder: &Folder) -> Loaded {
        self.ledger.load(&folder.receipt.id).await.unwrap().unwrap()
    }

    async fn reload(&self, loaded: &Loaded) -> Loaded {
        self.ledger.load(&loaded.id).await.unwrap().unwrap()
    }

    /// Claims a job and gives it as it is then.
    async fn claimed(&self, loaded: &Loaded, job: &Job) -> Job {
        let after = claimed(job, self.now());
        self.ledger.write_job(loaded, job, &after).await.unwrap();
        after
    }

    /// Brings a job from pending into review.
    async fn reviewed(&self, loaded: &Loaded, job: &Job) -> Job {
        let after = in_review(job, self.now());
        self.ledger.write_job(loaded, job, &after).await.unwrap();
        after
    }

    async fn item(&self, loaded: &Loaded, sk: &str) -> Option<Item> {
        self.table.item(&loaded.id.to_string(), sk).await
    }

    /// The sort keys of a folder's items with and without a time of expiry.
    async fn fates(&self, loaded: &Loaded) -> (Vec<String>, Vec<String>) {
        let items = self.table.partition(&loaded.id.to_string()).await;
        let items: Vec<_> =
            items.iter().map(|item| (crate::item::names(item).1, item.contains_key("expires_at"))).collect();
        let (expiring, kept): (Vec<_>, Vec<_>) = items.into_iter().partition(|(_, expires)| *expires);
        let names = |items: Vec<(String, bool)>| items.into_iter().map(|(sk, _)| sk).collect();
        (names(expiring), names(kept))
    }
}

/// About 1 KB, as a provider sends it.
const BODY: &str = r#"{"id":"evt_1QF3zR2eZvKYlo2C8X7rJ4kT","object":"event","api_version":"2025-09-30.clover","created":1767945599,"data":{"object":{"id":"pi_3QF3zQ2eZvKYlo2C1vDp0aJw","object":"payment_intent","amount":4999,"amount_capturable":0,"amount_received":4999,"automatic_payment_methods":{"enabled":true},"capture_method":"automatic_async","client_secret":"pi_3QF3zQ2eZvKYlo2C1vDp0aJw_secret_x","confirmation_method":"automatic","created":1767945598,"currency":"eur","customer":"cus_Rk8mZy2Lq0vTnA","description":"Order 100482 (2 items), express delivery was prepaid","latest_charge":"ch_3QF3zQ2eZvKYlo2C1hT9bVZc","livemode":false,"metadata":{"order":"100482","channel":"web","campaign":"winter-sale"},"payment_method":"pm_1QF3zP2eZvKYlo2CuW3nG5sE","payment_method_types":["card","link"],"receipt_email":"jane.doe@example.com","statement_descriptor":"HOOKBOX DEMO","status":"succeeded"}},"livemode":false,"pending_webhooks":2,"request":{"id":"req_9fYpQw3mZ7tR1x","idempotency_key":"a7d7a6a2-6d0d-4c37"},"type":"payment_intent.succeeded"}"#;

fn payload(body: &str) -> Payload {
    Payload {
        body: body.as_bytes().to_vec(),
        content_type: Some("application/json; charset=utf-8".to_owned()),
        headers: vec![("user-agent".to_owned(), "Stripe/1.0 (+https://stripe.com/docs/webhooks)".to_owned())],
        query: None,
    }
}

fn operation(name: &str) -> Operation {
    let target = Target::Http {
        url: "https://destination.example/hook".to_owned(),
        signing_secret: SecretRef::Env("SIGNING".to_owned()),
        not_done_statuses: Vec::new(),
    };
    Operation::new(name.parse().unwrap(), Idempotency::key(), target)
}

fn integration(operations: &[&str]) -> Integration {
    Integration {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        url: None,
        rev: 1,
        secrets: vec![SecretRef::Ssm("/hookbox/demo/stripe".to_owned())],
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: operations.iter().map(|name| operation(name)).collect(),
        retention: Retention::default(),
    }
}

fn arrival(at: Timestamp, request: &str) -> Arrival {
    Arrival { at, digest: Digest::of(BODY.as_bytes()), secret_index: 0, request_id: request.to_owned() }
}

fn event(id: &str) -> Event {
    Event {
        identity: Identity::ProviderEvent { event_id: id.to_owned() },
        weak: None,
        event_id: Some("evt_1QF3zR2eZvKYlo2C8X7rJ4kT".to_owned()),
        kind: "payment_intent.succeeded".to_owned(),
        resource: Some("pi_3QF3zQ2eZvKYlo2C1vDp0aJw".to_owned()),
        tenant: None,
        occurred_at: Some(START),
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(b"canonical"),
        payload: payload(BODY),
    }
}

fn folder(id: &str, operations: &[&str], now: Timestamp) -> Folder {
    let arrival = arrival(now, "JKJaXmPLvHcESHA=");
    Folder::open(&event(id), &integration(operations), arrival, None)
}

fn claimed(job: &Job, now: Timestamp) -> Job {
    let operation = operation(job.key.operation.as_str());
    let lease_expires_at = now.plus(Duration::from_secs(75));
    match claim(job, Claim { now, lease_expires_at, operation: &operation, config_rev: 1 }).unwrap() {
        Claimed::Call { job, .. } => job,
        Claimed::Review(job) => panic!("{job:?}"),
    }
}

fn finished(job: &Job, outcome: Outcome, now: Timestamp) -> Job {
    let operation = operation(job.key.operation.as_str());
    let report = Report::new(outcome, "http-200", "");
    finish(job, Finish { now, report: &report, schedule: &operation.schedule, jitter: Jitter(0) }).unwrap()
}

fn completed(job: &Job, now: Timestamp) -> Job {
    finished(job, Outcome::Done, now)
}

fn in_review(job: &Job, now: Timestamp) -> Job {
    review(job, ReviewReason::OperationRemoved, "not configured any more", now).unwrap()
}
