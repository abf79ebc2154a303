use std::collections::BTreeSet;

use hookbox_core::limits::{
    DEFAULT_KEY_RETENTION, DEFAULT_OPERATION_TIMEOUT, DEFAULT_PAYLOAD_RETENTION, DEFAULT_RECEIPT_RETENTION,
    MAX_OPERATION_TIMEOUT, MAX_OPERATIONS, MAX_RETRY_DELAY, MAX_SCHEDULE,
};
use hookbox_core::retry::Schedule;
use hookbox_providers::Profiles;

use super::profile::ShortRetention;
use super::text::period;
use super::*;

const COMPLETE: &str = r#"
[[integration]]
provider = "stripe"
account = "main"
url = "https://hooks.example.com/stripe"
secrets = ["ssm:/hookbox/main/stripe", "env:OLD_STRIPE"]
tenants = ["acct_1"]
payload_retention = "7d"

[[integration.operation]]
name = "deliver"
type = "http"
url = "https://example.com/hooks"
signing_secret = "ssm:/hookbox/main/signing"
idempotency = "key"
key_retention = "24h"
timeout = "10s"
not_done_statuses = [500]
kinds = ["payment_intent.succeeded"]

[[integration.operation]]
name = "queue"
type = "sqs"
queue_url = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
idempotency = "none"
schedule = ["500ms", "2m"]

[[integration]]
provider = "yelp"
account = "biz"
secrets = ["env:YELP"]
receipt_retention = "30d"
verify = { header = "X-Signature", nested = { "a key" = [1, true] } }

[[integration.operation]]
name = "crm"
type = "crm-upsert"
settings = { region = "eu", retries = 3 }
idempotency = "reconcile"
reconcile_url = "https://example.com/{job_key}"
"#;

fn problems(text: &str) -> String {
    ConfigFile::parse(Source::new("hookbox.toml", text)).expect_err("not valid").to_string()
}

#[test]
fn an_address_that_nobody_can_call_is_refused() {
    let with = |url: &str| {
        operation(&format!("type = \"http\"\nurl = \"{url}\"\nidempotency = \"none\"\nsigning_secret = \"env:S\"\n"))
    };
    for url in ["http://[::1/", "http://ex.com:99999/", "http://exämple.com/", "http://?x"] {
        assert!(with(url).contains("cannot be called") || with(url).contains("absolute"), "{url}: {}", with(url));
    }
}

/// A file whose only operation has these lines.
fn operation(lines: &str) -> String {
    let head = "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n";
    problems(&format!("{head}[[integration.operation]]\nname = \"deliver\"\n{lines}"))
}

#[test]
fn a_file_is_understood_and_written_again_with_its_defaults() {
    let file = ConfigFile::parse(Source::new("hookbox.toml", COMPLETE)).unwrap();
    let text: Vec<_> = file.declared.iter().map(|declared| text::of(&declared.integration)).collect();
    insta::assert_snapshot!(text.join("\n"));
    let again = ConfigFile::parse(Source::new("again", text.join("\n"))).unwrap();
    let integrations = |file: &ConfigFile| -> Vec<_> { file.declared.iter().map(|d| d.integration.clone()).collect() };
    assert_eq!(integrations(&again), integrations(&file), "what is shown says the same as what was written");
}

#[test]
fn an_address_that_no_provider_can_have_been_given_is_refused_and_not_repeated() {
    let with = |base: &str, url: &str| {
        format!(
            "base_url = \"{base}\"\n[[integration]]\nprovider = \"square\"\naccount = \"a\"\nsecrets = [\"env:S\"]\nurl = \"{url}\"\n"
        )
    };
    let good = ("https://hooks.example.com", "https://proxy.example/square");
    assert!(ConfigFile::parse(Source::new("hookbox.toml", with(good.0, good.1))).is_ok());
    let shown = [
        problems(&with("hooks.example.com", good.1)),
        problems(&with("https://me:MfKQ9@hooks.example.com", good.1)),
        problems(&with("https://hooks.example.com/hooks/square/a", good.1)),
        problems(&with(good.0, "https://proxy.example/square?token=MfKQ9")),
    ];
    assert!(shown.iter().all(|text| !text.contains("MfKQ9")), "{shown:?}");
    insta::assert_snapshot!(shown.join("\n---\n"));
}

#[test]
fn every_problem_has_its_line_and_what_to_write() {
    insta::assert_snapshot!(operation("type = \"http\"\n"));
}

#[test]
fn an_unknown_key_is_refused() {
    insta::assert_snapshot!(operation("type = \"http\"\nurll = \"https://example.com\"\n"));
}

