//! The four functions: whether they can run, how long they may, and whether they agree about table and queues.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_lambda::error::ProvideErrorMetadata as _;
use hookbox_core::limits::{CLAIM_MARGIN, MAX_OPERATION_TIMEOUT};

use super::deployment::{Deployment, Function};
use super::expected::VARIABLES;
use super::finding::{Finding, Seen, Unseen};
use crate::connection::Aws;

/// A function as it was read.
#[derive(Clone, Debug)]
pub struct FunctionSeen {
    /// Which one.
    pub function: Function,
    /// Its name, or the template's where that is not known.
    pub name: String,
    /// What Lambda says of it; `None` when there is none.
    pub configuration: Seen<Option<Configuration>>,
}

/// What Lambda says of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Such as `Active`.
    pub state: Option<String>,
    /// Whether the last update was taken, such as `Successful`.
    pub last_update: Option<String>,
    /// Why it is in that state, or the update failed.
    pub reason: Option<String>,
    /// How long one invocation may take.
    pub timeout: Option<Duration>,
    /// Its variables, or why Lambda could not read them. Only Hookbox's own have their values here: others may be secrets.
    pub variables: Result<BTreeMap<String, String>, String>,
}

impl FunctionSeen {
    /// Asks Lambda for all of them.
    pub(super) async fn read_all(deployment: &Deployment, aws: &Aws) -> Vec<Self> {
        futures_util::future::join_all(Function::ALL.map(|function| Self::read(function, deployment, aws))).await
    }

    async fn read(function: Function, deployment: &Deployment, aws: &Aws) -> Self {
        let name = deployment.shown(function.resource());
        let configuration = async {
            let name = deployment.resource(function.resource())?;
            let client = aws_sdk_lambda::Client::new(aws.config());
            match client.get_function_configuration().function_name(&name).send().await {
                Ok(answer) => Ok(Some(Configuration {
                    state: answer.state.map(|state| state.as_str().to_owned()),
                    last_update: answer.last_update_status.map(|status| status.as_str().to_owned()),
                    reason: answer.last_update_status_reason.or(answer.state_reason),
                    timeout: answer.timeout.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs),
                    variables: variables(answer.environment),
                })),
                Err(error) if error.code() == Some("ResourceNotFoundException") => Ok(None),
                Err(error) => {
                    let attempted = format!("describe the function `{name}`");
                    Err(aws.failure(&attempted, "lambda:GetFunctionConfiguration", &error).into())
                }
            }
        };
        let configuration = configuration.await;
        Self { function, name, configuration }
    }

    /// The names of its variables, where they are known.
    pub(super) fn variables(&self) -> Option<&BTreeMap<String, String>> {
        self.configuration.as_ref().ok()?.as_ref()?.variables.as_ref().ok()
    }
}

/// The variables without the values of those that are not ours.
fn variables(
    environment: Option<aws_sdk_lambda::types::EnvironmentResponse>,
) -> Result<BTreeMap<String, String>, String> {
    let Some(environment) = environment else { return Ok(BTreeMap::new()) };
    if let Some(error) = environment.error {
        return Err(error.message.or(error.error_code).unwrap_or_else(|| "Lambda cannot read them".to_owned()));
    }
    let all = environment.variables.unwrap_or_default().into_iter();
    let ours = |(name, value): (String, String)| {
        let value = if name.starts_with("HOOKBOX_") { value } else { String::new() };
        (name, value)
    };
    Ok(all.map(ours).collect())
}

/// Whether the functions can run and mean the same table and queues.
pub(super) fn judge(functions: &[FunctionSeen], deployment: &Deployment) -> Vec<Finding> {
    let mut findings = Vec::new();
    for seen in functions {
        match &seen.configuration {
            Ok(Some(configuration)) => {
                findings.push(runs(seen, configuration));
                findings.extend(timeout(seen, configuration));
                findings.push(environment(seen, configuration, deployment));
            }
            Ok(None) => findings.push(
                Finding::problem("function", &seen.name, "there is none of this name")
                    .expected(format!("the function of the template's `{}`", seen.function.resource()))
                    .advise("make deploy"),
            ),
            Err(unseen) => findings.push(Finding::unseen("function", &seen.name, unseen)),
        }
    }
    findings
}

