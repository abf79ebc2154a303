//! The work queue, the dead-letter queue, and where the stream's event source reports what it gave up.

use std::time::Duration;

use hookbox_core::limits::MAX_RECEIVES;
use hookbox_queue::{DeployedQueue, QueueError};

use super::deployment::{Deployment, Function};
use super::expected::QUEUE_RETENTION;
use super::finding::{Finding, Seen};
use super::functions::FunctionSeen;
use crate::connection::Aws;

/// A queue as it was read.
#[derive(Clone, Debug)]
pub struct QueueSeen {
    /// Its name in the template.
    pub role: &'static str,
    /// Its address, or the template's name where that is not known.
    pub url: String,
    /// The queue; `None` when there is none.
    pub queue: Seen<Option<DeployedQueue>>,
}

/// The queues of a stack.
#[derive(Clone, Debug)]
pub struct QueuesSeen {
    /// Wakes workers.
    pub work: QueueSeen,
    /// The notice board for people.
    pub dead_letter: QueueSeen,
    /// What the stream's event source gave up.
    pub stream_failure: QueueSeen,
}

impl QueuesSeen {
    /// Asks SQS.
    pub(super) async fn read(deployment: &Deployment, aws: &Aws) -> Self {
        let of = |role: &'static str| QueueSeen::read(role, deployment, aws);
        let (work, dead_letter, stream_failure) =
            futures_util::join!(of("WorkQueue"), of("DeadLetterQueue"), of("StreamFailureQueue"));
        Self { work, dead_letter, stream_failure }
    }
}

impl QueueSeen {
    async fn read(role: &'static str, deployment: &Deployment, aws: &Aws) -> Self {
        let url = deployment.shown(role);
        let queue = async {
            let queue = aws.queue(&deployment.resource(role)?)?;
            match queue.queue.deployed().await {
                Ok(deployed) => Ok(Some(deployed)),
                Err(QueueError::NotFound) => Ok(None),
                Err(error) => Err(queue.failure("describe the queue", &error).into()),
            }
        };
        let queue = queue.await;
        Self { role, url, queue }
    }

    /// The queue, if it is there and was seen.
    pub(super) fn deployed(&self) -> Option<&DeployedQueue> {
        self.queue.as_ref().ok()?.as_ref()
    }

    /// Its ARN, where that is known.
    pub(super) fn arn(&self) -> Option<&str> {
        self.deployed()?.arn.as_deref()
    }

    fn set(&self, attribute: &str, value: &str) -> String {
        format!("aws sqs set-queue-attributes --queue-url {} --attributes '{{\"{attribute}\":\"{value}\"}}'", self.url)
    }
}

/// Whether the queues are set up so that a crash costs minutes and nothing is lost.
pub(super) fn judge(queues: &QueuesSeen, functions: &[FunctionSeen]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for queue in [&queues.work, &queues.dead_letter, &queues.stream_failure] {
        match &queue.queue {
            Ok(Some(deployed)) => {
                findings.push(there(queue, deployed));
                findings.push(retention(queue, deployed));
            }
            Ok(None) => findings.push(
                Finding::problem("queue", &queue.url, "there is none at this address")
                    .expected(format!("the queue of the template's `{}`", queue.role))
                    .advise("make deploy makes it again; jobs are in the table, and the sweeper wakes them"),
            ),
            Err(unseen) => findings.push(Finding::unseen("queue", &queue.url, unseen)),
        }
    }
    if let Some(work) = queues.work.deployed() {
        findings.push(visibility(&queues.work, work, functions));
        findings.push(redrive(&queues.work, work, &queues.dead_letter));
    }
    findings
}

fn there(queue: &QueueSeen, deployed: &DeployedQueue) -> Finding {
    if deployed.encrypted {
        return Finding::ok("queue", &queue.url, "there, encrypted");
    }
    Finding::warning("queue", &queue.url, "its messages are not encrypted where they lie")
        .expected("encrypted")
        .advise(queue.set("SqsManagedSseEnabled", "true"))
}

fn retention(queue: &QueueSeen, deployed: &DeployedQueue) -> Finding {
    let days = |time: Duration| format!("{} d", time.as_secs() / (24 * 3_600));
    let found = deployed.retention.unwrap_or_default();
    if found >= QUEUE_RETENTION {
        return Finding::ok("retention", &queue.url, days(found));
    }
    // Notices are posted again every ten days, wake-ups by the sweeper: only the board for people loses something.
    let finding = match queue.role {
        "DeadLetterQueue" => Finding::problem("retention", &queue.url, days(found)),
        _ => Finding::warning("retention", &queue.url, days(found)),
    };
    let seconds = QUEUE_RETENTION.as_secs().to_string();
    finding.expected(days(QUEUE_RETENTION)).advise(queue.set("MessageRetentionPeriod", &seconds))
}

/// A batch that Lambda throttles and tries again must not come back meanwhile: six times the timeout, as AWS advises.
fn visibility(queue: &QueueSeen, deployed: &DeployedQueue, functions: &[FunctionSeen]) -> Finding {
    let worker = functions.iter().find(|function| function.function == Function::Worker);
    let timeout = match worker.map(|worker| &worker.configuration) {
        Some(Ok(Some(configuration))) => configuration.timeout,
        Some(Err(unseen)) => return Finding::unseen("visibility", &queue.url, unseen),
        Some(Ok(None)) | None => None,
    };
    let found = deployed.visibility.unwrap_or_default();
    let needed = timeout.unwrap_or(hookbox_core::limits::WORKER_TIMEOUT) * 6;
    let shown = format!("{} s", found.as_secs());
    if found >= needed {
        return Finding::ok("visibility", &queue.url, format!("{shown}, at least 6 × the worker's timeout"));
    }
    Finding::problem("visibility", &queue.url, format!("{shown}: a message comes back while its batch is tried again"))
        .expected(format!("at least {} s, 6 × the worker's timeout", needed.as_secs()))
        .advise(queue.set("VisibilityTimeout", &needed.as_secs().to_string()))
}

fn redrive(queue: &QueueSeen, deployed: &DeployedQueue, dead_letter: &QueueSeen) -> Finding {
    let expected = format!("after {MAX_RECEIVES} receives to {}", dead_letter.arn().unwrap_or(&dead_letter.url));
    let policy = dead_letter.arn().map(|arn| {
        let policy = format!("{{\\\"deadLetterTargetArn\\\":\\\"{arn}\\\",\\\"maxReceiveCount\\\":{MAX_RECEIVES}}}");
        queue.set("RedrivePolicy", &policy)
    });
    let advise = |finding: Finding| finding.expected(&expected).advise(policy.unwrap_or("make deploy".to_owned()));
    let Some(redrive) = &deployed.redrive else {
        let found = "none: what no worker can read comes again and again, until it expires";
        return advise(Finding::problem("redrive", &queue.url, found));
    };
    let target = redrive.target.as_deref().unwrap_or("-");
    let receives = redrive.max_receives.map_or_else(|| "?".to_owned(), |receives| receives.to_string());
    let found = format!("after {receives} receives to {target}");
    match dead_letter.arn() {
        Some(arn) if arn != target => advise(Finding::problem("redrive", &queue.url, found)),
        _ if redrive.max_receives != Some(MAX_RECEIVES) => advise(Finding::problem("redrive", &queue.url, found)),
        Some(_) => Finding::ok("redrive", &queue.url, found),
        None => match &dead_letter.queue {
            Err(unseen) => Finding::unseen("redrive", &queue.url, unseen),
            Ok(_) => advise(Finding::problem("redrive", &queue.url, format!("{found}, which is not there"))),
        },
    }
}