#[test]
fn a_missing_key_is_named_with_an_example() {
    insta::assert_snapshot!(problems("[[integration]]\nprovider = \"stripe\"\n"));
}

#[test]
fn keys_of_another_type_are_refused() {
    insta::assert_snapshot!(operation(
        "type = \"crm\"\nurl = \"https://example.com\"\nidempotency = \"none\"\nkey_retention = \"1h\"\n"
    ));
    insta::assert_snapshot!(operation("type = \"sqs\"\nsettings = {}\nidempotency = \"reconcile\"\n"));
}

#[test]
fn durations_say_what_they_want() {
    insta::assert_snapshot!(operation("type = \"http\"\ntimeout = 10\n"));
    insta::assert_snapshot!(operation("type = \"http\"\ntimeout = \"10 parsecs\"\n"));
    let complete = "type = \"sqs\"\nqueue_url = \"https://sqs\"\nidempotency = \"none\"\n";
    insta::assert_snapshot!(operation(&format!("{complete}timeout = \"1500ms\"\nschedule = [\"1s\", \"2d\"]\n")));
    insta::assert_snapshot!(operation(&format!("{complete}timeout = \"2m\"\n")));
}

#[test]
fn the_checks_of_the_core_point_into_the_file() {
    let http = "type = \"http\"\nsigning_secret = \"env:S\"\nidempotency = \"key\"\n";
    insta::assert_snapshot!(operation(&format!("{http}url = \"example.com\"\n")));
    let twice = format!(
        "{http}url = \"https://example.com\"\n[[integration.operation]]\nname = \"deliver\"\n{http}url = \"https://b\"\n"
    );
    insta::assert_snapshot!(operation(&twice));
    insta::assert_snapshot!(problems(
        "[[integration]]\nprovider = \"stripe\"\naccount = \"b\"\nsecrets = [\"env:S\"]\npayload_retention = \"1d\"\n"
    ));
    insta::assert_snapshot!(problems(
        "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n\n[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n"
    ));
    insta::assert_snapshot!(problems(""));
}

#[test]
fn what_anybody_could_forge_is_refused() {
    let file = "\
[[integration]]
provider = \"stripe\"
account = \"a\"
secrets = []

[[integration]]
provider = \"github\"
account = \"a\"

[[integration]]
provider = \"aws-sns\"
account = \"a\"
";
    let file = ConfigFile::parse(Source::new("hookbox.toml", file)).unwrap();
    let problems = file.check(&Profiles::built_in(), ShortRetention::Accept).unwrap_err();
    insta::assert_snapshot!(problems);
    let tenants =
        "[[integration]]\nprovider = \"aws-sns\"\naccount = \"a\"\ntenants = [\"arn:aws:sns:eu-west-1:1:t\"]\n";
    let file = ConfigFile::parse(Source::new("hookbox.toml", tenants)).unwrap();
    file.check(&Profiles::built_in(), ShortRetention::Accept).unwrap();
}

#[test]
fn a_secret_written_by_mistake_is_not_repeated() {
    let head = "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\n";
    let mistakes = [
        format!("{head}secrets = [\"whsec_MfKQ9\"]\n"),
        format!("{head}secrets = \"whsec_MfKQ9\"\n"),
        format!("{head}secrets = [\n  # rotated\n  \"env:A\",\n  \"whsec_MfKQ9\",\n]\n"),
        format!("{head}secrets = [\"whsec_MfKQ9]\n"),
        format!("{head}secret = \"whsec_MfKQ9\"\n"),
        format!("{head}signature = \"whsec_MfKQ9\"\n"),
        format!(
            "{head}secrets = [\"env:A\"]\n[[integration.operation]]\nname = \"a\"\ntype = \"http\"\nidempotency = \"none\"\nsigning_secret = \"env:S\"\nurl = \"https://me:MfKQ9@example.com/\"\n"
        ),
        format!("{head}secrets = [\"env:A\"]\n[[integration.operation]]\nsigning_secret = \"whsec_MfKQ9\"\n"),
        format!("{head}secrets = [\"env:A\"]\n[[integration.operation]]\nsigning_secret = \"whsec_MfKQ9\n"),
    ];
    let shown: Vec<_> = mistakes.iter().map(|text| problems(text)).collect();
    for text in &shown {
        assert!(!text.contains("MfKQ9"), "{text}");
        assert!(text.starts_with("hookbox.toml:"), "{text}");
    }
    insta::assert_snapshot!(shown.join("\n---\n"));
}

#[test]
fn syntax_errors_have_a_place() {
    insta::assert_snapshot!(problems("[[integration]\nprovider = \"stripe\"\n"));
    insta::assert_snapshot!(problems("[[integration]]\nprovider = stripe\n"));
    insta::assert_snapshot!(problems("[[integration]]\nprovider = \"Stripe\"\n"));
}

