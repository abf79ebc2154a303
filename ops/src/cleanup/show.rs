//! A survey for people and for programs.

use std::io;

use hookbox_core::name::{Account, Provider};
use serde::Serialize;

use super::survey::{Connection, Kept, Reads, Survey};
use crate::config::text::period;
use crate::layout::{Columns, count};
use crate::terminal::{Format, Terminal};

#[derive(Serialize)]
struct Report<'a> {
    within_seconds: u64,
    until: String,
    reads: ReadsLine,
    connections: Vec<Line<'a>>,
    unreadable: &'a [String],
}

#[derive(Serialize)]
struct ReadsLine {
    made: u64,
    limit: u64,
    /// Where it is `false`, every number is a lower bound.
    complete: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    provider: &'a Provider,
    account: &'a Account,
    /// `null` for a connection that was retired: its receipts keep the retention under which they arrived.
    receipt_retention_seconds: Option<u64>,
    payload_retention_seconds: Option<u64>,
    receipts_expiring: u64,
    payloads_expiring: u64,
    kept: KeptLine,
}

#[derive(Serialize)]
struct KeptLine {
    review: u64,
    held: u64,
    open: u64,
}

impl Survey {
    /// Shows it.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() == Format::Table {
            self.show_table(terminal)?;
        } else {
            let Reads { made, limit, complete } = self.reads;
            terminal.say_json(&Report {
                within_seconds: self.within.as_secs(),
                until: self.until.to_string(),
                reads: ReadsLine { made, limit, complete },
                connections: self.connections.iter().map(Line::from).collect(),
                unreadable: &self.unreadable,
            })?;
        }
        for why in &self.unreadable {
            terminal.note(format_args!("unreadable: {why}"))?;
        }
        Ok(())
    }

    fn show_table(&self, terminal: &mut Terminal) -> io::Result<()> {
        if self.connections.is_empty() {
            return terminal.say("there is no such connection: nothing was applied yet");
        }
        let headings = ["INTEGRATION", "KEPT FOR", "RECEIPTS EXPIRE", "PAYLOADS EXPIRE", "KEPT LONGER"];
        let mut columns = Columns::default().headed(headings);
        let number = |number: u64| if self.reads.complete { number.to_string() } else { format!("≥ {number}") };
        for connection in &self.connections {
            let kept_for = connection.retention.map_or_else(
                || "retired".to_owned(),
                |retention| format!("{}, payloads {}", period(retention.receipt), period(retention.payload)),
            );
            columns.row([
                format!("{}/{}", connection.provider, connection.account).into(),
                kept_for.into(),
                number(connection.receipts).into(),
                number(connection.payloads).into(),
                kept(connection.kept).into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        let (within, until) = (period(self.within), terminal.time(self.until));
        terminal.say(format_args!(
            "\nwithin {within}, until {until}; {} read. What has expired is deleted by DynamoDB, usually within days.",
            count(self.reads.made, "receipt")
        ))?;
        if self.reads.complete {
            return Ok(());
        }
        terminal.say(format_args!("there is more: --reads allows {} only", self.reads.limit))
    }
}

/// How many folders are kept, and why.
fn kept(Kept { review, held, open }: Kept) -> String {
    let reasons = [(review, "in review"), (held, "held"), (open, "open")];
    let reasons: Vec<_> = reasons.iter().filter(|(number, _)| *number > 0).collect();
    let reasons: Vec<_> = reasons.into_iter().map(|(number, why)| format!("{number} {why}")).collect();
    if reasons.is_empty() { "-".to_owned() } else { reasons.join(", ") }
}

impl<'a> From<&'a Connection> for Line<'a> {
    fn from(connection: &'a Connection) -> Self {
        let Connection { provider, account, retention, receipts, payloads, kept: Kept { review, held, open } } =
            connection;
        Self {
            provider,
            account,
            receipt_retention_seconds: retention.map(|retention| retention.receipt.as_secs()),
            payload_retention_seconds: retention.map(|retention| retention.payload.as_secs()),
            receipts_expiring: *receipts,
            payloads_expiring: *payloads,
            kept: KeptLine { review: *review, held: *held, open: *open },
        }
    }
}
