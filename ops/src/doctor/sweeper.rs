//! The sweeper: whether it is called, and when it last said how things stand.

use std::time::Duration;

use aws_sdk_cloudwatchlogs::error::ProvideErrorMetadata as _;
use hookbox_core::time::Timestamp;
use hookbox_runtime::Metric;
use serde_json::Value;

use super::deployment::Deployment;
use super::expected::SWEEP_RATE;
use super::finding::{Finding, Seen};
use crate::connection::Aws;

/// How far back its log is read.
const WINDOW: Duration = Duration::from_secs(15 * 60);
/// From which age of its last run on it does not come every minute any more.
const LATE: Duration = Duration::from_secs(3 * 60);
/// Parts of the log that are asked for at most: most of them are empty.
const MAX_PAGES: usize = 30;

/// The schedule that calls the sweeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// `ENABLED` or `DISABLED`.
    pub state: Option<String>,
    /// Such as `rate(1 minute)`.
    pub expression: Option<String>,
    /// What it calls.
    pub target: Option<String>,
}

/// A run of the sweeper, as it said itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// When.
    pub at: Timestamp,
    /// Jobs that waited for an attempt; `None` where it could not see.
    pub open: Option<u64>,
    /// Jobs whose operation was paused.
    pub held: Option<u64>,
    /// Jobs that waited for a person.
    pub review: Option<u64>,
    /// Since when the oldest event had an open job.
    pub oldest_open: Option<Duration>,
}

/// What was read of the sweeper.
#[derive(Clone, Debug)]
pub struct SweeperSeen {
    /// The schedule's name, or the template's.
    pub schedule_name: String,
    /// The schedule; `None` when there is none.
    pub schedule: Seen<Option<Schedule>>,
    /// The log group's name, or the template's.
    pub log_name: String,
    /// Its last run; `None` when the log holds none.
    pub last: Seen<Option<Sweep>>,
    /// The function's name.
    pub function: String,
}

impl SweeperSeen {
    /// Asks the scheduler, and reads the log of the last minutes.
    pub(super) async fn read(deployment: &Deployment, aws: &Aws, now: Timestamp) -> Self {
        let (schedule, last) = futures_util::join!(schedule(deployment, aws), last_run(deployment, aws, now));
        Self {
            schedule_name: deployment.shown("SweeperFunctionEveryMinute"),
            schedule,
            log_name: deployment.shown("SweeperLog"),
            last,
            function: deployment.shown("SweeperFunction"),
        }
    }
}

async fn schedule(deployment: &Deployment, aws: &Aws) -> Seen<Option<Schedule>> {
    let name = deployment.resource("SweeperFunctionEveryMinute")?;
    match aws_sdk_scheduler::Client::new(aws.config()).get_schedule().name(&name).send().await {
        Ok(found) => Ok(Some(Schedule {
            state: found.state.map(|state| state.as_str().to_owned()),
            expression: found.schedule_expression,
            target: found.target.map(|target| target.arn),
        })),
        Err(error) if error.code() == Some("ResourceNotFoundException") => Ok(None),
        Err(error) => {
            let attempted = format!("look at the schedule `{name}`");
            Err(aws.failure(&attempted, "scheduler:GetSchedule", &error).into())
        }
    }
}

/// The metrics of a run are a line of its log, which belongs to this stack alone.
async fn last_run(deployment: &Deployment, aws: &Aws, now: Timestamp) -> Seen<Option<Sweep>> {
    let group = deployment.resource("SweeperLog")?;
    let client = aws_sdk_cloudwatchlogs::Client::new(aws.config());
    let (mut token, mut last) = (None, None::<Sweep>);
    for _ in 0..MAX_PAGES {
        let call = client
            .filter_log_events()
            .log_group_name(&group)
            // Either: what the sweeper cannot see it does not say.
            .filter_pattern(format!("?{} ?{}", Metric::OpenJobs.name(), Metric::ReviewJobs.name()))
            .start_time(now.minus(WINDOW).as_millis())
            .set_next_token(token);
        let page = match call.send().await {
            Ok(page) => page,
            Err(error) if error.code() == Some("ResourceNotFoundException") => return Ok(None),
            Err(error) => {
                let attempted = format!("read the log `{group}`");
                return Err(aws.failure(&attempted, "logs:FilterLogEvents", &error).into());
            }
        };
        for event in page.events.unwrap_or_default() {
            let Some(sweep) = event.message.as_deref().zip(event.timestamp).and_then(|(text, at)| gauges(text, at))
            else {
                continue;
            };
            if last.as_ref().is_none_or(|last| last.at < sweep.at) {
                last = Some(sweep);
            }
        }
        token = page.next_token;
        if token.is_none() {
            break;
        }
    }
    Ok(last)
}