fn runs(seen: &FunctionSeen, configuration: &Configuration) -> Finding {
    let state = configuration.state.as_deref().unwrap_or("-");
    let update = configuration.last_update.as_deref().unwrap_or("-");
    let because = configuration.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let found = format!("{state}, last update {update}{because}");
    match (state, update) {
        // One that nobody has called for weeks is `Inactive`, and wakes with the next call.
        ("Active" | "Inactive", "Successful" | "-") => Finding::ok("function", &seen.name, found),
        (_, "InProgress") | ("Pending", _) => {
            Finding::warning("function", &seen.name, found).expected("Active, Successful").advise("look again soon")
        }
        _ => Finding::problem("function", &seen.name, found)
            .expected("Active, Successful")
            .advise(format!("aws lambda get-function-configuration --function-name {}; make deploy", seen.name)),
    }
}

/// Two of the timeouts are relied on: that of the worker by the longest call, that of the sweeper by its own schedule.
fn timeout(seen: &FunctionSeen, configuration: &Configuration) -> Option<Finding> {
    let (at_least, at_most) = match seen.function {
        Function::Worker => (MAX_OPERATION_TIMEOUT + CLAIM_MARGIN, Duration::from_secs(900)),
        Function::Sweeper => (Duration::from_secs(1), Duration::from_secs(60)),
        Function::Ingest | Function::Dispatcher => return None,
    };
    let found = configuration.timeout.unwrap_or_default();
    let shown = format!("{} s", found.as_secs());
    if found >= at_least && found <= at_most {
        return Some(Finding::ok("timeout", &seen.name, shown));
    }
    let (consequence, expected) = match seen.function {
        Function::Sweeper => ("its runs overlap", format!("at most {} s", at_most.as_secs())),
        _ => ("operations with a longer one are never called", format!("at least {} s", at_least.as_secs())),
    };
    let set = format!("aws lambda update-function-configuration --function-name {} --timeout", seen.name);
    let seconds = if found < at_least { 60 } else { 55 };
    let finding = match seen.function {
        Function::Sweeper => Finding::warning("timeout", &seen.name, format!("{shown}: {consequence}")),
        _ => Finding::problem("timeout", &seen.name, format!("{shown}: {consequence}")),
    };
    Some(finding.expected(expected).advise(format!("{set} {seconds}")))
}

fn environment(seen: &FunctionSeen, configuration: &Configuration, deployment: &Deployment) -> Finding {
    let variables = match &configuration.variables {
        Ok(variables) => variables,
        Err(why) => {
            let unseen = Unseen::because(why).advise("a role that allows kms:Decrypt with the key of the variables");
            return Finding::unseen("environment", &seen.name, &unseen);
        }
    };
    let expected = |name: &str| match name {
        "HOOKBOX_TABLE" => deployment.resource("Table").ok(),
        "HOOKBOX_SHARDS" => deployment.parameter("Shards").map(str::to_owned),
        "HOOKBOX_WORK_QUEUE_URL" => deployment.resource("WorkQueue").ok(),
        "HOOKBOX_DEAD_LETTER_QUEUE_URL" => deployment.resource("DeadLetterQueue").ok(),
        _ => None,
    };
    let names = VARIABLES.iter().find(|(function, _)| *function == seen.function.name()).map_or(&[][..], |(_, of)| of);
    let mut different = Vec::new();
    for name in names {
        let (found, wanted) = (variables.get(*name).map(String::as_str), expected(name));
        match (found, wanted) {
            (Some(found), Some(wanted)) if found != wanted => different.push((*name, found.to_owned(), wanted)),
            (None, wanted) => {
                let wanted = wanted.unwrap_or_else(|| "set".to_owned());
                different.push((*name, "not set".to_owned(), wanted));
            }
            _ => {}
        }
    }
    if different.is_empty() {
        return Finding::ok("environment", &seen.name, format!("{} of the stack", names.join(", ")));
    }
    let lines = |of: fn(&(&str, String, String)) -> String| different.iter().map(of).collect::<Vec<_>>().join("\n");
    Finding::problem("environment", &seen.name, lines(|(name, found, _)| format!("{name}: {found}")))
        .expected(lines(|(name, _, wanted)| format!("{name}: {wanted}")))
        .advise("make deploy; what was changed by hand must be changed back by hand")
}
