//! The keys of items. No name holds a `#`, so no two different lists of parts give the same key.

use hookbox_core::digest::Digest;
use hookbox_core::key::{JobKey, ReceiptId};
use hookbox_core::name::{Account, BulkId, OperationName, Provider};
use hookbox_core::time::Timestamp;

/// The sort key of a receipt.
pub(crate) const HEAD: &str = "head";
/// How the sort keys of payload chunks begin; every other sort key of a folder lies below it.
pub(crate) const PAYLOAD: &str = "payload#";
/// How the sort keys of jobs begin.
pub(crate) const JOB: &str = "job#";
/// How the sort keys of audit entries begin.
pub(crate) const LOG: &str = "log#";
/// The sort key of a configuration.
pub(crate) const CONFIG: &str = "config";
/// How the sort keys of pauses begin.
pub(crate) const PAUSE: &str = "pause#";
/// The sort key of a user's own profile.
pub(crate) const PROFILE: &str = "profile";
/// The sort key of a single-use token.
pub(crate) const TOKEN: &str = "token";
/// The sort key of a bulk operation.
pub(crate) const BULK: &str = "bulk";
/// How the sort keys of a bulk operation's jobs begin.
pub(crate) const BULK_JOBS: &str = "jobs#";
/// The partition key of the directory.
pub(crate) const DIRECTORY: &str = "directory";

/// The sort key of a job.
pub(crate) fn job(key: &JobKey) -> String {
    format!("{}{:04}", jobs(&key.operation), key.version)
}

/// How the sort keys of an operation's jobs begin.
pub(crate) fn jobs(operation: &OperationName) -> String {
    format!("{JOB}{operation}#v")
}

/// The job key of a sort key; `None` when it is not one of a job, or not in the one spelling that there is.
pub(crate) fn parse_job(receipt: ReceiptId, sk: &str) -> Option<JobKey> {
    let (operation, version) = sk.strip_prefix(JOB)?.split_once("#v")?;
    let key = JobKey { receipt, operation: operation.parse().ok()?, version: version.parse().ok()? };
    (key.version > 0 && job(&key) == sk).then_some(key)
}

/// The sort key of a payload chunk, from 0.
pub(crate) fn payload(chunk: usize) -> String {
    format!("{PAYLOAD}{chunk:03}")
}

/// The sort key of an audit entry. Times of one length sort as text.
pub(crate) fn log(at: Timestamp, id: &str) -> String {
    format!("{LOG}{at}#{id}")
}

/// The partition key of everything about the configuration of a connection, and its sort key in the directory.
pub(crate) fn integration(provider: &Provider, account: &Account) -> String {
    format!("integration#{provider}#{account}")
}

/// The connection of such a key.
pub(crate) fn parse_integration(key: &str) -> Option<(Provider, Account)> {
    let (provider, account) = key.strip_prefix("integration#")?.split_once('#')?;
    Some((provider.parse().ok()?, account.parse().ok()?))
}

/// The sort key of a pause.
pub(crate) fn pause(operation: &OperationName) -> String {
    format!("{PAUSE}{operation}")
}

/// The partition key of a user's own profile.
pub(crate) fn profile(name: &Provider) -> String {
    format!("profile#{name}")
}

/// The profile of such a key.
pub(crate) fn parse_profile(key: &str) -> Option<Provider> {
    key.strip_prefix("profile#")?.parse().ok()
}

/// The partition key of a bulk operation.
pub(crate) fn bulk(id: &BulkId) -> String {
    format!("bulk#{id}")
}

/// The sort key of a part of a bulk operation's jobs, from 0.
pub(crate) fn bulk_jobs(part: usize) -> String {
    format!("{BULK_JOBS}{part:03}")
}

/// The bulk operation of such a key.
pub(crate) fn parse_bulk(key: &str) -> Option<BulkId> {
    key.strip_prefix("bulk#")?.parse().ok()
}

/// The partition key of a single-use token, by its digest.
pub(crate) fn token(provider: &Provider, account: &Account, digest: Digest) -> String {
    format!("token#{provider}#{account}#{digest}")
}

/// The partition key of one shard of a counter of calls. Operations of two connections may have one name, so the
/// connection is a part of it.
pub(crate) fn rate(provider: &Provider, account: &Account, operation: &OperationName, shard: u16) -> String {
    format!("rate#{provider}#{account}#{operation}#{shard}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_job_has_one_sort_key() {
        let receipt: ReceiptId = Digest::of(b"x").to_string().parse().unwrap();
        let key = JobKey::first(receipt, "crm-upsert".parse().unwrap());
        assert_eq!(job(&key), "job#crm-upsert#v0001");
        assert_eq!(parse_job(receipt, "job#crm-upsert#v0001"), Some(key));
        for bad in
            ["job#crm-upsert#v1", "job#crm-upsert#v0000", "job#CRM#v0001", "job#crm-upsert", "head", "log#x#v0001"]
        {
            assert_eq!(parse_job(receipt, bad), None, "{bad}");
        }
    }

    #[test]
    fn only_payload_lies_above_payload() {
        let key = JobKey::first(Digest::of(b"x").to_string().parse().unwrap(), "z".parse().unwrap());
        for below in [HEAD, &job(&key), &log(Timestamp::from_millis(0), "z")] {
            assert!(below < PAYLOAD, "{below}");
        }
        assert!(payload(0).as_str() > PAYLOAD && payload(2) < payload(10));
    }
}
