use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::{Clock as _, Random};
use hookbox_core::transition::replay::ForgottenKey;
use hookbox_ledger::test_support::TestClock;
use hookbox_ledger::{Bulk, BulkState};
use tokio::sync::Notify;

use super::super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::terminal::Format;
use crate::testing::{Passing, Seven, attempt, clock, event, ingest, load, table, terminal};

#[derive(Debug)]
struct Eight;

impl Random for Eight {
    fn next_u64(&self) -> u64 {
        8
    }
}

/// Jobs of `deliver`: `failed` in review, and one that is retried.
async fn scene(failed: usize) -> (Table, TestClock, Vec<JobKey>) {
    let clock = clock();
    let table = table(&clock).await;
    let mut keys = Vec::new();
    for n in 0..=failed {
        let receipt = ingest(&event(&format!("evt_{n}"), "charge.refunded"), &table, &clock).await;
        let key = JobKey::first(receipt, "deliver".parse().unwrap());
        let outcome = if n < failed { Outcome::Permanent } else { Outcome::Transient { retry_after: None } };
        attempt(&key, &Report::new(outcome, "http-422", "no"), &table, &clock).await;
        keys.push(key);
    }
    (table, clock, keys)
}

fn many(jobs: &[JobKey], intent: Intent) -> Many<'static> {
    Many {
        jobs: jobs.to_vec(),
        verb: Verb::Replay(ForgottenKey::Refuse),
        reason: "the CRM was down",
        query: "all".to_owned(),
        rate: 10,
        intent,
        author: Author::Named("jane".to_owned()),
    }
}

/// Carries it out; stopped when so many jobs were read again.
async fn carried(
    many: &Many<'_>,
    table: &Table,
    clock: &TestClock,
    stop_after: usize,
    format: Format,
) -> (Answer, String) {
    let (mut terminal, captured) = terminal(format);
    let waits = AtomicUsize::new(0);
    let stop = std::future::poll_fn(move |_| {
        let asked = waits.fetch_add(1, Ordering::Relaxed) + 1;
        if asked >= stop_after { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    let sleep = SharedAsyncSleep::new(Passing(clock.clone()));
    let around = Surroundings { clock, random: &Seven, sleep, stop: Box::pin(stop) };
    let answer = pin!(many.carry_out(table, around, &mut terminal)).await.unwrap();
    (answer, captured.out())
}

async fn bulk(table: &Table) -> Option<Bulk> {
    table.ledger.bulk(&"replay-20261130-00000007".parse().unwrap()).await.unwrap()
}

async fn status(key: &JobKey, table: &Table) -> Status {
    load(&key.receipt, table).await.job(key).unwrap().status()
}

#[tokio::test]
async fn many_are_replayed_at_their_rate_and_recorded_as_one() {
    let (table, clock, keys) = scene(120).await;
    let before = clock.now();
    let (answer, out) = carried(&many(&keys, Intent::Write), &table, &clock, usize::MAX, Format::Table).await;
    assert_eq!(answer, Answer::Yes);
    assert!(out.starts_with("would replay 120 of 121 jobs\n"), "{out}");
    assert!(out.contains("\n  and 115 more\nnot 1: retrying\n"), "{out}");
    assert!(out.ends_with("finished: 120 replayed, 1 retrying (replay-20261130-00000007)\n"), "{out}");
    assert_eq!(clock.now().since(before), Duration::from_millis(11_900), "ten a second");
    for key in &keys[..120] {
        let loaded = load(&key.receipt, &table).await;
        assert_eq!((loaded.jobs[0].status(), loaded.jobs[0].round), (Status::Pending, 2));
        assert_eq!(loaded.audit[0].bulk.as_deref(), Some("replay-20261130-00000007"));
        assert_eq!(loaded.audit[0].who, "jane");
    }
    assert_eq!(status(&keys[120], &table).await, Status::Retrying);
    let bulk = bulk(&table).await.unwrap();
    assert_eq!((bulk.state, bulk.cursor, bulk.counts["replayed"]), (BulkState::Finished, None, 120));
    assert_eq!((bulk.why.as_deref(), bulk.query.as_str()), (Some("the CRM was down"), "all"));
}

#[tokio::test]
async fn stopped_in_between_what_was_replayed_stays_and_nothing_else_is() {
    let (table, clock, keys) = scene(20).await;
    let (answer, out) = carried(&many(&keys, Intent::Write), &table, &clock, 8, Format::Json).await;
    assert_eq!(answer, Answer::No);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&said["state"], &said["counts"]["replayed"]), (&"cancelled".into(), &8.into()));
    let bulk = bulk(&table).await.unwrap();
    assert_eq!((bulk.state, bulk.counts["replayed"]), (BulkState::Cancelled, 8));
    assert_eq!(bulk.cursor.as_deref(), Some("8"));
    assert_eq!(table.ledger.bulk_jobs(&bulk).await.unwrap().unwrap(), keys[..20]);
    for (n, key) in keys[..20].iter().enumerate() {
        let expected = if n < 8 { Status::Pending } else { Status::Review };
        assert_eq!(status(key, &table).await, expected, "number {n}");
    }
}

#[tokio::test]
async fn a_dry_run_counts_and_names_some_and_writes_nothing() {
    let (table, clock, keys) = scene(7).await;
    let (answer, out) = carried(&many(&keys, Intent::DryRun), &table, &clock, usize::MAX, Format::Json).await;
    assert_eq!(answer, Answer::Yes);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["counts"], serde_json::json!({"replayed": 7, "retrying": 1}));
    assert_eq!((&said["bulk"], said["samples"].as_array().unwrap().len()), (&serde_json::Value::Null, 5));
    assert_eq!(bulk(&table).await, None);
    assert_eq!(status(&keys[0], &table).await, Status::Review);
}

