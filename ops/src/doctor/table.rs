//! The table: what keeps every promise.

use std::collections::BTreeSet;

use hookbox_ledger::deployed::{DeployedIndex, DeployedTable, Encryption, Projected, TimeToLive};
use hookbox_ledger::table::{Index, TABLE};

use super::finding::{Finding, Seen, Unseen};
use crate::connection::Table;

/// What was read of the table.
#[derive(Clone, Debug)]
pub struct TableSeen {
    /// Its name.
    pub name: String,
    /// The table; `None` when there is none.
    pub table: Seen<Option<DeployedTable>>,
    /// Its time to live.
    pub time_to_live: Seen<Option<TimeToLive>>,
    /// Whether it can be brought back to an earlier second.
    pub recovery: Seen<Option<bool>>,
}

impl TableSeen {
    /// Asks DynamoDB.
    pub(super) async fn read(name: String, table: &Seen<Table>) -> Self {
        let table = match table {
            Ok(table) => table,
            Err(unseen) => {
                let unseen = || unseen.clone();
                return Self { name, table: Err(unseen()), time_to_live: Err(unseen()), recovery: Err(unseen()) };
            }
        };
        let (deployed, time_to_live, recovery) = futures_util::join!(
            table.ledger.deployed(),
            table.ledger.deployed_time_to_live(),
            table.ledger.deployed_recovery(),
        );
        let unseen = |error| Unseen::from(table.failure("describe the table", &error));
        Self {
            name,
            table: deployed.map_err(unseen),
            time_to_live: time_to_live.map_err(unseen),
            recovery: recovery.map_err(unseen),
        }
    }

    /// The stream that carries what is written now.
    pub(super) fn stream_arn(&self) -> Option<&str> {
        self.table.as_ref().ok()?.as_ref()?.stream.as_ref()?.arn.as_deref()
    }
}

/// Whether the table is what [`TABLE`] says and `template.yaml` deploys.
pub(super) fn judge(seen: &TableSeen) -> Vec<Finding> {
    let name = seen.name.as_str();
    let mut findings = match &seen.table {
        Ok(Some(table)) => described(name, table),
        Ok(None) => {
            let missing = Finding::problem("table", name, "there is none of this name").expected("ACTIVE");
            return vec![missing.advise("--table names another; a backup restores one that was deleted")];
        }
        Err(unseen) => ["table", "index", "stream"].map(|check| Finding::unseen(check, name, unseen)).to_vec(),
    };
    findings.push(match &seen.recovery {
        Ok(recovery) => recovered(name, *recovery == Some(true)),
        Err(unseen) => Finding::unseen("recovery", name, unseen),
    });
    findings.push(match &seen.time_to_live {
        Ok(expires) => expiry(name, expires.as_ref()),
        Err(unseen) => Finding::unseen("time-to-live", name, unseen),
    });
    findings
}

fn described(name: &str, table: &DeployedTable) -> Vec<Finding> {
    let mut findings = vec![status(name, table), key(name, table), capacity(name, table)];
    findings.extend([protection(name, table), encryption(name, table.encryption.as_ref())]);
    findings.extend(TABLE.indexes.iter().map(|defined| {
        let deployed = table.indexes.iter().find(|index| index.name == defined.name);
        index(name, defined, deployed)
    }));
    findings.extend(unknown_indexes(name, table));
    findings.push(stream(name, table));
    findings
}

fn status(name: &str, table: &DeployedTable) -> Finding {
    match table.status.as_deref() {
        Some("ACTIVE") => Finding::ok("table", name, "ACTIVE"),
        Some("UPDATING") => Finding::warning("table", name, "UPDATING").expected("ACTIVE").advise("look again soon"),
        Some(other) => Finding::problem("table", name, other)
            .expected("ACTIVE")
            .advise(format!("aws dynamodb describe-table --table-name {name}")),
        None => Finding::unseen("table", name, &Unseen::because("the answer does not say its status")),
    }
}

fn key(name: &str, table: &DeployedTable) -> Finding {
    let shown = |hash: Option<&str>, range: Option<&str>| format!("{}, {}", hash.unwrap_or("-"), range.unwrap_or("-"));
    let found = shown(table.key.hash.as_deref(), table.key.range.as_deref());
    let expected = shown(Some(TABLE.hash), Some(TABLE.range));
    if found == expected {
        return Finding::ok("key", name, found);
    }
    Finding::problem("key", name, found).expected(expected).advise("--table: this is no table of Hookbox")
}

fn capacity(name: &str, table: &DeployedTable) -> Finding {
    if table.on_demand {
        return Finding::ok("capacity", name, "on demand");
    }
    Finding::warning("capacity", name, "provisioned: it idles at a price, and a storm of deliveries is throttled")
        .expected("on demand")
        .advise(format!("aws dynamodb update-table --table-name {name} --billing-mode PAY_PER_REQUEST"))
}

fn protection(name: &str, table: &DeployedTable) -> Finding {
    if table.deletion_protected {
        return Finding::ok("deletion-protection", name, "on");
    }
    Finding::warning("deletion-protection", name, "off: one command deletes every receipt")
        .expected("on")
        .advise(format!("aws dynamodb update-table --table-name {name} --deletion-protection-enabled"))
}

