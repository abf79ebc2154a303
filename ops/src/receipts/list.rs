//! `hookbox receipts list`: what arrived, the latest first.

use std::io;
use std::sync::Arc;

use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, ReceiptEntry};
use serde::Serialize;

use crate::connection::{Table, TableArgs};
use crate::failure::{Answer, Failure};
use crate::layout::{Cell, Columns, count};
use crate::search::ConnectionArgs;
use crate::search::range::RangeArgs;
use crate::search::receipts::{Order, Place, ReceiptFilter, ReceiptSearch};
use crate::terminal::{Format, Terminal, Tone};

/// List the receipts of a range of time, the latest first
///
/// Shows what does not change of a receipt, and which of them were erased: `receipts show` says how their jobs stand.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// When they arrived.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Only events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Only events about this resource
    #[arg(long, value_name = "ID")]
    pub resource: Option<String>,
    /// Only receipts in this state
    #[arg(long, value_enum)]
    pub state: Option<ReceiptState>,
    /// How many are listed
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Go on where an earlier list ended, with its other arguments as they were
    #[arg(long, value_name = "TOKEN")]
    pub page_token: Option<Place>,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox receipts list
  hookbox receipts list --provider stripe --kind invoice.paid --since 7d --limit 200
  hookbox receipts list --resource lead_42 --since 90d --output jsonl | jq -r .id

Exit codes: 0 listed, also when nothing arrived; 2 wrong usage, 3 could not look.";

/// What became of an event when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReceiptState {
    /// It has the jobs that its connection requires.
    Accepted,
    /// Its kind requires nothing.
    Ignored,
    /// Its profile refuses it.
    Rejected,
}

/// The state in which a receipt is shown that was erased, whatever it was before.
const ERASED: &str = "erased";

impl ReceiptState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
        }
    }
}

/// A receipt as programs get it.
#[derive(Serialize)]
struct Line<'a> {
    id: ReceiptId,
    provider: &'a Provider,
    account: &'a Account,
    event_id: Option<&'a str>,
    kind: &'a str,
    resource: Option<&'a str>,
    state: &'a str,
    received_at: String,
    operations: &'a [OperationName],
}

#[derive(Serialize)]
struct Report<'a> {
    receipts: &'a [Line<'a>],
    /// What `--page-token` takes; `null` at the end.
    next_page_token: Option<String>,
    unreadable: &'a [String],
}

/// Receipts that were found.
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    found: Vec<ReceiptEntry>,
    next: Option<Place>,
    unreadable: Vec<String>,
}

/// Runs the command.
pub async fn list(args: &ListArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let receipts = Receipts::find(args, &table, clock.now()).await?;
    receipts.show(terminal)?;
    Ok(Answer::Yes)
}

impl Receipts {
    /// Finds what the arguments ask for.
    pub async fn find(args: &ListArgs, table: &Table, now: Timestamp) -> Result<Self, Failure> {
        let mut range = args.range.at(now);
        if let Some(place) = args.page_token {
            range.until = range.until.min(place.until());
        }
        let filter = ReceiptFilter {
            connections: args.connections.clone(),
            range,
            kinds: args.kind.clone(),
            resource: args.resource.clone(),
            state: args.state.map(ReceiptState::as_str),
        };
        let limit = args.limit as usize;
        let mut search = ReceiptSearch::begin(table, &filter, Order::LatestFirst, limit).await?;
        let mut these = Self::default();
        while let Some(entry) = search.next().await? {
            if args.page_token.is_some_and(|place| !place.is_before(&entry)) {
                continue;
            }
            if these.found.len() == limit {
                these.next = these.found.last().map(Place::behind);
                break;
            }
            these.found.push(entry);
        }
        these.unreadable = search.unreadable().map(str::to_owned).collect();
        these.leave_out_what_was_erased(table).await?;
        Ok(these)
    }

    /// An index may be behind the receipts, and what was erased must not be shown by it once more. Of a receipt that is
    /// gone, or that this version cannot read, nobody can say.
    async fn leave_out_what_was_erased(&mut self, table: &Table) -> Result<(), Failure> {
        for entries in self.found.chunks_mut(Ledger::KNOWN_AT_ONCE) {
            let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
            let known = table.ledger.known(&ids).await;
            let known = known.map_err(|error| table.failure("read the receipts of the list", &error))?;
            for entry in entries {
                let erased = known.get(&entry.id).map(|receipt| receipt.erased_at.is_some());
                if erased == Some(true) {
                    ERASED.clone_into(&mut entry.state);
                }
                if erased != Some(false) {
                    (entry.event_id, entry.resource) = (None, None);
                }
            }
        }
        Ok(())
    }

    /// Shows them.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        let next = self.next.map(|place| place.to_string());
        if terminal.format() == Format::Table {
            self.show_table(terminal)?;
        } else {
            let lines: Vec<_> = self.found.iter().map(Line::from).collect();
            let whole = Report { receipts: &lines, next_page_token: next.clone(), unreadable: &self.unreadable };
            terminal.say_list(&lines, &whole)?;
        }
        for why in &self.unreadable {
            terminal.note(format_args!("unreadable: {why}"))?;
        }
        if let (Some(next), Format::Table | Format::Jsonl) = (next, terminal.format()) {
            terminal.note(format_args!("there are more: --page-token {next}"))?;
        }
        Ok(())
    }

    fn show_table(&self, terminal: &mut Terminal) -> io::Result<()> {
        if self.found.is_empty() {
            return terminal.say("nothing arrived that fits: --since looks further back");
        }
        let headings = ["RECEIVED", "INTEGRATION", "KIND", "RESOURCE", "EVENT", "STATE", "RECEIPT"];
        let mut columns = Columns::default().headed(headings);
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        for entry in &self.found {
            let tone = if entry.state == ReceiptState::Accepted.as_str() { Tone::Plain } else { Tone::Quiet };
            columns.row([
                terminal.time(entry.received_at).into(),
                format!("{}/{}", entry.provider, entry.account).into(),
                entry.kind.clone().into(),
                or_dash(&entry.resource).into(),
                or_dash(&entry.event_id).into(),
                Cell::new(tone, &entry.state),
                entry.id.to_string().into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        terminal.say(format_args!("\n{}", count(self.found.len() as u64, "receipt")))
    }
}

impl<'a> From<&'a ReceiptEntry> for Line<'a> {
    fn from(entry: &'a ReceiptEntry) -> Self {
        Self {
            id: entry.id,
            provider: &entry.provider,
            account: &entry.account,
            event_id: entry.event_id.as_deref(),
            kind: &entry.kind,
            resource: entry.resource.as_deref(),
            state: &entry.state,
            received_at: entry.received_at.to_string(),
            operations: &entry.operations,
        }
    }
}