#[tokio::test]
async fn many_are_shown_to_people_and_to_programs() {
    for verb in [Verb::Replay(ForgottenKey::Refuse), Verb::NewVersion, Verb::Dismiss] {
        for format in [Format::Table, Format::Json] {
            let (table, clock, keys) = scene(3).await;
            let (_, dry) =
                carried(&Many { verb, ..many(&keys, Intent::DryRun) }, &table, &clock, usize::MAX, format).await;
            let (_, out) =
                carried(&Many { verb, ..many(&keys, Intent::Write) }, &table, &clock, usize::MAX, format).await;
            insta::assert_snapshot!(format!("many_{}_{format:?}", verb.code()), format!("{dry}---\n{out}"));
        }
    }
}

/// A sleep that ends when somebody says so.
#[derive(Clone, Debug)]
struct Gate {
    reached: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    fn new() -> Self {
        Self { reached: Arc::default(), open: Arc::default() }
    }
}

impl AsyncSleep for Gate {
    fn sleep(&self, _: Duration) -> Sleep {
        let Self { reached, open } = self.clone();
        Sleep::new(async move {
            reached.notify_one();
            open.notified().await;
            // Whoever sleeps once more does not wait.
            open.notify_one();
        })
    }
}

/// Carries it out, with somebody who does something between its first two jobs.
async fn interrupted(
    many: &Many<'_>,
    table: &Table,
    clock: &TestClock,
    meanwhile: impl Future<Output = ()>,
) -> (Result<Answer, Failure>, String) {
    let gate = Gate::new();
    let (mut terminal, captured) = terminal(Format::Json);
    let sleep = SharedAsyncSleep::new(gate.clone());
    let around = Surroundings { clock, random: &Seven, sleep, stop: Box::pin(std::future::pending()) };
    let deed = async {
        gate.reached.notified().await;
        meanwhile.await;
        gate.open.notify_one();
    };
    let (answer, ()) = futures_util::future::join(pin!(many.carry_out(table, around, &mut terminal)), deed).await;
    (answer, captured.out())
}

