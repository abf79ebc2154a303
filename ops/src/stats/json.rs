//! The numbers for programs.

use std::io;

use hookbox_core::name::{Account, Provider};
use serde::Serialize;

use super::indexes::{Connection, Counts, Open};
use super::metrics::{Completions, Failed, Gauges, Metrics, OfProvider};
use super::sample::Sampled;
use super::{Stats, Told, hours, per_hour, tenths};
use crate::search::range::Range;
use crate::terminal::Terminal;

/// One line of `jsonl`: where it is from, and of what it is. Without an account it is of all of a provider, without
/// either of all integrations.
#[derive(Serialize)]
struct Line<'a> {
    from: &'static str,
    provider: Option<&'a Provider>,
    account: Option<&'a Account>,
    #[serde(flatten)]
    numbers: Numbers,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Indexed(Indexed),
    Delivered(Delivered),
    Ended(Ended),
    Failed { failed: Option<u64> },
    Standing(Standing),
    OfSample(OfSample),
}

#[derive(Clone, Copy, Serialize)]
struct Indexed {
    receipts: u64,
    receipts_per_hour: f64,
    receipts_without_jobs: u64,
    jobs: u64,
    by_status: ByStatus,
    /// Jobs of earlier events that have not ended.
    open_of_earlier_events: u64,
    oldest_waiting_since: Option<Time>,
}

#[derive(Clone, Copy, Serialize)]
struct ByStatus {
    pending: u64,
    processing: u64,
    retrying: u64,
    /// Too many to tell apart, or unreadable.
    pending_processing_or_retrying: u64,
    held: u64,
    review: u64,
    ended: u64,
}

/// A time as text.
#[derive(Clone, Copy)]
struct Time(hookbox_core::time::Timestamp);

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Clone, Copy, Serialize)]
struct Delivered {
    receipts: Option<u64>,
    receipts_without_jobs: Option<u64>,
    duplicates: Option<u64>,
    conflicts: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
struct Ended {
    completed: Option<u64>,
    completed_per_hour: Option<f64>,
    p50_ms: Option<u64>,
    p95_ms: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
struct Standing {
    open_jobs: Option<u64>,
    held_jobs: Option<u64>,
    review_jobs: Option<u64>,
    oldest_open_age_seconds: Option<u64>,
    oldest_review_age_seconds: Option<u64>,
}

#[derive(Clone, Copy, Serialize)]
struct OfSample {
    /// How many receipts these numbers are of, and how many there are of all connections.
    sampled_receipts: u64,
    of_receipts: u64,
    duplicates: u64,
    conflicts: u64,
    completed: u64,
    dismissed: u64,
    failed: u64,
    p50_ms: Option<u64>,
    p95_ms: Option<u64>,
}

#[derive(Serialize)]
struct Whole<'a> {
    since: Time,
    until: Time,
    hours: f64,
    read_units: Option<ReadUnits>,
    /// Every part with where it is from, as `jsonl` has them line by line.
    numbers: &'a [Line<'a>],
    metrics_of: Option<Span>,
    metrics_say_nothing: Option<&'a str>,
    unreadable: &'a [String],
}

#[derive(Serialize)]
struct ReadUnits {
    estimated: f64,
    used: f64,
}

#[derive(Serialize)]
struct Span {
    since: Time,
    until: Time,
}

