mod counted;
mod from_metrics;

use std::time::Duration;

use hookbox_core::event::Disposition;
use hookbox_core::integration::Integration;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::receipt::Conflict;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_ledger::test_support::{TestClock, TestTable};

use super::*;
use crate::testing::cloudwatch::CloudWatch;
use crate::testing::{
    args, arrival, attempt, begin, clock, configured, event, held, ingest, ingest_of, integration, load, pause, table,
    terminal,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn deliver(id: ReceiptId) -> JobKey {
    JobKey::first(id, "deliver".parse().unwrap())
}

/// github/main with the operation `mirror`.
fn other() -> Integration {
    let mut other = integration();
    other.provider = "github".parse().unwrap();
    other.account = "main".parse().unwrap();
    other.rev = 1;
    other.operations.truncate(1);
    other.operations[0].name = "mirror".parse().unwrap();
    other
}

/// An event of stripe/demo whose job of `deliver` was attempted, if at all, with this result.
async fn one(id: &str, report: Option<Report>, table: &Table, clock: &TestClock) -> JobKey {
    let key = deliver(ingest(&event(id, "charge.refunded"), table, clock).await);
    if let Some(report) = report {
        attempt(&key, &report, table, clock).await;
    }
    key
}

async fn dismissed(key: &JobKey, table: &Table, clock: &TestClock) {
    let loaded = load(&key.receipt, table).await;
    let job = loaded.job(key).unwrap();
    table.ledger.write_job(&loaded, job, &dismiss(job, clock.now()).unwrap()).await.unwrap();
}

/// Two connections. One has a job in every state, an older one that waits, and one of version 2; the other an event that
/// requires nothing and a completed job.
async fn scene(table: &Table, storage: &TestTable, clock: &TestClock) {
    configured(table).await;
    table.ledger.put_integration(&other(), None).await.unwrap();
    let now = clock.now();
    clock.set(now.minus(HOUR * 48));
    one("evt_old", None, table, clock).await;
    clock.set(now.minus(HOUR * 5));
    one("evt_pending", None, table, clock).await;
    let transient = Outcome::Transient { retry_after: None };
    one("evt_retrying", Some(Report::new(transient, "http-503", "busy")), table, clock).await;
    one("evt_review", Some(Report::new(Outcome::Permanent, "http-422", "no such contact")), table, clock).await;
    let done = one("evt_completed", Some(Report::done("http-200")), table, clock).await;
    let refused = one("evt_dismissed", Some(Report::new(Outcome::Permanent, "http-410", "gone")), table, clock).await;
    dismissed(&refused, table, clock).await;
    begin(&one("evt_running", None, table, clock).await, table, clock).await;
    let waiting = one("evt_held", None, table, clock).await;
    let stands = pause("deliver", "answered 401", table, clock).await;
    held(&waiting, &stands, table, clock).await;
    table.ledger.count_duplicate(&done.receipt, &arrival("again", "req-2", clock)).await.unwrap();
    let conflict = Conflict {
        at: clock.now(),
        event_digest: hookbox_core::digest::Digest::of(b"other"),
        delivery_digest: hookbox_core::digest::Digest::of(b"other"),
        request_id: "req-3".into(),
    };
    table.ledger.record_conflict(&done.receipt, &conflict).await.unwrap();
    // A person has asked for one more effect.
    let mut item = storage.item(&waiting.receipt.to_string(), "job#deliver#v0001").await.unwrap();
    item.insert("sk".to_owned(), aws_sdk_dynamodb::types::AttributeValue::S("job#deliver#v0002".to_owned()));
    storage.put_item(item).await;

    clock.set(now.minus(HOUR));
    let mut ignored = event("gh_1", "ping");
    ignored.disposition = Disposition::Ignored("not a kind that we take".into());
    ingest_of(&other(), &ignored, table, clock).await;
    clock.set(now);
}

async fn gathered(words: &[&str], table: &Table, cloudwatch: &CloudWatch, now: Timestamp) -> Result<Stats, Failure> {
    let wanted = args::<StatsArgs>(words).wanted(now)?;
    Stats::gather(&wanted, table, &cloudwatch.aws().await, now).await
}

fn shown(stats: &Stats, format: Format) -> (String, String) {
    let (mut terminal, captured) = terminal(format);
    stats.show(&mut terminal).unwrap();
    (captured.out(), captured.notes())
}

/// The lines of this part.
fn lines(stats: &Stats, from: &str) -> Vec<serde_json::Value> {
    let (out, _) = shown(stats, Format::Jsonl);
    let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["from"] == from).collect()
}
