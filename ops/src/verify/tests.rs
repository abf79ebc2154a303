use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hookbox_runtime::{Fetch, FetchError};
use serde_json::json;

use super::*;
use crate::testing::{Captured, clock, terminal, tests_folder};

/// What is found at every address.
struct Everywhere(Result<Vec<u8>, FetchError>);

impl Fetch for Everywhere {
    fn get<'a>(&'a self, _: &'a str, _: Duration) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        std::future::ready(self.0.clone()).boxed()
    }
}

/// Files in a folder of their own, and the command that is run on them.
struct Bench {
    folder: tempfile::TempDir,
    published: Result<Vec<u8>, FetchError>,
}

impl Bench {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        Self { folder, published: Err(FetchError::Status(503)) }
    }

    /// `%/` in an argument stands for the folder.
    async fn run(&self, arguments: &[&str], format: Format) -> (Result<Answer, String>, Captured) {
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            verify: VerifyArgs,
        }
        let folder = format!("{}/", self.folder.path().display());
        let arguments = arguments.iter().map(|argument| argument.replace("%/", &folder));
        let args = <Only as clap::Parser>::try_parse_from(std::iter::once("verify".to_owned()).chain(arguments));
        let args = args.unwrap_or_else(|error| panic!("{error}")).verify;
        let clock = Arc::new(clock());
        let documents = Documents::new(Arc::new(Everywhere(self.published.clone())), clock.clone());
        let (mut terminal, captured) = terminal(format);
        let result = run(&args, clock, &documents, &mut terminal).await;
        let told = |failure: Failure| format!("{}: {failure}", failure.code()).replace(&folder, "%/");
        (result.map_err(told), captured)
    }

    async fn says(&self, arguments: &[&str]) -> String {
        let (result, captured) = self.run(arguments, Format::Table).await;
        let text = match result {
            Ok(answer) => format!("{answer:?}\n{}", captured.out()),
            Err(why) => why,
        };
        let text = text.replace(&format!("{}/", self.folder.path().display()), "%/");
        assert!(!text.contains("s3cret") && !text.contains(&signature("s3cret", BODY)[7..]), "{text}");
        text
    }

    async fn says_to_programs(&self, arguments: &[&str]) -> Value {
        let (_, captured) = self.run(arguments, Format::Json).await;
        let text = captured.out().replace(&format!("{}/", self.folder.path().display()), "%/");
        serde_json::from_str(&text).unwrap()
    }
}

const BODY: &str = r#"{"zen":"Design for failure."}"#;

/// As GitHub signs.
fn signature(secret: &str, body: &str) -> String {
    let profiles = Profiles::built_in();
    let github = profiles.get(&"github".parse().unwrap()).unwrap().unwrap().configure(None, None).unwrap();
    let request = hookbox_providers::Request {
        method: "POST",
        path_token: None,
        url: None,
        query: None,
        headers: &[],
        body: body.as_bytes(),
    };
    let signed = github.sign(&request, None, &Secret::new(secret).unwrap(), Timestamp::from_millis(0)).unwrap();
    signed.headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("x-hub-signature-256")).unwrap().1
}

fn github() -> Bench {
    let headers = format!("X-Hub-Signature-256: {}\n", signature("s3cret", BODY));
    Bench::new(&[
        ("headers", headers.as_bytes()),
        ("body.json", BODY.as_bytes()),
        ("edited.json", format!("{BODY}\n").as_bytes()),
        ("new", b"another\n"),
        ("right", b"s3cret\n"),
    ])
}

const GITHUB: [&str; 4] = ["--provider", "github", "--headers", "%/headers"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&GITHUB, more].concat()
}

