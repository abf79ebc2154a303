//! Counting: as much of the indexes and of open jobs as numbers are made of.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::job::Status;
use hookbox_core::key::{JobKey, ReceiptId};

use crate::Ledger;
use crate::entries::{Cursor, HistoryQuery, Page, Range};
use crate::error::{ItemError, LedgerError};
use crate::item::{self, Item, index, job, key};
use crate::load::Unreadable;
use crate::table;
use crate::transact::Key;

/// A receipt as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptCount {
    /// The receipt.
    pub id: ReceiptId,
    /// How many operations it required, which is how many first jobs it has.
    pub operations: usize,
}

/// How jobs stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// The status of each that is there.
    pub of: HashMap<JobKey, Status>,
    /// Those that this version cannot read.
    pub unreadable: Vec<Unreadable>,
    /// The read units that it took, as DynamoDB bills them.
    pub read_units: f64,
}

impl Ledger {
    /// How many jobs one call of [`standings`](Self::standings) reads at most (service quota of `BatchGetItem`).
    pub const STANDINGS_AT_ONCE: usize = 100;

    /// Up to `limit` receipts of a day's shard, of the times and in the order that the query says, to be counted.
    pub async fn history_counts(
        &self,
        query: &HistoryQuery,
        limit: u32,
        after: Option<Cursor>,
    ) -> Result<Page<ReceiptCount>, LedgerError> {
        let HistoryQuery { since, until, earliest_first, .. } = *query;
        let range = Range {
            index: &table::HISTORY,
            pk: index::day(&query.provider, &query.account, query.day, query.shard),
            between: Some((since, until)),
            earliest_first,
            limit,
            after: after.as_ref(),
            only: &["pk", "operations"],
        };
        self.page(range, |item| ReceiptCount::from_item(&item)).await
    }

    /// How these jobs stand, read consistently. At most [`STANDINGS_AT_ONCE`](Self::STANDINGS_AT_ONCE), each once.
    pub async fn standings(&self, jobs: &[JobKey]) -> Result<Standings, LedgerError> {
        let keys = jobs.iter().map(|job| Key::new(job.receipt.to_string(), key::job(job))).collect();
        let batch = self.batch_get(keys, &["pk", "sk", "schema", "status"]).await?;
        let mut standings = Standings { of: HashMap::new(), unreadable: Vec::new(), read_units: batch.read_units };
        for item in batch.items {
            let (pk, sk) = item::names(&item);
            match job::standing(item) {
                Ok((key, status)) => drop(standings.of.insert(key, status)),
                Err(error) => standings.unreadable.push(Unreadable { pk, sk, error }),
            }
        }
        Ok(standings)
    }
}

impl ReceiptCount {
    /// Of a hundred thousand: nothing is read that is not counted.
    fn from_item(item: &Item) -> Result<Self, ItemError> {
        let id = item.get("pk").and_then(|value| value.as_s().ok()).and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| item::corrupt(item, "not the key of a receipt"))?;
        let operations = match item.get("operations") {
            None => 0,
            Some(AttributeValue::L(operations)) => operations.len(),
            Some(_) => return Err(item::corrupt(item, "operations are no list")),
        };
        Ok(Self { id, operations })
    }
}