fn encryption(name: &str, encryption: Option<&Encryption>) -> Finding {
    let Some(encryption) = encryption else {
        return Finding::ok("encryption", name, "with the key that AWS owns");
    };
    let key = encryption.key.as_deref().unwrap_or("a key of the account");
    let status = encryption.status.as_deref().unwrap_or("-");
    if status == "ENABLED" && !encryption.inaccessible {
        return Finding::ok("encryption", name, format!("with {key}"));
    }
    let found = if encryption.inaccessible { format!("{key} cannot be used") } else { format!("{status} with {key}") };
    Finding::problem("encryption", name, found)
        .expected("a key that is enabled and may be used")
        .advise(format!("aws kms describe-key --key-id {key}"))
}

fn recovered(name: &str, enabled: bool) -> Finding {
    if enabled {
        return Finding::ok("recovery", name, "to any second of the last weeks");
    }
    let specification = "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true";
    Finding::problem("recovery", name, "point-in-time recovery is off: what is lost stays lost")
        .expected("on")
        .advise(format!("aws dynamodb update-continuous-backups --table-name {name} {specification}"))
}

fn expiry(name: &str, expires: Option<&TimeToLive>) -> Finding {
    let attribute = expires.and_then(|expires| expires.attribute.as_deref());
    let status = expires.and_then(|expires| expires.status.as_deref()).unwrap_or("DISABLED");
    let found = attribute.map_or_else(|| status.to_owned(), |attribute| format!("{status} on `{attribute}`"));
    let expected = format!("ENABLED on `{}`", TABLE.time_to_live);
    if found == expected {
        return Finding::ok("time-to-live", name, found);
    }
    if attribute == Some(TABLE.time_to_live) && status == "ENABLING" {
        return Finding::warning("time-to-live", name, found).expected(expected).advise("look again in an hour");
    }
    let specification = format!("--time-to-live-specification Enabled=true,AttributeName={}", TABLE.time_to_live);
    Finding::problem("time-to-live", name, format!("{found}: nothing expires, payloads neither"))
        .expected(expected)
        .advise(format!("aws dynamodb update-time-to-live --table-name {name} {specification}"))
}

fn index(table: &str, defined: &Index, deployed: Option<&DeployedIndex>) -> Finding {
    let resource = format!("{table} index {}", defined.name);
    let redeploy = "make deploy: CloudFormation makes it from template.yaml and what the table holds";
    let Some(deployed) = deployed else {
        return Finding::problem("index", &resource, "there is none").expected("ACTIVE").advise(redeploy);
    };
    let shown = |hash: &str, range: &str, include: &BTreeSet<String>| {
        let include: Vec<_> = include.iter().map(String::as_str).collect();
        format!("{hash}, {range} with {}", include.join(", "))
    };
    let include: BTreeSet<String> = defined.include.iter().map(|name| (*name).to_owned()).collect();
    let expected = shown(defined.hash, defined.range, &include);
    let (hash, range) = (deployed.key.hash.as_deref().unwrap_or("-"), deployed.key.range.as_deref().unwrap_or("-"));
    let keys_agree = (hash, range) == (defined.hash, defined.range);
    let (found, complete, exact) = match &deployed.projected {
        Projected::All => (format!("{hash}, {range} with all attributes"), true, false),
        Projected::Include(held) => (shown(hash, range, held), held.is_superset(&include), *held == include),
    };
    if !keys_agree || !complete {
        return Finding::problem("index", &resource, found).expected(expected).advise(redeploy);
    }
    match deployed.status.as_deref() {
        Some("ACTIVE") if exact => Finding::ok("index", &resource, format!("ACTIVE: {found}")),
        Some("ACTIVE") => Finding::warning("index", &resource, format!("{found}: what changes is written twice"))
            .expected(expected)
            .advise(redeploy),
        Some("CREATING" | "UPDATING") => Finding::warning("index", &resource, "it is being made: lists are incomplete")
            .expected("ACTIVE")
            .advise(format!("aws dynamodb describe-table --table-name {table}, until it is ACTIVE")),
        Some(other) => Finding::problem("index", &resource, other).expected("ACTIVE").advise(redeploy),
        None => {
            let unseen = Unseen::because(format!("the answer does not say whether it is ACTIVE; {found}"));
            Finding::unseen("index", &resource, &unseen.advise("the local AWS never says it; AWS does"))
        }
    }
}

fn unknown_indexes<'a>(table: &'a str, deployed: &'a DeployedTable) -> impl Iterator<Item = Finding> + 'a {
    let known = |name: &str| TABLE.indexes.iter().any(|defined| defined.name == name);
    deployed.indexes.iter().filter(move |index| !known(&index.name)).map(move |index| {
        let resource = format!("{table} index {}", index.name);
        Finding::warning("index", &resource, "Hookbox knows nothing of it, and every write pays for it")
            .expected("no such index")
            .advise("leave it to whoever made it, or remove it")
    })
}

fn stream(name: &str, table: &DeployedTable) -> Finding {
    let expected = TABLE.stream_view;
    let view = table.stream.as_ref().map(|stream| stream.view.as_deref().unwrap_or("-"));
    match view {
        Some(view) if view == expected => Finding::ok("stream", name, view),
        found => {
            let found = found.unwrap_or("off: only the sweeper finds new jobs, five minutes later");
            Finding::problem("stream", name, found)
                .expected(expected)
                .advise(format!(
                    "aws dynamodb update-table --table-name {name} --stream-specification \
                     StreamEnabled=true,StreamViewType={expected}"
                ))
                .advise(
                    "then an event source of the dispatcher on the new stream: the one that is there reads the old one",
                )
        }
    }
}
