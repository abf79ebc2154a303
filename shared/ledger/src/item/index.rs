//! The partition keys of the indexes.

use hookbox_core::job::Job;
use hookbox_core::key::Shards;
use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::wake::{OpenList, open_list};

/// Where a job stands in `open`; `None` once it has ended.
pub(crate) fn open(job: &Job, shards: Shards) -> Option<String> {
    let shard = job.key.receipt.shard(shards);
    open_list(job.status()).map(|list| match list {
        OpenList::Due => due(shard),
        OpenList::Review => review(shard),
        OpenList::Held => held(&job.provider, &job.account, &job.key.operation, shard),
    })
}

pub(crate) fn due(shard: u16) -> String {
    format!("due#{shard}")
}

pub(crate) fn review(shard: u16) -> String {
    format!("review#{shard}")
}

pub(crate) fn held(provider: &Provider, account: &Account, operation: &OperationName, shard: u16) -> String {
    format!("held#{provider}#{account}#{operation}#{shard}")
}

/// Where a receipt stands in `history`.
pub(crate) fn history(receipt: &Receipt, shards: Shards) -> String {
    day(&receipt.provider, &receipt.account, receipt.received_at, receipt.id.shard(shards))
}

pub(crate) fn day(provider: &Provider, account: &Account, at: Timestamp, shard: u16) -> String {
    format!("{provider}#{account}#{}#{shard}", at.day())
}

/// Where the receipts of a resource stand in `resource`.
pub(crate) fn resource(provider: &Provider, account: &Account, resource: &str) -> String {
    format!("{provider}#{account}#{resource}")
}
