//! Load: everything about one event except its payload, in one consistent query.

use std::collections::HashMap;

use hookbox_core::event::Payload;
use hookbox_core::job::Job;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::OperationName;
use hookbox_core::receipt::Receipt;

use crate::Ledger;
use crate::audit::Audit;
use crate::error::{ItemError, LedgerError};
use crate::expression::{Expression, text};
use crate::item::job::StoredJob;
use crate::item::receipt::StoredReceipt;
use crate::item::{self, Item, key};

/// A folder as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Whose folder it is.
    pub id: ReceiptId,
    /// The receipt; `None` when time to live has deleted it before its jobs, or when it is among the unreadable.
    pub receipt: Option<Receipt>,
    /// The jobs that this version can read.
    pub jobs: Vec<Job>,
    /// What people did, oldest first.
    pub audit: Vec<Audit>,
    /// Items that this version cannot read: newer or corrupt.
    pub unreadable: Vec<Unreadable>,
    /// How many chunks the payload has.
    pub(crate) chunks: usize,
    /// The jobs that do not expire.
    pub(crate) kept: Vec<JobKey>,
    /// The sort keys of what people did.
    pub(crate) records: Vec<String>,
}

/// An item that this version cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its partition key.
    pub pk: String,
    /// Its sort key.
    pub sk: String,
    /// Why.
    pub error: ItemError,
}

/// Items of one kind: those that this version can read, and those that it cannot. One bad item never hides the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T> {
    /// Those that can be read, in the order of their keys.
    pub items: Vec<T>,
    /// Those that cannot: newer or corrupt.
    pub unreadable: Vec<Unreadable>,
}

impl<T> Listing<T> {
    /// Reads every item.
    pub(crate) fn of(items: Vec<Item>, read: impl Fn(Item) -> Result<T, ItemError>) -> Self {
        let mut listing = Self { items: Vec::new(), unreadable: Vec::new() };
        for item in items {
            listing.take(item, &read);
        }
        listing
    }

    fn take(&mut self, item: Item, read: impl Fn(Item) -> Result<T, ItemError>) {
        let (pk, sk) = item::names(&item);
        match read(item) {
            Ok(read) => self.items.push(read),
            Err(error) => self.unreadable.push(Unreadable { pk, sk, error }),
        }
    }
}

impl Loaded {
    pub(crate) fn new(id: ReceiptId) -> Self {
        Self {
            id,
            receipt: None,
            jobs: Vec::new(),
            audit: Vec::new(),
            unreadable: Vec::new(),
            chunks: 0,
            kept: Vec::new(),
            records: Vec::new(),
        }
    }

    /// The job with this key.
    pub fn job(&self, key: &JobKey) -> Option<&Job> {
        self.jobs.iter().find(|job| job.key == *key)
    }

    /// Why the job with this key cannot be read, if it is there and cannot.
    pub fn unreadable_job(&self, key: &JobKey) -> Option<&ItemError> {
        self.unreadable_item(&key::job(key))
    }

    /// Why not every version of this operation's job is known, if one of them cannot be read.
    pub fn unreadable_version(&self, operation: &OperationName) -> Option<&ItemError> {
        self.unreadable_beginning(&key::jobs(operation))
    }

    /// Why not all that people did is known, if a record of it cannot be read.
    pub fn unreadable_record(&self) -> Option<&ItemError> {
        self.unreadable_beginning(key::LOG)
    }

    fn unreadable_beginning(&self, sk: &str) -> Option<&ItemError> {
        self.unreadable.iter().find(|item| item.sk.starts_with(sk)).map(|item| &item.error)
    }

    /// Why the item with this sort key cannot be read, if it is there and cannot.
    pub(crate) fn unreadable_item(&self, sk: &str) -> Option<&ItemError> {
        self.unreadable.iter().find(|item| item.sk == sk).map(|item| &item.error)
    }

