//! This machine's clock against that of AWS, and who is asking.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sts::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_sts::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sts::error::BoxError;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use jiff::fmt::rfc2822;

use super::finding::{Finding, Seen, Unseen};
use crate::connection::Aws;

/// Up to here the difference is the way to AWS and the second of the header.
const CLOSE: Duration = Duration::from_secs(5);
/// From here on AWS refuses what is signed by this clock.
const FAR: Duration = Duration::from_secs(5 * 60);

/// One answer of AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Who asked: the ARN of a user or a role's session.
    pub caller: String,
    /// What time it was there.
    pub there: Timestamp,
    /// What time it was here when the answer came.
    pub here: Timestamp,
}

/// Remembers the time of an answer.
#[derive(Clone, Debug, Default)]
struct DateHeader(Arc<Mutex<Option<String>>>);

impl Intercept for DateHeader {
    fn name(&self) -> &'static str {
        "DateHeader"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date").map(str::to_owned);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date;
        Ok(())
    }
}

/// Asks who is asking: that takes no permission, and its answer is dated.
pub(super) async fn read(aws: &Aws, clock: &dyn Clock) -> Seen<Told> {
    let date = DateHeader::default();
    let client = aws_sdk_sts::Client::new(aws.config());
    let answer = client.get_caller_identity().customize().interceptor(date.clone()).send().await;
    let here = clock.now();
    let answer = answer.map_err(|error| aws.failure("ask AWS what time it is", "sts:GetCallerIdentity", &error))?;
    let date = date.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let there = date.as_deref().and_then(parse).ok_or_else(|| Unseen::because("the answer of AWS is not dated"))?;
    Ok(Told { caller: answer.arn.unwrap_or_default(), there, here })
}

fn parse(date: &str) -> Option<Timestamp> {
    let date = rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(Timestamp::from_millis(date.as_millisecond()))
}

/// Whether times of here mean the same there: `--since`, signatures of `send`, the audit.
pub(super) fn judge(seen: &Seen<Told>) -> Vec<Finding> {
    const HERE: &str = "this machine";
    let told = match seen {
        Ok(told) => told,
        Err(unseen) => return vec![Finding::unseen("clock", HERE, unseen)],
    };
    let (ahead, behind) = (told.here.since(told.there), told.there.since(told.here));
    let (difference, which) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    let found = format!("{} s {which} AWS", difference.as_secs());
    let clock = if difference <= CLOSE {
        Finding::ok("clock", HERE, format!("within {} s of AWS", CLOSE.as_secs()))
    } else {
        let finding = if difference < FAR {
            Finding::warning("clock", HERE, found)
        } else {
            Finding::problem("clock", HERE, format!("{found}, which refuses what is signed by such a clock"))
        };
        finding.expected(format!("within {} s", CLOSE.as_secs())).advise("timedatectl set-ntp true")
    };
    vec![Finding::ok("caller", &told.caller, "credentials work"), clock]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_is_read() {
        let at = parse("Tue, 01 Dec 2026 03:29:01 GMT").unwrap();
        assert_eq!(at.to_string(), "2026-12-01T03:29:01.000Z");
        assert_eq!(parse("yesterday"), None);
    }
}