#[tokio::test]
async fn a_valid_delivery_says_with_which_secret() {
    let bench = github();
    let one = with(&["--body", "%/body.json", "--secret-from", "file:%/right"]);
    insta::assert_snapshot!(bench.says(&one).await);
    let two = [&one[..], &["--secret-from", "file:%/new"]].concat();
    insta::assert_snapshot!(bench.says(&two).await);
    let json = bench.says_to_programs(&two).await;
    assert_eq!((&json["valid"], &json["reason"], &json["signed_at"]), (&json!(true), &json!(null), &json!(null)));
    insta::assert_json_snapshot!("valid_as_json", json);
}

#[tokio::test]
async fn an_invalid_one_says_why_and_what_to_check() {
    let bench = github();
    insta::assert_snapshot!(bench.says(&with(&["--body", "%/body.json", "--secret-from", "file:%/new"])).await);
    insta::assert_snapshot!(bench.says(&with(&["--body", "%/edited.json", "--secret-from", "file:%/right"])).await);
    let unsigned = ["--provider", "github", "--body", "%/body.json", "--secret-from", "file:%/right"];
    insta::assert_snapshot!(bench.says(&unsigned).await);
    let json = bench.says_to_programs(&unsigned).await;
    assert_eq!(json["reason"], "missing-signature");
    insta::assert_json_snapshot!("invalid_as_json", json);
}

#[tokio::test]
async fn what_could_never_be_valid_is_wrong_usage() {
    let bench = github();
    insta::assert_snapshot!(bench.says(&with(&["--body", "%/body.json"])).await);
    insta::assert_snapshot!(bench.says(&with(&["--body", "%/body.json", "--secret-from", "s3cret"])).await);
    let gone = bench.says(&with(&["--body", "%/body.json", "--secret-from", "file:%/gone"])).await;
    assert!(gone.starts_with("3: could not read the secret file:%/gone"), "{gone}");
    let cut = ["--provider", "github", "--body", "%/body.json", "--headers", "X-Hub-Signature-256", "s3cret"];
    assert!(bench.says(&cut).await.starts_with("2: "), "a header that the shell cut in two");
}

#[tokio::test]
async fn times_are_those_at_which_it_arrived() {
    let sent: Value =
        serde_json::from_slice(&std::fs::read(tests_folder("vectors").join("stripe.json")).unwrap()).unwrap();
    let sent = sent.as_array().unwrap().iter().find(|vector| vector["expect"] == "valid" && vector["now"].is_i64());
    let sent = sent.unwrap();
    let body = STANDARD.decode(sent["body_b64"].as_str().unwrap()).unwrap();
    let headers = sent["headers"].to_string();
    let secret = sent["secret"].as_str().unwrap();
    let bench = Bench::new(&[("h", headers.as_bytes()), ("b", &body), ("s", secret.as_bytes())]);
    let arguments = ["--provider", "stripe", "--headers", "%/h", "--body", "%/b", "--secret-from", "file:%/s"];
    insta::assert_snapshot!(bench.says(&arguments).await);
    let at = Timestamp::from_seconds(sent["now"].as_i64().unwrap()).to_string();
    let then = bench.says(&[&arguments[..], &["--at", &at]].concat()).await;
    assert!(then.starts_with("Yes\nvalid: with file:%/s, signed at "), "{then}");
}

#[tokio::test]
async fn the_other_ways_to_verify_are_tried() {
    let vectors: Value =
        serde_json::from_slice(&std::fs::read(tests_folder("vectors").join("hubspot.json")).unwrap()).unwrap();
    let old = vectors.as_array().unwrap().iter();
    let old = old.clone().find(|vector| vector["scheme"] == "hubspot-v1" && vector["expect"] == "valid").unwrap();
    let body = STANDARD.decode(old["body_b64"].as_str().unwrap()).unwrap();
    let (headers, secret) = (old["headers"].to_string(), old["secret"].as_str().unwrap());
    let bench = Bench::new(&[("h", headers.as_bytes()), ("b", &body), ("s", secret.as_bytes())]);
    let url = "https://hooks.example.com/hooks/hubspot/a";
    let arguments =
        ["--provider", "hubspot", "--headers", "%/h", "--body", "%/b", "--secret-from", "file:%/s", "--url", url];
    insta::assert_snapshot!(bench.says(&arguments).await);
    let answer = bench.says(&[&arguments[..], &["--variant", "v1"]].concat()).await;
    assert!(answer.starts_with("Yes\nvalid: with file:%/s"), "{answer}");
}

