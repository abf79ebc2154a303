//! `hookbox receipts show`: what is known of one event.

use std::io;

use hookbox_core::event::Identity;
use hookbox_core::job::{Job, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, Provider};
use hookbox_ledger::{Listing, Loaded, Pause};
use serde::Serialize;

use super::{json, view};
use crate::connection::{Table, TableArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::terminal::{Format, Terminal};

/// Show one receipt with its jobs, attempts, duplicates and conflicts
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct ShowArgs {
    /// The receipt's id, or the key of one of its jobs
    #[arg(value_name = "RECEIPT_ID", required_unless_present = "event_id", value_parser = parse_receipt)]
    pub receipt: Option<ReceiptId>,
    /// The event's provider
    #[arg(long, requires = "event_id", conflicts_with = "receipt")]
    pub provider: Option<Provider>,
    /// The event's connection
    #[arg(long, requires = "event_id", conflicts_with = "receipt")]
    pub account: Option<Account>,
    /// The provider's own id of the event
    #[arg(long, value_name = "ID", requires_all = ["provider", "account"], conflicts_with = "receipt")]
    pub event_id: Option<String>,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const USAGE: &str = "\
hookbox receipts show [OPTIONS] --table <NAME> <RECEIPT_ID>
       hookbox receipts show [OPTIONS] --table <NAME> --provider <PROVIDER> --account <ACCOUNT> --event-id <ID>";

const EXAMPLES: &str = "\
Examples:
  hookbox receipts show 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  hookbox receipts show --provider stripe --account demo --event-id evt_1 --utc
  hookbox receipts show … --output json | jq '.jobs[].status'

Exit codes: 0 shown, 1 there is none, 2 wrong usage, 3 could not look.";

pub(crate) fn parse_receipt(text: &str) -> Result<ReceiptId, String> {
    let of_job = |_| text.parse::<JobKey>().map(|key| key.receipt);
    text.parse().or_else(of_job).map_err(|_| "expected the 64 hexadecimal digits of a receipt, or a job key".to_owned())
}

/// How a receipt is asked for.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// By its id.
    Id(ReceiptId),
    /// By the provider's own id of the event.
    Event {
        /// The provider's profile.
        provider: Provider,
        /// The connection.
        account: Account,
        /// The provider's id.
        event_id: String,
    },
}

impl Wanted {
    fn of(args: &ShowArgs) -> Result<Self, Failure> {
        match (args.receipt, &args.provider, &args.account, &args.event_id) {
            (Some(id), ..) => Ok(Self::Id(id)),
            (None, Some(provider), Some(account), Some(event_id)) => {
                Ok(Self::Event { provider: provider.clone(), account: account.clone(), event_id: event_id.clone() })
            }
            _ => {
                let trouble = Trouble::new("find a receipt", "nothing says which");
                Err(Failure::Usage(trouble.advise("RECEIPT_ID, or --provider, --account and --event-id")))
            }
        }
    }

    /// The id under which the receipt is kept.
    pub fn id(&self) -> ReceiptId {
        match self {
            Self::Id(id) => *id,
            Self::Event { provider, account, event_id } => {
                let identity = Identity::ProviderEvent { event_id: event_id.clone() };
                ReceiptId::derive(provider, account, &identity, None)
            }
        }
    }

    fn not_found(&self) -> Failure {
        let id = self.id();
        Failure::Refused(match self {
            Self::Id(_) => Trouble::new(format!("find the receipt {id}"), "there is none")
                .advise("it may have expired, or belong to another table: --table, --region, --profile"),
            Self::Event { provider, account, event_id } => {
                let attempted = format!("find the receipt of event {event_id} at {provider}/{account}");
                Trouble::new(attempted, format!("there is none under its key {id}"))
                    .advise("a delivery that was refused left no receipt: see the log of `ingest`")
                    .advise(
                        "profiles that make the key from more than the event's id need the receipt id, as the answer \
                         to the delivery or the log has it",
                    )
            }
        })
    }
}

/// Runs the command.
pub async fn run(args: &ShowArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let wanted = Wanted::of(args)?;
    show(&wanted, &args.table.connect().await?, terminal).await
}

/// Shows a receipt.
pub async fn show(wanted: &Wanted, table: &Table, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let id = wanted.id();
    let Some(loaded) = read(&id, table).await? else { return Err(wanted.not_found()) };
    let pauses = pauses_of(&loaded, table).await?;
    match terminal.format() {
        Format::Json | Format::Jsonl => terminal.say_json(&json::Folder::of(&loaded, &pauses))?,
        Format::Table => view::show(&loaded, &pauses, terminal)?,
    }
    Ok(Answer::Yes)
}

/// One job, the event that requires it, and what people decided about it.
pub(crate) struct Sheet {
    job: Job,
    /// Its folder, with what was decided about this job alone.
    loaded: Loaded,
    pauses: Listing<Pause>,
}

/// What a job's key leads to.
pub(crate) enum Found {
    /// The job.
    Sheet(Box<Sheet>),
    /// This version cannot read it.
    Unreadable(String),
    /// Its receipt has no such job.
    NoJob,
    /// There is no such receipt.
    NoReceipt,
}

impl Sheet {
    pub(crate) async fn find(key: &JobKey, table: &Table) -> Result<Found, Failure> {
        let Some(mut loaded) = read(&key.receipt, table).await? else { return Ok(Found::NoReceipt) };
        if let Some(error) = loaded.unreadable_job(key) {
            return Ok(Found::Unreadable(error.to_string()));
        }
        let Some(job) = loaded.job(key).cloned() else { return Ok(Found::NoJob) };
        loaded.jobs.retain(|job| job.key == *key);
        let (ours, next) = (key.to_string(), key.following().map(|key| key.to_string()));
        // That it has got a new version was decided about it too.
        let is_ours = |on: &str, what: &str| on == ours || (what == "new-version" && Some(on) == next.as_deref());
        loaded.audit.retain(|deed| deed.on.as_deref().is_some_and(|on| is_ours(on, &deed.what)));
        let pauses = pauses_of(&loaded, table).await?;
        Ok(Found::Sheet(Box::new(Self { job, loaded, pauses })))
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    pub(crate) fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        view::show_sheet(&self.job, &self.loaded, &self.pauses, terminal)
    }

    pub(crate) fn for_programs(&self) -> impl Serialize + '_ {
        json::JobSheet::of(&self.job, &self.loaded, &self.pauses)
    }
}

