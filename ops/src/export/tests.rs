use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use hookbox_core::event::{Disposition, Payload};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::{TestClock, TestTable};
use hookbox_ledger::{Audit, Subject};

use super::*;
use crate::connection::Table;
use crate::terminal::Format;
use crate::testing::{
    Captured, args, attempt, clock, configured, event, held, ingest, pause, stored, surroundings, terminal,
};

const MINUTE: Duration = Duration::from_secs(60);

/// Receipts a minute apart.
async fn scene(number: usize) -> (TestClock, TestTable, Table, Vec<ReceiptId>) {
    let clock = clock();
    let (storage, table) = stored(&clock).await;
    configured(&table).await;
    let mut ids = Vec::new();
    for n in 0..number {
        clock.advance(MINUTE);
        let mut event = event(&format!("evt_{n}"), if n % 2 == 0 { "charge.refunded" } else { "invoice.paid" });
        event.payload.body = format!("{{\"n\":{n}}}").into_bytes();
        ids.push(ingest(&event, &table, &clock).await);
    }
    (clock, storage, table, ids)
}

fn export<'a>(words: &[&str], to: Option<&'a Path>, go_on: bool, clock: &TestClock) -> Export<'a> {
    let args: ExportArgs = args(words);
    let filter = ReceiptFilter {
        connections: args.connections,
        range: args.range.at(clock.now()),
        kinds: args.kind,
        resource: None,
        state: None,
    };
    Export { filter, payloads: args.payloads, to, go_on }
}

async fn carried(
    export: Export<'_>,
    table: &Table,
    clock: &TestClock,
    format: Format,
    stop_after: usize,
) -> (Result<Answer, Failure>, Captured) {
    let (mut terminal, captured) = terminal(format);
    (export.carry_out(table, surroundings(clock, stop_after), &mut terminal).await, captured)
}

