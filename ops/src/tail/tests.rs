use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use hookbox_core::event::Disposition;
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::{Fault, Faults, TestClock, TestTable};
use serde_json::{Value, json};

use super::*;
use crate::testing::cloudwatch::CloudWatch;
use crate::testing::{Captured, args, clock, configured, event, ingest, ingest_of, integration, terminal};

const SECOND: Duration = Duration::from_secs(1);
const LOG: [&str; 2] = ["--log-group", "/hookbox/test/worker"];

type Step = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// What happens while it waits: a step for each wait, and Ctrl-C after the last.
#[derive(Clone, Default)]
struct Meanwhile {
    steps: Arc<Mutex<VecDeque<Step>>>,
    /// Whether somebody has typed Ctrl-C.
    over: Arc<AtomicBool>,
    waits: Arc<Mutex<Vec<Duration>>>,
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// Waiting takes no time but on the clock of the test.
#[derive(Clone, Debug)]
struct Waiting(Meanwhile, TestClock);

impl AsyncSleep for Waiting {
    fn sleep(&self, duration: Duration) -> Sleep {
        let Some(step) = self.0.steps.lock().unwrap().pop_front() else {
            self.0.over.store(true, Ordering::Relaxed);
            return Sleep::new(std::future::pending());
        };
        self.1.advance(duration);
        self.0.waits.lock().unwrap().push(duration);
        Sleep::new(Stepping(Mutex::new(step())))
    }
}

/// A step as a future that is `Sync`, which a sleep must be.
struct Stepping(Mutex<BoxFuture<'static, ()>>);

impl Future for Stepping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap().as_mut().poll(context)
    }
}

impl Meanwhile {
    fn then(&self, step: impl Future<Output = ()> + Send + 'static) -> &Self {
        self.steps.lock().unwrap().push_back(Box::new(move || Box::pin(step)));
        self
    }

    fn waits(&self) -> Vec<u64> {
        self.waits.lock().unwrap().iter().map(Duration::as_secs).collect()
    }
}

struct World {
    clock: TestClock,
    storage: TestTable,
    table: Table,
    cloudwatch: CloudWatch,
    meanwhile: Meanwhile,
}

impl World {
    async fn new() -> Self {
        Self::through(&Faults::none()).await
    }

    async fn through(faults: &Faults) -> Self {
        let clock = clock();
        let storage = TestTable::on(&clock).await;
        let table = Table::new(storage.ledger_through(faults), "hookbox", "in eu-west-1");
        configured(&Table::new(storage.ledger(), "hookbox", "in eu-west-1")).await;
        Self { clock, storage, table, cloudwatch: CloudWatch::default(), meanwhile: Meanwhile::default() }
    }

    /// What tells of the table while it is followed.
    fn outside(&self) -> Table {
        Table::new(self.storage.ledger(), "hookbox", "in eu-west-1")
    }

    /// An event arrives so long ago, and shows in the index only now.
    async fn arrived(&self, id: &str, ago: Duration) -> ReceiptId {
        arrive(id, ago, &self.outside(), &self.clock).await
    }

    /// The same while it waits.
    fn arrives(&self, ids: &[(&str, u64)]) {
        let (table, clock) = (self.outside(), self.clock.clone());
        let ids: Vec<_> =
            ids.iter().map(|(id, ago)| ((*id).to_owned(), SECOND * u32::try_from(*ago).unwrap())).collect();
        self.meanwhile.then(async move {
            for (id, ago) in ids {
                arrive(&id, ago, &table, &clock).await;
            }
        });
    }

    async fn tail(&self, words: &[&str], format: Format) -> (Result<Answer, Failure>, Captured) {
        let (mut terminal, captured) = terminal(format);
        (self.tail_to(words, &mut terminal).await, captured)
    }

