use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use hookbox_core::event::Disposition;
use hookbox_core::key::ReceiptId;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_destination::signature;
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_ledger::{Audit, Bulk, BulkState, Subject};

use super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::search::range::Range;
use crate::terminal::Format;
use crate::testing::{Captured, clock, configured, event, ingest, stored, surroundings, terminal};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// What a destination was sent.
#[derive(Clone, Debug)]
struct Call {
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Call {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

/// A destination that remembers every call, and answers some of them in another way.
#[derive(Clone, Debug, Default)]
struct Recording {
    calls: Arc<Mutex<Vec<Call>>>,
    answers: Arc<Mutex<HashMap<String, StatusCode>>>,
}

impl Recording {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(take).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/in?token=hush")
    }

    /// What it answers for an event from now on.
    fn answer(&self, event: &str, status: StatusCode) {
        self.answers.lock().unwrap().insert(event.to_owned(), status);
    }

    fn events(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|call| call.header("hookbox-event-id").to_owned()).collect()
    }

    fn forget(&self) {
        self.calls.lock().unwrap().clear();
        self.answers.lock().unwrap().clear();
    }
}

async fn take(State(recording): State<Recording>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    if uri.path() == "/elsewhere" {
        return StatusCode::OK.into_response();
    }
    let call = Call { headers, body: body.to_vec() };
    let status = recording.answers.lock().unwrap().get(call.header("hookbox-event-id")).copied();
    recording.calls.lock().unwrap().push(call);
    let status = status.unwrap_or(StatusCode::NO_CONTENT);
    ([("location", "/elsewhere")], status).into_response()
}

/// A table with history, and a destination.
struct Scene {
    clock: TestClock,
    storage: TestTable,
    table: Table,
    recording: Recording,
    destination: Destination,
    ids: HashMap<String, ReceiptId>,
}

impl Scene {
    /// Events as they arrived: id, resource, and the second in which they happened (none is unknown).
    async fn with(history: &[(&str, &str, Option<i64>)]) -> Self {
        let clock = clock();
        let (storage, table) = stored(&clock).await;
        configured(&table).await;
        let mut ids = HashMap::new();
        for (id, resource, happened) in history {
            clock.advance(Duration::from_secs(60));
            let mut event = event(id, "charge.refunded");
            event.resource = Some((*resource).to_owned());
            event.occurred_at = happened.map(|seconds| start().plus(Duration::from_secs(seconds.unsigned_abs())));
            event.payload.body = format!("{{\"id\":\"{id}\"}}\r\n").into_bytes();
            event.payload.headers = vec![("x-kept".into(), "yes".into()), ("authorization".into(), "no".into())];
            ids.insert((*id).to_owned(), ingest(&event, &table, &clock).await);
        }
        let recording = Recording::default();
        let destination = Destination::new(&recording.start().await, SECRET.to_owned().into()).unwrap();
        Self { clock, storage, table, recording, destination, ids }
    }

    /// Five events, none of which happened out of order.
    async fn five() -> Self {
        Self::with(&[("a", "x", None), ("b", "x", None), ("c", "x", None), ("d", "y", None), ("e", "y", None)]).await
    }

    fn rebuild(&self, intent: Intent) -> Rebuild<'static> {
        let range = Range { since: start(), until: self.clock.now().plus(Duration::from_secs(1)) };
        let (connections, kinds) = (ConnectionArgs::default(), Vec::new());
        Rebuild {
            filter: ReceiptFilter { connections, range, kinds, resource: None, state: Some("accepted") },
            ends: false,
            after: None,
            skip_expired: false,
            rate: 10,
            reason: "the database was restored",
            intent,
            author: Author::Named("maria".to_owned()),
        }
    }

    async fn carry_out(
        &self,
        rebuild: &Rebuild<'_>,
        format: Format,
        stop_after: usize,
    ) -> (Result<Answer, Failure>, Captured) {
        let (mut terminal, captured) = terminal(format);
        let around = surroundings(&self.clock, stop_after);
        (rebuild.carry_out(&self.destination, &self.table, around, &mut terminal).await, captured)
    }

    async fn bulk(&self) -> Bulk {
        let id = "rebuild-20261130-00000007".parse().unwrap();
        self.table.ledger.bulk(&id).await.unwrap().unwrap()
    }

    /// Every item but the record of the rebuild, by its keys.
    async fn items(&self) -> BTreeMap<String, HashMap<String, AttributeValue>> {
        let items = self.storage.items().await.into_iter();
        let named = items.map(|item| (format!("{:?} {:?}", item["pk"], item["sk"]), item));
        named.filter(|(name, _)| !name.contains("bulk#")).collect()
    }

    async fn expire(&self, event: &str) {
        self.storage.delete_item(&self.ids[event].to_string(), "payload#000").await;
    }
}