    fn take(&mut self, item: Item) {
        let (pk, sk) = item::names(&item);
        let taken = if sk == key::HEAD {
            StoredReceipt::from_item(item).map(|stored| {
                self.receipt = Some(stored.receipt);
                self.chunks = stored.chunks;
            })
        } else if sk.starts_with(key::JOB) {
            StoredJob::from_item(item).map(|stored| {
                if stored.expires_at.is_none() {
                    self.kept.push(stored.job.key.clone());
                }
                self.jobs.push(stored.job);
            })
        } else if sk.starts_with(key::LOG) {
            Audit::from_item(item).map(|audit| {
                self.audit.push(audit);
                self.records.push(sk.clone());
            })
        } else {
            // A kind of item that a later version has invented.
            Err(item::corrupt(&item, "not a kind of item that this version knows"))
        };
        if let Err(error) = taken {
            self.unreadable.push(Unreadable { pk, sk, error });
        }
    }
}

impl Ledger {
    /// Reads the folder of a receipt; `None` when it has no item at all.
    pub async fn load(&self, id: &ReceiptId) -> Result<Option<Loaded>, LedgerError> {
        let mut folder = Expression::default();
        let (pk, sk) = (folder.name("pk"), folder.name("sk"));
        let (id_value, end) = (folder.value(text(id.to_string())), folder.value(text(key::PAYLOAD)));
        let items = self.query(folder.when(format!("{pk} = {id_value} AND {sk} < {end}")), None).await?;
        if items.is_empty() {
            return Ok(None);
        }
        let mut loaded = Loaded::new(*id);
        for item in items {
            loaded.take(item);
        }
        if loaded.receipt.is_none() {
            // The receipt would have said it. This is an orphaned folder, or one of a newer version.
            let keys = self.query(beginning(&id.to_string(), key::PAYLOAD), Some("#pk, #sk")).await?;
            loaded.chunks = keys.len();
        }
        Ok(Some(loaded))
    }

    /// Reads the payload of a receipt; `None` when it has expired.
    pub async fn payload(&self, id: &ReceiptId) -> Result<Option<Payload>, LedgerError> {
        let items = self.query(beginning(&id.to_string(), key::PAYLOAD), None).await?;
        Ok(item::payload::from_items(&items)?)
    }

    /// Whether anything of a receipt's payload is there, read consistently and without the payload.
    pub async fn has_payload(&self, id: &ReceiptId) -> Result<bool, LedgerError> {
        Ok(!self.query(beginning(&id.to_string(), key::PAYLOAD), Some("sk")).await?.is_empty())
    }

    /// Every item of a range of one partition, or only these attributes of it, read consistently.
    pub(crate) async fn query(&self, range: Expression, only: Option<&str>) -> Result<Vec<Item>, LedgerError> {
        let mut tries = self.tries();
        let mut items = Vec::new();
        let mut after: Option<HashMap<_, _>> = None;
        loop {
            let call = self
                .client
                .query()
                .table_name(self.table.as_ref())
                .consistent_read(true)
                .set_key_condition_expression(range.condition())
                .set_expression_attribute_names(range.names())
                .set_expression_attribute_values(range.values())
                .set_projection_expression(only.map(str::to_owned))
                .set_exclusive_start_key(after.clone());
            match tries.make(call.send()).await {
                Ok(page) => {
                    items.extend(page.items.unwrap_or_default());
                    after = page.last_evaluated_key.filter(|key| !key.is_empty());
                    if after.is_none() {
                        return Ok(items);
                    }
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

/// The items of a partition whose sort keys begin so.
pub(crate) fn beginning(pk: &str, sk: &str) -> Expression {
    let mut range = Expression::default();
    let (pk_name, sk_name) = (range.name("pk"), range.name("sk"));
    let (pk, sk) = (range.value(text(pk)), range.value(text(sk)));
    range.when(format!("{pk_name} = {pk} AND begins_with({sk_name}, {sk})"))
}
