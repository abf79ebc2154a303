//! Folder after folder is read and written: never more than a few at once.

use std::collections::HashMap;
use std::path::Path;

use futures_util::future::{Either, select};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_core::job::Status;
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_ledger::{LedgerError, Listing, Loaded, Pause};
use serde::Serialize;

use super::line::{Line, Read, ReadPayload};
use super::partial::Partial;
use crate::connection::Table;
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::layout::count;
use crate::search::receipts::{Order, Place, ReceiptFilter, ReceiptSearch};
use crate::terminal::{Format, Terminal};

/// Folders that are read at once.
const AT_ONCE: usize = 16;
/// With payloads fewer: each may have some megabytes.
const PAYLOADS_AT_ONCE: usize = 4;
/// The IAM actions that it takes.
const ACTIONS: &str = "dynamodb:Query on the table and its index `history`";

/// What is exported, and where to.
#[derive(Debug)]
pub struct Export<'a> {
    /// Which receipts.
    pub filter: ReceiptFilter,
    /// Whether with payloads.
    pub payloads: bool,
    /// The file; `None` is standard output.
    pub to: Option<&'a Path>,
    /// Whether to go on with what an interrupted export has left.
    pub go_on: bool,
}

/// Where lines go.
enum Sink {
    Out,
    File(Partial),
}

/// How many there were.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    receipts: u64,
    payloads: u64,
    /// Of how many receipts the payload was erased, has expired or cannot be read.
    payloads_missing: u64,
}

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    /// `finished` or `cancelled`.
    state: &'a str,
    file: String,
    #[serde(flatten)]
    counts: Counts,
}

/// Pauses by connection, each read once.
type Pauses = HashMap<(Provider, Account), Listing<Pause>>;

