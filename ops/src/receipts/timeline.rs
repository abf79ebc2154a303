//! `hookbox receipts timeline`: everything that happened to one resource, in order.

use std::io;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::{Job, State};
use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::Receipt;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::Loaded;
use serde::Serialize;

use super::json;
use super::show::read;
use crate::connection::{Table, TableArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{Cell, Columns, count};
use crate::search::ConnectionArgs;
use crate::search::range::RangeArgs;
use crate::search::receipts::{Order, ReceiptFilter, ReceiptSearch};
use crate::terminal::{Format, Terminal, Tone};

/// Folders that are read at once.
const AT_ONCE: usize = 16;

/// Show everything that happened to one resource, such as a lead or an order
///
/// Every event about it in the order of arrival: its deliveries with duplicates and conflicts, what its jobs attempted
/// and came to, and what people decided.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TimelineArgs {
    /// The provider's id of the resource
    #[arg(long, value_name = "ID")]
    pub resource: String,
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// When its events arrived.
    #[command(flatten)]
    pub range: RangeArgs,
    /// How many events are looked into
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox receipts timeline --resource lead_42 --since 90d
  hookbox receipts timeline --resource pi_1 --provider stripe --output jsonl

Exit codes: 0 shown, 1 nothing happened to it, 2 wrong usage, 3 could not look.";

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    at: Timestamp,
    receipt: ReceiptId,
    what: &'static str,
    tone: Tone,
    /// The event's kind, or the operation.
    on: String,
    detail: String,
}

#[derive(Serialize)]
struct Line<'a> {
    at: String,
    what: &'a str,
    on: &'a str,
    detail: &'a str,
    receipt: ReceiptId,
}

/// Runs the command.
pub async fn timeline(args: &TimelineArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let moments = Moment::all(args, &table, clock.now()).await?;
    Moment::show(&moments, terminal)?;
    Ok(Answer::Yes)
}

impl Moment {
    /// Everything that happened to the resource, in order.
    pub async fn all(args: &TimelineArgs, table: &Table, now: Timestamp) -> Result<Vec<Self>, Failure> {
        let filter = ReceiptFilter {
            connections: args.connections.clone(),
            range: args.range.at(now),
            kinds: Vec::new(),
            resource: Some(args.resource.clone()),
            state: None,
        };
        let mut search = ReceiptSearch::begin(table, &filter, Order::EarliestFirst, args.limit as usize).await?;
        let mut ids = Vec::new();
        while let Some(entry) = search.next().await? {
            if ids.len() == args.limit as usize {
                let trouble = Trouble::new(
                    format!("show the timeline of {}", args.resource),
                    format!("there are more than {} events about it", args.limit),
                );
                return Err(Failure::Usage(
                    trouble.advise("--since and --until for a part of it, or a larger --limit"),
                ));
            }
            ids.push(entry.id);
        }
        if ids.is_empty() {
            let trouble = Trouble::new(format!("show the timeline of {}", args.resource), "no event about it arrived");
            return Err(Failure::Refused(trouble.advise("--since looks further back than a day")));
        }
        let folders: Vec<Option<Loaded>> =
            stream::iter(&ids).map(|id| read(id, table)).buffered(AT_ONCE).try_collect().await?;
        let mut moments: Vec<_> = folders.iter().flatten().flat_map(|folder| of_folder(folder, now)).collect();
        moments.sort_by_key(|moment| moment.at);
        Ok(moments)
    }