fn start() -> Timestamp {
    Timestamp::parse_rfc3339(crate::testing::START).unwrap()
}

/// An older update came after a newer one. Applied as it came it would undo it.
#[tokio::test]
async fn events_are_sent_in_the_order_in_which_they_happened() {
    let history = [
        ("created", "lead_1", Some(10)),
        ("closed", "lead_1", Some(70)),
        ("other", "lead_2", Some(30)),
        ("updated", "lead_1", Some(40)),
        // Nobody knows when: it arrived 300 s after the beginning.
        ("unknown", "lead_1", None),
        ("late", "lead_2", Some(299)),
    ];
    let scene = Scene::with(&history).await;
    let items = scene.items().await;
    let before = scene.clock.now();
    let (answer, captured) = scene.carry_out(&scene.rebuild(Intent::Write), Format::Table, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(scene.recording.events(), ["created", "other", "updated", "closed", "late", "unknown"]);
    assert_eq!(scene.clock.now().since(before), Duration::from_millis(500), "ten a second");
    let shown = scene.destination_address();
    insta::assert_snapshot!(captured.out().replace(&shown, "http://DESTINATION/in"));
    assert_eq!(scene.items().await, items, "nothing in the table is changed");
    let bulk = scene.bulk().await;
    assert_eq!((bulk.state, bulk.counts["sent"], bulk.cursor.as_deref()), (BulkState::Finished, 6, None));
    assert_eq!((bulk.who.as_str(), bulk.why.as_deref()), ("maria", Some("the database was restored")));
    assert!(
        bulk.query.starts_with(&format!("to {shown}, */*, arrived from 2026-11-30T08:00:00.125Z")),
        "{}",
        bulk.query
    );
    assert!(!bulk.query.contains("hush"), "{}", bulk.query);
}

impl Scene {
    /// The address as it is shown.
    fn destination_address(&self) -> String {
        let text = format!("{:?}", self.destination);
        text.split('"').nth(1).unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_call_is_an_ordinary_one_that_says_that_it_is_a_rebuild() {
    let scene = Scene::with(&[("evt_1", "pi_1", Some(10))]).await;
    scene.carry_out(&scene.rebuild(Intent::Write), Format::Table, usize::MAX).await.0.unwrap();
    let call = scene.recording.calls.lock().unwrap()[0].clone();
    assert_eq!(call.body, b"{\"id\":\"evt_1\"}\r\n", "the provider's bytes");
    let id = scene.ids["evt_1"].to_string();
    let key = format!("{id}:rebuild:v1");
    for (name, value) in [
        ("content-type", "application/json"),
        ("x-kept", "yes"),
        ("authorization", ""),
        ("hookbox-rebuild", "true"),
        ("hookbox-version", "1"),
        ("hookbox-provider", "stripe"),
        ("hookbox-account", "demo"),
        ("hookbox-event-id", "evt_1"),
        ("hookbox-kind", "charge.refunded"),
        ("hookbox-resource", "pi_1"),
        ("hookbox-occurred-at", "2026-11-30T08:00:10.125Z"),
        ("hookbox-received-at", "2026-11-30T08:01:00.125Z"),
        ("hookbox-receipt", &id),
        ("hookbox-attempt", "1"),
        ("idempotency-key", &key),
        ("webhook-id", &key),
        ("user-agent", concat!("Hookbox/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(call.header(name), value, "{name}");
    }
    let at = call.header("webhook-timestamp").parse().unwrap();
    assert_eq!(call.header("webhook-signature"), signature(SECRET, &key, at, &call.body).unwrap());
}

#[tokio::test]
async fn the_first_event_that_is_not_taken_ends_it_and_says_where_to_go_on() {
    for status in [StatusCode::SERVICE_UNAVAILABLE, StatusCode::FOUND, StatusCode::UNPROCESSABLE_ENTITY] {
        let scene = Scene::five().await;
        scene.recording.answer("c", status);
        let (answer, captured) = scene.carry_out(&scene.rebuild(Intent::Write), Format::Json, usize::MAX).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code(), 1);
        assert_eq!(scene.recording.events(), ["a", "b", "c"], "{status}: redirects are not followed either");
        let said = captured.json();
        assert_eq!((&said["state"], &said["sent"], &said["events"]), (&"not-taken".into(), &2.into(), &5.into()));
        let place = said["after"].as_str().unwrap();
        let text = failure.to_string();
        assert!(text.contains(&format!("send the event {}", scene.ids["c"])), "{text}");
        assert!(text.contains(&format!("answered {}", status.as_u16())), "{text}");
        assert!(text.contains(&format!("--since 2026-11-30T08:00:00.125Z --after {place}")), "{text}");
        assert!(!text.contains("hush"), "{text}");
        let bulk = scene.bulk().await;
        assert_eq!((bulk.state, bulk.counts["sent"], bulk.cursor.as_deref()), (BulkState::Cancelled, 2, Some(place)));

        scene.recording.forget();
        scene.clock.advance(Duration::from_secs(24 * 3_600));
        let going_on = Rebuild { after: Some(place.parse().unwrap()), ..scene.rebuild(Intent::DryRun) };
        let (_, captured) = scene.carry_out(&going_on, Format::Json, usize::MAX).await;
        assert_eq!((&captured.json()["events"], &captured.json()["passed"]), (&3.into(), &2.into()));
        // Another day has another record.
        let going_on = Rebuild { intent: Intent::Write, ..going_on };
        assert_eq!(scene.carry_out(&going_on, Format::Table, usize::MAX).await.0.unwrap(), Answer::Yes);
        assert_eq!(scene.recording.events(), ["c", "d", "e"]);
    }
}

#[tokio::test]
async fn a_destination_that_cannot_be_reached_is_a_failure_without_its_address_s_secrets() {
    let mut scene = Scene::five().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://{address}/in?token=hush");
    scene.destination = Destination::new(&url, SECRET.to_owned().into()).unwrap();
    let (answer, _) = scene.carry_out(&scene.rebuild(Intent::Write), Format::Table, usize::MAX).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code(), 1);
    let text = failure.to_string();
    assert!(text.contains("the same command: nothing was sent") && !text.contains("hush"), "{text}");
}

#[tokio::test]
async fn nothing_begins_with_a_hole_unless_somebody_says_so() {
    let scene = Scene::five().await;
    for event in ["b", "d"] {
        scene.expire(event).await;
    }
    let deed = Audit {
        subject: Subject::Receipt(scene.ids["c"]),
        at: scene.clock.now(),
        who: "maria".into(),
        what: "erase".into(),
        on: None,
        why: None,
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    };
    scene.table.ledger.erase(&scene.ids["c"], &deed).await.unwrap();
    for (name, intent) in [("refused", Intent::Write), ("refused_dry", Intent::DryRun)] {
        let (answer, captured) = scene.carry_out(&scene.rebuild(intent), Format::Table, usize::MAX).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code(), 3, "{name}");
        let shown = scene.destination_address();
        let text = format!("{}---\n{failure}\n", captured.out()).replace(&shown, "http://DESTINATION/in");
        insta::allow_duplicates! { insta::assert_snapshot!(text); }
        assert_eq!(scene.recording.events(), [""; 0], "{name}");
    }
    let skipping = Rebuild { skip_expired: true, ..scene.rebuild(Intent::Write) };
    let (answer, captured) = scene.carry_out(&skipping, Format::Json, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(scene.recording.events(), ["a", "e"]);
    let shown = scene.destination_address();
    insta::assert_snapshot!("finished_Json", captured.out().replace(&shown, "http://DESTINATION/in"));
}

#[tokio::test]
async fn only_accepted_events_of_the_range_are_history() {
    let scene = Scene::five().await;
    let mut ignored = event("ignored", "charge.refunded");
    ignored.disposition = Disposition::Ignored("no rule takes it".into());
    ingest(&ignored, &scene.table, &scene.clock).await;
    let mut rebuild = scene.rebuild(Intent::Write);
    // The third arrived then.
    rebuild.filter.range.since = start().plus(Duration::from_secs(180));
    scene.carry_out(&rebuild, Format::Table, usize::MAX).await.0.unwrap();
    assert_eq!(scene.recording.events(), ["c", "d", "e"]);
    rebuild.filter.kinds = vec!["invoice.paid".to_owned()];
    let (answer, captured) = scene.carry_out(&rebuild, Format::Json, usize::MAX).await;
    assert_eq!((answer.unwrap(), &captured.json()["state"]), (Answer::Yes, &"nothing".into()));
}

#[tokio::test]
async fn a_dry_run_and_a_no_send_nothing_and_a_stop_only_what_was_reached() {
    let scene = Scene::five().await;
    let (answer, captured) = scene.carry_out(&scene.rebuild(Intent::DryRun), Format::Json, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    let shown = scene.destination_address();
    insta::assert_snapshot!("dry_run_Json", captured.out().replace(&shown, "http://DESTINATION/in"));
    let (mut asking, captured) = Captured::answering("n\n");
    let around = surroundings(&scene.clock, usize::MAX);
    let rebuild = scene.rebuild(Intent::Ask);
    let answer = rebuild.carry_out(&scene.destination, &scene.table, around, &mut asking).await;
    assert_eq!(answer.unwrap_err().code(), 1);
    assert_eq!(captured.notes(), format!("Send 5 events to {shown}? [y/N] "));
    assert_eq!(scene.recording.events(), [""; 0]);

    let stopped = Rebuild { ends: true, ..scene.rebuild(Intent::Write) };
    let (answer, captured) = scene.carry_out(&stopped, Format::Table, 3).await;
    assert_eq!(answer.unwrap(), Answer::No);
    assert_eq!(scene.recording.events(), ["a", "b", "c"]);
    let (bulk, until) = (scene.bulk().await, stopped.filter.range.until);
    let place = bulk.cursor.unwrap();
    assert_eq!(place.parse::<Place>().unwrap().receipt(), scene.ids["c"]);
    let expected =
        format!("to go on: the same command with --since 2026-11-30T08:00:00.125Z --until {until} --after {place}\n");
    assert_eq!(captured.notes(), expected);
}

/// What happens between the count and its turn.
#[tokio::test]
async fn what_expires_meanwhile_ends_it_too() {
    let scene = Scene::five().await;
    for skip_expired in [false, true] {
        scene.recording.forget();
        let rebuild = Rebuild { skip_expired, ..scene.rebuild(Intent::Write) };
        let plan = plan::Plan::make(&rebuild.filter, None, &scene.table, &mut terminal(Format::Table).0).await.unwrap();
        assert_eq!(plan.events.len(), if skip_expired { 4 } else { 5 });
        scene.expire("c").await;
        let mut progress = report::Progress::default();
        let place = Place::of(&scene.table.ledger.known(&[scene.ids["c"]]).await.unwrap()[&scene.ids["c"]]);
        let one = rebuild.one(place, &mut progress, &scene.destination, &scene.table, &scene.clock).await.unwrap();
        assert_eq!(one.is_ok(), skip_expired);
        assert_eq!((progress.sent, progress.expired), (0, u64::from(skip_expired)));
        assert_eq!(scene.recording.events(), [""; 0]);
    }
}

#[test]
fn a_destination_is_an_address_without_a_password() {
    for bad in
        ["crm.example.com", "ftp://crm.example.com/", "https://me:hush@crm.example.com/", "https://hush@x.example/"]
    {
        let failure = Destination::new(bad, SECRET.to_owned().into()).unwrap_err();
        assert_eq!(failure.code(), 2, "{bad}");
        assert!(!failure.to_string().contains("hush"), "{failure}");
    }
}