    async fn tail_to(&self, words: &[&str], terminal: &mut Terminal) -> Result<Answer, Failure> {
        let over = self.meanwhile.over.clone();
        let stop =
            std::future::poll_fn(move |_| if over.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending });
        let sleep = SharedAsyncSleep::new(Waiting(self.meanwhile.clone(), self.clock.clone()));
        let around = Surroundings { clock: &self.clock, sleep, stop: Box::pin(stop) };
        tail(&args(words), &self.table, &self.cloudwatch.aws().await, around, terminal).await
    }
}

async fn arrive(id: &str, ago: Duration, table: &Table, clock: &TestClock) -> ReceiptId {
    let now = Clock::now(clock);
    clock.set(now.minus(ago));
    let receipt = ingest(&event(id, "charge.refunded"), table, clock).await;
    clock.set(now);
    receipt
}

/// A line of the worker's log.
fn ended(job: &str, outcome: &str, status: &str) -> Value {
    json!({
        "timestamp": "2026-11-30T08:00:00.000000Z", "level": "INFO", "message": "attempt ended",
        "receipt": "ab".repeat(32), "operation": job, "job": format!("{}:{job}:v1", "ab".repeat(32)),
        "provider": "stripe", "account": "demo", "kind": "charge.refunded", "attempt": 2, "outcome": outcome,
        "status": status, "code": "http-503", "ms": 120, "target": "hookbox_worker::settle",
    })
}

/// The events that were printed, in order.
fn arrivals(captured: &Captured) -> Vec<String> {
    let lines = captured.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let ids = lines.iter().filter_map(|line| line["event_id"].as_str().map(str::to_owned));
    ids.collect()
}

#[tokio::test]
async fn the_last_lines_of_both_are_one_list_in_the_order_of_their_times() {
    let world = World::new().await;
    let now = Clock::now(&world.clock);
    world.arrived("evt_1", SECOND * 1_800).await;
    let mut ignored = event("evt_2", "ping");
    ignored.disposition = Disposition::Ignored("not a kind that we take".into());
    world.clock.set(now.minus(SECOND * 90));
    ingest(&ignored, &world.outside(), &world.clock).await;
    world.clock.set(now);
    world.arrived("evt_3", SECOND).await;
    let log = &world.cloudwatch;
    log.line(now.minus(SECOND * 1_799), &ended("deliver", "transient", "retrying"));
    log.line(now.minus(SECOND * 1_700), &json!({"message": "message acknowledged"}));
    log.line(now.minus(SECOND * 95), &ended("deliver", "done", "completed"));
    let mut held = ended("audit", "held", "held");
    held["message"] = json!("held");
    held.as_object_mut().unwrap().retain(|name, _| name != "code" && name != "ms");
    log.line(now.minus(SECOND / 2), &held);
    let (answer, captured) = world.tail(&LOG, Format::Table).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(captured.notes(), "");
    insta::assert_snapshot!(captured.out());
    let (_, programs) = world.tail(&LOG, Format::Json).await;
    insta::assert_snapshot!("programs_get_one_document", programs.out());
    let (_, last) = world.tail(&[&LOG[..], &["--limit", "2"]].concat(), Format::Table).await;
    let all = captured.out();
    assert_eq!(last.out().lines().collect::<Vec<_>>(), all.lines().skip(4).collect::<Vec<_>>());
    let (_, recent) = world.tail(&[&LOG[..], &["--since", "92s"]].concat(), Format::Table).await;
    assert_eq!(recent.out().lines().collect::<Vec<_>>(), all.lines().skip(3).collect::<Vec<_>>());
}

