//! What belongs to a stack, as CloudFormation knows it.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::error::ProvideErrorMetadata as _;
use hookbox_core::key::Shards;
use hookbox_core::limits::DEFAULT_SHARDS;

use super::DoctorArgs;
use super::finding::{Finding, Seen, Unseen};
use crate::connection::Aws;
use crate::failure::{Failure, Trouble};

/// The functions of a stack, in the order of an event's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// Takes deliveries.
    Ingest,
    /// Turns the table's stream into messages.
    Dispatcher,
    /// Makes the calls.
    Worker,
    /// Wakes what was left behind.
    Sweeper,
}

/// A stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Such as `UPDATE_COMPLETE`.
    pub status: String,
    /// Why it is in that status, where that is said.
    pub reason: Option<String>,
    /// What it was deployed with.
    pub parameters: BTreeMap<String, String>,
    /// What it says of itself.
    pub outputs: BTreeMap<String, String>,
    /// The names that AWS gave its resources, by the template's.
    pub resources: BTreeMap<String, String>,
}

/// Which resources are looked at.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The name of the stack.
    pub name: String,
    /// The stack.
    pub stack: Seen<Stack>,
    /// What the command line says instead, by the template's names.
    pub stated: BTreeMap<&'static str, String>,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ingest, Self::Dispatcher, Self::Worker, Self::Sweeper];

    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Dispatcher => "dispatcher",
            Self::Worker => "worker",
            Self::Sweeper => "sweeper",
        }
    }

    /// Its name in the template.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Ingest => "IngestFunction",
            Self::Dispatcher => "DispatcherFunction",
            Self::Worker => "WorkerFunction",
            Self::Sweeper => "SweeperFunction",
        }
    }
}

impl Deployment {
    /// Asks CloudFormation. That there is no such stack is a failure, unless the command line names a table.
    pub(super) async fn find(args: &DoctorArgs, aws: &Aws) -> Result<Self, Failure> {
        let stated = [
            ("Table", &args.table),
            ("WorkQueue", &args.work_queue_url),
            ("DeadLetterQueue", &args.dead_letter_queue_url),
        ];
        let stated = stated.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
        let name = args.stack.clone();
        let stack = match read(&name, aws).await {
            Ok(Some(stack)) => Ok(stack),
            Ok(None) => {
                let attempted = format!("look at the stack `{name}`");
                let place = aws.located(&attempted)?;
                let trouble = Trouble::new(attempted, format!("there is none of this name {place}"))
                    .advise("--stack NAME: aws cloudformation describe-stacks --query 'Stacks[].StackName' lists them")
                    .advise("check account and region: --profile, --region");
                if args.table.is_none() {
                    return Err(Failure::CouldNotLook(trouble));
                }
                Err(Failure::CouldNotLook(trouble).into())
            }
            Err(unseen) => Err(unseen),
        };
        Ok(Self { name, stack, stated })
    }

    /// What AWS calls a resource of the template.
    pub(super) fn resource(&self, name: &str) -> Seen<String> {
        if let Some(stated) = self.stated.get(name) {
            return Ok(stated.clone());
        }
        let stack = self.stack.as_ref().map_err(|unseen| Unseen {
            why: format!("which one it is is not known: {}", unseen.why),
            advice: unseen.advice.clone(),
        })?;
        stack.resources.get(name).cloned().ok_or_else(|| {
            Unseen::because(format!("the stack `{}` holds no resource `{name}`", self.name))
                .advise("a command of the version that the stack was deployed with")
        })
    }

    /// A resource under the best name that there is, for people.
    pub(super) fn shown(&self, name: &str) -> String {
        self.resource(name).unwrap_or_else(|_| name.to_owned())
    }

