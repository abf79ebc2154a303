//! What would be sent and what was, for people and for programs.

use std::io;

use hookbox_core::key::ReceiptId;
use hookbox_core::name::BulkId;
use serde::Serialize;

use super::place::Place;
use super::plan::Plan;
use crate::bulk::Counts;
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// Events that are named before it is asked.
const NAMED: usize = 20;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) sent: u64,
    /// Whose payload has expired since they were counted.
    pub(super) expired: u64,
    /// Which were erased since they were counted.
    pub(super) erased: u64,
    /// The last event that nothing is to be done about any more.
    pub(super) place: Option<Place>,
}

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    to: &'a str,
    /// `null` when nothing was sent.
    bulk: Option<&'a BulkId>,
    /// `refused`, `nothing` (to send), `dry-run`, `finished`, `cancelled` or `not-taken`.
    state: &'a str,
    /// How many there were to send.
    events: u64,
    sent: u64,
    /// Those whose payload had expired before it began.
    expired: &'a [ReceiptId],
    /// How many were left out because they were erased.
    erased: u64,
    /// How many expired after they were counted, and were left out.
    expired_since: u64,
    /// How many stand before the place from which it went on.
    passed: u64,
    /// What `--after` takes to go on; `null` at the end, or when nothing was done.
    after: Option<String>,
}

impl Progress {
    pub(super) fn count(&self, counts: &mut Counts) {
        let named = [("sent", self.sent), ("payload-expired", self.expired), ("erased", self.erased)];
        for (name, number) in named.into_iter().filter(|(_, number)| *number > 0) {
            counts.insert(name.to_owned(), number);
        }
    }
}

/// Shows what would be sent, before anything is.
pub(super) fn show_plan(plan: &Plan, to: &str, terminal: &mut Terminal) -> io::Result<()> {
    terminal.say(format_args!("would send {} to {to}", count(plan.events.len() as u64, "event")))?;
    if let (Some(first), Some(last)) = (plan.events.first(), plan.events.last()) {
        let (first, last) = (terminal.time(first.happened_at()), terminal.time(last.happened_at()));
        terminal.say(format_args!("  in the order in which they happened, from {first} to {last}"))?;
    }
    if plan.passed > 0 {
        terminal.say(format_args!("  {} before that place", count(plan.passed, "event")))?;
    }
    if plan.erased > 0 {
        terminal.say(format_args!("not {}: erased", plan.erased))?;
    }
    if !plan.expired.is_empty() {
        terminal.say(format_args!("not {}: payload expired", plan.expired.len()))?;
    }
    for id in plan.expired.iter().take(NAMED) {
        terminal.say(format_args!("  {id}"))?;
    }
    if plan.expired.len() > NAMED {
        terminal.say(format_args!("  and {} more", plan.expired.len() - NAMED))?;
    }
    Ok(())
}

/// Says how it ended.
pub(super) fn say(
    bulk: Option<&BulkId>,
    state: &str,
    plan: &Plan,
    progress: &Progress,
    to: &str,
    terminal: &mut Terminal,
) -> io::Result<()> {
    if terminal.format() != Format::Table {
        return terminal.say_json(&Report {
            to,
            bulk,
            state,
            events: plan.events.len() as u64,
            sent: progress.sent,
            expired: &plan.expired,
            erased: plan.erased + progress.erased,
            expired_since: progress.expired,
            passed: plan.passed,
            after: progress.place.filter(|_| state != "finished").map(|place| place.to_string()),
        });
    }
    let Some(bulk) = bulk else { return Ok(()) };
    let left_out = [(progress.expired, "payload expired"), (progress.erased, "erased")];
    let left_out = left_out.into_iter().filter(|(number, _)| *number > 0);
    let left_out: Vec<_> = left_out.map(|(number, why)| format!(", {number} not ({why})")).collect();
    let left_out = left_out.concat();
    terminal.say(format_args!(
        "{state}: sent {} of {}{left_out} ({bulk})",
        progress.sent,
        count(plan.events.len() as u64, "event")
    ))
}
