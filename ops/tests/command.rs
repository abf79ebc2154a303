//! The `hookbox` binary as a shell sees it: exit codes, streams, signals.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

/// The command with nothing of the caller's environment that it could act on.
fn hookbox(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hookbox"));
    command.env_clear().env("AWS_EC2_METADATA_DISABLED", "true").args(arguments).stdin(Stdio::null());
    command
}

fn ended(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn help_and_version_are_answers_and_wrong_usage_is_not() {
    for (arguments, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["help", "send"], 0),
        (&[], 2),
        (&["aply"], 2),
        (&["receipts", "show", "evt_1", "--table", "hookbox"], 2),
        (&["receipts", "show", "--event-id", "evt_1", "--table", "hookbox"], 2),
        (&["send", "stripe", "--account", "demo", "--times", "0", "--url", "http://127.0.0.1"], 2),
        (&["dlq", "list"], 2),
        (&["apply", "/nowhere/hookbox.toml", "--table", "hookbox", "--region", "eu-west-1"], 2),
    ] {
        let (seen, out, err) = ended(&mut hookbox(arguments));
        assert_eq!(seen, code, "{arguments:?}: {out}{err}");
        assert_eq!(out.is_empty(), code != 0, "{arguments:?}: answers go to standard output, complaints do not");
    }
}

#[test]
fn an_invalid_file_is_told_on_standard_error() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("hookbox.toml"), "[[integration]]\nprovider = \"stripe\"\nacount = \"a\"\n")
        .unwrap();
    let mut command = hookbox(&["apply", "--table", "hookbox", "--region", "eu-west-1"]);
    let (code, out, err) = ended(command.current_dir(directory.path()));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("hookbox.toml:3:1: unknown key `acount`"), "{err}");
}

#[test]
fn without_a_region_or_a_secret_it_says_what_is_missing() {
    let id = "ab".repeat(32);
    let (code, _, err) = ended(&mut hookbox(&["receipts", "show", &id, "--table", "hookbox"]));
    assert_eq!(code, 2);
    assert!(err.contains("no region is configured") && err.contains("--region"), "{err}");

    let send = ["send", "stripe", "--account", "a", "--secret", "env:NOT_SET", "--url", "http://127.0.0.1:9"];
    let (code, _, err) = ended(&mut hookbox(&send));
    assert_eq!(code, 3);
    assert!(err.contains("export NOT_SET="), "{err}");
}

#[test]
fn local_leads_to_the_local_aws_and_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let mut nowhere = hookbox(&["dlq", "list", "--local"]);
    let (code, _, err) = ended(nowhere.current_dir(root.path()));
    assert_eq!(code, 3);
    assert!(err.contains("no .local/env in") && err.contains("make dev"), "{err}");

    std::fs::create_dir(root.path().join(".local")).unwrap();
    let endpoint = "http://127.0.0.1:9";
    let environment = format!(
        "AWS_ENDPOINT_URL={endpoint}\nAWS_ACCESS_KEY_ID=test\nAWS_SECRET_ACCESS_KEY=test\nAWS_REGION=us-east-1\n\
         HOOKBOX_TABLE=local-table\nHOOKBOX_DEAD_LETTER_QUEUE_URL={endpoint}/dlq\n"
    );
    std::fs::write(root.path().join(".local/env"), environment).unwrap();
    let mut local = hookbox(&["--local", "dlq", "list"]);
    let (code, _, err) = ended(local.current_dir(root.path()).env("HOOKBOX_TABLE", "mine").env("AWS_PROFILE", "mine"));
    assert_eq!(code, 3);
    assert!(err.contains(&format!("(table `local-table` at {endpoint})")), "{err}");
}

#[test]
fn what_an_output_of_the_stack_gives_is_said_with_the_command_that_fetches_it() {
    let fetches = "export $(aws cloudformation describe-stacks --stack-name hookbox";
    for arguments in [&["dlq", "list"][..], &["send", "stripe", "--account", "a"]] {
        let (code, _, err) = ended(&mut hookbox(arguments));
        assert_eq!(code, 2, "{arguments:?}");
        assert!(err.contains(fetches), "{arguments:?}: {err}");
    }
    let (_, _, err) = ended(&mut hookbox(&["resume", "--table", "hookbox"]));
    assert!(!err.contains(fetches) && err.contains("--operation"), "no stack knows it: {err}");
}