pub(super) fn show(stats: &Stats, terminal: &mut Terminal) -> io::Result<()> {
    let mut lines = Vec::new();
    if let Some(counted) = &stats.counted {
        let indexed = |counts| Numbers::Indexed(Indexed::of(counts, stats.hours()));
        lines.extend(counted.of.iter().map(|(connection, counts)| line("indexes", Some(connection), indexed(counts))));
        lines.push(line("indexes", None, indexed(&counted.total())));
    }
    let (mut metrics_of, mut metrics_say_nothing) = (None, None);
    match &stats.told {
        Told::Metrics(metrics, gauges) => {
            of_metrics(metrics, &mut lines);
            lines.extend(gauges.map(|gauges| line("gauges", None, Numbers::Standing(gauges.into()))));
            let Range { since, until } = metrics.range;
            metrics_of = Some(Span { since: Time(since), until: Time(until) });
        }
        Told::Sample(sample, why) => {
            let of = |sampled| Numbers::OfSample(OfSample::of(sampled, sample.of));
            lines.extend(
                sample.connections.iter().map(|(connection, sampled)| line("sample", Some(connection), of(sampled))),
            );
            lines.push(line("sample", None, of(&sample.total())));
            metrics_say_nothing = Some(why.as_str());
        }
    }
    let read_units = stats
        .counted
        .as_ref()
        .map(|counted| ReadUnits { estimated: counted.estimate.read_units, used: stats.read_units });
    let whole = Whole {
        since: Time(stats.range.since),
        until: Time(stats.range.until),
        hours: tenths(stats.hours()),
        read_units,
        numbers: &lines,
        metrics_of,
        metrics_say_nothing,
        unreadable: &stats.unreadable,
    };
    terminal.say_list(&lines, &whole)
}

fn line<'a>(from: &'static str, of: Option<&'a Connection>, numbers: Numbers) -> Line<'a> {
    let (provider, account) = (of.map(|(provider, _)| provider), of.map(|(_, account)| account));
    Line { from, provider, account, numbers }
}

fn of_metrics<'a>(metrics: &'a Metrics, lines: &mut Vec<Line<'a>>) {
    for (provider, of) in &metrics.providers {
        let numbers = Numbers::Delivered(Delivered::from(*of));
        lines.push(Line { from: "metrics", provider: Some(provider), account: None, numbers });
    }
    for (connection, of) in &metrics.connections {
        let numbers = Numbers::Ended(Ended::of(*of, hours(metrics.range)));
        lines.push(line("metrics", Some(connection), numbers));
    }
    lines.extend(metrics.failed.map(|Failed(failed)| line("metrics", None, Numbers::Failed { failed })));
}

impl Indexed {
    fn of(counts: &Counts, hours: f64) -> Self {
        let Open { pending, processing, retrying, unread, held, review } = counts.open;
        Self {
            receipts: counts.receipts,
            receipts_per_hour: per_hour(counts.receipts, hours),
            receipts_without_jobs: counts.without_jobs,
            jobs: counts.jobs,
            by_status: ByStatus {
                pending,
                processing,
                retrying,
                pending_processing_or_retrying: unread,
                held,
                review,
                ended: counts.ended(),
            },
            open_of_earlier_events: counts.earlier,
            oldest_waiting_since: counts.oldest.map(Time),
        }
    }
}

impl From<OfProvider> for Delivered {
    fn from(of: OfProvider) -> Self {
        let OfProvider { without_jobs, duplicates, conflicts, .. } = of;
        Self { receipts: of.receipts(), receipts_without_jobs: without_jobs, duplicates, conflicts }
    }
}

impl Ended {
    fn of(of: Completions, hours: f64) -> Self {
        let Completions { completed, p50, p95 } = of;
        let completed_per_hour = completed.map(|completed| per_hour(completed, hours));
        Self { completed, completed_per_hour, p50_ms: p50, p95_ms: p95 }
    }
}

impl From<Gauges> for Standing {
    fn from(gauges: Gauges) -> Self {
        let Gauges { open, held, review, oldest_open, oldest_review } = gauges;
        Self {
            open_jobs: open,
            held_jobs: held,
            review_jobs: review,
            oldest_open_age_seconds: oldest_open,
            oldest_review_age_seconds: oldest_review,
        }
    }
}

impl OfSample {
    fn of(sampled: &Sampled, of_receipts: u64) -> Self {
        Self {
            sampled_receipts: sampled.receipts,
            of_receipts,
            duplicates: sampled.duplicates,
            conflicts: sampled.conflicts,
            completed: sampled.completed,
            dismissed: sampled.dismissed,
            failed: sampled.failed(),
            p50_ms: sampled.percentile(50),
            p95_ms: sampled.percentile(95),
        }
    }
}