#[tokio::test]
async fn what_changes_between_the_count_and_its_turn_is_counted_as_it_is_then() {
    let (table, clock, keys) = scene(2).await;
    let doubled = [keys[0].clone(), keys[1].clone(), keys[0].clone()];
    let other = async {
        let (mut terminal, _) = terminal(Format::Table);
        let author = Author::Named("joe".to_owned());
        let verb = Verb::Replay(ForgottenKey::Refuse);
        let decision = Decision { job: &keys[1], verb, reason: "mine", intent: Intent::Write, author };
        decision.carry_out(&table, &clock, &mut terminal).await.unwrap();
    };
    let (_, out) = interrupted(&many(&doubled, Intent::Write), &table, &clock, other).await;
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    let expected = serde_json::json!({"asked": 2, "replayed": 1, "pending": 1});
    assert_eq!(said["counts"], expected, "one that is named twice is one");
}

fn continuation(id: &BulkId, intent: Intent) -> Continuation<'_> {
    Continuation { id, command: "replay", rate: 10, intent, author: Author::Named("joe".to_owned()) }
}

async fn continued(
    continuation: &Continuation<'_>,
    table: &Table,
    clock: &TestClock,
    format: Format,
) -> (Result<Answer, Failure>, String) {
    let (mut terminal, captured) = terminal(format);
    let sleep = SharedAsyncSleep::new(Passing(clock.clone()));
    let around = Surroundings { clock, random: &Seven, sleep, stop: Box::pin(std::future::pending()) };
    let answer = pin!(continuation.carry_out(table, around, &mut terminal)).await;
    (answer, captured.out())
}

fn id() -> BulkId {
    "replay-20261130-00000007".parse().unwrap()
}

/// How often this bulk operation has written each job.
async fn written(keys: &[JobKey], table: &Table) -> Vec<usize> {
    let mut times = Vec::new();
    for key in keys {
        let deeds = load(&key.receipt, table).await.audit;
        times.push(deeds.iter().filter(|deed| deed.bulk.as_deref() == Some(id().as_str())).count());
    }
    times
}

#[tokio::test]
async fn what_was_stopped_goes_on_with_the_rest_and_repeats_nothing() {
    for format in [Format::Table, Format::Json] {
        let (table, clock, keys) = scene(12).await;
        carried(&many(&keys, Intent::Write), &table, &clock, 5, Format::Table).await;
        // One of those that it has done is in review again, and one of the rest was dealt with by somebody else.
        attempt(&keys[0], &Report::new(Outcome::Permanent, "http-422", "no"), &table, &clock).await;
        let dismissed = Many { verb: Verb::Dismiss, ..many(&keys[6..7], Intent::Write) };
        carried(&dismissed, &table, &clock, usize::MAX, Format::Table).await;
        let again = Many { reason: "again", ..many(&keys[6..7], Intent::Write) };
        let around = |random| {
            let sleep = SharedAsyncSleep::new(Passing(clock.clone()));
            Surroundings { clock: &clock, random, sleep, stop: Box::pin(std::future::pending()) }
        };
        again.carry_out(&table, around(&Eight), &mut terminal(Format::Table).0).await.unwrap();

        let (answer, looked) = continued(&continuation(&id(), Intent::DryRun), &table, &clock, format).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        assert_eq!(bulk(&table).await.unwrap().state, BulkState::Cancelled, "only looked at");
        let (answer, out) = continued(&continuation(&id(), Intent::Write), &table, &clock, format).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        insta::assert_snapshot!(format!("continued_{format:?}"), format!("{looked}---\n{out}"));
        let mut expected = vec![1; 12];
        expected[6] = 0;
        assert_eq!(written(&keys[..12], &table).await, expected);
        assert_eq!(status(&keys[0], &table).await, Status::Review, "it had its turn");
        let finished = bulk(&table).await.unwrap();
        assert_eq!((finished.state, finished.cursor), (BulkState::Finished, None));
        let last = load(&keys[11].receipt, &table).await.audit;
        assert_eq!((last[0].who.as_str(), last[0].why.as_deref()), ("joe", Some("the CRM was down")));
    }
}