#[tokio::test]
async fn a_certificate_is_fetched_from_the_provider() {
    let vectors: Value =
        serde_json::from_slice(&std::fs::read(tests_folder("vectors").join("aws-sns.json")).unwrap()).unwrap();
    let sent = vectors.as_array().unwrap().iter().find(|vector| vector["expect"] == "valid").unwrap().clone();
    let body = STANDARD.decode(sent["body_b64"].as_str().unwrap()).unwrap();
    let mut bench = Bench::new(&[("b", &body)]);
    let at = sent["now"].as_i64().map_or(clock().now(), Timestamp::from_seconds).to_string();
    let arguments = ["--provider", "aws-sns", "--body", "%/b", "--at", &at];
    let unreachable = bench.says(&arguments).await;
    assert!(unreachable.starts_with("3: could not verify %/b\n  why: the provider's certificate"), "{unreachable}");
    bench.published = Err(FetchError::Status(404));
    insta::assert_snapshot!(bench.says(&arguments).await);
    bench.published = Ok(sent["secret"].as_str().unwrap().as_bytes().to_vec());
    let answer = bench.says(&arguments).await;
    assert!(answer.starts_with("Yes\nvalid: "), "{answer}");
}

#[tokio::test]
async fn a_connection_of_the_file_brings_its_settings_and_secrets() {
    let bench = github();
    let file = "[[integration]]\nprovider = \"github\"\naccount = \"main\"\nsecrets = [\"env:HOOKBOX_TEST_NOT_SET\"]\n";
    std::fs::write(bench.folder.path().join("hookbox.toml"), file).unwrap();
    let from = ["--body", "%/body.json", "--config", "%/hookbox.toml", "--account"];
    let read = bench.says(&[&with(&from)[..], &["main"]].concat()).await;
    assert!(read.starts_with("3: could not read the secret env:HOOKBOX_TEST_NOT_SET"), "{read}");
    let own = bench.says(&[&with(&from)[..], &["main", "--secret-from", "file:%/right"]].concat()).await;
    assert!(own.starts_with("Yes"), "{own}");
    let unknown = bench.says(&[&with(&from)[..], &["other"]].concat()).await;
    assert!(unknown.contains("does not declare github/other"), "{unknown}");
}

#[tokio::test]
async fn a_handshake_is_told_from_a_delivery() {
    let bench = Bench::new(&[("b", b""), ("s", b"verify_token:s3cret")]);
    let url = "https://x/hooks/facebook/a?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=s3cret";
    let arguments =
        ["--provider", "facebook", "--method", "get", "--body", "%/b", "--secret-from", "file:%/s", "--url", url];
    insta::assert_snapshot!(bench.says(&arguments).await);
}

#[test]
fn a_folder_of_requests_comes_alone() {
    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        _verify: VerifyArgs,
    }
    let parse = |arguments: &[&str]| {
        <Only as clap::Parser>::try_parse_from([&["verify"], arguments].concat())
            .map(|_| ())
            .map_err(|error| error.kind())
    };
    assert_eq!(parse(&["--vectors", "x"]), Ok(()));
    assert_eq!(parse(&["--vectors", "x", "--profiles", "y"]), Ok(()));
    assert_eq!(parse(&["--vectors", "x", "--provider", "y"]), Err(clap::error::ErrorKind::ArgumentConflict));
    assert_eq!(parse(&["--provider", "y"]), Err(clap::error::ErrorKind::MissingRequiredArgument));
    assert_eq!(parse(&[]), Err(clap::error::ErrorKind::MissingRequiredArgument));
}
