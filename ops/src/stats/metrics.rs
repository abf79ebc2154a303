//! What CloudWatch counts of what the functions publish.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension as Named, Metric as Described, MetricDataQuery, MetricStat, StatusCode};
use hookbox_core::name::Provider;
use hookbox_core::time::Timestamp;
use hookbox_ledger::DirectoryEntry;
use hookbox_runtime::{Dimension, Metric};

use super::as_count;
use super::indexes::Connection;
use crate::connection::Aws;
use crate::failure::{Failure, Trouble};
use crate::search::ConnectionArgs;
use crate::search::range::Range;

/// Metrics that one call asks for at most (service quota of `GetMetricData`).
const AT_ONCE: usize = 500;
/// How far back gauges are looked for: the sweeper publishes them every minute.
const GAUGES_SINCE: Duration = Duration::from_secs(10 * 60);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// What happened in a range of time; `None` is no data point.
#[derive(Clone, Debug)]
pub(super) struct Metrics {
    /// The range in whole periods of CloudWatch.
    pub(super) range: Range,
    pub(super) providers: BTreeMap<Provider, OfProvider>,
    pub(super) connections: BTreeMap<Connection, Completions>,
    /// Not asked for when only some integrations are wanted.
    pub(super) failed: Option<Failed>,
}

/// What happened to the deliveries of one provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OfProvider {
    pub(super) created: Option<u64>,
    pub(super) without_jobs: Option<u64>,
    pub(super) duplicates: Option<u64>,
    pub(super) conflicts: Option<u64>,
}

/// The jobs of a connection that were completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Completions {
    pub(super) completed: Option<u64>,
    /// Milliseconds from receipt to completion.
    pub(super) p50: Option<u64>,
    pub(super) p95: Option<u64>,
}

/// Jobs of all integrations that were given to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed(pub(super) Option<u64>);

/// How things stand now, of all integrations together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gauges {
    pub(super) open: Option<u64>,
    pub(super) held: Option<u64>,
    pub(super) review: Option<u64>,
    /// Seconds since the arrival of the oldest event with an open job.
    pub(super) oldest_open: Option<u64>,
    /// Seconds since the arrival of the oldest event with a job in review.
    pub(super) oldest_review: Option<u64>,
}

/// One number that is asked for.
struct Question {
    metric: Metric,
    of: Vec<(Dimension, String)>,
    statistic: &'static str,
}

/// How data points become one number.
#[derive(Clone, Copy)]
enum Points {
    /// Counts add up.
    Added,
    /// Of percentiles of parts none is known but that the whole one is not above the largest.
    Largest,
    /// Of a gauge the latest counts.
    Latest,
}

impl Metrics {
    /// Asks for the range.
    pub(super) async fn ask(
        aws: &Aws,
        connections: &[DirectoryEntry],
        which: &ConnectionArgs,
        range: Range,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let (range, granule) = in_periods(range, now);
        let providers: BTreeMap<Provider, OfProvider> =
            connections.iter().map(|entry| (entry.provider.clone(), OfProvider::default())).collect();
        let whole = range.until.since(range.since);
        let counted =
            [Metric::EventsCreated, Metric::EventsWithoutJobs, Metric::EventsDuplicate, Metric::EventsConflict];
        let mut counts: Vec<_> = providers
            .keys()
            .flat_map(|provider| {
                counted.map(|metric| Question::new(metric, &[(Dimension::Provider, provider.as_str())], "Sum"))
            })
            .collect();
        let of = |entry: &DirectoryEntry, statistic| {
            let of = [(Dimension::Provider, entry.provider.as_str()), (Dimension::Account, entry.account.as_str())];
            Question::new(Metric::CompletionDuration, &of, statistic)
        };
        counts.extend(connections.iter().map(|entry| of(entry, "SampleCount")));
        let all = which.provider.is_none() && which.account.is_none();
        counts.extend(all.then(|| Question::new(Metric::JobsToReview, &[], "Sum")));
        let percentiles: Vec<_> = connections.iter().flat_map(|entry| [of(entry, "p50"), of(entry, "p95")]).collect();
        let mut counts = answers(aws, &counts, range, granule, Points::Added).await?.into_iter();
        let mut percentiles = answers(aws, &percentiles, range, whole, Points::Largest).await?.into_iter();
        let mut next = || counts.next().flatten();
        let providers = providers.into_keys().map(|provider| {
            let (created, without_jobs, duplicates, conflicts) = (next(), next(), next(), next());
            (provider, OfProvider { created, without_jobs, duplicates, conflicts })
        });
        let providers = providers.collect();
        let mut percentile = || percentiles.next().flatten();
        let connections = connections.iter().map(|entry| {
            let (completed, p50, p95) = (next(), percentile(), percentile());
            ((entry.provider.clone(), entry.account.clone()), Completions { completed, p50, p95 })
        });
        let connections = connections.collect();
        Ok(Self { range, providers, connections, failed: all.then(|| Failed(next())) })
    }

    /// How many receipts were stored; `None` when no metric says it.
    pub(super) fn stored(&self) -> Option<u64> {
        self.providers.values().filter_map(OfProvider::receipts).reduce(u64::saturating_add)
    }

