//! The event sources: how the stream reaches the dispatcher, and the work queue the worker.

use std::collections::BTreeSet;

use serde_json::Value;

use super::deployment::{Deployment, Function};
use super::expected::{STREAM_FILTER, STREAM_MAX_AGE, STREAM_RETRIES};
use super::finding::{Finding, Seen};
use crate::connection::Aws;

/// The event sources of a function.
#[derive(Clone, Debug)]
pub struct SourcesSeen {
    /// Which function.
    pub function: Function,
    /// Its name, or the template's where that is not known.
    pub name: String,
    /// Its event sources.
    pub sources: Seen<Vec<Source>>,
}

/// An event source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its id.
    pub uuid: String,
    /// What it reads.
    pub arn: Option<String>,
    /// Such as `Enabled`.
    pub state: Option<String>,
    /// What came of the last batch.
    pub last_result: Option<String>,
    /// Whether the function answers which items of a batch failed.
    pub reports_failures: bool,
    /// Whether a batch that fails as a whole is cut in two.
    pub bisects: bool,
    /// How often a batch is tried again.
    pub retries: Option<i32>,
    /// From which age on a record is given up, in seconds.
    pub max_age: Option<i32>,
    /// Which records are let through.
    pub filters: Vec<String>,
    /// Where a batch that was given up is reported.
    pub on_failure: Option<String>,
    /// How many may run at once.
    pub concurrency: Option<i32>,
}

impl SourcesSeen {
    /// Asks Lambda.
    pub(super) async fn read(function: Function, deployment: &Deployment, aws: &Aws) -> Self {
        let name = deployment.shown(function.resource());
        let sources = async {
            let name = deployment.resource(function.resource())?;
            let client = aws_sdk_lambda::Client::new(aws.config());
            let pages = client.list_event_source_mappings().function_name(&name).into_paginator();
            let found: Result<Vec<_>, _> = pages.items().send().collect().await;
            let found = found.map_err(|error| {
                let attempted = format!("list the event sources of `{name}`");
                aws.failure(&attempted, "lambda:ListEventSourceMappings", &error)
            })?;
            Ok(found.into_iter().map(Source::from).collect())
        };
        let sources = sources.await;
        Self { function, name, sources }
    }
}

impl From<aws_sdk_lambda::types::EventSourceMappingConfiguration> for Source {
    fn from(mapping: aws_sdk_lambda::types::EventSourceMappingConfiguration) -> Self {
        let reports = aws_sdk_lambda::types::FunctionResponseType::ReportBatchItemFailures;
        let filters = mapping.filter_criteria.and_then(|criteria| criteria.filters).unwrap_or_default();
        let on_failure = mapping.destination_config.and_then(|destination| destination.on_failure);
        Self {
            uuid: mapping.uuid.unwrap_or_default(),
            arn: mapping.event_source_arn,
            state: mapping.state,
            last_result: mapping.last_processing_result,
            reports_failures: mapping.function_response_types.is_some_and(|types| types.contains(&reports)),
            bisects: mapping.bisect_batch_on_function_error == Some(true),
            retries: mapping.maximum_retry_attempts,
            max_age: mapping.maximum_record_age_in_seconds,
            filters: filters.into_iter().filter_map(|filter| filter.pattern).collect(),
            on_failure: on_failure.and_then(|on_failure| on_failure.destination),
            concurrency: mapping.scaling_config.and_then(|scaling| scaling.maximum_concurrency),
        }
    }
}

/// What the event sources are to read and to do, as far as it is known from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted<'a> {
    /// The table's stream, or the work queue.
    pub(super) arn: Option<&'a str>,
    /// The queue for what the stream's gave up.
    pub(super) on_failure: Option<&'a str>,
    /// The stack's parameter.
    pub(super) concurrency: Option<&'a str>,
}

/// Whether a function gets what it is there for, and a bad item of a batch hurts no other.
pub(super) fn judge(seen: &SourcesSeen, wanted: Wanted<'_>) -> Vec<Finding> {
    let sources = match &seen.sources {
        Ok(sources) => sources,
        Err(unseen) => return vec![Finding::unseen("event-source", &seen.name, unseen)],
    };
    let of = if seen.function == Function::Dispatcher { "the table's stream" } else { "the work queue" };
    let found = sources.iter().find(|source| wanted.arn.is_none() || source.arn.as_deref() == wanted.arn);
    let Some(source) = found else {
        let others: Vec<_> = sources.iter().filter_map(|source| source.arn.as_deref()).collect();
        let found = if others.is_empty() { "none".to_owned() } else { format!("only {}", others.join(", ")) };
        let missing = Finding::problem("event-source", &seen.name, format!("{found}: nothing reaches the function"));
        let expected = wanted.arn.map_or_else(|| of.to_owned(), |arn| format!("{of}, {arn}"));
        return vec![missing.expected(expected).advise("make deploy")];
    };
    let name = format!("{} from {of}", seen.function.name());
    let mut findings = vec![enabled(&name, source), partial(&name, source)];
    if seen.function == Function::Dispatcher {
        findings.extend([given_up(&name, source), filter(&name, source), on_failure(&name, source, wanted.on_failure)]);
    } else {
        findings.push(concurrency(&name, source, wanted.concurrency));
    }
    findings
}

