//! The way to the account: flags, credentials, and what to do when it cannot be reached.

mod secrets;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_types::SdkConfig;
use clap::builder::NonEmptyStringValueParser;
use hookbox_core::key::Shards;
use hookbox_core::limits::{DEFAULT_SHARDS, MAX_SHARDS};
use hookbox_core::surroundings::Clock;
use hookbox_ledger::{Ledger, LedgerError};
use hookbox_queue::{Queue, QueueError};
use hookbox_runtime::{Secrets, SystemRandom};

use crate::deed::Author;
use crate::failure::{Failure, Trouble, chain};
pub use secrets::SecretReader;

/// How to reach AWS. What is not given is found as the `aws` command finds it.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "AWS")]
pub struct AwsArgs {
    /// Region of the stack
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Profile of ~/.aws/config, SSO included
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Address of a local AWS
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL", hide_env_values = true)]
    pub endpoint_url: Option<String>,
}

/// Who makes a change.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ByArgs {
    /// Who does it, for the audit; without it whoever your AWS credentials belong to
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub by: Option<String>,
}

impl ByArgs {
    /// The one who says so, or else the caller.
    pub async fn author(&self, aws: &AwsArgs) -> Author {
        match &self.by {
            Some(name) => Author::Named(name.clone()),
            None => Author::Caller(Box::new(aws.connect().await)),
        }
    }
}

/// Where the ledger is.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "AWS")]
pub struct TableArgs {
    /// Name of the table (the stack's output `TableName`)
    #[arg(long, value_name = "NAME", env = "HOOKBOX_TABLE", hide_env_values = true)]
    pub table: String,
    /// Shards of the table's indexes (the stack's output `ShardCount`)
    #[arg(long, value_name = "COUNT", env = "HOOKBOX_SHARDS", hide_env_values = true, default_value_t = DEFAULT_SHARDS)]
    pub shards: u16,
    /// How to reach AWS.
    #[command(flatten)]
    pub aws: AwsArgs,
}

/// A way to AWS.
#[derive(Clone, Debug)]
pub struct Aws {
    config: SdkConfig,
    endpoint: Option<String>,
}

/// A ledger, and what to call it when something goes wrong.
#[derive(Clone, Debug)]
pub struct Table {
    /// The ledger.
    pub ledger: Ledger,
    name: String,
    place: String,
}

/// A queue, and what to call it when something goes wrong.
#[derive(Clone, Debug)]
pub struct NamedQueue {
    /// The queue.
    pub queue: Queue,
    place: String,
}

impl AwsArgs {
    /// A way to AWS; nothing is asked for yet.
    pub async fn connect(&self) -> Aws {
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(3))
            .read_timeout(Duration::from_secs(10))
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http).timeout_config(timeouts);
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = &self.endpoint_url {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some(region) = &self.region {
            loader = loader.region(Region::new(region.clone()));
        }
        let mut config = loader.load().await;
        if config.region().is_none() && self.endpoint_url.is_some() {
            // A local AWS does not care, but requests are signed for a region.
            config = config.into_builder().region(Region::from_static("us-east-1")).build();
        }
        Aws { config, endpoint: self.endpoint_url.clone() }
    }

    /// A reader of secrets.
    pub async fn secrets(&self, clock: Arc<dyn Clock>) -> SecretReader {
        self.connect().await.secrets(clock)
    }
}

impl TableArgs {
    /// The ledger on this table; nothing is asked for yet.
    pub async fn connect(&self) -> Result<Table, Failure> {
        let attempted = format!("use the table `{}`", self.table);
        let shards = Shards::new(self.shards).ok_or_else(|| {
            let why = format!("{} is no number of shards", self.shards);
            Failure::Usage(
                Trouble::new(&attempted, why)
                    .advise(format!("the stack's output `ShardCount`: a power of two from 1 to {MAX_SHARDS}")),
            )
        })?;
        self.aws.connect().await.table(&self.table, shards)
    }
}

impl Aws {
    /// A way of the caller's own; `endpoint` is the address of a local AWS.
    pub fn of(config: SdkConfig, endpoint: Option<String>) -> Self {
        Self { config, endpoint }
    }

    /// The ledger on the table of this name, whose indexes are spread over `shards`; nothing is asked for yet.
    pub fn table(&self, name: &str, shards: Shards) -> Result<Table, Failure> {
        let place = self.place().ok_or_else(|| no_region(&format!("use the table `{name}`")))?;
        let ledger = Ledger::new(&self.config, name, shards, Arc::new(SystemRandom));
        Ok(Table::new(ledger, name, &place))
    }

