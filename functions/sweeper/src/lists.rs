//! Which lists of open jobs there are, and which of the held ones may be released.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, stream};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{DirectoryEntry, LedgerError, Listing, OpenQuery, Pause};

use crate::run::Run;
use crate::swept::Tally;

/// The most lists of held jobs whose operation is not paused that one run looks into. Almost all of them are empty; where
/// there are more, the runs take turns.
const MAX_RESUMED_LISTS: usize = 1_000;
/// Integrations that are read at once.
const AT_ONCE: usize = 8;

/// A list of open jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Where it is found.
    pub query: OpenQuery,
    /// Of held jobs: no pause stands any more, so they are to be released.
    pub resumed: bool,
}

/// All lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    pub(crate) lists: Vec<List>,
    /// Whether the lists of held jobs are all there.
    pub(crate) held_known: bool,
}

impl List {
    fn new(query: OpenQuery) -> Self {
        Self { query, resumed: false }
    }

    /// Its name in logs and reports.
    pub fn name(&self) -> String {
        match &self.query {
            OpenQuery::Due { shard } => format!("due#{shard}"),
            OpenQuery::Review { shard } => format!("review#{shard}"),
            OpenQuery::Held { provider, account, operation, shard } => {
                format!("held#{provider}#{account}#{operation}#{shard}")
            }
        }
    }
}

/// All lists: of every shard those that are always there, and those of every operation that may have held jobs. When the
/// directory cannot be read, the run does without the latter.
pub(crate) async fn find(run: &Run<'_>) -> (Lists, Tally) {
    let shards = run.ledger.shards();
    let mut lists: Vec<_> = shards.all().map(|shard| List::new(OpenQuery::Due { shard })).collect();
    lists.extend(shards.all().map(|shard| List::new(OpenQuery::Review { shard })));
    let mut tally = Tally::default();
    let directory = match run.ledger.directory().await {
        Ok(directory) => directory,
        Err(error) => {
            run.complain("the directory", &error);
            tally.errors += 1;
            return (Lists { lists, held_known: false }, tally);
        }
    };
    let mut held_known = true;
    for line in &directory.unreadable {
        run.complain("the directory", &line.error);
        tally.unreadable += 1;
        held_known = false;
    }
    let reads: Vec<_> = directory.items.iter().map(|entry| held_lists(run, entry)).collect();
    let found: Vec<_> = stream::iter(reads).buffered(AT_ONCE).collect().await;
    let (mut paused, mut resumed) = (Vec::new(), Vec::new());
    for (found, entry) in found.into_iter().zip(&directory.items) {
        match found {
            Ok((found, unreadable)) => {
                tally.unreadable += unreadable;
                let (open, closed): (Vec<_>, Vec<_>) = found.into_iter().partition(|list| list.resumed);
                resumed.extend(open);
                paused.extend(closed);
            }
            Err(error) => {
                run.complain(&format!("integration {}/{}", entry.provider, entry.account), &error);
                tally.errors += 1;
                held_known = false;
            }
        }
    }
    held_known &= resumed.len() <= MAX_RESUMED_LISTS;
    lists.append(&mut paused);
    lists.append(&mut turn_of(resumed, run.started));
    (Lists { lists, held_known }, tally)
}

/// The lists whose turn it is in this minute.
fn turn_of(mut resumed: Vec<List>, now: Timestamp) -> Vec<List> {
    if resumed.len() > MAX_RESUMED_LISTS {
        let minute = usize::try_from(now.as_millis() / 60_000).unwrap_or(0);
        let first = (minute % resumed.len()) * MAX_RESUMED_LISTS % resumed.len();
        resumed.rotate_left(first);
        resumed.truncate(MAX_RESUMED_LISTS);
    }
    resumed
}

/// The lists of one integration's held jobs, of every operation that it ever had. A pause of one that is no longer
/// configured holds nothing: nobody will resume it, and its jobs are for a person to see. Gives also how many pauses
/// could not be read.
async fn held_lists(run: &Run<'_>, entry: &DirectoryEntry) -> Result<(Vec<List>, u64), LedgerError> {
    let DirectoryEntry { provider, account, operations, .. } = entry;
    let (configured, pauses): (BTreeSet<_>, Listing<Pause>) =
        match run.ledger.integration_with_pauses(provider, account).await? {
            Some(found) => (found.integration.operations.into_iter().map(|one| one.name).collect(), found.pauses),
            None => (BTreeSet::new(), run.ledger.pauses(provider, account).await?),
        };
    for pause in &pauses.unreadable {
        run.complain(&format!("a pause of {provider}/{account}"), &pause.error);
    }
    let with_pause = pauses.items.iter().map(|pause| &pause.operation);
    let every: BTreeSet<_> = configured.iter().chain(operations).chain(with_pause).collect();
    let mut lists = Vec::new();
    for operation in every {
        // One that cannot be read stands all the same.
        let stands = configured.contains(operation) && !matches!(pauses.of_operation(operation), Ok(None));
        lists.extend(run.ledger.shards().all().map(|shard| List {
            query: OpenQuery::Held {
                provider: provider.clone(),
                account: account.clone(),
                operation: operation.clone(),
                shard,
            },
            resumed: !stands,
        }));
    }
    Ok((lists, pauses.unreadable.len() as u64))
}
