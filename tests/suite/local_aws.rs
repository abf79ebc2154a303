//! A local AWS with the real template and binaries, for as long as a test needs it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::SystemTimeSource;
use hookbox_core::key::Shards;
use hookbox_ledger::Ledger;
use hookbox_runtime::SystemRandom;
use serde_json::{Value, json};

/// Stopped when it is dropped.
pub(crate) struct LocalAws {
    state: PathBuf,
    env: HashMap<String, String>,
}

impl LocalAws {
    /// Starts one in a directory below `target/`, instead of one that an earlier test left there.
    pub(crate) fn start(name: &str) -> Self {
        let mut aws = Self { state: root().join("target").join(name), env: HashMap::new() };
        aws.up(&["--replace"]);
        aws
    }

    /// Starts one that can be [restarted](Self::restart), with nothing of what an earlier test left.
    pub(crate) fn start_to_keep(name: &str) -> Self {
        let mut aws = Self { state: root().join("target").join(name), env: HashMap::new() };
        aws.must(&["down"]);
        if let Err(error) = std::fs::remove_dir_all(aws.state.join("kept")) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
        }
        aws.up(&["--keep"]);
        aws
    }

    /// Stops it with everything that runs in it, and starts it again with the tables, queues and secrets that it had.
    pub(crate) fn restart(&mut self) {
        self.must(&["down"]);
        self.up(&["--keep"]);
    }

    fn up(&mut self, how: &[&str]) {
        self.must(&[&["up"], how].concat());
        let env = std::fs::read_to_string(self.state.join("env")).expect("`up` writes the addresses");
        let pairs = env.lines().filter_map(|line| line.split_once('='));
        self.env = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    }

    /// One of the addresses and names that `up` wrote.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.env.get(name).unwrap_or_else(|| panic!("{name} is not among {:?}", self.env.keys()))
    }

    /// All of them that do not name the process.
    pub(crate) fn addresses(&self) -> BTreeMap<String, String> {
        self.env.clone().into_iter().filter(|(name, _)| name != "HOOKBOX_LOCAL_PID").collect()
    }

    /// The address that providers deliver to.
    pub(crate) fn hook(&self, provider: &str, account: &str) -> String {
        format!("{}/hooks/{provider}/{account}", self.value("HOOKBOX_URL"))
    }

    /// Where its files are.
    pub(crate) fn directory(&self) -> &Path {
        &self.state
    }

    /// What a command needs to reach this AWS and no other.
    pub(crate) fn environment(&self) -> &HashMap<String, String> {
        &self.env
    }

    /// Sets the work queue's visibility timeout.
    pub(crate) fn set_visibility(&self, seconds: u64) {
        let attributes = json!({"VisibilityTimeout": seconds.to_string()});
        let set = json!({"QueueUrl": self.value("HOOKBOX_WORK_QUEUE_URL"), "Attributes": attributes});
        self.call("sqs", "set_queue_attributes", &set);
    }

    /// Puts a secret into the local parameter store.
    pub(crate) fn secret(&self, name: &str, value: &str) {
        self.must(&["secret", name, value]);
    }

    /// Calls a service of this AWS, as the `aws` command would.
    pub(crate) fn call(&self, service: &str, operation: &str, parameters: &Value) -> Value {
        serde_json::from_str(&self.must(&["call", service, operation, &parameters.to_string()])).expect("JSON")
    }

    /// Turns a function's only event source on or off. What it carries waits meanwhile.
    pub(crate) fn set_event_source(&self, function: &str, enabled: bool) {
        let mapping = self.call("lambda", "list_event_source_mappings", &json!({"FunctionName": self.value(function)}));
        let id = &mapping["EventSourceMappings"][0]["UUID"];
        let set = self.call("lambda", "update_event_source_mapping", &json!({"UUID": id, "Enabled": enabled}));
        assert_eq!(set["State"], if enabled { "Enabled" } else { "Disabled" });
    }

    /// How many messages of a queue wait, and how many are in somebody's hands or delayed.
    pub(crate) fn messages(&self, queue: &str) -> (u64, u64) {
        let asked = json!({"QueueUrl": self.value(queue), "AttributeNames": ["All"]});
        let attributes = &self.call("sqs", "get_queue_attributes", &asked)["Attributes"];
        let count = |name: &str| attributes[name].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a number");
        let others = count("ApproximateNumberOfMessagesNotVisible") + count("ApproximateNumberOfMessagesDelayed");
        (count("ApproximateNumberOfMessages"), others)
    }

    /// Kills the processes of a function, as `kill -9` does; `false` when there were none.
    pub(crate) fn crash(&self, function: &str) -> bool {
        self.local(&["crash", function]).status.success()
    }

    /// A client configuration for this AWS.
    pub(crate) fn sdk_config(&self) -> aws_config::SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "local");
        aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .region(aws_config::Region::new("us-east-1"))
            .endpoint_url(self.value("AWS_ENDPOINT_URL"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
            .time_source(SystemTimeSource::new())
            .build()
    }

    /// The deployed table.
    pub(crate) fn ledger(&self) -> Ledger {
        let shards = Shards::new(4).expect("a power of two");
        Ledger::new(&self.sdk_config(), self.value("HOOKBOX_TABLE"), shards, Arc::new(SystemRandom))
    }

    fn must(&self, arguments: &[&str]) -> String {
        let output = self.local(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "local.py {arguments:?} failed: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn local(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("python3");
        command.arg(root().join("infra/local/local.py")).args(arguments).arg("--state").arg(&self.state);
        command.current_dir(root()).output().expect("python3 runs")
    }
}

impl Drop for LocalAws {
    fn drop(&mut self) {
        self.local(&["down"]);
    }
}

/// A client for plain HTTP on this machine.
pub(crate) fn http() -> reqwest::Client {
    static INSTALLED: std::sync::Once = std::sync::Once::new();
    INSTALLED.call_once(|| {
        rustls::crypto::ring::default_provider().install_default().expect("nobody else installs one");
    });
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository's root")
}
