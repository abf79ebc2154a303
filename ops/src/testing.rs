#![allow(clippy::unwrap_used, clippy::expect_used)]
//! What the tests of this crate share: a terminal that remembers what was written to it.

mod cbor;
pub(crate) mod cloudwatch;

use std::io::{self, Cursor, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::Integration;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::{ErrorText, Report};
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::retry::Jitter;
use hookbox_core::surroundings::{Clock as _, Random};
use hookbox_core::time::Timestamp;
use hookbox_core::transition::claim::{Claim, Claimed, claim};
use hookbox_core::transition::finish::{Finish, finish};
use hookbox_core::transition::hold::hold;
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_ledger::{Held, Loaded, Pause};

use crate::config::ConfigFile;
use crate::config::source::Source;

use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::jobs::{Decision, Surroundings, Verb};
use crate::terminal::{Format, Terminal};

/// What a command wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    out: Shared,
    notes: Shared,
}

#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A terminal with nobody at it.
pub(crate) fn terminal(format: Format) -> (Terminal, Captured) {
    let captured = Captured::default();
    (captured.terminal(format, None), captured)
}

impl Captured {
    /// A terminal with somebody who types `answer`.
    pub(crate) fn answering(answer: &str) -> (Terminal, Self) {
        let captured = Self::default();
        (captured.terminal(Format::Table, Some(answer)), captured)
    }

    fn terminal(&self, format: Format, answer: Option<&str>) -> Terminal {
        let answers = answer.map(|text| Box::new(Cursor::new(text.to_owned())) as Box<dyn io::BufRead + Send>);
        Terminal::of(Box::new(self.out.clone()), Box::new(self.notes.clone()), answers, format)
    }

    /// What went to standard output.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// What went to standard error.
    pub(crate) fn notes(&self) -> String {
        self.notes.text()
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out()).unwrap()
    }
}

/// The time at which every test begins.
pub(crate) const START: &str = "2026-11-30T08:00:00.125Z";

/// A clock that shows [`START`].
pub(crate) fn clock() -> TestClock {
    TestClock::at(Timestamp::parse_rfc3339(START).unwrap())
}

/// An empty table on this clock.
pub(crate) async fn table(clock: &TestClock) -> Table {
    stored(clock).await.1
}

