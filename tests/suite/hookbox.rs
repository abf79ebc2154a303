//! The `hookbox` command, as people use it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::local_aws::LocalAws;

/// The command's binary, which is built beside this test.
pub(crate) fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let debug = test.parent().and_then(Path::parent).expect("target/debug/deps/…");
    debug.join("hookbox")
}

fn command(aws: &LocalAws, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).envs(aws.environment()).env_remove("AWS_PROFILE").stdin(Stdio::null());
    command
}

/// Runs the command to its end; gives its exit code and standard output, parsed.
pub(crate) fn hookbox(aws: &LocalAws, arguments: &[&str]) -> (i32, Value) {
    let output = command(aws, arguments).args(["--output", "json"]).output().expect("target/debug/hookbox runs");
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let code = output.status.code().unwrap_or(-1);
    assert!(matches!(code, 0 | 1), "hookbox {arguments:?} ended with {code}: {complained}");
    (code, serde_json::from_str(&said).unwrap_or(Value::Null))
}

/// Runs a command that prints something for people or files; gives that.
pub(crate) fn printed(aws: &LocalAws, arguments: &[&str]) -> String {
    let output = command(aws, arguments).output().expect("target/debug/hookbox runs");
    assert!(output.status.success(), "hookbox {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Runs the command to whatever end it comes; gives its exit code, standard output, parsed, and standard error.
pub(crate) fn ended(aws: &LocalAws, arguments: &[&str]) -> (i32, Value, String) {
    let output = command(aws, arguments).args(["--output", "json"]).output().expect("target/debug/hookbox runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), serde_json::from_str(&said).unwrap_or(Value::Null), complained)
}

/// Runs the command, which the state of things does not allow; gives what it says about that.
pub(crate) fn refused(aws: &LocalAws, arguments: &[&str]) -> String {
    let output = command(aws, arguments).output().expect("target/debug/hookbox runs");
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "hookbox {arguments:?}: {complained}");
    complained
}

/// A command that runs until a person has enough of it; ended when it is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts it.
    pub(crate) fn start(aws: &LocalAws, arguments: &[&str]) -> Self {
        let mut command = command(aws, arguments);
        command.args(["--output", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("target/debug/hookbox runs"))
    }

    /// Ctrl-C; gives the exit code and what was said, parsed.
    pub(crate) fn interrupt(mut self) -> (i32, Value) {
        let told = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().expect("kill runs");
        assert!(told.success(), "it still runs");
        let (mut said, mut complained) = (String::new(), String::new());
        self.0.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        self.0.stderr.take().expect("piped").read_to_string(&mut complained).expect("text");
        let code = self.0.wait().expect("it ends").code().unwrap_or(-1);
        (code, serde_json::from_str(&said).unwrap_or_else(|_| panic!("{code}: {said}{complained}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already, unless the test failed before it was interrupted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running `hookbox sandbox`; ended when it is dropped.
pub(crate) struct Sandbox {
    process: Child,
    /// Its address.
    pub(crate) url: String,
}

impl Sandbox {
    /// Starts one that verifies our signatures with this secret.
    pub(crate) fn start(aws: &LocalAws, secret: &str) -> Self {
        let mut command = command(aws, &["sandbox", "--listen", "127.0.0.1:0", "--secret", secret]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("hookbox runs");
        let mut line = String::new();
        let output = process.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("listening on ").expect("its address comes first").to_owned();
        Self { process, url }
    }

    /// How often a key was called for and how often it had its effect.
    pub(crate) async fn seen(&self, key: &str) -> (u64, u64) {
        let effects: Value = get_json(&format!("{}/effects", self.url)).await;
        let of = &effects["by_key"][key];
        (of["calls"].as_u64().unwrap_or(0), of["effects"].as_u64().unwrap_or(0))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }
}

async fn get_json(url: &str) -> Value {
    let answer = crate::local_aws::http().get(url).send().await.expect("the sandbox answers");
    serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON")
}
