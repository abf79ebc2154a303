//! The alarms of a stack: whether anybody would be told.

use super::deployment::Deployment;
use super::finding::{Finding, Seen};
use crate::connection::Aws;

/// An alarm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alarm {
    /// Its name.
    pub name: String,
    /// `OK`, `ALARM` or `INSUFFICIENT_DATA`.
    pub state: String,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// Whether somebody is told.
    pub tells: bool,
}

/// Asks CloudWatch for those whose names begin with the stack's, as CloudFormation names them.
pub(super) async fn read(deployment: &Deployment, aws: &Aws) -> Seen<Vec<Alarm>> {
    let client = aws_sdk_cloudwatch::Client::new(aws.config());
    let types =
        [aws_sdk_cloudwatch::types::AlarmType::MetricAlarm, aws_sdk_cloudwatch::types::AlarmType::CompositeAlarm];
    let call = client.describe_alarms().alarm_name_prefix(format!("{}-", deployment.name));
    let mut pages = call.set_alarm_types(Some(types.to_vec())).into_paginator().send();
    let mut alarms = Vec::new();
    while let Some(page) = pages.next().await {
        let attempted = format!("look at the alarms of `{}`", deployment.name);
        let page = page.map_err(|error| aws.failure(&attempted, "cloudwatch:DescribeAlarms", &error))?;
        alarms.extend(page.metric_alarms.unwrap_or_default().into_iter().map(|alarm| Alarm {
            name: alarm.alarm_name.unwrap_or_default(),
            state: alarm.state_value.map_or_else(String::new, |state| state.as_str().to_owned()),
            reason: alarm.state_reason,
            tells: alarm.actions_enabled != Some(false)
                && alarm.alarm_actions.is_some_and(|actions| !actions.is_empty()),
        }));
        alarms.extend(page.composite_alarms.unwrap_or_default().into_iter().map(|alarm| Alarm {
            name: alarm.alarm_name.unwrap_or_default(),
            state: alarm.state_value.map_or_else(String::new, |state| state.as_str().to_owned()),
            reason: alarm.state_reason,
            tells: alarm.actions_enabled != Some(false)
                && alarm.alarm_actions.is_some_and(|actions| !actions.is_empty()),
        }));
    }
    Ok(alarms)
}

/// Whether there are any, whether one is on, and whether anybody hears it.
pub(super) fn judge(stack: &str, seen: &Seen<Vec<Alarm>>) -> Vec<Finding> {
    let alarms = match seen {
        Ok(alarms) => alarms,
        Err(unseen) => return vec![Finding::unseen("alarms", stack, unseen)],
    };
    if alarms.is_empty() {
        let none = Finding::warning("alarms", stack, "no alarms: nobody is told of jobs that wait for a person");
        return vec![
            none.expected(format!("alarms whose names begin with `{stack}-`")).advise(
                "an alarm on the metrics ReviewJobs, OldestOpenAge and EventsConflict of the namespace Hookbox",
            ),
        ];
    }
    alarms.iter().map(judge_one).collect()
}

fn judge_one(alarm: &Alarm) -> Finding {
    let found = match &alarm.reason {
        Some(reason) => format!("{}: {reason}", alarm.state),
        None => alarm.state.clone(),
    };
    match alarm.state.as_str() {
        "ALARM" => Finding::problem("alarms", &alarm.name, found)
            .expected("OK")
            .advise(format!("aws cloudwatch describe-alarm-history --alarm-name {}", alarm.name)),
        "OK" if alarm.tells => Finding::ok("alarms", &alarm.name, "OK"),
        "OK" => Finding::warning("alarms", &alarm.name, "OK, and when it is not, nobody is told")
            .expected("an alarm action")
            .advise("subscribe somebody to it"),
        _ => Finding::warning("alarms", &alarm.name, found).expected("OK").advise("look again when it has data"),
    }
}
