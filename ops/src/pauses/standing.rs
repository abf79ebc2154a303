//! The pauses that stand, and how many jobs each of them holds.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_ledger::{DirectoryEntry, LedgerError, Listing, OpenQuery, Pause};
use serde::Serialize;

use crate::connection::Table;
use crate::failure::Failure;
use crate::layout::count;
use crate::search::FAR;

/// Integrations that are read at once.
const AT_ONCE: usize = 8;
/// Held jobs that are counted, in pages of this many.
const PAGE: u32 = 1_000;

/// A pause that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The pause.
    pub pause: Pause,
    /// How many jobs it holds.
    pub held: HeldJobs,
}

/// How many jobs are held, counted up to a thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldJobs {
    /// As many as were counted.
    pub counted: u64,
    /// Whether there are more.
    pub more: bool,
}

/// Every pause that stands.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Those that can be read, by integration.
    pub standing: Vec<Standing>,
    /// What this version cannot read, and why.
    pub unreadable: Vec<String>,
}

/// A pause for programs.
#[derive(Serialize)]
pub(crate) struct PauseLine<'a> {
    /// Tells it from a job in `dlq list`.
    status: &'static str,
    provider: &'a Provider,
    account: &'a Account,
    operation: &'a OperationName,
    since: String,
    reason: &'a str,
    held_jobs: u64,
    /// Whether there are more than were counted.
    held_jobs_more: bool,
}

impl HeldJobs {
    /// Counts the entries of the index: it names candidates, so this is about right.
    pub async fn count(table: &Table, pause: &Pause) -> Result<Self, Failure> {
        let mut counted = 0;
        let Pause { provider, account, operation, .. } = pause;
        for shard in table.ledger.shards().all() {
            let list = OpenQuery::Held {
                provider: provider.clone(),
                account: account.clone(),
                operation: operation.clone(),
                shard,
            };
            let page = table.ledger.open_entries(&list, FAR, PAGE, None).await;
            let page = page.map_err(|error| {
                table.failure(&format!("count the held jobs of {provider}/{account} {operation}"), &error)
            })?;
            counted += (page.items.len() + page.unreadable.len()) as u64;
            if page.next.is_some() || counted >= u64::from(PAGE) {
                return Ok(Self { counted, more: true });
            }
        }
        Ok(Self { counted, more: false })
    }

    /// The number as it is shown.
    pub fn number(self) -> String {
        format!("{}{}", self.counted, if self.more { "+" } else { "" })
    }

    /// `1 held job`, `1000+ held jobs`.
    pub fn in_words(self) -> String {
        if self.more { format!("{} held jobs", self.number()) } else { count(self.counted, "held job") }
    }
}

impl Pauses {
    /// Reads the directory, and the pauses of every connection in it.
    pub async fn read(table: &Table) -> Result<Self, Failure> {
        let directory = table.ledger.directory().await;
        let directory = directory.map_err(|error| table.failure("read the directory of integrations", &error))?;
        let mut unreadable: Vec<_> = directory.unreadable.iter().map(|line| line.error.to_string()).collect();
        let reads = directory.items.iter().map(|line| of_connection(table, line));
        let found: Vec<(Vec<Standing>, Vec<String>)> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
        let mut standing = Vec::new();
        for (pauses, bad) in found {
            standing.extend(pauses);
            unreadable.extend(bad);
        }
        Ok(Self { standing, unreadable })
    }
}

async fn of_connection(table: &Table, line: &DirectoryEntry) -> Result<(Vec<Standing>, Vec<String>), Failure> {
    let DirectoryEntry { provider, account, .. } = line;
    let pauses: Result<Listing<Pause>, LedgerError> = table.ledger.pauses(provider, account).await;
    let pauses = pauses.map_err(|error| table.failure(&format!("read the pauses of {provider}/{account}"), &error))?;
    let mut standing = Vec::new();
    for pause in pauses.items {
        let held = HeldJobs::count(table, &pause).await?;
        standing.push(Standing { pause, held });
    }
    Ok((standing, pauses.unreadable.iter().map(|item| item.error.to_string()).collect()))
}

/// The command that ends a pause.
pub(crate) fn resume_command(pause: &Pause) -> String {
    let Pause { provider, account, operation, .. } = pause;
    format!("hookbox resume --provider {provider} --account {account} --operation {operation}")
}

impl<'a> From<&'a Standing> for PauseLine<'a> {
    fn from(standing: &'a Standing) -> Self {
        let Standing { pause, held } = standing;
        Self {
            status: "paused",
            provider: &pause.provider,
            account: &pause.account,
            operation: &pause.operation,
            since: pause.at.to_string(),
            reason: pause.reason.as_str(),
            held_jobs: held.counted,
            held_jobs_more: held.more,
        }
    }
}