fn set(source: &Source, how: &str) -> String {
    format!("aws lambda update-event-source-mapping --uuid {} {how}", source.uuid)
}

fn enabled(name: &str, source: &Source) -> Finding {
    let state = source.state.as_deref().unwrap_or("-");
    match state {
        "Enabled" => match source.last_result.as_deref() {
            Some(result) if result.starts_with("PROBLEM") => Finding::problem("event-source", name, result)
                .expected("OK")
                .advise("the function's log says why; its role may lack an action"),
            _ => Finding::ok("event-source", name, state),
        },
        "Creating" | "Enabling" | "Updating" => {
            Finding::warning("event-source", name, state).expected("Enabled").advise("look again in a minute")
        }
        _ => Finding::problem("event-source", name, format!("{state}: nothing reaches the function"))
            .expected("Enabled")
            .advise(set(source, "--enabled")),
    }
}

fn partial(name: &str, source: &Source) -> Finding {
    if source.reports_failures {
        return Finding::ok("batch-item-failures", name, "ReportBatchItemFailures");
    }
    Finding::problem("batch-item-failures", name, "off: what the function answers as failed is taken for done")
        .expected("ReportBatchItemFailures")
        .advise(set(source, "--function-response-types ReportBatchItemFailures"))
}

/// A record that fails for an hour must not hold up its shard, and its batch not the other records.
fn given_up(name: &str, source: &Source) -> Finding {
    let number = |number: Option<i32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let shown = |bisects: bool, retries: Option<i32>, age: Option<i32>| {
        let cut = if bisects { "cut in two" } else { "not cut in two" };
        format!("a failing batch is {cut}, tried {} times again, given up after {} s", number(retries), number(age))
    };
    let found = shown(source.bisects, source.retries, source.max_age);
    let age = i32::try_from(STREAM_MAX_AGE.as_secs()).ok();
    let expected = shown(true, Some(STREAM_RETRIES), age);
    if found == expected {
        return Finding::ok("retries", name, found);
    }
    let age = number(age);
    let how = format!(
        "--bisect-batch-on-function-error --maximum-retry-attempts {STREAM_RETRIES} --maximum-record-age-in-seconds {age}"
    );
    let bounded = |limit: Option<i32>| limit.is_some_and(|limit| limit >= 0);
    // Without a bound one bad record stops its shard for a day.
    let holds_up = !source.bisects || !(bounded(source.retries) || bounded(source.max_age));
    let finding =
        if holds_up { Finding::problem("retries", name, found) } else { Finding::warning("retries", name, found) };
    finding.expected(expected).advise(set(source, &how))
}

fn filter(name: &str, source: &Source) -> Finding {
    let read = |filter: &str| serde_json::from_str::<Value>(filter).unwrap_or(Value::String(filter.to_owned()));
    let canonical = |filters: &[String]| filters.iter().map(|filter| read(filter).to_string()).collect::<BTreeSet<_>>();
    if canonical(&source.filters) == canonical(&[STREAM_FILTER.to_owned()]) {
        return Finding::ok("filter", name, "new and changed jobs that are pending or in review");
    }
    let filters = serde_json::json!({"Filters": [{"Pattern": STREAM_FILTER}]});
    let mend = set(source, &format!("--filter-criteria '{filters}'"));
    if source.filters.is_empty() {
        let found = "none: the function is called, and paid for, for every item that is written";
        return Finding::warning("filter", name, found).expected(STREAM_FILTER).advise(mend);
    }
    Finding::problem("filter", name, source.filters.join("\n"))
        .expected(format!("{STREAM_FILTER}, or the jobs that it leaves out wait for the sweeper"))
        .advise(mend)
}

fn on_failure(name: &str, source: &Source, wanted: Option<&str>) -> Finding {
    let mend = wanted.map(|arn| {
        let destination = serde_json::json!({"OnFailure": {"Destination": arn}});
        set(source, &format!("--destination-config '{destination}'"))
    });
    let mend = mend.unwrap_or_else(|| "make deploy".to_owned());
    match (source.on_failure.as_deref(), wanted) {
        (Some(found), Some(wanted)) if found != wanted => {
            Finding::warning("on-failure", name, found).expected(wanted).advise(mend)
        }
        (Some(found), _) => Finding::ok("on-failure", name, found),
        (None, wanted) => Finding::warning("on-failure", name, "none: what is given up is given up in silence")
            .expected(wanted.unwrap_or("the template's StreamFailureQueue"))
            .advise(mend),
    }
}

fn concurrency(name: &str, source: &Source, wanted: Option<&str>) -> Finding {
    let found = source.concurrency.map(|concurrency| concurrency.to_string());
    match (found, wanted) {
        (Some(found), Some(wanted)) if found != wanted => {
            let how = format!("--scaling-config MaximumConcurrency={wanted}");
            Finding::warning("concurrency", name, found).expected(wanted).advise(set(source, &how))
        }
        (Some(found), _) => Finding::ok("concurrency", name, format!("at most {found} workers at once")),
        (None, wanted) => {
            let wanted = wanted.unwrap_or("10");
            let how = format!("--scaling-config MaximumConcurrency={wanted}");
            Finding::warning("concurrency", name, "unbounded: destinations see as many calls as there are jobs")
                .expected(wanted)
                .advise(set(source, &how))
        }
    }
}