/// Shows one job of a receipt, with what people decided about it.
pub(crate) async fn show_job(key: &JobKey, table: &Table, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let attempted = format!("show the job {key}");
    let sheet = match Sheet::find(key, table).await? {
        Found::Sheet(sheet) => sheet,
        Found::Unreadable(why) => return Err(Failure::CouldNotLook(Trouble::new(attempted, why))),
        Found::NoJob => {
            let trouble = Trouble::new(attempted, "the receipt has no such job");
            return Err(Failure::Refused(trouble.advise(format!("hookbox receipts show {}", key.receipt))));
        }
        Found::NoReceipt => {
            let trouble = Trouble::new(attempted, "there is no such receipt");
            return Err(Failure::Refused(trouble.advise("it may have expired, or belong to another table")));
        }
    };
    match terminal.format() {
        Format::Json | Format::Jsonl => terminal.say_json(&sheet.for_programs())?,
        Format::Table => sheet.show(terminal)?,
    }
    Ok(Answer::Yes)
}

/// Reads a folder.
pub(super) async fn read(id: &ReceiptId, table: &Table) -> Result<Option<Loaded>, Failure> {
    table.ledger.load(id).await.map_err(|error| table.failure(&format!("read the receipt {id}"), &error))
}

/// The pauses of the folder's connection, where a held job waits for one.
async fn pauses_of(loaded: &Loaded, table: &Table) -> Result<Listing<Pause>, Failure> {
    let Some(held) = loaded.jobs.iter().find(|job| job.status() == Status::Held) else {
        return Ok(Listing { items: Vec::new(), unreadable: Vec::new() });
    };
    let pauses = table.ledger.pauses(&held.provider, &held.account).await;
    pauses.map_err(|error| table.failure(&format!("read the pauses of {}/{}", held.provider, held.account), &error))
}