#[tokio::test]
async fn lines_are_narrowed_by_what_is_known_of_both() {
    let world = World::new().await;
    let now = Clock::now(&world.clock);
    world.arrived("evt_1", SECOND * 20).await;
    let mut github = integration();
    github.provider = "github".parse().unwrap();
    github.operations.truncate(1);
    github.rev = 1;
    world.table.ledger.put_integration(&github, None).await.unwrap();
    let mut paid = event("evt_2", "payment_intent.succeeded");
    paid.resource = None;
    ingest_of(&github, &paid, &world.outside(), &world.clock).await;
    for (job, outcome) in [("deliver", "done"), ("deliver", "uncertain"), ("audit", "permanent")] {
        world.cloudwatch.line(now.minus(SECOND * 10), &ended(job, outcome, "retrying"));
    }
    let mut other = ended("deliver", "done", "completed");
    other["provider"] = json!("github");
    other["kind"] = json!("payment_intent.succeeded");
    world.cloudwatch.line(now.minus(SECOND * 5), &other);
    for (words, arrived, endings) in [
        (&[][..], 2, 4),
        (&["--provider", "github"], 1, 1),
        (&["--account", "nobody"], 0, 0),
        (&["--kind", "charge.refunded"], 1, 3),
        (&["--kind", "ping", "--kind", "payment_intent.succeeded"], 1, 1),
        (&["--operation", "audit"], 0, 1),
        (&["--operation", "deliver"], 2, 3),
        (&["--outcome", "done,permanent"], 0, 3),
        (&["--outcome", "accepted"], 2, 0),
    ] {
        let (_, captured) = world.tail(&[&LOG[..], words].concat(), Format::Jsonl).await;
        let lines: Vec<Value> = captured.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let number = |what: &str| lines.iter().filter(|line| line["what"] == what).count();
        assert_eq!((number("arrived"), number("ended")), (arrived, endings), "{words:?}");
    }
    let (_, nothing) = world.tail(&["--account", "nobody"], Format::Table).await;
    assert_eq!(nothing.out(), "nothing happened that fits: --since looks further back\n");
    assert!(nothing.notes().contains("--log-group"), "the log is not known: {}", nothing.notes());
}

#[tokio::test]
async fn what_the_index_shows_late_and_out_of_order_is_printed_once() {
    let world = World::new().await;
    world.arrived("evt_old", SECOND * 600).await;
    world.arrived("evt_last", SECOND * 5).await;
    world.arrives(&[("evt_1", 0)]);
    world.arrives(&[("evt_3", 1), ("evt_2", 2)]);
    // Committed long after its arrival, and before what was printed.
    world.arrives(&[("evt_late", 11)]);
    world.arrives(&[]);
    world.arrives(&[]);
    let (answer, captured) = world.tail(&["-f", "--limit", "1"], Format::Jsonl).await;
    assert_eq!(answer.unwrap(), Answer::Yes, "Ctrl-C is no failure");
    assert_eq!(arrivals(&captured), ["evt_last", "evt_1", "evt_2", "evt_3", "evt_late"]);
    assert_eq!(world.meanwhile.waits(), [2; 5]);
}

#[tokio::test]
async fn a_day_that_begins_is_followed_without_a_gap() {
    let world = World::new().await;
    world.clock.set(Timestamp::parse_rfc3339("2026-11-30T23:59:55.000Z").unwrap());
    world.arrived("evt_0", SECOND).await;
    for (n, ago) in [(1, 0), (2, 0), (3, 0), (4, 0), (5, 5)] {
        // The last one arrived yesterday.
        world.arrives(&[(&format!("evt_{n}"), ago)]);
    }
    world.arrives(&[]);
    let (_, captured) = world.tail(&["-f"], Format::Jsonl).await;
    assert_eq!(arrivals(&captured), ["evt_0", "evt_1", "evt_2", "evt_3", "evt_4", "evt_5"]);
    let out = captured.out();
    assert!(out.contains("2026-11-30T23:59:59.000Z") && out.contains("2026-12-01T00:00:01.000Z"), "{out}");
}