impl Export<'_> {
    /// Writes every line. Stopped in between, the answer is negative, and what has been written can be gone on with.
    pub async fn carry_out(
        mut self,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let (mut sink, after) = match self.to {
            None => (Sink::Out, None),
            Some(path) => {
                let (file, after) = Partial::begin(path, self.go_on)?;
                (Sink::File(file), after)
            }
        };
        if let Some(place) = after {
            // "An hour ago" was another hour when it began.
            self.filter.range.since = place.time();
        }
        let mut counts = Counts::default();
        let written = self.lines(&mut sink, after, &mut counts, table, &mut around, terminal).await;
        let Sink::File(file) = sink else {
            let finished = written?;
            let what = if finished { "exported" } else { "stopped after" };
            terminal.note(format_args!("{what} {}", summary(counts, self.payloads)))?;
            return Ok(if finished { Answer::Yes } else { Answer::No });
        };
        let finished = written.map_err(|failure| failure.advise("the same command with --continue goes on"))?;
        if finished {
            file.finish()?;
        }
        self.answer(finished, counts, terminal)?;
        Ok(if finished { Answer::Yes } else { Answer::No })
    }

    /// `false` when it was stopped.
    async fn lines(
        &self,
        sink: &mut Sink,
        after: Option<Place>,
        counts: &mut Counts,
        table: &Table,
        around: &mut Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<bool, Failure> {
        let mut search = ReceiptSearch::begin(table, &self.filter, Order::EarliestFirst, usize::MAX).await?;
        let progress = terminal.counter("receipts exported");
        let mut pauses = Pauses::new();
        let mut complained = 0;
        loop {
            if let Either::Left(_) = select(&mut around.stop, std::future::ready(())).await {
                return Ok(false);
            }
            let ids = self.next(&mut search, after).await?;
            for why in search.unreadable().skip(complained) {
                complained += 1;
                terminal.note(format_args!("unreadable: {why}"))?;
            }
            if ids.is_empty() {
                return Ok(true);
            }
            for read in self.read(&ids, table).await? {
                let (read, unreadable) = read;
                if let Some(why) = unreadable {
                    terminal.note(format_args!("the payload of {} is unreadable: {why}", read.loaded.id))?;
                }
                know_pauses(&mut pauses, &read.loaded, table).await?;
                let none = Listing { items: Vec::new(), unreadable: Vec::new() };
                let of_connection = connection(&read.loaded).and_then(|connection| pauses.get(&connection));
                let line = serde_json::to_string(&Line::of(&read, of_connection.unwrap_or(&none)));
                let line = line.map_err(std::io::Error::other)?;
                match sink {
                    Sink::Out => terminal.say(line)?,
                    Sink::File(file) => file.say(&line)?,
                }
                counts.count(&read);
                progress.inc(1);
            }
            if let Sink::File(file) = sink {
                file.flush()?;
            }
        }
    }

    /// The ids of the next few receipts; none at the end.
    async fn next(&self, search: &mut ReceiptSearch<'_>, after: Option<Place>) -> Result<Vec<ReceiptId>, Failure> {
        let at_once = if self.payloads { PAYLOADS_AT_ONCE } else { AT_ONCE };
        let mut ids = Vec::new();
        while ids.len() < at_once {
            let Some(entry) = search.next().await? else { break };
            if after.is_none_or(|place| place.is_followed_by(&entry)) {
                ids.push(entry.id);
            }
        }
        Ok(ids)
    }

    /// Reads folders as they stand. One that has expired since the index was read is left out. With each payload that cannot
    /// be read comes why.
    async fn read(&self, ids: &[ReceiptId], table: &Table) -> Result<Vec<(Read, Option<String>)>, Failure> {
        let failure =
            |id: &ReceiptId, error: &LedgerError| table.failure_of(&format!("read the receipt {id}"), ACTIONS, error);
        let reads = ids.iter().map(|id| async move {
            let Some(loaded) = table.ledger.load(id).await.map_err(|error| failure(id, &error))? else {
                return Ok(None);
            };
            if !self.payloads {
                return Ok(Some((Read { loaded, payload: ReadPayload::NotAskedFor }, None)));
            }
            match table.ledger.payload(id).await {
                Ok(payload) => Ok(Some((Read { loaded, payload: payload.into() }, None))),
                Err(error @ (LedgerError::Corrupt { .. } | LedgerError::NewerSchema { .. })) => {
                    Ok(Some((Read { loaded, payload: ReadPayload::Gone }, Some(error.to_string()))))
                }
                Err(error) => Err(failure(id, &error)),
            }
        });
        let read: Vec<_> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    fn answer(&self, finished: bool, counts: Counts, terminal: &mut Terminal) -> Result<(), Failure> {
        let file = self.to.map(|path| path.display().to_string()).unwrap_or_default();
        let state = if finished { "finished" } else { "cancelled" };
        if terminal.format() != Format::Table {
            return Ok(terminal.say_json(&Report { state, file, counts })?);
        }
        let summary = summary(counts, self.payloads);
        if finished {
            terminal.say(format_args!("exported {summary} to {file}"))?;
        } else {
            terminal.say(format_args!("stopped after {summary}: --continue goes on"))?;
        }
        Ok(())
    }
}

impl Counts {
    fn count(&mut self, read: &Read) {
        self.receipts += 1;
        match &read.payload {
            ReadPayload::NotAskedFor => {}
            ReadPayload::There(_) => self.payloads += 1,
            ReadPayload::Gone => self.payloads_missing += 1,
        }
    }
}

fn summary(counts: Counts, payloads: bool) -> String {
    let receipts = count(counts.receipts, "receipt");
    match (payloads, counts.payloads_missing) {
        (false, _) => receipts,
        (true, 0) => format!("{receipts} with {}", count(counts.payloads, "payload")),
        (true, missing) => {
            format!("{receipts} with {}, {missing} of them without one any more", count(counts.payloads, "payload"))
        }
    }
}

/// The connection of a folder.
fn connection(loaded: &Loaded) -> Option<(Provider, Account)> {
    let of_job = loaded.jobs.first().map(|job| (job.provider.clone(), job.account.clone()));
    of_job.or_else(|| loaded.receipt.as_ref().map(|receipt| (receipt.provider.clone(), receipt.account.clone())))
}

/// Reads the pauses of the folder's connection, where a held job waits for one and they are not known yet.
async fn know_pauses(pauses: &mut Pauses, loaded: &Loaded, table: &Table) -> Result<(), Failure> {
    if loaded.jobs.iter().all(|job| job.status() != Status::Held) {
        return Ok(());
    }
    let Some(connection) = connection(loaded).filter(|connection| !pauses.contains_key(connection)) else {
        return Ok(());
    };
    let (provider, account) = &connection;
    let read = table.ledger.pauses(provider, account).await;
    let read = read.map_err(|error| table.failure(&format!("read the pauses of {provider}/{account}"), &error))?;
    pauses.insert(connection, read);
    Ok(())
}
