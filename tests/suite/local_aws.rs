//! A local AWS with the real template and binaries, for as long as a test needs it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_async::time::SystemTimeSource;
use hookbox_core::key::Shards;
use hookbox_ledger::Ledger;
use hookbox_runtime::SystemRandom;

/// Stopped when it is dropped.
pub(crate) struct LocalAws {
    state: PathBuf,
    env: HashMap<String, String>,
}

impl LocalAws {
    /// Starts one in a directory below `target/`, instead of one that an earlier test left there.
    pub(crate) fn start(name: &str) -> Self {
        let mut aws = Self { state: root().join("target").join(name), env: HashMap::new() };
        aws.must(&["up", "--replace"]);
        let env = std::fs::read_to_string(aws.state.join("env")).expect("`up` writes the addresses");
        let pairs = env.lines().filter_map(|line| line.split_once('='));
        aws.env = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        aws
    }

    /// One of the addresses and names that `up` wrote.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.env.get(name).unwrap_or_else(|| panic!("{name} is not among {:?}", self.env.keys()))
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
    pub(crate) async fn set_visibility(&self, seconds: u64) {
        let queue = self.value("HOOKBOX_WORK_QUEUE_URL");
        let set = aws_sdk_sqs::Client::new(&self.sdk_config()).set_queue_attributes().queue_url(queue);
        let timeout = QueueAttributeName::VisibilityTimeout;
        set.attributes(timeout, seconds.to_string()).send().await.expect("a queue attribute is set");
    }

    /// Puts a secret into the local parameter store.
    pub(crate) fn secret(&self, name: &str, value: &str) {
        self.must(&["secret", name, value]);
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

    fn must(&self, arguments: &[&str]) {
        let output = self.local(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "local.py {arguments:?} failed: {said}");
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
