//! `hookbox stats`: how much arrived, and how its jobs stand.

mod budget;
mod indexes;
mod open;
mod metrics;
mod sample;
mod json;
mod table;

use std::io;
use std::sync::Arc;

use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::DirectoryEntry;

use crate::connection::{Aws, Table, TableArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::search::ConnectionArgs;
use crate::search::range::{Range, RangeArgs};
use crate::terminal::{Format, Terminal};
use budget::Budget;
use indexes::{Count, Counted};
use metrics::{Gauges, Metrics};
use sample::{SAMPLE, Sample};

/// Count receipts and jobs by provider and account
///
/// Receipts, jobs and how they stand are counted in the indexes, for the events that arrived in the range: exact, up to
/// the second by which an index is behind. What the indexes do not know comes from the metrics in CloudWatch, for what
/// happened in the range; where CloudWatch has none (a local AWS), from a random sample of receipts. Both are shown apart
/// and called so.
///
/// ENDED is completed or dismissed: jobs that have ended leave the index, which keeps no account of how. REVIEW is what
/// failed and waits for a person now. FAILED of metrics counts how often a job was given to a person, of the sample the
/// jobs that wait for one or were dismissed by one. COMPLETED is from metrics or the sample. Jobs of a version above 1,
/// which a person has asked for on top, are counted while they are open, and not among JOBS and ENDED.
///
/// DUPLICATES and CONFLICTS of metrics are of a provider's connections together. P50 and P95 are of the time from receipt
/// to completion; where CloudWatch answers in parts, the larger one is shown. A `-` is no data point, which is not zero:
/// nothing was counted, or the metrics do not reach CloudWatch.
///
/// What it takes in read units is estimated before most of it is read: from the first page of each list of receipts and
/// the number of receipts that the metrics have counted (without metrics, from the time that the first page covers), and a
/// unit for each open job. Above --max-read-units it goes no further, and it ends when it takes more after all.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct StatsArgs {
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// When their events arrived.
    #[command(flatten)]
    pub range: RangeArgs,
    /// The most read units that it may take; 50,000 count about a million receipts
    #[arg(long, value_name = "UNITS", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_read_units: u32,
    /// Read metrics only: nothing of the table but the list of connections
    #[arg(long)]
    pub metrics_only: bool,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox stats
  hookbox stats --since 7d --provider stripe --max-read-units 200000
  hookbox stats --since 90d --metrics-only
  hookbox stats --since 24h --output jsonl | jq -c 'select(.from == \"indexes\" and .account)
    | {source: .provider, account} + (.by_status | to_entries[] | {status: .key, count: .value})'

Exit codes: 0 counted, also when nothing arrived; 2 wrong usage, 3 could not look, or it would take more read units
than --max-read-units.";

/// What is counted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of which connections.
    pub connections: ConnectionArgs,
    /// When their events arrived.
    pub range: Range,
    /// The most read units that it may take.
    pub max_read_units: u32,
    /// Whether only metrics are read.
    pub metrics_only: bool,
}

/// Numbers, by where they are from.
#[derive(Clone, Debug)]
pub struct Stats {
    range: Range,
    now: Timestamp,
    /// `None` when only metrics were asked for.
    counted: Option<Counted>,
    read_units: f64,
    told: Told,
    /// What this version cannot read, and why.
    unreadable: Vec<String>,
}

/// What the indexes do not know.
#[derive(Clone, Debug)]
enum Told {
    Metrics(Metrics, Option<Gauges>),
    /// From receipts, because the metrics say nothing: why.
    Sample(Sample, String),
}

/// Runs the command.
pub async fn run(args: &StatsArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let aws = args.table.aws.connect().await;
    let now = clock.now();
    Stats::gather(&args.wanted(now)?, &table, &aws, now).await?.show(terminal)?;
    Ok(Answer::Yes)
}