    /// A reader of secrets.
    pub fn secrets(&self, clock: Arc<dyn Clock>) -> SecretReader {
        SecretReader::at(Secrets::new(&self.config, clock), self.place())
    }

    /// Where it leads, for people; what is attempted there takes a region.
    pub fn located(&self, attempted: &str) -> Result<String, Failure> {
        self.place().ok_or_else(|| no_region(attempted))
    }

    /// The queue at this address; nothing is asked for yet.
    pub fn queue(&self, url: &str) -> Result<NamedQueue, Failure> {
        let place = self.place().ok_or_else(|| no_region(&format!("use the queue {url}")))?;
        Ok(NamedQueue::new(Queue::new(&self.config, url), &place))
    }

    /// Whom the credentials belong to: the ARN of a user or a role's session.
    pub async fn caller(&self) -> Result<String, Failure> {
        let answer = aws_sdk_sts::Client::new(&self.config).get_caller_identity().send().await;
        let attempted = "ask AWS who you are, for the audit";
        let arn = answer.map(|identity| identity.arn).map_err(|error| {
            self.failure(attempted, "sts:GetCallerIdentity", &error).advise("--by NAME says it instead")
        })?;
        let nobody = || Failure::CouldNotLook(Trouble::new(attempted, "the answer names nobody").advise("--by NAME"));
        arn.ok_or_else(nobody)
    }

    /// Whether it leads to a local AWS, which has not all that AWS has.
    pub fn is_local(&self) -> bool {
        self.endpoint.is_some()
    }

    /// What clients of other services are made of.
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// A service could not be used for what was attempted; `action` is the IAM action that it takes.
    pub fn failure<E>(&self, attempted: &str, action: &str, error: &SdkError<E>) -> Failure
    where
        E: Error + ProvideErrorMetadata + 'static,
    {
        let because = |why: String| Trouble::new(attempted, why);
        let why = chain(error);
        Failure::CouldNotLook(match error.code() {
            Some(code) if is_a_refusal(code) => because(why).advise(format!("a role that allows {action}")),
            Some(code) if is_about_credentials(code) => because(why).advise(CREDENTIALS),
            Some(_) => because(why),
            None if error.raw_response().is_some() => because(format!("the answer was not understood: {why}"))
                .advise("a newer version of this command; a local AWS may not know this call"),
            None => reach(&because, &why, &self.place().unwrap_or_default()),
        })
    }

    /// Where it leads, for people; `None` without a region.
    fn place(&self) -> Option<String> {
        let region = self.config.region()?;
        Some(match &self.endpoint {
            Some(endpoint) => format!("at {endpoint}"),
            None => format!("in {region}"),
        })
    }
}

fn no_region(attempted: &str) -> Failure {
    let trouble = Trouble::new(attempted, "no region is configured");
    Failure::Usage(trouble.advise("--region eu-west-1, AWS_REGION, or a --profile that names one"))
}

const CREDENTIALS: &str = "aws sso login, AWS_PROFILE or --profile: whatever makes `aws sts get-caller-identity` work; \
                           for the local AWS, the variables that `make dev` prints";

impl Table {
    /// A ledger under the name and place by which people know it.
    pub fn new(ledger: Ledger, name: &str, place: &str) -> Self {
        Self { ledger, name: name.to_owned(), place: place.to_owned() }
    }

    /// The table could not be used for what was attempted.
    pub fn failure(&self, attempted: &str, error: &LedgerError) -> Failure {
        let Self { name, place, .. } = self;
        let trouble = |why: String| Trouble::new(format!("{attempted} (table `{name}` {place})"), why);
        Failure::CouldNotLook(match error {
            LedgerError::Refused { code, action, .. } => match code.as_str() {
                "ResourceNotFoundException" => trouble("there is no such table, or it lacks an index".to_owned())
                    .advise("the stack's output `TableName` names it: --table or HOOKBOX_TABLE")
                    .advise("check account and region: --profile, --region"),
                code if is_a_refusal(code) => {
                    let action = action.as_deref().unwrap_or("what was attempted");
                    trouble(chain(error)).advise(format!("a role that allows {action} on this table and its indexes"))
                }
                _ if is_about_credentials(code) => trouble(chain(error)).advise(CREDENTIALS),
                _ => trouble(chain(error)),
            },
            LedgerError::NewerSchema { .. } => trouble(error.to_string()).advise("a newer version of this command"),
            _ => reach(&trouble, &chain(error), place),
        })
    }
}

impl Table {
    /// Like [`failure`](Self::failure); `actions` are the IAM actions that it takes, named where one is not allowed.
    pub fn failure_of(&self, attempted: &str, actions: &str, error: &LedgerError) -> Failure {
        let failure = self.failure(attempted, error);
        match error {
            LedgerError::Refused { code, .. } if is_a_refusal(code) => failure.advise(format!("it takes {actions}")),
            _ => failure,
        }
    }
}