    /// Shows them.
    pub fn show(moments: &[Self], terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            let lines: Vec<_> = moments.iter().map(Line::from).collect();
            return terminal.say_list(&lines, &lines);
        }
        let mut columns = Columns::default().headed(["AT", "WHAT", "ON", "DETAIL", "RECEIPT"]);
        for moment in moments {
            columns.row([
                terminal.time(moment.at).into(),
                Cell::new(moment.tone, moment.what),
                moment.on.clone().into(),
                moment.detail.clone().into(),
                Cell::new(Tone::Quiet, moment.receipt.to_string()),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        let mut receipts: Vec<_> = moments.iter().map(|moment| moment.receipt).collect();
        receipts.sort_unstable();
        receipts.dedup();
        terminal.say(format_args!("\n{} about it", count(receipts.len() as u64, "event")))
    }
}

fn of_folder(folder: &Loaded, now: Timestamp) -> Vec<Moment> {
    let mut moments = folder.receipt.as_ref().map(of_receipt).unwrap_or_default();
    moments.extend(folder.jobs.iter().flat_map(|job| of_job(job, now)));
    moments.extend(folder.audit.iter().map(|audit| Moment {
        at: audit.at,
        receipt: folder.id,
        what: "decided",
        tone: Tone::Heading,
        on: audit.what.clone(),
        detail:
            [Some(format!("by {}", audit.who)), audit.why.clone()].into_iter().flatten().collect::<Vec<_>>().join(": "),
    }));
    moments
}

fn of_receipt(receipt: &Receipt) -> Vec<Moment> {
    let moment = |at, what, tone, detail: String| Moment {
        at,
        receipt: receipt.id,
        what,
        tone,
        on: receipt.kind.clone(),
        detail,
    };
    let event = receipt.event_id.clone().unwrap_or_default();
    let mut moments = vec![moment(receipt.received_at, "received", Tone::Plain, event)];
    let again = receipt.arrivals.iter().skip(1);
    moments.extend(again.map(|arrival| moment(arrival.at, "duplicate", Tone::Quiet, arrival.request_id.clone())));
    let conflicts = receipt.conflicts.iter();
    moments.extend(
        conflicts.map(|one| moment(one.at, "conflict", Tone::Bad, "the same event with another content".to_owned())),
    );
    moments.extend(
        receipt.erased_at.map(|at| moment(at, "erased", Tone::Quiet, "its payload and everything personal".to_owned())),
    );
    let shown = (receipt.arrivals.len() + receipt.conflicts.len()) as u64;
    let more = (receipt.duplicate_count + 1).saturating_sub(shown);
    if let (1.., Some(last)) = (more, receipt.last_duplicate_at) {
        moments.push(moment(last, "duplicate", Tone::Quiet, format!("and {more} more until then")));
    }
    moments
}

fn of_job(job: &Job, now: Timestamp) -> Vec<Moment> {
    let moment = |at, what, tone, detail: String| Moment {
        at,
        receipt: job.key.receipt,
        what,
        tone,
        on: json::name(&job.key),
        detail,
    };
    let attempts = job.attempts.iter().map(|attempt| match &attempt.result {
        None => moment(attempt.at, "attempt", Tone::Busy, "running".to_owned()),
        Some(result) => {
            let (outcome, ms) = (json::outcome(result.outcome), result.took.as_millis());
            moment(attempt.at, "attempt", Tone::Plain, format!("{outcome}: {} in {ms} ms", result.code))
        }
    });
    let mut moments: Vec<_> = attempts.collect();
    moments.push(match job.state {
        State::Completed { at } => moment(at, "completed", Tone::Good, String::new()),
        State::Dismissed { at, reason } => {
            moment(at, "dismissed", Tone::Quiet, reason.as_str().unwrap_or_default().to_owned())
        }
        State::Review { reason } => moment(now, "waits", Tone::Bad, format!("in review: {}", reason.as_str())),
        State::Held => moment(now, "waits", Tone::Bad, "held: its operation is paused".to_owned()),
        State::Pending | State::Processing { .. } | State::Retrying { .. } => {
            moment(now, "waits", Tone::Busy, job.status().as_str().to_owned())
        }
    });
    moments
}

impl<'a> From<&'a Moment> for Line<'a> {
    fn from(moment: &'a Moment) -> Self {
        Self {
            at: moment.at.to_string(),
            what: moment.what,
            on: &moment.on,
            detail: &moment.detail,
            receipt: moment.receipt,
        }
    }
}
