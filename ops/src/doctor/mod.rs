//! `hookbox doctor`: whether what is deployed is what the promises rest on.
//!
//! Everything is read first, all at once, and one read that fails hides no other. Then each subject judges what was read:
//! a pure function from it to findings.

pub mod expected;
pub mod finding;
pub mod deployment;
pub mod clock;
pub mod table;
pub mod functions;
pub mod sources;
pub mod queues;
pub mod sweeper;
pub mod standing;
pub mod secrets;
pub mod alarms;
pub mod report;

use std::sync::Arc;

use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;

use crate::connection::{Aws, AwsArgs, Table};
use crate::failure::{Answer, Failure};
use crate::terminal::Terminal;
use deployment::{Deployment, Function};
use finding::{Finding, Seen, Unseen};
use report::Report;

/// Check a deployment: whether it is what the promises rest on, and what waits for a person
///
/// Looks at the stack's table, indexes, stream, queues, functions, event sources and schedule, at the secrets that
/// integrations refer to, at pauses, jobs in review and alarms, at the sweeper's last run and at this machine's clock.
/// Nothing is changed. Secrets are read to know that they are there, and never shown.
///
/// What could not be looked at is never taken for healthy: it is a finding of its own, which names the IAM action that is
/// missing. One that cannot look hides no other.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// Name of the stack
    #[arg(long, value_name = "NAME", default_value = "hookbox")]
    pub stack: String,
    /// Look at this table instead of the stack's
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Shards of the table's indexes instead of the stack's
    #[arg(long, value_name = "COUNT")]
    pub shards: Option<u16>,
    /// Look at this work queue instead of the stack's
    #[arg(long, value_name = "URL")]
    pub work_queue_url: Option<String>,
    /// Look at this dead-letter queue instead of the stack's
    #[arg(long, value_name = "URL")]
    pub dead_letter_queue_url: Option<String>,
    /// Do not read the secrets that integrations refer to
    #[arg(long)]
    pub skip_secret_check: bool,
    /// How to reach AWS.
    #[command(flatten)]
    pub aws: AwsArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox doctor
  hookbox doctor --stack hookbox-staging --profile staging
  hookbox doctor --output json | jq -r '.findings[] | select(.level != \"ok\") | .do[]?'

The IAM actions that it takes are those of the stack's managed policy for operators, and ssm:GetParameter for the secrets.

Exit codes: 0 nothing is wrong (warnings included), 1 there is a problem, 2 wrong usage, 3 there is none as far
as could be seen, and something could not be looked at.";

/// Everything that was read.
#[derive(Debug)]
pub struct Examination {
    /// What belongs to the stack.
    pub deployment: Deployment,
    /// When it was read.
    pub now: Timestamp,
    /// The clocks.
    pub clock: Seen<clock::Told>,
    /// The table.
    pub table: table::TableSeen,
    /// The functions.
    pub functions: Vec<functions::FunctionSeen>,
    /// The dispatcher's event sources.
    pub stream_sources: sources::SourcesSeen,
    /// The worker's.
    pub queue_sources: sources::SourcesSeen,
    /// The queues.
    pub queues: queues::QueuesSeen,
    /// The sweeper.
    pub sweeper: sweeper::SweeperSeen,
    /// What is applied and what waits.
    pub standing: standing::StandingSeen,
    /// The secrets; none when they are not to be read.
    pub secrets: Seen<Vec<secrets::SecretSeen>>,
    /// The alarms.
    pub alarms: Seen<Vec<alarms::Alarm>>,
}

/// Runs the command.
pub async fn run(args: &DoctorArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let aws = args.aws.connect().await;
    aws.located(&format!("look at the stack `{}`", args.stack))?;
    let examination = Examination::make(args, &aws, clock).await?;
    let report = examination.report();
    report.show(terminal)?;
    report.answer()
}

impl Examination {
    /// Reads everything.
    pub async fn make(args: &DoctorArgs, aws: &Aws, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let deployment = Deployment::find(args, aws).await?;
        let shards = deployment.shards(args.shards)?;
        let name = deployment.shown("Table");
        let table: Seen<Table> =
            deployment.resource("Table").and_then(|name| aws.table(&name, shards).map_err(Unseen::from));
        let now = clock.now();
        let reader = aws.secrets(Arc::clone(&clock));
        let applied = async {
            let standing = standing::StandingSeen::read(name.clone(), &table).await;
            let secrets =
                if args.skip_secret_check { Ok(Vec::new()) } else { secrets::read(&standing.applied, &reader).await };
            (standing, secrets)
        };
        let (clock, described, functions, stream_sources, queue_sources, queues, sweeper, (standing, secrets), alarms) = futures_util::join!(
            clock::read(aws, clock.as_ref()),
            table::TableSeen::read(name.clone(), &table),
            functions::FunctionSeen::read_all(&deployment, aws),
            sources::SourcesSeen::read(Function::Dispatcher, &deployment, aws),
            sources::SourcesSeen::read(Function::Worker, &deployment, aws),
            queues::QueuesSeen::read(&deployment, aws),
            sweeper::SweeperSeen::read(&deployment, aws, now),
            applied,
            alarms::read(&deployment, aws),
        );
        let table = described;
        Ok(Self {
            deployment,
            now,
            clock,
            table,
            functions,
            stream_sources,
            queue_sources,
            queues,
            sweeper,
            standing,
            secrets,
            alarms,
        })
    }

    /// Judges what was read.
    pub fn report(&self) -> Report {
        let Self { deployment, queues, functions, .. } = self;
        let stream = sources::Wanted {
            arn: self.table.stream_arn(),
            on_failure: queues.stream_failure.arn(),
            concurrency: None,
        };
        let queue = sources::Wanted {
            arn: queues.work.arn(),
            on_failure: None,
            concurrency: deployment.parameter("WorkerConcurrency"),
        };
        let findings: [Vec<Finding>; 11] = [
            clock::judge(&self.clock),
            deployment::judge(deployment, env!("CARGO_PKG_VERSION")),
            functions::judge(functions, deployment),
            table::judge(&self.table),
            sources::judge(&self.stream_sources, stream),
            queues::judge(queues, functions),
            sources::judge(&self.queue_sources, queue),
            sweeper::judge(&self.sweeper, self.now),
            standing::judge(&self.standing, queues),
            secrets::judge(&self.secrets, functions, deployment.parameter("SecretPrefix")),
            alarms::judge(&deployment.name, &self.alarms),
        ];
        Report { stack: deployment.name.clone(), findings: findings.into_iter().flatten().collect() }
    }
}

#[cfg(test)]
mod tests;