impl StatsArgs {
    /// What they ask for, at this time.
    pub fn wanted(&self, now: Timestamp) -> Result<Wanted, Failure> {
        let Range { since, until } = self.range.at(now);
        // Rates are of time that has passed.
        let range = Range { since, until: until.min(now) };
        if range.since >= range.until {
            let trouble =
                Trouble::new("count receipts", format!("there is no time from {since} until {}", range.until));
            return Err(Failure::Usage(trouble.advise("--since in the past and before --until")));
        }
        let Self { connections, max_read_units, metrics_only, .. } = self.clone();
        Ok(Wanted { connections, range, max_read_units, metrics_only })
    }
}

impl Stats {
    /// Asks CloudWatch, then the indexes unless that would take too much.
    pub async fn gather(wanted: &Wanted, table: &Table, aws: &Aws, now: Timestamp) -> Result<Self, Failure> {
        let range = wanted.range;
        let directory = table.ledger.directory().await;
        let directory = directory.map_err(|error| table.failure("read the directory of integrations", &error))?;
        let unreadable = directory.unreadable.iter().map(|line| line.error.to_string()).collect();
        let of_ours = |entry: &DirectoryEntry| wanted.connections.take(&entry.provider, &entry.account);
        let connections: Vec<_> = directory.items.into_iter().filter(of_ours).collect();
        let metrics = Metrics::ask(aws, &connections, &wanted.connections, range, now).await;
        let mut stats = Self {
            range,
            now,
            counted: None,
            read_units: 0.0,
            told: Told::Sample(Sample::default(), String::new()),
            unreadable,
        };
        if wanted.metrics_only {
            let metrics =
                metrics.map_err(|failure| failure.advise("without --metrics-only the indexes and a sample tell it"))?;
            stats.told = Told::Metrics(metrics, Some(Gauges::ask(aws, now).await?));
            return Ok(stats);
        }
        let told = metrics.as_ref().is_ok_and(Metrics::says_anything);
        // Receipts are counted by provider: of one of its connections the metrics say nothing.
        let stored = metrics.as_ref().ok().filter(|_| wanted.connections.account.is_none()).and_then(Metrics::stored);
        let (which, budget) = (&wanted.connections, Budget::of(wanted.max_read_units));
        let sample = if told { 0 } else { SAMPLE as u64 };
        let count = Count { table, connections: &connections, which, range, stored, sample, budget: &budget };
        let mut counted = count.read().await?;
        stats.unreadable.append(&mut counted.unreadable);
        stats.told = match metrics {
            Ok(metrics) if told || counted.sampled.is_empty() => Told::Metrics(metrics, None),
            Ok(_) => {
                let why = "CloudWatch has no data point of the range, although receipts arrived";
                Told::Sample(Sample::read(table, &counted, &budget).await?, why.to_owned())
            }
            Err(failure) => {
                let why = if aws.is_local() { "the local AWS keeps none".to_owned() } else { failure.to_string() };
                Told::Sample(Sample::read(table, &counted, &budget).await?, why)
            }
        };
        stats.counted = Some(counted);
        stats.read_units = budget.used();
        Ok(stats)
    }

    /// Shows them.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() == Format::Table {
            table::show(self, terminal)?;
        } else {
            json::show(self, terminal)?;
        }
        for why in &self.unreadable {
            terminal.note(format_args!("unreadable: {why}"))?;
        }
        if let Told::Sample(_, why) = &self.told {
            terminal.note(format_args!("metrics say nothing: {why}"))?;
        }
        Ok(())
    }

    /// The length of the range in hours.
    fn hours(&self) -> f64 {
        hours(self.range)
    }
}

fn hours(range: Range) -> f64 {
    range.until.since(range.since).as_secs_f64() / 3_600.0
}

/// So many in an hour, to the tenth.
fn per_hour(count: u64, hours: f64) -> f64 {
    tenths(as_number(count) / hours)
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// A count to be multiplied and divided: none is so large that digits would be lost.
#[expect(clippy::cast_precision_loss, reason = "of counts below 2^53")]
fn as_number(count: u64) -> f64 {
    count as f64
}

/// A number that is a count, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range of a count")]
fn as_count(number: f64) -> u64 {
    number.round().clamp(0.0, 9e15) as u64
}

#[cfg(test)]
mod tests;
