//! What a healthy deployment looks like to the doctor, and what becomes of it when one thing of it is wrong.

mod judged;
mod seen;

use std::collections::BTreeMap;
use std::time::Duration;

use hookbox_core::time::Timestamp;
use hookbox_ledger::deployed::{DeployedIndex, DeployedStream, DeployedTable, KeyAttributes, Projected, TimeToLive};
use hookbox_ledger::table::{Index, TABLE};
use hookbox_queue::{DeployedQueue, Redrive};

use super::clock::Told;
use super::deployment::{Deployment, Function, Stack};
use super::expected::{STREAM_FILTER, SWEEP_RATE, VARIABLES};
use super::finding::{Level, Unseen};
use super::functions::{Configuration, FunctionSeen};
use super::queues::{QueueSeen, QueuesSeen};
use super::secrets::{SecretRead, SecretSeen};
use super::sources::{Source, SourcesSeen};
use super::standing::{Applied, StandingSeen};
use super::sweeper::{Schedule, Sweep, SweeperSeen};
use super::table::TableSeen;
use super::*;
use crate::pauses::Pauses;
use crate::testing::integration;

const STREAM: &str = "arn:aws:dynamodb:eu-west-1:1:table/t/stream/1";

fn now() -> Timestamp {
    Timestamp::parse_rfc3339("2026-11-30T08:00:00Z").unwrap()
}

/// The address of a queue by its name in the template.
fn url(role: &str) -> String {
    format!("https://sqs.eu-west-1.amazonaws.com/1/{role}")
}