async fn lines(words: &[&str], table: &Table, clock: &TestClock) -> Vec<serde_json::Value> {
    let (answer, captured) = carried(export(words, None, false, clock), table, clock, Format::Table, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    captured.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(lines: &[serde_json::Value]) -> Vec<ReceiptId> {
    lines.iter().map(|line| line["receipt"]["id"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn every_receipt_of_the_range_is_one_line_in_the_order_of_arrival() {
    let (clock, _, table, all) = scene(40).await;
    assert_eq!(ids(&lines(&[], &table, &clock).await), all);
    let narrowed = lines(&["--kind", "invoice.paid", "--since", "10m", "--until", "2m"], &table, &clock).await;
    let expected: Vec<_> = (29..37).filter(|n| n % 2 == 1).map(|n| all[n]).collect();
    assert_eq!(ids(&narrowed), expected);
    assert_eq!(lines(&["--provider", "github"], &table, &clock).await, [serde_json::Value::Null; 0]);
    let (_, captured) = carried(export(&[], None, false, &clock), &table, &clock, Format::Json, usize::MAX).await;
    assert_eq!(captured.notes(), "exported 40 receipts\n");
    assert_eq!(captured.out().lines().count(), 40, "lines, whatever --output says");
}

#[tokio::test]
async fn a_line_has_the_documented_fields() {
    let (clock, storage, table, mut all) = scene(2).await;
    let deliver = |id| JobKey::first(id, "deliver".parse().unwrap());
    attempt(&deliver(all[0]), &Report::new(Outcome::Permanent, "http-422", "no"), &table, &clock).await;
    let standing = pause("deliver", "maintenance", &table, &clock).await;
    held(&deliver(all[1]), &standing, &table, &clock).await;
    let mut binary = event("evt_b", "charge.refunded");
    binary.disposition = Disposition::Ignored("no rule takes it".into());
    binary.payload = Payload {
        body: vec![0xff, 0x00],
        content_type: None,
        headers: vec![("x-github-event".into(), "push".into())],
        query: Some("a=b".into()),
    };
    all.push(ingest(&binary, &table, &clock).await);
    for event in ["evt_expired", "evt_erased"] {
        clock.advance(MINUTE);
        all.push(ingest(&event_of(event), &table, &clock).await);
    }
    storage.delete_item(&all[3].to_string(), "payload#000").await;
    let deed = Audit {
        subject: Subject::Receipt(all[4]),
        at: clock.now(),
        who: "maria".into(),
        what: "erase".into(),
        on: None,
        why: Some("request 17".into()),
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    };
    table.ledger.erase(&all[4], &deed).await.unwrap();

    let with = lines(&["--payloads"], &table, &clock).await;
    assert_eq!(ids(&with), all);
    insta::assert_json_snapshot!("lines", with);
    let without = lines(&[], &table, &clock).await;
    assert!(without.iter().all(|line| line.get("payload").is_none()));
    let (_, captured) =
        carried(export(&["--payloads"], None, false, &clock), &table, &clock, Format::Table, usize::MAX).await;
    assert_eq!(captured.notes(), "exported 5 receipts with 3 payloads, 2 of them without one any more\n");
}

fn event_of(id: &str) -> hookbox_core::event::Event {
    event(id, "charge.refunded")
}

#[tokio::test]
async fn a_file_appears_when_it_is_whole_and_is_written_over_by_nobody() {
    let (clock, _, table, all) = scene(40).await;
    let folder = tempfile::tempdir().unwrap();
    let (file, partial) = (folder.path().join("out.jsonl"), folder.path().join("out.jsonl.partial"));
    let (answer, captured) =
        carried(export(&[], Some(&file), false, &clock), &table, &clock, Format::Table, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!(captured.out(), format!("exported 40 receipts to {}\n", file.display()));
    let whole = std::fs::read_to_string(&file).unwrap();
    let written: Vec<_> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ids(&written), all);
    assert!(!partial.exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = carried(export(&[], Some(&file), false, &clock), &table, &clock, Format::Table, usize::MAX).await;
    let failure = again.0.unwrap_err();
    assert_eq!(failure.code(), 2, "{failure}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);

    let other = folder.path().join("other.jsonl");
    let (_, captured) =
        carried(export(&["--payloads"], Some(&other), false, &clock), &table, &clock, Format::Json, usize::MAX).await;
    let expected = serde_json::json!({
        "state": "finished", "file": other.display().to_string(), "receipts": 40, "payloads": 40, "payloads_missing": 0,
    });
    assert_eq!(captured.json(), expected);
}

/// Interrupted after every batch in turn, and in the middle of a line.
#[tokio::test]
async fn an_interrupted_export_goes_on_without_a_gap_or_a_repetition() {
    let (clock, _, table, _) = scene(40).await;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.jsonl");
    carried(export(&[], Some(&whole), false, &clock), &table, &clock, Format::Table, usize::MAX).await.0.unwrap();
    let whole = std::fs::read_to_string(&whole).unwrap();
    for (stop_after, reached) in [(1, 0), (2, 16), (3, 32)] {
        let file = folder.path().join(format!("{stop_after}.jsonl"));
        let partial = folder.path().join(format!("{stop_after}.jsonl.partial"));
        let (answer, captured) =
            carried(export(&["--since", "1d"], Some(&file), false, &clock), &table, &clock, Format::Table, stop_after)
                .await;
        assert_eq!(answer.unwrap(), Answer::No);
        assert_eq!(captured.out(), format!("stopped after {reached} receipts: --continue goes on\n"));
        assert!(!file.exists(), "nothing half done has the final name");
        let begun = std::fs::read_to_string(&partial).unwrap();
        assert_eq!(begun.lines().count(), reached);
        std::fs::write(&partial, format!("{begun}{}", &whole[begun.len()..begun.len() + 100])).unwrap();
        let twice = carried(export(&[], Some(&file), false, &clock), &table, &clock, Format::Table, usize::MAX).await;
        assert_eq!(twice.0.unwrap_err().code(), 2, "what was begun is not written over");
        // By then "ten minutes ago" is later than where it stopped.
        let since: &[&str] = if reached > 0 { &["--since", "10m"] } else { &["--since", "1d"] };
        let (answer, _) =
            carried(export(since, Some(&file), true, &clock), &table, &clock, Format::Table, usize::MAX).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), whole, "{stop_after}");
        assert!(!partial.exists());
    }
    let nothing = folder.path().join("nothing.jsonl");
    let (answer, _) =
        carried(export(&[], Some(&nothing), true, &clock), &table, &clock, Format::Table, usize::MAX).await;
    assert_eq!(answer.unwrap_err().code(), 2, "there is nothing to go on with");
}

/// A reader that has had enough after some lines.
struct Leaving(usize);

impl Write for Leaving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0 -= usize::from(bytes.ends_with(b"\n"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_export_quietly() {
    let (clock, _, table, _) = scene(5).await;
    let mut terminal = Terminal::of(Box::new(Leaving(2)), Box::new(io::sink()), None, Format::Table);
    let export = export(&[], None, false, &clock);
    let failure = export.carry_out(&table, surroundings(&clock, usize::MAX), &mut terminal).await.unwrap_err();
    assert!(failure.is_broken_pipe());
    assert_eq!(failure.code(), 0);
}