    /// A parameter of the stack.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.stack.as_ref().ok()?.parameters.get(name).map(String::as_str)
    }

    /// An output of the stack.
    pub(super) fn output(&self, name: &str) -> Option<&str> {
        self.stack.as_ref().ok()?.outputs.get(name).map(String::as_str)
    }

    /// Over how many shards the indexes are spread.
    pub(super) fn shards(&self, stated: Option<u16>) -> Result<Shards, Failure> {
        let deployed = self.parameter("Shards").and_then(|text| text.parse().ok());
        let count = stated.or(deployed).unwrap_or(DEFAULT_SHARDS);
        Shards::new(count).ok_or_else(|| {
            let trouble = Trouble::new("read the table", format!("{count} is no number of shards"));
            Failure::Usage(trouble.advise("--shards: the stack's output `ShardCount`"))
        })
    }
}

/// The stack of this name; `None` when there is none.
async fn read(name: &str, aws: &Aws) -> Seen<Option<Stack>> {
    let client = aws_sdk_cloudformation::Client::new(aws.config());
    let attempted = format!("look at the stack `{name}`");
    aws.located(&attempted)?;
    let (stacks, resources) = futures_util::join!(
        client.describe_stacks().stack_name(name).send(),
        client.describe_stack_resources().stack_name(name).send(),
    );
    let stacks = match stacks {
        Ok(stacks) => stacks.stacks.unwrap_or_default(),
        // CloudFormation has no code of its own for this.
        Err(error) if error.message().is_some_and(|message| message.contains("does not exist")) => return Ok(None),
        Err(error) => return Err(aws.failure(&attempted, "cloudformation:DescribeStacks", &error).into()),
    };
    let Some(stack) = stacks.into_iter().next() else { return Ok(None) };
    let resources =
        resources.map_err(|error| aws.failure(&attempted, "cloudformation:DescribeStackResources", &error))?;
    let resources = resources.stack_resources.unwrap_or_default().into_iter();
    Ok(Some(Stack {
        status: stack.stack_status.map_or_else(String::new, |status| status.as_str().to_owned()),
        reason: stack.stack_status_reason.filter(|reason| !reason.is_empty()),
        parameters: (stack.parameters.unwrap_or_default().into_iter())
            .filter_map(|one| Some((one.parameter_key?, one.parameter_value?)))
            .collect(),
        outputs: (stack.outputs.unwrap_or_default().into_iter())
            .filter_map(|one| Some((one.output_key?, one.output_value?)))
            .collect(),
        resources: resources.filter_map(|one| Some((one.logical_resource_id?, one.physical_resource_id?))).collect(),
    }))
}

/// Whether the last deployment succeeded, and whether this command is of its version.
pub(super) fn judge(deployment: &Deployment, own_version: &str) -> Vec<Finding> {
    let name = deployment.name.as_str();
    let stack = match &deployment.stack {
        Ok(stack) => stack,
        Err(unseen) => return vec![Finding::unseen("stack", name, unseen)],
    };
    let found = match &stack.reason {
        Some(reason) => format!("{}: {reason}", stack.status),
        None => stack.status.clone(),
    };
    let events = format!("aws cloudformation describe-stack-events --stack-name {name}");
    let status = match stack.status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "IMPORT_COMPLETE" => Finding::ok("stack", name, found),
        status if status.ends_with("_IN_PROGRESS") => {
            let finding = Finding::warning("stack", name, found);
            finding.expected("no deployment under way").advise("look again when it is over")
        }
        "UPDATE_ROLLBACK_COMPLETE" | "IMPORT_ROLLBACK_COMPLETE" => Finding::warning("stack", name, found)
            .expected("the last deployment to have succeeded; the one before it stands")
            .advise(events),
        _ => Finding::problem("stack", name, found).expected("UPDATE_COMPLETE").advise(events),
    };
    let version = match deployment.output("Version") {
        None => Finding::warning("version", name, "the stack does not say which version it is")
            .expected(own_version)
            .advise("make deploy, with the template of this version"),
        Some(version) if version == own_version => Finding::ok("version", name, version),
        Some(version) => Finding::warning("version", name, version)
            .expected(format!("{own_version}, which this command is"))
            .advise(format!("a command of version {version}, or make deploy for {own_version}")),
    };
    vec![status, version]
}