#[test]
fn what_was_meant_is_suggested() {
    let head = "provider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n";
    let lines = "name = \"deliver\"\ntype = \"http\"\n";
    let shown = [
        problems(&format!("[integration]\n{head}")),
        problems(&format!("[[integrations]]\n{head}")),
        problems(&format!("[[integration]]\n{head}[[integration.operations]]\n{lines}")),
        problems(&format!("[[integration]]\n{head}[integration.operation]\n{lines}")),
        problems(&format!("[[integration]]\n{head}[[operation]]\n{lines}")),
        operation("type = \"htttp\"\nurl = \"https://example.com\"\nidempotency = \"none\"\n"),
    ];
    insta::assert_snapshot!(shown.join("\n---\n"));
}

#[test]
fn a_kind_that_can_never_match_is_refused() {
    let complete = "type = \"sqs\"\nqueue_url = \"https://sqs\"\nidempotency = \"none\"\n";
    insta::assert_snapshot!(operation(&format!("{complete}kinds = [\"issues.*\", \"push\", \" push\"]\n")));
}

#[test]
fn a_name_of_ones_own_is_no_slip() {
    let file = |kind: &str| {
        format!(
            "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n\
             [[integration.operation]]\nname = \"deliver\"\ntype = \"{kind}\"\nidempotency = \"none\"\n"
        )
    };
    for kind in ["sns", "crm-upsert", "initial-response"] {
        assert!(ConfigFile::parse(Source::new("hookbox.toml", file(kind))).is_ok(), "{kind}");
    }
    assert!(problems(&file("sqss")).contains("type = \"sqs\""));
}

/// The keys that the parser names when it meets one that it does not know.
fn known_keys(before: &str) -> BTreeSet<String> {
    let says = problems(&format!("{before}no-such-key = 1\n"));
    let (_, known) = says.split_once("expected ").expect(&says);
    known.lines().next().unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

const PAGE: &str = include_str!("../../../docs/configuration.md");

#[test]
fn the_page_describes_every_key_and_no_other() {
    let integration = "[[integration]]\n";
    let operation = "[[integration]]\n[[integration.operation]]\n";
    let tables = ["", integration, operation];
    let mut known: BTreeSet<_> = tables.into_iter().flat_map(known_keys).collect();
    assert!(known.remove("integration"), "it has a heading of its own");
    assert!(known.len() >= 23, "{known:?}");
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let modes = ["key", "reconcile", "none"];
    let described: BTreeSet<_> =
        rows.map(|(key, _)| key.to_owned()).filter(|key| !modes.contains(&key.as_str())).collect();
    assert_eq!(described, known);
    assert_eq!(known_keys(""), BTreeSet::from(["base_url".to_owned(), "integration".to_owned()]));
}

#[test]
fn the_page_states_the_defaults() {
    let row = |key: &str| PAGE.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
    let schedule: Vec<_> = Schedule::default().delays().iter().map(|delay| format!("\"{}\"", period(*delay))).collect();
    for (key, default) in [
        ("payload_retention", period(DEFAULT_PAYLOAD_RETENTION)),
        ("receipt_retention", period(DEFAULT_RECEIPT_RETENTION)),
        ("key_retention", period(DEFAULT_KEY_RETENTION)),
        ("timeout", period(DEFAULT_OPERATION_TIMEOUT)),
        ("schedule", format!("[{}]", schedule.join(", "))),
    ] {
        assert!(row(key).contains(&format!("| `{default}`")), "{key} = {default}: {}", row(key));
    }
    for (key, bound) in [
        ("timeout", format!("from 1 s to {} s", MAX_OPERATION_TIMEOUT.as_secs())),
        ("schedule", format!("At most {MAX_SCHEDULE} of at most {} h", MAX_RETRY_DELAY.as_secs() / 3_600)),
        ("operation", format!("at most {MAX_OPERATIONS}")),
    ] {
        assert!(row(key).contains(&bound), "{key}: {bound}: {}", row(key));
    }
    let profiles = Profiles::built_in();
    for profile in profiles.names() {
        assert!(row("provider").contains(&format!("`{profile}`")), "{profile}");
    }
}

#[test]
fn the_examples_of_the_page_are_valid() {
    let examples: Vec<&str> = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let file = ConfigFile::parse(Source::new("docs/configuration.md", example)).unwrap();
        file.check(&Profiles::built_in(), ShortRetention::Refuse).unwrap();
        assert_eq!(file.declared[0].warnings, [""; 0], "{example}");
    }
}
