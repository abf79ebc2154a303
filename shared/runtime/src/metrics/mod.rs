//! Metrics in CloudWatch's embedded format: a metric is a log line, and costs no call.

mod names;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use hookbox_core::surroundings::Clock;
use serde_json::{Map, Value, json};

pub use names::{Dimension, Metric};

/// The namespace of every metric.
pub const NAMESPACE: &str = "Hookbox";
/// The longest value of a dimension, in characters.
const MAX_DIMENSION_CHARS: usize = 128;

/// Takes the finished lines.
pub trait Sink: Send + Sync {
    /// Takes one line, which holds one JSON object and no line break.
    fn line(&self, line: &str);
}

impl<F: Fn(&str) + Send + Sync> Sink for F {
    fn line(&self, line: &str) {
        self(line);
    }
}

/// Publishes the metrics of one function.
#[derive(Clone)]
pub struct Metrics {
    clock: Arc<dyn Clock>,
    function: &'static str,
    sink: Arc<dyn Sink>,
}

impl Metrics {
    /// Metrics of `function` on standard output, where Lambda takes them to CloudWatch.
    pub fn new(clock: Arc<dyn Clock>, function: &'static str) -> Self {
        Self::to(clock, function, Arc::new(stdout))
    }

    /// Metrics of `function` in another sink.
    pub fn to(clock: Arc<dyn Clock>, function: &'static str, sink: Arc<dyn Sink>) -> Self {
        Self { clock, function, sink }
    }

    /// Counts `n` more. Zero is not published.
    pub fn count(&self, metric: Metric, dimensions: &[(Dimension, &str)], n: u64) {
        if n > 0 {
            self.publish(&[(metric, n)], dimensions);
        }
    }

    /// Publishes values of one moment, zeros too, in one line.
    pub fn gauges(&self, values: &[(Metric, u64)]) {
        self.publish(values, &[]);
    }

    /// Publishes one measured value, such as a duration.
    pub fn measure(&self, metric: Metric, dimensions: &[(Dimension, &str)], value: u64) {
        self.publish(&[(metric, value)], dimensions);
    }

    /// Every metric is published as a total and, where there are dimensions, divided by them: an alarm looks at totals.
    fn publish(&self, values: &[(Metric, u64)], dimensions: &[(Dimension, &str)]) {
        let mut sets = vec![Vec::new()];
        if !dimensions.is_empty() {
            sets.push(dimensions.iter().map(|(dimension, _)| dimension.name()).collect());
        }
        let definitions: Vec<_> =
            values.iter().map(|(metric, _)| json!({"Name": metric.name(), "Unit": metric.unit()})).collect();
        let mut line = Map::new();
        line.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": self.clock.now().as_millis(),
                "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": sets, "Metrics": definitions}],
            }),
        );
        line.insert("Function".to_owned(), self.function.into());
        for (dimension, value) in dimensions {
            line.insert(dimension.name().to_owned(), bounded(value).into());
        }
        for (metric, value) in values {
            line.insert(metric.name().to_owned(), (*value).into());
        }
        self.sink.line(&Value::Object(line).to_string());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("function", &self.function).finish_non_exhaustive()
    }
}

/// CloudWatch refuses an empty value, one that begins with a colon, and anything outside of ASCII.
fn bounded(value: &str) -> String {
    let kept: String = value
        .chars()
        .take(MAX_DIMENSION_CHARS)
        .map(|c| if c.is_ascii_graphic() && c != ':' { c } else { '_' })
        .collect();
    if kept.is_empty() { "none".to_owned() } else { kept }
}

fn stdout(line: &str) {
    // A metric that cannot be written is not worth a failed invocation.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use hookbox_core::time::Timestamp;

    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(1_700_000_000_123)
        }
    }

    fn published(publish: impl FnOnce(&Metrics)) -> Vec<Value> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let take = move |line: &str| sink.lock().unwrap().push(line.to_owned());
        publish(&Metrics::to(Arc::new(Fixed), "dispatcher", Arc::new(take)));
        let lines = lines.lock().unwrap();
        assert!(lines.iter().all(|line| !line.contains('\n')));
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_count_is_one_line_in_the_embedded_format() {
        let lines = published(|metrics| metrics.count(Metric::RecordsDispatched, &[(Dimension::Queue, "work")], 3));
        let expected = json!({
            "_aws": {
                "Timestamp": 1_700_000_000_123_i64,
                "CloudWatchMetrics": [{
                    "Namespace": "Hookbox",
                    "Dimensions": [[], ["Queue"]],
                    "Metrics": [{"Name": "RecordsDispatched", "Unit": "Count"}],
                }],
            },
            "Function": "dispatcher",
            "Queue": "work",
            "RecordsDispatched": 3,
        });
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn nothing_counted_is_nothing_said_but_a_gauge_of_zero_is() {
        let lines = published(|metrics| {
            metrics.count(Metric::SweepErrors, &[], 0);
            metrics.gauges(&[(Metric::ReviewJobs, 0), (Metric::OldestReviewAge, 7)]);
        });
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["ReviewJobs"], 0);
        assert_eq!(line["OldestReviewAge"], 7);
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Metrics"][1]["Unit"], "Seconds");
    }

    #[test]
    fn a_dimension_is_always_one_that_cloudwatch_takes() {
        let long = "é:\n".repeat(100);
        let lines = published(|metrics| {
            metrics.count(Metric::VerificationFailed, &[(Dimension::Reason, &long), (Dimension::Provider, "")], 1);
        });
        assert_eq!(lines[0]["Reason"], "_".repeat(MAX_DIMENSION_CHARS));
        assert_eq!(lines[0]["Provider"], "none");
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len());
    }
}