/// The gauges of a line; `None` for any other line.
pub(super) fn gauges(line: &str, at: i64) -> Option<Sweep> {
    let line: Value = serde_json::from_str(line).ok()?;
    let of = |metric: Metric| line.get(metric.name()).and_then(Value::as_u64);
    let (open, held, review) = (of(Metric::OpenJobs), of(Metric::HeldJobs), of(Metric::ReviewJobs));
    let says_something = line.get("Function")? == "sweeper" && (open.is_some() || review.is_some());
    let oldest_open = of(Metric::OldestOpenAge).map(Duration::from_secs);
    says_something.then_some(Sweep { at: Timestamp::from_millis(at), open, held, review, oldest_open })
}

/// Whether the sweeper comes every minute, and came.
pub(super) fn judge(seen: &SweeperSeen, now: Timestamp) -> Vec<Finding> {
    let schedule = match &seen.schedule {
        Ok(schedule) => scheduled(seen, schedule.as_ref()),
        Err(unseen) => Finding::unseen("schedule", &seen.schedule_name, unseen),
    };
    let last = match &seen.last {
        Ok(last) => came(&seen.log_name, last.as_ref(), now),
        Err(unseen) => Finding::unseen("sweeper", &seen.log_name, unseen),
    };
    vec![schedule, last]
}

fn scheduled(seen: &SweeperSeen, schedule: Option<&Schedule>) -> Finding {
    let name = seen.schedule_name.as_str();
    let Some(schedule) = schedule else {
        let finding = Finding::problem("schedule", name, "there is none: nothing wakes what a crash left behind");
        return finding.expected(format!("ENABLED, {SWEEP_RATE}")).advise("make deploy");
    };
    let (state, rate) = (schedule.state.as_deref().unwrap_or("-"), schedule.expression.as_deref().unwrap_or("-"));
    let target = schedule.target.as_deref().unwrap_or("-");
    let found = format!("{state}, {rate}");
    let ours = target.split(':').any(|part| part == seen.function);
    if state == "ENABLED" && rate == SWEEP_RATE && ours {
        return Finding::ok("schedule", name, found);
    }
    let found = if ours { found } else { format!("{found}, calls {target}") };
    let finding = if state == "ENABLED" && ours {
        // It comes, only not as often as waiting times are reckoned with.
        Finding::warning("schedule", name, found)
    } else {
        Finding::problem("schedule", name, format!("{found}: nothing wakes what a crash left behind"))
    };
    let expected = format!("ENABLED, {SWEEP_RATE}, calls {}", seen.function);
    finding.expected(expected).advise("make deploy, or `aws scheduler update-schedule` with what get-schedule shows")
}

fn came(log: &str, last: Option<&Sweep>, now: Timestamp) -> Finding {
    let logs = format!("aws logs tail {log} --since 15m");
    let Some(last) = last else {
        return Finding::problem("sweeper", log, "no run in the last 15 minutes")
            .expected("one every minute")
            .advise(logs)
            .advise("where the stack has just been deployed, look again in a minute");
    };
    let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let stand = format!("{} open, {} held, {} in review", number(last.open), number(last.held), number(last.review));
    let oldest = last.oldest_open.filter(|age| !age.is_zero());
    let oldest = oldest.map_or_else(String::new, |age| format!(", the oldest open for {} s", age.as_secs()));
    let age = now.since(last.at);
    if age > LATE {
        let found = format!("the last run was {} minutes ago: {stand}", age.as_secs() / 60);
        return Finding::problem("sweeper", log, found).expected("one every minute").advise(logs);
    }
    Finding::ok("sweeper", log, format!("ran {} s ago: {stand}{oldest}", age.as_secs()))
}
