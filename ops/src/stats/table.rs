//! The numbers for people.

use std::io;
use std::time::Duration;

use hookbox_core::time::Timestamp;

use super::indexes::{Connection, Counted, Counts, Open};
use super::metrics::{Completions, Failed, Gauges, Metrics, OfProvider};
use super::sample::{Sample, Sampled};
use super::{Stats, Told, hours, per_hour, tenths};
use crate::layout::{Cell, Columns, count};
use crate::terminal::{Terminal, Tone};

const TOTAL: &str = "total";

pub(super) fn show(stats: &Stats, terminal: &mut Terminal) -> io::Result<()> {
    let (since, until) = (terminal.time(stats.range.since), terminal.time(stats.range.until));
    terminal.say(format_args!("from {since} until {until} ({} h)", tenths(stats.hours())))?;
    if let Some(counted) = &stats.counted {
        of_indexes(stats, counted, terminal)?;
    }
    match &stats.told {
        Told::Metrics(metrics, gauges) => {
            of_metrics(metrics, terminal)?;
            gauges.as_ref().map_or(Ok(()), |gauges| of_gauges(gauges, terminal))
        }
        Told::Sample(sample, _) => of_sample(sample, terminal),
    }
}

fn of_indexes(stats: &Stats, counted: &Counted, terminal: &mut Terminal) -> io::Result<()> {
    let total = counted.total();
    terminal.say(format_args!(
        "\nCounted in the indexes, for {} read units ({} estimated):",
        stats.read_units, counted.estimate.read_units
    ))?;
    let mut columns = Columns::default().headed([
        "INTEGRATION",
        "RECEIPTS",
        "PER HOUR",
        "NO JOBS",
        "JOBS",
        "ENDED",
        "PENDING",
        "PROCESSING",
        "RETRYING",
        "HELD",
        "REVIEW",
        "OLDER OPEN",
        "OLDEST WAITS",
    ]);
    for (connection, counts) in &counted.of {
        columns.row(row(&name(connection), counts, stats));
    }
    columns.row(row(TOTAL, &total, stats));
    say(&columns, terminal)?;
    if total.open.unread > 0 {
        let number = count(total.open.unread, "job");
        terminal.say(format_args!("{number} pending, processing or retrying: too many to read, or unreadable"))?;
    }
    Ok(())
}

fn row(name: &str, counts: &Counts, stats: &Stats) -> [Cell; 13] {
    let Open { pending, processing, retrying, held, review, .. } = counts.open;
    let number = |number: u64| Cell::from(number.to_string());
    let toned = |number: u64, tone| Cell::new(if number > 0 { tone } else { Tone::Plain }, number.to_string());
    [
        name.into(),
        number(counts.receipts),
        per_hour(counts.receipts, stats.hours()).to_string().into(),
        number(counts.without_jobs),
        number(counts.jobs),
        number(counts.ended()),
        number(pending),
        number(processing),
        toned(retrying, Tone::Busy),
        toned(held, Tone::Bad),
        toned(review, Tone::Bad),
        number(counts.earlier),
        counts.oldest.map_or_else(|| "-".to_owned(), |oldest| age(stats.now, oldest)).into(),
    ]
}

fn of_metrics(metrics: &Metrics, terminal: &mut Terminal) -> io::Result<()> {
    let (since, until) = (terminal.time(metrics.range.since), terminal.time(metrics.range.until));
    terminal.say(format_args!("\nFrom metrics in CloudWatch, of what happened from {since} until {until}:"))?;
    let mut columns = Columns::default().headed(["PROVIDER", "RECEIPTS", "NO JOBS", "DUPLICATES", "CONFLICTS"]);
    for (provider, of) in &metrics.providers {
        let OfProvider { without_jobs, duplicates, conflicts, .. } = *of;
        let conflicting = if conflicts.is_some_and(|conflicts| conflicts > 0) { Tone::Bad } else { Tone::Plain };
        columns.row([
            provider.to_string().into(),
            or_dash(of.receipts()).into(),
            or_dash(without_jobs).into(),
            or_dash(duplicates).into(),
            Cell::new(conflicting, or_dash(conflicts)),
        ]);
    }
    say(&columns, terminal)?;
    terminal.say("")?;
    let mut columns = Columns::default().headed(["INTEGRATION", "COMPLETED", "PER HOUR", "P50", "P95"]);
    for (connection, of) in &metrics.connections {
        let Completions { completed, p50, p95 } = *of;
        columns.row([
            name(connection).into(),
            or_dash(completed).into(),
            or_dash(completed.map(|completed| per_hour(completed, hours(metrics.range)))).into(),
            duration(p50).into(),
            duration(p95).into(),
        ]);
    }
    say(&columns, terminal)?;
    if let Some(Failed(failed)) = metrics.failed {
        terminal.say(format_args!("\nFAILED (given to a person, of all integrations): {}", or_dash(failed)))?;
    }
    Ok(())
}

fn of_gauges(gauges: &Gauges, terminal: &mut Terminal) -> io::Result<()> {
    let Gauges { open, held, review, oldest_open, oldest_review } = *gauges;
    let seconds = |seconds: Option<u64>| duration(seconds.map(|seconds| seconds.saturating_mul(1_000)));
    terminal.say("\nFrom the latest gauges in CloudWatch, of all integrations:")?;
    let mut columns = Columns::default().headed(["OPEN", "HELD", "REVIEW", "OLDEST OPEN", "OLDEST IN REVIEW"]);
    columns.row([
        or_dash(open).into(),
        or_dash(held).into(),
        or_dash(review).into(),
        seconds(oldest_open).into(),
        seconds(oldest_review).into(),
    ]);
    say(&columns, terminal)
}

fn of_sample(sample: &Sample, terminal: &mut Terminal) -> io::Result<()> {
    let total = sample.total();
    terminal.say(format_args!(
        "\nFrom a sample of {} of {}, chosen at random:",
        total.receipts,
        count(sample.of, "receipt")
    ))?;
    let mut columns = Columns::default().headed([
        "INTEGRATION",
        "SAMPLED",
        "DUPLICATES",
        "CONFLICTS",
        "COMPLETED",
        "DISMISSED",
        "FAILED",
        "P50",
        "P95",
    ]);
    let mut row = |name: &str, sampled: &Sampled| {
        columns.row([
            name.into(),
            sampled.receipts.to_string().into(),
            sampled.duplicates.to_string().into(),
            sampled.conflicts.to_string().into(),
            sampled.completed.to_string().into(),
            sampled.dismissed.to_string().into(),
            sampled.failed().to_string().into(),
            duration(sampled.percentile(50)).into(),
            duration(sampled.percentile(95)).into(),
        ]);
    };
    for (connection, sampled) in &sample.connections {
        row(&name(connection), sampled);
    }
    row(TOTAL, &total);
    say(&columns, terminal)
}

fn say(columns: &Columns, terminal: &mut Terminal) -> io::Result<()> {
    columns.lines(terminal).into_iter().try_for_each(|line| terminal.say(line))
}

fn name((provider, account): &Connection) -> String {
    format!("{provider}/{account}")
}

fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// How long ago, to the second.
fn age(now: Timestamp, then: Timestamp) -> String {
    humantime::format_duration(Duration::from_secs(now.since(then).as_secs())).to_string()
}

/// Milliseconds, or seconds where they are many.
fn duration(millis: Option<u64>) -> String {
    let Some(millis) = millis else { return "-".to_owned() };
    let exact = Duration::from_millis(millis);
    let shown = if millis < 10_000 { exact } else { Duration::from_secs(exact.as_secs()) };
    humantime::format_duration(shown).to_string()
}