    /// Whether there is any data point at all.
    pub(super) fn says_anything(&self) -> bool {
        self.providers.values().any(|of| *of != OfProvider::default())
            || self.connections.values().any(|of| *of != Completions::default())
            || self.failed.is_some_and(|Failed(failed)| failed.is_some())
    }
}

impl OfProvider {
    /// Those with jobs and those without.
    pub(super) fn receipts(&self) -> Option<u64> {
        self.created.into_iter().chain(self.without_jobs).reduce(u64::saturating_add)
    }
}

impl Gauges {
    /// Asks for the latest ones.
    pub(super) async fn ask(aws: &Aws, now: Timestamp) -> Result<Self, Failure> {
        let gauges =
            [Metric::OpenJobs, Metric::HeldJobs, Metric::ReviewJobs, Metric::OldestOpenAge, Metric::OldestReviewAge];
        let questions = gauges.map(|metric| Question::new(metric, &[], "Maximum"));
        let (range, granule) = in_periods(Range { since: now.minus(GAUGES_SINCE), until: now }, now);
        let answers = answers(aws, &questions, range, granule, Points::Latest).await?;
        let [open, held, review, oldest_open, oldest_review] = answers[..] else { return Ok(Self::default()) };
        Ok(Self { open, held, review, oldest_open, oldest_review })
    }
}

impl Question {
    fn new(metric: Metric, of: &[(Dimension, &str)], statistic: &'static str) -> Self {
        let of = of.iter().map(|(dimension, value)| (*dimension, (*value).to_owned())).collect();
        Self { metric, of, statistic }
    }

    fn as_query(&self, number: usize, period: Duration) -> MetricDataQuery {
        let dimensions = self.of.iter().map(|(name, value)| Named::builder().name(name.name()).value(value).build());
        let metric = Described::builder()
            .namespace(hookbox_runtime::metrics::NAMESPACE)
            .metric_name(self.metric.name())
            .set_dimensions(Some(dimensions.collect()))
            .build();
        let period = i32::try_from(period.as_secs()).unwrap_or(i32::MAX);
        let statistic = MetricStat::builder().metric(metric).period(period).stat(self.statistic).build();
        MetricDataQuery::builder().id(format!("q{number}")).metric_stat(statistic).build()
    }
}

/// The range in whole periods, as long as CloudWatch keeps those of its beginning: minutes for 15 days, five minutes for
/// 63, then hours. Longer ones where minutes would be too many to be sent.
fn in_periods(range: Range, now: Timestamp) -> (Range, Duration) {
    let age = now.since(range.since);
    let seconds = match age {
        age if age <= DAY => 60,
        age if age <= 15 * DAY => 300,
        _ => 3_600,
    };
    let period = seconds * 1_000;
    let since = range.since.as_millis().div_euclid(period) * period;
    let until = -(-range.until.as_millis()).div_euclid(period) * period;
    let range = Range { since: Timestamp::from_millis(since), until: Timestamp::from_millis(until) };
    (range, Duration::from_secs(seconds.unsigned_abs()))
}

/// The numbers that are asked for, each by its place.
async fn answers(
    aws: &Aws,
    questions: &[Question],
    range: Range,
    period: Duration,
    points: Points,
) -> Result<Vec<Option<u64>>, Failure> {
    let client = Client::new(aws.config());
    let mut numbers: Vec<Option<(i64, f64)>> = vec![None; questions.len()];
    for (first, some) in (0..).step_by(AT_ONCE).zip(questions.chunks(AT_ONCE)) {
        let queries: Vec<_> = (first..).zip(some).map(|(n, question)| question.as_query(n, period)).collect();
        let mut after = None;
        loop {
            let call = client
                .get_metric_data()
                .set_metric_data_queries(Some(queries.clone()))
                .start_time(DateTime::from_millis(range.since.as_millis()))
                .end_time(DateTime::from_millis(range.until.as_millis()))
                .set_next_token(after);
            let answer =
                call.send().await.map_err(|error| aws.failure(ATTEMPTED, "cloudwatch:GetMetricData", &error))?;
            for result in answer.metric_data_results() {
                if let Some(StatusCode::Forbidden | StatusCode::InternalError) = result.status_code() {
                    let code = result.status_code().map_or("", StatusCode::as_str);
                    return Err(Failure::CouldNotLook(Trouble::new(ATTEMPTED, format!("CloudWatch answers {code}"))));
                }
                let id = result.id().and_then(|id| id.strip_prefix('q')?.parse::<usize>().ok());
                let Some(number) = id.and_then(|id| numbers.get_mut(id)) else { continue };
                for (at, value) in result.timestamps().iter().zip(result.values()) {
                    *number = Some(points.with(*number, (at.secs(), *value)));
                }
            }
            after = answer.next_token().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
    }
    Ok(numbers.into_iter().map(|number| number.map(|(_, value)| as_count(value))).collect())
}

const ATTEMPTED: &str = "read the metrics of CloudWatch";

impl Points {
    fn with(self, so_far: Option<(i64, f64)>, point: (i64, f64)) -> (i64, f64) {
        let Some(so_far) = so_far else { return point };
        match self {
            Self::Added => (point.0, so_far.1 + point.1),
            Self::Largest => (point.0, so_far.1.max(point.1)),
            Self::Latest if point.0 >= so_far.0 => point,
            Self::Latest => so_far,
        }
    }
}