#[tokio::test]
async fn a_throttle_is_told_and_nothing_is_lost_or_printed_twice() {
    let faults = Faults::none();
    let world = World::through(&faults).await;
    world.arrives(&[("evt_1", 0)]);
    let throttled = faults.clone();
    let table = world.outside();
    let clock = world.clock.clone();
    world.meanwhile.then(async move {
        arrive("evt_2", Duration::ZERO, &table, &clock).await;
        // Until the ledger itself gives up, in the middle of a poll: the directory and a shard are read before. It lasts
        // longer than an event may be late.
        for number in throttled.count() + 2..throttled.count() + 80 {
            throttled.at(number, Fault::Throttle);
        }
    });
    world.arrives(&[("evt_3", 0)]);
    for _ in 0..8 {
        world.arrives(&[]);
    }
    let (answer, captured) = world.tail(&["-f"], Format::Jsonl).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert!(faults.all_happened());
    assert_eq!(arrivals(&captured), ["evt_1", "evt_2", "evt_3"]);
    let notes = captured.notes();
    assert_eq!(notes.matches("could not list receipts (table `hookbox` in eu-west-1)").count(), 1, "{notes}");
    assert_eq!(notes.matches("it can be read again").count(), 1, "{notes}");
    let waits = world.meanwhile.waits();
    assert!(waits.starts_with(&[2, 2, 4, 8, 16]) && waits.ends_with(&[2]), "longer while it lasts: {waits:?}");
}

#[tokio::test]
async fn an_outage_of_the_log_holds_up_no_arrival() {
    let world = World::new().await;
    let now = Clock::now(&world.clock);
    let (refusing, healing) = (world.cloudwatch.clone(), world.cloudwatch.clone());
    world.arrives(&[("evt_1", 0)]);
    world.meanwhile.then(async move { refusing.refuses(Some("ThrottlingException")) });
    for n in 2..7 {
        world.arrives(&[(&format!("evt_{n}"), 0)]);
    }
    world.meanwhile.then(async move {
        healing.refuses(None);
        // It had happened before the log could not be read any more, longer ago than lines are late.
        healing.line(now.plus(SECOND), &ended("deliver", "done", "completed"));
    });
    world.arrives(&[]);
    let (answer, captured) = world.tail(&[&LOG[..], &["-f"]].concat(), Format::Jsonl).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(arrivals(&captured), ["evt_1", "evt_2", "evt_3", "evt_4", "evt_5", "evt_6"]);
    let out = captured.out();
    assert_eq!(out.matches("\"what\":\"ended\"").count(), 1, "{out}");
    assert!(out.find("evt_6").unwrap() < out.find("\"ended\"").unwrap(), "{out}");
    let notes = captured.notes();
    assert_eq!(notes.matches("could not read the log group /hookbox/test/worker").count(), 1, "{notes}");
    assert_eq!(world.meanwhile.waits(), [2, 2, 4, 8, 16, 32, 60, 60, 2], "and back at once");
}

#[tokio::test]
async fn what_cannot_be_read_at_first_is_a_failure() {
    let world = World::new().await;
    world.cloudwatch.refuses(Some("ResourceNotFoundException"));
    let failure = world.tail(&[&LOG[..], &["-f"]].concat(), Format::Table).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("`WorkerLogGroup`"), "{failure}");
    world.cloudwatch.refuses(Some("AccessDeniedException"));
    let failure = world.tail(&LOG, Format::Table).await.0.unwrap_err();
    assert!(failure.to_string().contains("a role that allows logs:FilterLogEvents"), "{failure}");
    let failure = world.tail(&["-f"], Format::Json).await.0.unwrap_err();
    assert_eq!(failure.code(), 2, "a document that never ends");
}

/// Whoever reads the first line and leaves.
struct Leaves(usize);

impl io::Write for Leaves {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += usize::from(bytes.contains(&b'\n'));
        if self.0 > 1 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_it_quietly() {
    let world = World::new().await;
    for n in 0..5 {
        world.arrives(&[(&format!("evt_{n}"), 0)]);
    }
    let mut terminal = Terminal::of(Box::new(Leaves(0)), Box::new(io::sink()), None, Format::Jsonl);
    let failure = world.tail_to(&["-f"], &mut terminal).await.unwrap_err();
    assert!(failure.is_broken_pipe());
    assert_eq!(failure.code(), 0);
    assert_eq!(world.meanwhile.waits().len(), 2, "at the second line");
}