/// The process died: it wrote jobs after it had recorded how far it was.
#[tokio::test]
async fn what_a_dead_process_wrote_and_did_not_record_is_known_by_the_jobs_records() {
    let (table, clock, keys) = scene(10).await;
    carried(&many(&keys, Intent::Write), &table, &clock, 6, Format::Table).await;
    let stopped = bulk(&table).await.unwrap();
    let counts = [("asked".to_owned(), 11), ("retrying".to_owned(), 1)].into();
    let dead = Bulk { rev: stopped.rev + 1, cursor: None, counts, state: BulkState::Running, ..stopped.clone() };
    table.ledger.put_bulk(&dead, Some(stopped.rev)).await.unwrap();
    // Two of the six have come to an end since, so that nothing but the records keeps them from another round.
    for key in &keys[..2] {
        attempt(key, &Report::done("http-200"), &table, &clock).await;
    }
    let (answer, out) = continued(&continuation(&id(), Intent::Write), &table, &clock, Format::Json).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    let said: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(said["counts"], serde_json::json!({"asked": 11, "replayed": 10, "retrying": 1}));
    assert_eq!(written(&keys[..10], &table).await, [1; 10]);
    assert_eq!(status(&keys[0], &table).await, Status::Completed);
}

/// The first process is not dead but slow. Whatever it meets, the second has done.
#[tokio::test]
async fn two_processes_write_no_job_twice_and_the_one_that_was_overtaken_stops() {
    let (table, clock, keys) = scene(120).await;
    let second = async {
        let (answer, _) = continued(&continuation(&id(), Intent::Write), &table, &clock, Format::Json).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        // All of them have ended again, and could be replayed once more.
        for key in &keys[..120] {
            attempt(key, &Report::done("http-200"), &table, &clock).await;
        }
    };
    let (answer, _) = interrupted(&many(&keys, Intent::Write), &table, &clock, second).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("another process goes on with it"), "{failure}");
    assert_eq!(written(&keys[..120], &table).await, [1; 120]);
    let finished = bulk(&table).await.unwrap();
    assert_eq!((finished.state, finished.counts["replayed"]), (BulkState::Finished, 120));
}

#[tokio::test]
async fn of_two_that_go_on_at_once_one_is_told_so() {
    let (table, clock, keys) = scene(8).await;
    carried(&many(&keys, Intent::Write), &table, &clock, 3, Format::Table).await;
    let id = id();
    let by = |name: &str| Continuation { author: Author::Named(name.to_owned()), ..continuation(&id, Intent::Write) };
    let (joe, ann) = (by("joe"), by("ann"));
    let (one, other) = futures_util::future::join(
        pin!(continued(&joe, &table, &clock, Format::Json)),
        pin!(continued(&ann, &table, &clock, Format::Json)),
    )
    .await;
    let (won, lost): (Vec<_>, Vec<_>) = [one.0, other.0].into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 1));
    assert_eq!(lost[0].as_ref().unwrap_err().code(), 3);
    assert_eq!(written(&keys[..8], &table).await, [1; 8]);
    let mut writers = BTreeSet::new();
    for key in &keys[3..8] {
        writers.extend(load(&key.receipt, &table).await.audit.into_iter().map(|deed| deed.who));
    }
    assert_eq!(writers.len(), 1, "the other wrote nothing");
}

#[tokio::test]
async fn a_new_version_is_made_once_however_often_it_goes_on() {
    let (table, clock, keys) = scene(4).await;
    let anew = Many { verb: Verb::NewVersion, ..many(&keys, Intent::Write) };
    carried(&anew, &table, &clock, 2, Format::Table).await;
    let id: BulkId = "new-version-20261130-00000007".parse().unwrap();
    let stopped = table.ledger.bulk(&id).await.unwrap().unwrap();
    let behind = Bulk { rev: stopped.rev + 1, cursor: None, ..stopped.clone() };
    table.ledger.put_bulk(&behind, Some(stopped.rev)).await.unwrap();
    continued(&continuation(&id, Intent::Write), &table, &clock, Format::Json).await.0.unwrap();
    for key in &keys[..4] {
        let versions: Vec<_> = load(&key.receipt, &table).await.jobs.iter().map(|job| job.key.version).collect();
        assert_eq!(versions, [1, 2]);
    }
    assert_eq!(table.ledger.bulk(&id).await.unwrap().unwrap().state, BulkState::Finished);
}