fn arn(role: &str) -> String {
    format!("arn:aws:sqs:eu-west-1:1:{role}")
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn stack() -> Stack {
    let mut resources = map(&[
        ("Table", "t"),
        ("SweeperFunctionEveryMinute", "sweep"),
        ("SweeperLog", "/hookbox/hookbox/sweeper"),
        ("StreamFailureQueue", &url("StreamFailureQueue")),
        ("WorkQueue", &url("WorkQueue")),
        ("DeadLetterQueue", &url("DeadLetterQueue")),
    ]);
    resources.extend(Function::ALL.map(|function| (function.resource().to_owned(), function.name().to_owned())));
    Stack {
        status: "UPDATE_COMPLETE".to_owned(),
        reason: None,
        parameters: map(&[("Shards", "4"), ("SecretPrefix", "hookbox"), ("WorkerConcurrency", "10")]),
        outputs: map(&[("Version", env!("CARGO_PKG_VERSION"))]),
        resources,
    }
}

fn function(function: Function) -> FunctionSeen {
    let values = map(&[
        ("HOOKBOX_TABLE", "t"),
        ("HOOKBOX_SHARDS", "4"),
        ("HOOKBOX_WORK_QUEUE_URL", &url("WorkQueue")),
        ("HOOKBOX_DEAD_LETTER_QUEUE_URL", &url("DeadLetterQueue")),
    ]);
    let names = VARIABLES.iter().find(|(name, _)| *name == function.name()).unwrap().1;
    let variables = values.into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect();
    let seconds = match function {
        Function::Ingest => 10,
        Function::Dispatcher => 30,
        Function::Worker => 60,
        Function::Sweeper => 55,
    };
    let configuration = Configuration {
        state: Some("Active".to_owned()),
        last_update: Some("Successful".to_owned()),
        reason: None,
        timeout: Some(Duration::from_secs(seconds)),
        variables: Ok(variables),
    };
    FunctionSeen { function, name: function.name().to_owned(), configuration: Ok(Some(configuration)) }
}

fn index(defined: &Index) -> DeployedIndex {
    DeployedIndex {
        name: defined.name.to_owned(),
        status: Some("ACTIVE".to_owned()),
        key: KeyAttributes { hash: Some(defined.hash.to_owned()), range: Some(defined.range.to_owned()) },
        projected: Projected::Include(defined.include.iter().map(|name| (*name).to_owned()).collect()),
    }
}

fn table() -> TableSeen {
    let table = DeployedTable {
        status: Some("ACTIVE".to_owned()),
        on_demand: true,
        deletion_protected: true,
        encryption: None,
        key: KeyAttributes { hash: Some("pk".to_owned()), range: Some("sk".to_owned()) },
        stream: Some(DeployedStream { arn: Some(STREAM.to_owned()), view: Some(TABLE.stream_view.to_owned()) }),
        indexes: TABLE.indexes.iter().map(index).collect(),
    };
    let expires = TimeToLive { status: Some("ENABLED".to_owned()), attribute: Some("expires_at".to_owned()) };
    TableSeen {
        name: "t".to_owned(),
        table: Ok(Some(table)),
        time_to_live: Ok(Some(expires)),
        recovery: Ok(Some(true)),
    }
}

fn queue(role: &'static str) -> QueueSeen {
    let redrive = Redrive { target: Some(arn("DeadLetterQueue")), max_receives: Some(5) };
    let deployed = DeployedQueue {
        arn: Some(arn(role)),
        visibility: Some(Duration::from_secs(360)),
        retention: Some(Duration::from_secs(14 * 24 * 3_600)),
        redrive: Some(redrive).filter(|_| role == "WorkQueue"),
        encrypted: true,
        ..DeployedQueue::default()
    };
    QueueSeen { role, url: url(role), queue: Ok(Some(deployed)) }
}

fn stream_source() -> Source {
    Source {
        uuid: "stream-1".to_owned(),
        arn: Some(STREAM.to_owned()),
        state: Some("Enabled".to_owned()),
        last_result: Some("OK".to_owned()),
        reports_failures: true,
        bisects: true,
        retries: Some(20),
        max_age: Some(3_600),
        filters: vec![STREAM_FILTER.to_owned()],
        on_failure: Some(arn("StreamFailureQueue")),
        concurrency: None,
    }
}

fn queue_source() -> Source {
    Source {
        uuid: "queue-1".to_owned(),
        arn: Some(arn("WorkQueue")),
        state: Some("Enabled".to_owned()),
        reports_failures: true,
        concurrency: Some(10),
        ..Source::default()
    }
}

fn sources(function: Function, source: Source) -> SourcesSeen {
    SourcesSeen { function, name: function.name().to_owned(), sources: Ok(vec![source]) }
}

/// A deployment to which nothing is to be said but that it has no alarms.
fn healthy() -> Examination {
    let sweep = Sweep {
        at: now().minus(Duration::from_secs(34)),
        open: Some(2),
        held: Some(0),
        review: Some(0),
        oldest_open: Some(Duration::from_secs(3)),
    };
    let schedule = Schedule {
        state: Some("ENABLED".to_owned()),
        expression: Some(SWEEP_RATE.to_owned()),
        target: Some("arn:aws:lambda:eu-west-1:1:function:sweeper".to_owned()),
    };
    let secret = |path: &str, user: &str, function| SecretSeen {
        reference: path.parse().unwrap(),
        used_by: vec![(user.to_owned(), function)],
        read: SecretRead::There,
    };
    Examination {
        deployment: Deployment { name: "hookbox".to_owned(), stack: Ok(stack()), stated: BTreeMap::new() },
        now: now(),
        clock: Ok(Told { caller: "arn:aws:sts::1:assumed-role/ops/jane".to_owned(), there: now(), here: now() }),
        table: table(),
        functions: Function::ALL.map(function).to_vec(),
        stream_sources: sources(Function::Dispatcher, stream_source()),
        queue_sources: sources(Function::Worker, queue_source()),
        queues: QueuesSeen {
            work: queue("WorkQueue"),
            dead_letter: queue("DeadLetterQueue"),
            stream_failure: queue("StreamFailureQueue"),
        },
        sweeper: SweeperSeen {
            schedule_name: "sweep".to_owned(),
            schedule: Ok(Some(schedule)),
            log_name: "/hookbox/hookbox/sweeper".to_owned(),
            last: Ok(Some(sweep)),
            function: "sweeper".to_owned(),
        },
        standing: StandingSeen {
            table: "t".to_owned(),
            applied: Ok(Applied { integrations: vec![integration()], unreadable: Vec::new() }),
            pauses: Ok(Pauses::default()),
            review: Ok((0, false)),
        },
        secrets: Ok(vec![
            secret("ssm:/hookbox/demo/signing", "stripe/demo deliver", Function::Worker),
            secret("ssm:/hookbox/demo/stripe", "stripe/demo", Function::Ingest),
        ]),
        alarms: Ok(Vec::new()),
    }
}

/// What is to be said but that there are no alarms: check, level and resource.
fn said(examination: &Examination) -> Vec<(&'static str, Level, String)> {
    let findings = examination.report().findings.into_iter();
    let said = findings.filter(|finding| finding.level != Level::Ok && finding.check != "alarms");
    said.map(|finding| (finding.check, finding.level, finding.resource)).collect()
}

fn unseen() -> Unseen {
    Unseen::because("not today").advise("a role that allows it")
}
