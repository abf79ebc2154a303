//! What was erased, for people and for programs.

use std::io;

use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::BulkId;
use serde::Serialize;

use super::found::{Found, InHand};
use crate::layout::count;
use crate::terminal::{Format, Terminal};

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    decision: &'a str,
    /// `null` for one receipt, and when nothing was written.
    bulk: Option<&'a BulkId>,
    /// `dry-run`, `nothing` (to do), `finished` or `cancelled`.
    state: &'a str,
    /// What was, or in a dry run would be, erased.
    erased: Vec<ReceiptId>,
    payloads_deleted: u64,
    jobs_dismissed: u64,
    erased_before: Vec<Before>,
    in_hand: Vec<Leased<'a>>,
    missing: &'a [ReceiptId],
    unreadable: Vec<Unreadable<'a>>,
}

#[derive(Serialize)]
struct Before {
    receipt: ReceiptId,
    at: String,
}

#[derive(Serialize)]
struct Leased<'a> {
    receipt: ReceiptId,
    job: &'a JobKey,
    until: String,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    receipt: ReceiptId,
    why: &'a str,
}

/// Says what became of the receipts, or in a dry run what would.
pub(super) fn say(bulk: Option<&BulkId>, state: &str, found: &Found, terminal: &mut Terminal) -> io::Result<()> {
    if terminal.format() != Format::Table {
        return terminal.say_json(&Report {
            decision: "erase",
            bulk,
            state,
            erased: found.fit.iter().map(|(receipt, _)| *receipt).collect(),
            payloads_deleted: found.payloads(),
            jobs_dismissed: found.open_jobs(),
            erased_before: found
                .before
                .iter()
                .map(|(receipt, at)| Before { receipt: *receipt, at: at.to_string() })
                .collect(),
            in_hand: found.in_hand.iter().map(Leased::from).collect(),
            missing: &found.missing,
            unreadable: found.unreadable.iter().map(|(receipt, why)| Unreadable { receipt: *receipt, why }).collect(),
        });
    }
    if matches!(state, "dry-run" | "nothing") {
        return Ok(());
    }
    terminal.say(format_args!(
        "{state}: erased {}, deleted {}, dismissed {}{}",
        count(found.fit.len() as u64, "receipt"),
        count(found.payloads(), "payload"),
        count(found.open_jobs(), "job"),
        bulk.map(|bulk| format!(" ({bulk})")).unwrap_or_default(),
    ))?;
    found.show_others(terminal)
}

impl<'a> From<&'a InHand> for Leased<'a> {
    fn from(in_hand: &'a InHand) -> Self {
        Self { receipt: in_hand.receipt, job: &in_hand.job, until: in_hand.until.to_string() }
    }
}
