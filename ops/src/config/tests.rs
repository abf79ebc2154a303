use super::*;

const COMPLETE: &str = r#"
[[integration]]
provider = "stripe"
account = "main"
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
        "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = []\n\n[[integration]]\nprovider = \"stripe\"\naccount = \"b\"\nsecrets = [\"env:S\"]\npayload_retention = \"1d\"\n"
    ));
    insta::assert_snapshot!(problems(
        "[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n\n[[integration]]\nprovider = \"stripe\"\naccount = \"a\"\nsecrets = [\"env:S\"]\n"
    ));
    insta::assert_snapshot!(problems(""));
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