#[tokio::test]
async fn what_cannot_go_on_is_refused_with_the_reason() {
    let (table, clock, keys) = scene(4).await;
    let (answer, _) = continued(&continuation(&id(), Intent::Write), &table, &clock, Format::Table).await;
    assert_eq!(answer.unwrap_err().code(), 1, "there is none");
    carried(&many(&keys, Intent::Write), &table, &clock, 2, Format::Table).await;
    let id = id();
    let dismissal = Continuation { command: "dismiss", ..continuation(&id, Intent::Write) };
    let failure = continued(&dismissal, &table, &clock, Format::Table).await.0.unwrap_err();
    assert_eq!(failure.code(), 2);
    assert!(failure.to_string().contains("try: hookbox replay --continue replay-2026"), "{failure}");
    let before = bulk(&table).await.unwrap();
    for (change, why) in [
        (Bulk { what: "redo".to_owned(), ..before.clone() }, "this version does not know `redo`"),
        (Bulk { jobs: 5, ..before.clone() }, "the list of its jobs is not whole any more"),
        (before.clone(), ""),
    ] {
        let stands = bulk(&table).await.unwrap().rev;
        table.ledger.put_bulk(&Bulk { rev: stands + 1, ..change }, Some(stands)).await.unwrap();
        if !why.is_empty() {
            let failure =
                continued(&continuation(&id, Intent::Write), &table, &clock, Format::Table).await.0.unwrap_err();
            assert_eq!(failure.code(), 3);
            assert!(failure.to_string().contains(why), "{failure}");
        }
    }
    continued(&continuation(&id, Intent::Write), &table, &clock, Format::Table).await.0.unwrap();
    let failure = continued(&continuation(&id, Intent::Write), &table, &clock, Format::Table).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("it was finished at 2026-11-30 08:00:"), "{failure}");
    assert_eq!(written(&keys[..4], &table).await, [1; 4]);
}

#[test]
fn what_is_continued_is_named_alone() {
    let parse = |words: &[&str]| {
        let command = <ReplayArgs as clap::Args>::augment_args(clap::Command::new("replay"));
        command.try_get_matches_from(["replay", "--table", "t"].iter().chain(words)).map(|_| ())
    };
    let go_on = ["--continue", "replay-1"];
    parse(&go_on).unwrap();
    parse(&[&go_on[..], &["--yes", "--rate", "5", "--by", "jane"]].concat()).unwrap();
    let key = format!("{}:deliver:v1", "0".repeat(64));
    let others: [&[&str]; 7] = [
        &["--reason", "x"],
        &["--new-version"],
        &["--key-expired-ok"],
        &["--limit", "5"],
        &["--provider", "stripe"],
        &["--until", "1h"],
        &[key.as_str()],
    ];
    for other in others {
        assert!(parse(&[&go_on[..], other].concat()).is_err(), "{other:?}");
    }
    assert!(parse(&["--provider", "stripe"]).is_err(), "without it a reason is needed");
}

#[tokio::test]
async fn jobs_are_named_or_asked_for_and_never_all_by_accident() {
    let key = format!("{}:deliver:v1", "0".repeat(64));
    let no_clock = clock();
    for words in [
        &["--reason", "x"][..],
        &["--reason", "x", &key, "--provider", "stripe"],
        &["--reason", "x", "--state", "retrying"],
    ] {
        let args: ReplayArgs = crate::testing::args(words);
        let (mut terminal, _) = terminal(Format::Table);
        let sleep = SharedAsyncSleep::new(Passing(no_clock.clone()));
        let around = Surroundings { clock: &no_clock, random: &Seven, sleep, stop: Box::pin(std::future::pending()) };
        let failure = replay(&args, around, &mut terminal).await.unwrap_err();
        assert_eq!(failure.code(), 2, "{words:?}: {failure}");
    }
}
