//! How long `hookbox` takes, and how much memory, on a table of 100,000 receipts: `make bench-ops`.
//!
//! The table is dynoxide in this process, behind a loopback port. The command runs in a process of its own, as a person
//! would start it; what it takes is from its start to its end, and its memory is the most that the system counted for it
//! (`VmHWM`, on Linux).
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::expect_used)]

use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, Payload};
use hookbox_core::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use hookbox_core::job::{Job, ReviewReason, State};
use hookbox_core::receipt::{Arrival, Folder};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::TestTable;
use hookbox_runtime::SystemClock;

const RECEIPTS: u64 = 100_000;
const RUNS: usize = 5;
const DAY: Duration = Duration::from_secs(24 * 3_600);
const CONNECTIONS: [(&str, &str); 8] = [
    ("stripe", "main"),
    ("stripe", "eu"),
    ("github", "main"),
    ("shopify", "main"),
    ("yelp", "main"),
    ("whatsapp", "main"),
    ("twilio", "main"),
    ("sendgrid", "main"),
];
/// The word that makes a process the measured one.
const MEASURED: &str = "measured";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == MEASURED) {
        let ended = hookbox_ops::cli::main(arguments);
        eprintln!("{} {}", peak_kilobytes().unwrap_or(0), processor_millis().unwrap_or(0));
        return ended;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(measure());
    ExitCode::SUCCESS
}

async fn measure() {
    let table = Arc::new(TestTable::start().await);
    let clock = SystemClock;
    let began = clock.now();
    fill(&table, began).await;
    let filled = clock.now();
    println!(
        "{RECEIPTS} receipts of {} connections within a day, {} ms to fill; {RUNS} runs each, profile {}",
        CONNECTIONS.len(),
        filled.since(began).as_millis(),
        if cfg!(debug_assertions) { "dev" } else { "release" },
    );
    let endpoint = table.config().endpoint_url().unwrap().to_owned();
    for command in [
        &["receipts", "list"][..],
        &["receipts", "list", "--provider", "stripe", "--limit", "200"],
        &["jobs", "list", "--state", "review"],
        &["tail"],
        &["stats", "--since", "24h"],
        &["stats", "--since", "24h", "--output", "json"],
    ] {
        let runs: Vec<_> = (0..RUNS).map(|_| run(command, &endpoint, clock)).collect();
        let median = |mut of: Vec<u64>| {
            of.sort_unstable();
            of[RUNS / 2]
        };
        let of = |figure: fn(&Run) -> u64| median(runs.iter().map(figure).collect());
        let (millis, own, tables) = (of(|run| run.millis), of(|run| run.own_millis), of(|run| run.tables_millis));
        let (peak, command) = (megabytes(of(|run| run.peak)), command.join(" "));
        println!("{millis:>6} ms ({own:>5} on a processor, the table {tables:>5})  {peak:>5.1} MB  hookbox {command}");
    }
}

/// What one run took.
struct Run {
    millis: u64,
    /// The command's own time on processors.
    own_millis: u64,
    /// The time on processors of the table, which is this process.
    tables_millis: u64,
    /// Kilobytes.
    peak: u64,
}

fn run(command: &[&str], endpoint: &str, clock: SystemClock) -> Run {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.arg(MEASURED).args(command).env_clear();
    for (name, value) in [
        ("HOOKBOX_TABLE", "hookbox"),
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ] {
        child.env(name, value);
    }
    let (began, busy) = (clock.now(), processor_millis());
    let output = child.stdin(Stdio::null()).output().unwrap();
    let took = clock.now().since(began);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !output.stdout.is_empty(), "{command:?}: {notes}");
    let (peak, own_millis) = notes.lines().last().and_then(|figures| figures.split_once(' ')).unwrap();
    Run {
        millis: u64::try_from(took.as_millis()).unwrap(),
        own_millis: own_millis.parse().unwrap(),
        tables_millis: processor_millis().unwrap_or(0) - busy.unwrap_or(0),
        peak: peak.parse().unwrap(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "of kilobytes")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1_024.0
}

fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Of all threads, in and outside of the kernel.
fn processor_millis() -> Option<u64> {
    const TICKS_A_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may hold anything, the state is the third field, and these are the 14th and the 15th.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Vec<u64> = fields.split(' ').skip(11).take(2).map_while(|ticks| ticks.parse().ok()).collect();
    Some(ticks.iter().sum::<u64>() * 1_000 / TICKS_A_SECOND)
}

/// Receipts at even distances, of which most jobs are completed, and of each hundred one is pending, one is retried and
/// one is in review.
async fn fill(table: &TestTable, now: Timestamp) {
    let integrations: Vec<_> = CONNECTIONS.iter().map(|(provider, account)| integration(provider, account)).collect();
    for integration in &integrations {
        table.ledger().put_integration(integration, None).await.unwrap();
    }
    let step = DAY.as_millis() / u128::from(RECEIPTS);
    let first = now.minus(DAY).plus(Duration::from_secs(1));
    let numbers: Vec<u64> = (0..RECEIPTS).collect();
    for some in numbers.chunks(2_000) {
        let folders = some.iter().map(|n| {
            let at = first.plus(Duration::from_millis(u64::try_from(step).unwrap() * n));
            let integration = &integrations[usize::try_from(*n).unwrap() % integrations.len()];
            folder(*n, integration, at)
        });
        table.fill(&folders.collect::<Vec<_>>());
    }
}

fn folder(n: u64, integration: &Integration, at: Timestamp) -> Folder {
    let event_id = format!("evt_1QF3zR2eZvKYlo2C{n:08}");
    let event = Event {
        identity: Identity::ProviderEvent { event_id: event_id.clone() },
        weak: None,
        event_id: Some(event_id),
        kind: "payment_intent.succeeded".to_owned(),
        resource: Some(format!("pi_3QF3zQ2eZvKYlo2C{:08}", n / 3)),
        tenant: None,
        occurred_at: Some(at),
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(&n.to_be_bytes()),
        payload: Payload { body: Vec::new(), content_type: None, headers: Vec::new(), query: None },
    };
    let digest = Digest::of(b"delivery");
    let arrival = Arrival { at, digest, secret_index: 0, request_id: "JKJaXmPLvHcESHA=".to_owned() };
    let mut folder = Folder::open(&event, integration, arrival, None);
    for job in &mut folder.jobs {
        stand(job, n);
    }
    folder
}

fn stand(job: &mut Job, n: u64) {
    let later = job.received_at.plus(Duration::from_millis(300 + n % 1_000));
    match n / CONNECTIONS.len() as u64 % 100 {
        0 => return,
        1 => job.state = State::Retrying { next_attempt_at: later },
        2 => job.state = State::Review { reason: ReviewReason::Exhausted },
        _ => {
            job.state = State::Completed { at: later };
            job.open_at = None;
        }
    }
    (job.version, job.attempts_total) = (3, 1);
}

fn integration(provider: &str, account: &str) -> Integration {
    let target = Target::Http {
        url: "https://destination.example/hook".to_owned(),
        signing_secret: SecretRef::Env("SIGNING".to_owned()),
        not_done_statuses: Vec::new(),
    };
    Integration {
        provider: provider.parse().unwrap(),
        account: account.parse().unwrap(),
        url: None,
        rev: 1,
        secrets: Vec::new(),
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: vec![Operation::new("crm-upsert".parse().unwrap(), Idempotency::key(), target)],
        retention: Retention::default(),
    }
}