impl NamedQueue {
    /// A queue under the place by which people know it.
    pub fn new(queue: Queue, place: &str) -> Self {
        Self { queue, place: place.to_owned() }
    }

    /// The queue could not be used for what was attempted.
    pub fn failure(&self, attempted: &str, error: &QueueError) -> Failure {
        let why = chain(error);
        let because = |why: String| Trouble::new(format!("{attempted} (queue {})", self.queue.url()), why);
        let trouble = because(why.clone());
        Failure::CouldNotLook(match error {
            QueueError::NotFound => trouble
                .advise(
                    "the stack's output `DeadLetterQueueUrl`: --dead-letter-queue-url or HOOKBOX_DEAD_LETTER_QUEUE_URL",
                )
                .advise("check account and region: --profile, --region"),
            QueueError::Denied { code, .. } if is_about_credentials(code) => trouble.advise(CREDENTIALS),
            QueueError::Denied { action, .. } => trouble.advise(format!("a role that allows {action} on this queue")),
            QueueError::Refused { code } if is_about_credentials(code) => trouble.advise(CREDENTIALS),
            _ => reach(&because, &why, &self.place),
        })
    }
}

/// Whether a service says that the caller may not do this.
fn is_a_refusal(code: &str) -> bool {
    ["AccessDenied", "NotAuthorized", "UnauthorizedOperation"].iter().any(|part| code.contains(part))
}

fn is_about_credentials(code: &str) -> bool {
    ["Token", "Signature", "UnrecognizedClient", "Credential", "IncompleteSignature"]
        .iter()
        .any(|part| code.contains(part))
}

/// Something did not answer, or was never asked for want of credentials.
fn reach(because: &dyn Fn(String) -> Trouble, why: &str, place: &str) -> Trouble {
    let (why, advice) = reached(why, place);
    because(why).advise(advice)
}

/// What it means that something did not answer, and what to do.
fn reached(why: &str, place: &str) -> (String, String) {
    if why.to_lowercase().contains("credential") {
        // The chain names every place where it found nothing; only those count where something went wrong.
        let wrong = why.lines().filter(|line| !line.contains("provider was not enabled")).map(str::trim);
        let found: Vec<_> = ["no AWS credentials were found"].into_iter().chain(wrong).collect();
        return (found.join("\n"), CREDENTIALS.to_owned());
    }
    let advice = if place.starts_with("at ") {
        "`make dev` starts the local AWS, `make env` leads a shell to the one that runs; unset AWS_ENDPOINT_URL for your account"
    } else {
        "try again, or check the network on the way to AWS"
    };
    (why.to_owned(), advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(why: &str, place: &str) -> String {
        reach(&|why| Trouble::new("read the table", why), why, place).to_string()
    }

    /// A table and a queue that the caller may do nothing with.
    #[tokio::test]
    async fn what_is_denied_is_answered_with_the_iam_action_of_what_was_attempted() {
        let config = hookbox_ledger::test_support::TestTable::start().await.config();
        let aws = Aws::of(config, None);
        let table = aws.table("hookbox", Shards::new(4).unwrap()).unwrap();
        let denied = |action: Option<&str>| LedgerError::Refused {
            code: "AccessDeniedException".to_owned(),
            action: action.map(str::to_owned),
            source: "User: jane is not authorized to perform: dynamodb:UpdateItem".into(),
        };
        let queue = aws.queue("https://sqs.eu-central-1.amazonaws.com/1/dead").unwrap();
        let of_queue = |code: &str| QueueError::Denied { code: code.to_owned(), action: "sqs:DeleteMessage" };
        let said = [
            table.failure("replay the job", &denied(Some("dynamodb:UpdateItem"))).to_string(),
            table.failure("replay the job", &denied(None)).to_string(),
            queue.failure("delete a message", &of_queue("AccessDenied")).to_string(),
            queue.failure("delete a message", &of_queue("InvalidClientTokenId")).to_string(),
        ];
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_to_do_depends_on_what_did_not_work() {
        let chain = "unavailable: other: the credential provider was not enabled: no credentials found in chain. \
                     Attempted:\n  Environment: the credential provider was not enabled: variable not set\n  \
                     Profile: the SSO token has expired";
        let of_local = reached("connection refused", "at http://127.0.0.1:4566");
        let of_account = reached("no route to host", "in eu-west-1");
        insta::assert_snapshot!([reached(chain, "in eu-west-1"), of_local, of_account].join("\n"));
    }
}