/// An empty table on this clock, with what it is stored in.
pub(crate) async fn stored(clock: &TestClock) -> (TestTable, Table) {
    let storage = TestTable::on(clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    (storage, table)
}

/// Always the same number.
#[derive(Debug)]
pub(crate) struct Seven;

impl Random for Seven {
    fn next_u64(&self) -> u64 {
        7
    }
}

/// Time passes at once, on the clock of the test.
#[derive(Clone, Debug)]
pub(crate) struct Passing(pub(crate) TestClock);

impl AsyncSleep for Passing {
    fn sleep(&self, duration: Duration) -> Sleep {
        self.0.advance(duration);
        Sleep::new(std::future::ready(()))
    }
}

/// What surrounds long work on this clock; somebody wants it to stop when it asks for the `stop_after`th time.
pub(crate) fn surroundings(clock: &TestClock, stop_after: usize) -> Surroundings<'_> {
    let asked = AtomicUsize::new(0);
    let stop = std::future::poll_fn(move |_| {
        let asked = asked.fetch_add(1, Ordering::Relaxed) + 1;
        if asked >= stop_after { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    let sleep = SharedAsyncSleep::new(Passing(clock.clone()));
    Surroundings { clock, random: &Seven, sleep, stop: Box::pin(stop) }
}

/// stripe/demo with the operations `deliver` (by key) and `audit` (nothing makes it repeatable).
pub(crate) fn integration() -> Integration {
    const FILE: &str = r#"
        [[integration]]
        provider = "stripe"
        account = "demo"
        secrets = ["ssm:/hookbox/demo/stripe"]
        [[integration.operation]]
        name = "deliver"
        type = "http"
        url = "https://example.com"
        signing_secret = "ssm:/hookbox/demo/signing"
        idempotency = "key"
        [[integration.operation]]
        name = "audit"
        type = "sqs"
        queue_url = "https://sqs.example.com"
        idempotency = "none"
        kinds = ["payment_intent.succeeded"]
    "#;
    let file = ConfigFile::parse(Source::new("hookbox.toml", FILE)).unwrap();
    Integration { rev: 3, ..file.declared[0].integration.clone() }
}

/// A delivery of `content` that arrives now.
pub(crate) fn arrival(content: &str, request: &str, clock: &TestClock) -> Arrival {
    Arrival { at: clock.now(), digest: Digest::of(content.as_bytes()), secret_index: 0, request_id: request.into() }
}

/// An event of stripe/demo.
pub(crate) fn event(id: &str, kind: &str) -> Event {
    Event {
        identity: Identity::ProviderEvent { event_id: id.into() },
        weak: None,
        event_id: Some(id.into()),
        kind: kind.into(),
        resource: Some("pi_1".into()),
        tenant: None,
        occurred_at: Timestamp::parse_rfc3339("2026-11-30T07:59:58Z"),
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(id.as_bytes()),
        payload: Payload {
            body: b"{}".to_vec(),
            content_type: Some("application/json".into()),
            headers: Vec::new(),
            query: None,
        },
    }
}

/// Commits the event as one that arrives now.
pub(crate) async fn ingest(event: &Event, table: &Table, clock: &TestClock) -> ReceiptId {
    ingest_of(&integration(), event, table, clock).await
}

/// Commits the event as one of this connection that arrives now.
pub(crate) async fn ingest_of(integration: &Integration, event: &Event, table: &Table, clock: &TestClock) -> ReceiptId {
    let folder = Folder::open(event, integration, arrival("first", "req-1", clock), None);
    table.ledger.ingest(&folder, &event.payload, clock.now().plus(Duration::from_secs(5))).await.unwrap();
    folder.receipt.id
}

/// The folder as it stands.
pub(crate) async fn load(id: &ReceiptId, table: &Table) -> Loaded {
    table.ledger.load(id).await.unwrap().unwrap()
}

/// A worker claims the job and does not come back.
pub(crate) async fn begin(key: &JobKey, table: &Table, clock: &TestClock) {
    let loaded = load(&key.receipt, table).await;
    let (before, integration) = (loaded.job(key).unwrap(), integration());
    let now = clock.now();
    let claimed = claim(
        before,
        Claim {
            now,
            lease_expires_at: now.plus(Duration::from_secs(60)),
            operation: integration.operation(&key.operation).unwrap(),
            config_rev: integration.rev,
        },
    );
    let Claimed::Call { job, .. } = claimed.unwrap() else { panic!("no attempt is left") };
    table.ledger.write_job(&loaded, before, &job).await.unwrap();
}

/// A worker makes one attempt, which takes 120 ms and ends like this.
pub(crate) async fn attempt(key: &JobKey, report: &Report, table: &Table, clock: &TestClock) {
    begin(key, table, clock).await;
    clock.advance(Duration::from_millis(120));
    let loaded = load(&key.receipt, table).await;
    let (before, integration) = (loaded.job(key).unwrap(), integration());
    let schedule = &integration.operation(&key.operation).unwrap().schedule;
    let finished = finish(before, Finish { now: clock.now(), report, schedule, jitter: Jitter(0) }).unwrap();
    table.ledger.write_job(&loaded, before, &finished).await.unwrap();
}

/// A person asks for the effect of a job as a new one; gives the key of its new version.
pub(crate) async fn new_version(key: &JobKey, table: &Table, clock: &TestClock) -> JobKey {
    let (mut terminal, _) = terminal(Format::Table);
    let author = Author::Named("jane".to_owned());
    let decision =
        Decision { job: key, verb: Verb::NewVersion, reason: "a second one is needed", intent: Intent::Write, author };
    decision.carry_out(table, clock, &mut terminal).await.unwrap();
    key.following().unwrap()
}

/// An operation of stripe/demo, which is configured.
pub(crate) async fn configured(table: &Table) {
    let integration = Integration { rev: 1, ..integration() };
    table.ledger.put_integration(&integration, None).await.unwrap();
}

/// Pauses an operation of stripe/demo.
pub(crate) async fn pause(operation: &str, reason: &str, table: &Table, clock: &TestClock) -> Pause {
    let Integration { provider, account, .. } = integration();
    let (operation, reason) = (operation.parse().unwrap(), ErrorText::new(reason));
    table.ledger.put_pause(&provider, &account, &operation, &reason, clock.now()).await.unwrap()
}

/// A worker finds the operation paused.
pub(crate) async fn held(key: &JobKey, pause: &Pause, table: &Table, clock: &TestClock) {
    let loaded = load(&key.receipt, table).await;
    let job = loaded.job(key).unwrap();
    let next = hold(job, clock.now()).unwrap();
    assert_eq!(table.ledger.hold_job(&loaded, job, &next, pause).await.unwrap(), Held::Written);
}

/// A profile of a team's own.
pub(crate) const ACME: &str = r#"
name = "acme"
title = "Acme CRM"
documentation = ["https://docs.acme.example/webhooks"]

[delivery]
response_budget = "5s"
retry_horizon = "2d"
retries = "Six times within two days."

[[verify]]
vectors = "acme-sha256"
scheme = "hmac"
algorithm = "sha256"
header = "X-Acme-Signature"

[body]
format = "json"

[[event]]
id = "body:$.id"
kind = "body:$.type"
resource = "body:$.contact"
occurred_at = "body:$.at"

[sample]
event_id = "chg_1"
kind = "contact.created"
resource = "con_7"
body = '{"id":"{event_id}","type":"{kind}","contact":"{resource}","at":"{occurred_at}","custom":{set}}'
"#;

/// A folder of the repository's tests.
pub(crate) fn tests_folder(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests").join(name)
}

/// The arguments of a command, as somebody would type them.
pub(crate) fn args<A: clap::Args>(words: &[&str]) -> A {
    let command = A::augment_args(clap::Command::new("hookbox"));
    let table: &[&str] =
        if command.get_arguments().any(|arg| arg.get_id() == "table") { &["--table", "t"] } else { &[] };
    let words = ["hookbox"].iter().chain(table).chain(words).copied();
    A::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
}
