//! As much of CloudWatch as metrics and the lines of a log take: no local part has it.

use std::sync::{Arc, Mutex};

use aws_config::retry::RetryConfig;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::TestTable;
use serde_json::{Value, json};

use super::cbor;
use crate::connection::Aws;

/// What CloudWatch holds, and what it was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct CloudWatch(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    metrics: Vec<Metric>,
    lines: Vec<(Timestamp, String, String)>,
    /// With this code it refuses whatever it is asked.
    refuses: Option<&'static str>,
    /// Whether metrics cannot be read, which it says of each by itself.
    broken: bool,
    asked: Vec<Value>,
}

#[derive(Debug)]
struct Metric {
    /// Name and dimensions, such as `EventsCreated Provider=stripe`.
    name: String,
    statistic: &'static str,
    points: Vec<(Timestamp, f64)>,
}

/// Numbers, or lines, of one answer.
const PAGE: usize = 3;

impl CloudWatch {
    /// A metric has these points.
    pub(crate) fn metric(&self, name: &str, statistic: &'static str, points: &[(Timestamp, f64)]) {
        self.0.lock().unwrap().metrics.push(Metric { name: name.to_owned(), statistic, points: points.to_vec() });
    }

    /// A line shows in the log, now or late.
    pub(crate) fn line(&self, at: Timestamp, line: &Value) {
        let mut held = self.0.lock().unwrap();
        let id = held.lines.len().to_string();
        held.lines.push((at, id, format!("{line}\n")));
        held.lines.sort_by_key(|(at, ..)| *at);
    }

    /// From now on everything is refused with this code, or nothing any more.
    pub(crate) fn refuses(&self, code: Option<&'static str>) {
        self.0.lock().unwrap().refuses = code;
    }

    /// From now on metrics cannot be read.
    pub(crate) fn breaks(&self) {
        self.0.lock().unwrap().broken = true;
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.0.lock().unwrap().asked.clone()
    }

    /// A way to it, behind a loopback port.
    pub(crate) async fn aws(&self) -> Aws {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let config = TestTable::start().await.config().into_builder();
        // Trying again would wait in real time.
        Aws::of(config.endpoint_url(endpoint).retry_config(RetryConfig::disabled()).build(), None)
    }
}

async fn answer(State(cloudwatch): State<CloudWatch>, headers: HeaderMap, uri: Uri, body: Bytes) -> Response {
    let mut held = cloudwatch.0.lock().unwrap();
    let logs = headers.get("x-amz-target").map(|target| target.to_str().unwrap().to_owned());
    let asked = if logs.is_some() { serde_json::from_slice(&body).unwrap() } else { cbor::read(&body) };
    held.asked.push(asked.clone());
    let answer = match (held.refuses, logs.as_deref()) {
        (Some(code), _) => json!({"__type": format!("com.amazonaws#{code}"), "message": "by the test"}),
        (None, Some("Logs_20140328.FilterLogEvents")) => held.filter(&asked),
        (None, None) if uri.path().ends_with("/operation/GetMetricData") => held.metric_data(&asked),
        _ => panic!("{uri} {logs:?}"),
    };
    let status = if held.refuses.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    match logs {
        Some(_) => (status, [("content-type", "application/x-amz-json-1.1")], answer.to_string()).into_response(),
        None => {
            let headers = [("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")];
            (status, headers, cbor::written(&answer)).into_response()
        }
    }
}

impl Held {
    fn filter(&self, asked: &Value) -> Value {
        assert_eq!(asked["logGroupName"], "/hookbox/test/worker");
        let pattern = "{ ($.message = \"attempt ended\") || ($.message = \"held\") }";
        assert_eq!(asked["filterPattern"], pattern);
        let between = asked["startTime"].as_i64().unwrap()..=asked["endTime"].as_i64().unwrap();
        let first: usize = asked["nextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        let fitting: Vec<_> = self.lines.iter().filter(|(at, ..)| between.contains(&at.as_millis())).collect();
        let page = fitting.iter().skip(first).take(PAGE).map(|(at, id, message)| {
            json!({"eventId": id, "timestamp": at.as_millis(), "message": message, "logStreamName": "s"})
        });
        let events: Vec<Value> = page.collect();
        // An empty page may have a successor.
        if first < fitting.len() {
            json!({"events": events, "nextToken": (first + PAGE).to_string()})
        } else {
            json!({"events": events})
        }
    }

    fn metric_data(&self, asked: &Value) -> Value {
        let queries = asked["MetricDataQueries"].as_array().unwrap();
        let first: usize = asked["NextToken"].as_str().map_or(0, |token| token.parse().unwrap());
        let (since, until) = (asked["StartTime"].as_f64().unwrap(), asked["EndTime"].as_f64().unwrap());
        let results: Vec<Value> = queries
            .iter()
            .skip(first)
            .take(PAGE)
            .map(|query| {
                let statistic = &query["MetricStat"];
                assert_eq!(statistic["Metric"]["Namespace"], "Hookbox");
                let period = statistic["Period"].as_f64().unwrap();
                assert!(since % 60.0 == 0.0 && period % 60.0 == 0.0, "whole minutes: {asked}");
                let mut name = statistic["Metric"]["MetricName"].as_str().unwrap().to_owned();
                for dimension in statistic["Metric"]["Dimensions"].as_array().into_iter().flatten() {
                    name = format!("{name} {}={}", text(&dimension["Name"]), text(&dimension["Value"]));
                }
                let metric = self.metrics.iter().find(|one| one.name == name && statistic["Stat"] == one.statistic);
                let seconds = |at: Timestamp| at.since(Timestamp::from_millis(0)).as_secs_f64();
                let points = metric.iter().flat_map(|metric| &metric.points);
                let points: Vec<_> = points.filter(|(at, _)| (since..until).contains(&seconds(*at))).collect();
                json!({
                    "Id": query["Id"], "Label": name,
                    "StatusCode": if self.broken { "InternalError" } else { "Complete" },
                    "Timestamps": points.iter().map(|(at, _)| json!({"time": seconds(*at)})).collect::<Vec<_>>(),
                    "Values": points.iter().map(|(_, value)| json!(value)).collect::<Vec<_>>(),
                })
            })
            .collect();
        if first + PAGE < queries.len() {
            json!({"MetricDataResults": results, "NextToken": (first + PAGE).to_string()})
        } else {
            json!({"MetricDataResults": results})
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