#[test]
fn a_secret_in_the_place_of_its_reference_is_not_repeated() {
    for arguments in [
        &["send", "stripe", "--account", "a", "--url", "http://127.0.0.1:9", "--secret", "whsec_c2VjcmV0"][..],
        &["sandbox", "--secret=whsec_c2VjcmV0"],
        &["verify", "--provider", "stripe", "--body", "b", "--secret-from", "whsec_c2VjcmV0"],
    ] {
        let (code, _, err) = ended(&mut hookbox(arguments));
        assert_eq!(code, 2, "{arguments:?}");
        assert!(err.contains("--secret") && !err.contains("c2VjcmV0"), "{err}");
    }
}

#[test]
fn an_address_that_holds_the_path_already_is_refused_with_the_one_that_is_meant() {
    let send = |url: &str| {
        let arguments = ["send", "stripe", "--account", "a", "--secret", "env:NOT_SET", "--url", url];
        ended(&mut hookbox(&arguments))
    };
    for path in ["/hooks/stripe/a", "/hooks/", "/hooks"] {
        let (code, _, err) = send(&format!("http://127.0.0.1:9/base{path}"));
        assert_eq!(code, 2, "{path}");
        assert!(err.contains("try: --url http://127.0.0.1:9/base\n"), "{path}: {err}");
    }
    for url in ["http://hooks.example:9", "http://127.0.0.1:9/hookshot"] {
        assert!(send(url).2.contains("export NOT_SET="), "{url}");
    }
}

#[test]
fn completions_know_the_commands_and_a_reader_that_leaves_is_no_failure() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, _) = ended(&mut hookbox(&["completions", shell]));
        assert_eq!(code, 0);
        assert!(out.contains("receipts") && out.contains("dead-letter-queue-url"), "{shell}");
    }
    let mut child = hookbox(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), String::from_utf8(stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn the_sandbox_says_where_it_listens_and_ends_when_it_is_told() {
    for signal in ["INT", "TERM"] {
        let mut child = hookbox(&["sandbox", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_owned();

        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /effects HTTP/1.1\r\nhost: sandbox\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"by_key\":{}"), "{answer}");

        let told = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let notes = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(0), "{signal}: {notes}");
        assert_eq!(notes, "no --secret: signatures are not verified\n0 calls, 0 effects, 0 refused\n");
    }
}

#[test]
fn what_is_followed_ends_when_it_is_told_even_while_the_table_does_not_answer() {
    let table = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", table.local_addr().unwrap());
    let child = hookbox(&["tail", "-f", "--table", "hookbox", "--region", "eu-central-1", "--endpoint-url", &endpoint])
        .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It listens to signals before it reads.
    let silent = table.accept().unwrap();
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    drop(silent);
    let notes = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(0), 0), "{notes}");
    assert!(notes.starts_with("how attempts end is not shown") && notes.lines().count() == 1, "{notes}");
}

#[test]
fn requests_are_judged_and_bodies_decoded_without_a_region_or_credentials() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests");
    let (code, out, err) = ended(&mut hookbox(&["verify", "--vectors", &format!("{tests}/vectors")]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.lines().last().is_some_and(|line| line.ends_with(" passed, 0 failed")), "{out}");

    let body = format!("{tests}/payloads/slack/url_verification.json");
    let decoded = ended(&mut hookbox(&["decode", "--provider", "slack", "--body", &body]));
    assert_eq!(decoded, (0, "[]\n".to_owned(), String::new()));

    let mut verify = hookbox(&["verify", "--provider", "slack", "--secret-from", "env:S", "--body", &body]);
    let (code, out, err) = ended(verify.env("S", "s3cret"));
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.starts_with("not valid: ") && !out.contains("s3cret"), "{out}");
}
