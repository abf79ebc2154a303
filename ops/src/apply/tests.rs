mod own_profiles;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use hookbox_core::integration::Integration;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestTable;
use hookbox_runtime::Secrets;

use super::*;
use crate::config::source::Source;
use crate::testing::{Captured, clock, table, terminal};

const FILE: &str = r#"
[[integration]]
provider = "stripe"
account = "main"
secrets = ["ssm:/hookbox/main/stripe"]

[[integration.operation]]
name = "deliver"
type = "http"
url = "https://example.com/hooks"
signing_secret = "ssm:/hookbox/main/signing"
idempotency = "key"

[[integration.operation]]
name = "crm"
type = "crm-upsert"
settings = { retries = 3, region = "eu" }
idempotency = "none"

[[integration]]
provider = "github"
account = "main"
secrets = ["env:GITHUB"]
"#;

fn file(text: &str) -> ConfigFile {
    ConfigFile::parse(Source::new("hookbox.toml", text)).unwrap()
}

async fn stored(table: &Table, name: &str) -> Option<Integration> {
    let (provider, account) = name.split_once('/').unwrap();
    table.ledger.integration(&provider.parse().unwrap(), &account.parse().unwrap()).await.unwrap()
}

async fn run(text: &str, table: &Table, intent: Intent) -> (Result<Answer, Failure>, String) {
    let (mut terminal, captured) = terminal(Format::Table);
    (apply(&file(text), table, intent, &mut terminal).await, captured.out())
}

async fn apply(file: &ConfigFile, table: &Table, intent: Intent, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let (author, clock) = (Author::Named("jane".to_owned()), clock());
    let reason = Some("new destination");
    let profiles = &Profiles::built_in();
    let application =
        Application { file, own: &[], profiles, table, secrets: None, intent, author, reason, clock: &clock };
    application.apply(terminal).await
}

#[tokio::test]
async fn a_dry_run_shows_and_writes_nothing() {
    let table = table(&clock()).await;
    let (answer, out) = run(FILE, &table, Intent::DryRun).await;
    assert_eq!(answer.unwrap(), Answer::No, "there are differences");
    insta::assert_snapshot!(out);
    assert_eq!(table.ledger.directory().await.unwrap().items, []);
    assert_eq!(stored(&table, "stripe/main").await, None);
}

#[tokio::test]
async fn what_did_not_change_keeps_its_revision() {
    let table = table(&clock()).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    assert_eq!(stored(&table, "stripe/main").await.unwrap().rev, 1);
    assert_eq!(stored(&table, "github/main").await.unwrap().rev, 1);

    let (answer, out) = run(FILE, &table, Intent::DryRun).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    insta::assert_snapshot!(out, @r"
    stripe/main is unchanged (rev 1)
    github/main is unchanged (rev 1)
    nothing to do
    ");

    let changed = FILE.replace("retries = 3", "retries = 4").replace("example.com", "example.org");
    let (answer, out) = run(&changed, &table, Intent::Write).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    insta::assert_snapshot!(out);
    let expected = Integration { rev: 2, ..file(&changed).declared[0].integration.clone() };
    assert_eq!(stored(&table, "stripe/main").await.unwrap(), expected);
    assert_eq!(stored(&table, "github/main").await.unwrap().rev, 1);
}

#[tokio::test]
async fn what_the_file_does_not_name_is_left_alone() {
    let table = table(&clock()).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    let github = FILE.split_inclusive("\n\n").last().unwrap();
    let (answer, out) = run(github, &table, Intent::Write).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    insta::assert_snapshot!(out, @r"
    github/main is unchanged (rev 1)
    not in this file and left alone: stripe/main
    nothing to do
    ");
    assert!(stored(&table, "stripe/main").await.is_some());
}

#[tokio::test]
async fn one_that_comes_back_goes_on_with_its_revisions() {
    let clock = clock();
    let table = table(&clock).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    let (provider, account) = ("github".parse().unwrap(), "main".parse().unwrap());
    table.ledger.retire_integration(&provider, &account, 1, clock.now()).await.unwrap();
    run(FILE, &table, Intent::Write).await.0.unwrap();
    assert_eq!(stored(&table, "github/main").await.unwrap().rev, 2, "1 was another configuration");
}

#[tokio::test]
async fn nothing_is_written_without_a_yes() {
    let table = table(&clock()).await;
    let (mut says_no, captured) = Captured::answering("n\n");
    let refused = apply(&file(FILE), &table, Intent::Ask, &mut says_no).await.unwrap_err();
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused, @r"
    could not apply 2 integrations
      why: not confirmed, nothing was written
    ");
    assert_eq!(captured.notes(), "Write 2 integrations? [y/N] ");

    let nobody = run(FILE, &table, Intent::Ask).await.0.unwrap_err();
    assert_eq!(nobody.code(), 2);
    insta::assert_snapshot!(nobody, @r"
    could not apply 2 integrations
      why: nobody can be asked: standard input is no terminal
      try: --yes to write, --dry-run to look
    ");
    assert_eq!(table.ledger.directory().await.unwrap().items, []);

    let (mut says_yes, _) = Captured::answering("y\n");
    assert_eq!(apply(&file(FILE), &table, Intent::Ask, &mut says_yes).await.unwrap(), Answer::Yes);
    assert!(stored(&table, "stripe/main").await.is_some());
}

#[tokio::test]
async fn a_change_that_came_in_between_is_not_overwritten() {
    let table = table(&clock()).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    let mine = file(&FILE.replace("example.com", "mine.example"));
    let plan = Plan::make(&mine, &[], &table).await.unwrap();
    run(&FILE.replace("example.com", "theirs.example"), &table, Intent::Write).await.0.unwrap();

    let overtaken = put(&plan.steps[0], &table).await.unwrap_err();
    assert_eq!(overtaken.code(), 1);
    insta::assert_snapshot!(overtaken, @r"
    could not apply stripe/main
      why: somebody else applied it in the meantime: integration stripe/main is at rev 2
      try: apply again, and look at the differences first
    ");
    let text = crate::config::text::of(&stored(&table, "stripe/main").await.unwrap());
    assert!(text.contains("theirs.example"), "{text}");
}

#[tokio::test]
async fn programs_get_the_same_as_json() {
    let table = table(&clock()).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    let (mut terminal, captured) = terminal(Format::Json);
    let changed = FILE.replace("retries = 3", "retries = 4");
    apply(&file(&changed), &table, Intent::Write, &mut terminal).await.unwrap();
    insta::assert_json_snapshot!(captured.json());
    assert_eq!(captured.notes(), "");
}

#[tokio::test]
async fn a_table_that_is_not_there_is_could_not_look() {
    let config = TestTable::on(&clock()).await.config();
    let (shards, random) = (hookbox_core::key::Shards::new(4).unwrap(), Arc::new(hookbox_runtime::SystemRandom));
    let ledger = hookbox_ledger::Ledger::new(&config, "hookbocks", shards, random);
    let table = Table::new(ledger, "hookbocks", "in eu-west-1");
    let failure = run(FILE, &table, Intent::Write).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    insta::assert_snapshot!(failure);
}

/// As much of the Parameter Store as reading from it needs.
async fn parameters(answer: fn(&str) -> (StatusCode, serde_json::Value)) -> SecretReader {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(async move |body: Bytes| {
        let call: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let (status, answer) = answer(call["Name"].as_str().unwrap());
        (status, answer.to_string())
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let config = TestTable::start().await.config().into_builder().endpoint_url(endpoint).build();
    SecretReader::new(Secrets::new(&config, Arc::new(clock())), "in eu-west-1")
}

fn refusal(code: &str) -> (StatusCode, serde_json::Value) {
    (StatusCode::BAD_REQUEST, serde_json::json!({"__type": code, "message": "no"}))
}

fn holds(value: &str) -> (StatusCode, serde_json::Value) {
    (StatusCode::OK, serde_json::json!({"Parameter": {"Value": value}}))
}

async fn with_secrets(intent: Intent, secrets: &SecretReader, table: &Table) -> (Result<Answer, Failure>, String) {
    holding(FILE, intent, secrets, table).await
}

async fn holding(
    text: &str,
    intent: Intent,
    secrets: &SecretReader,
    table: &Table,
) -> (Result<Answer, Failure>, String) {
    let (mut terminal, captured) = terminal(Format::Table);
    let clock = clock();
    let (file, author) = (file(text), Author::Named("jane".to_owned()));
    let application = Application {
        file: &file,
        own: &[],
        profiles: &Profiles::built_in(),
        table,
        secrets: Some(secrets),
        intent,
        author,
        reason: None,
        clock: &clock,
    };
    (application.apply(&mut terminal).await, captured.out())
}

#[tokio::test]
async fn a_secret_that_is_missing_or_empty_is_refused_and_nothing_is_written() {
    let table = table(&clock()).await;
    let secrets = parameters(|name| match name {
        "/hookbox/main/stripe" => refusal("ParameterNotFound"),
        _ => holds(" "),
    })
    .await;
    let looked = with_secrets(Intent::DryRun, &secrets, &table).await.0.unwrap_err();
    let failure = with_secrets(Intent::Write, &secrets, &table).await.0.unwrap_err();
    assert_eq!((failure.code(), failure.to_string()), (1, looked.to_string()));
    insta::assert_snapshot!(failure, @r"
    could not use every secret that the file names
      why: ssm:/hookbox/main/stripe: it does not exist in eu-west-1
           ssm:/hookbox/main/signing: it is empty, and an empty secret verifies everything
      try: aws ssm put-parameter --type SecureString --name /hookbox/main/stripe --value …
      try: aws ssm put-parameter --type SecureString --name /hookbox/main/signing --value … --overwrite
      try: --skip-secret-check, where the secret follows later: until then deliveries are refused
    ");
    assert_eq!(table.ledger.directory().await.unwrap().items, []);
}

#[tokio::test]
async fn a_secret_that_may_not_be_looked_at_is_a_warning() {
    let table = table(&clock()).await;
    let secrets = parameters(|name| match name {
        "/hookbox/main/stripe" => refusal("AccessDeniedException"),
        _ => holds("whsec_MfKQ9"),
    })
    .await;
    let (answer, out) = with_secrets(Intent::Write, &secrets, &table).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    let warnings: Vec<_> = out.lines().filter(|line| line.starts_with("warning: ssm")).collect();
    assert_eq!(warnings, ["warning: ssm:/hookbox/main/stripe could not be checked: access is denied"]);
    assert!(!out.contains("MfKQ9"), "{out}");
}

#[tokio::test]
async fn a_secret_outside_the_functions_reach_is_a_warning() {
    let table = table(&clock()).await;
    let (_, out) = run(&FILE.replace("/hookbox/main/stripe", "/prod/stripe"), &table, Intent::DryRun).await;
    let warned = out.lines().any(|line| line.starts_with("warning: ssm:/prod/stripe lies outside /hookbox/"));
    assert!(warned, "{out}");
}

#[tokio::test]
async fn who_applied_what_and_why_is_recorded() {
    let table = table(&clock()).await;
    run(FILE, &table, Intent::Write).await.0.unwrap();
    run(&FILE.replace("retries = 3", "retries = 4"), &table, Intent::Write).await.0.unwrap();
    let (provider, account) = ("stripe".parse().unwrap(), "main".parse().unwrap());
    let deeds = table.ledger.integration_audit(&provider, &account).await.unwrap().items;
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut recorded: Vec<_> = deeds
        .iter()
        .map(|deed| [deed.who.clone(), deed.what.clone(), of(&deed.why), of(&deed.before), of(&deed.after)])
        .collect();
    recorded.sort();
    let why = "new destination";
    assert_eq!(recorded, [["jane", "apply", why, "", "rev 1"], ["jane", "apply", why, "rev 1", "rev 2"]]);
}

fn check(text: &str, short: ShortRetention) -> String {
    let checked = file(text).check(&Profiles::built_in(), short);
    checked.map_or_else(|invalid| invalid.to_string(), |()| "valid".to_owned())
}

#[test]
fn the_profile_has_its_say() {
    assert_eq!(check(FILE, ShortRetention::Refuse), "valid");
    let unknown = FILE.replace("\"stripe\"", "\"stripes\"");
    let variant = FILE.replace("account = \"main\"", "account = \"main\"\nvariant = \"v9\"");
    let verify = FILE.replace("account = \"main\"", "account = \"main\"\nverify = { algorithm = \"md5\" }");
    let yelp = variant.replace("\"stripe\"", "\"yelp\"");
    let problems = [unknown, variant, yelp, verify].map(|text| check(&text, ShortRetention::Refuse));
    insta::assert_snapshot!(problems.join("\n---\n"));
}

#[test]
fn a_receipt_outlives_the_provider_s_repetitions() {
    // Standard Webhooks are repeated for four days.
    let short = r#"
[[integration]]
provider = "standard-webhooks"
account = "main"
secrets = ["env:S"]
payload_retention = "73h"
receipt_retention = "73h"
"#;
    insta::assert_snapshot!(check(short, ShortRetention::Refuse));
    assert_eq!(check(short, ShortRetention::Accept), "valid");
}

#[tokio::test]
async fn a_retention_that_was_accepted_although_it_is_short_is_recorded() {
    let table = table(&clock()).await;
    let text = "[[integration]]\nprovider = \"standard-webhooks\"\naccount = \"main\"\nsecrets = [\"env:S\"]\n\
                payload_retention = \"73h\"\nreceipt_retention = \"73h\"\n\n\
                [[integration]]\nprovider = \"standard-webhooks\"\naccount = \"long\"\nsecrets = [\"env:S\"]\n";
    let (answer, out) = run(text, &table, Intent::DryRun).await;
    let what = "receipts are kept for 73h, and Standard Webhooks may repeat an event for 4d";
    assert!(out.contains(&format!("warning: standard-webhooks/main: {what}\n")), "{out}");
    assert_eq!(answer.unwrap(), Answer::No);
    run(text, &table, Intent::Write).await.0.unwrap();
    let audit = async |account: &str| {
        let (provider, account) = ("standard-webhooks".parse().unwrap(), account.parse().unwrap());
        table.ledger.integration_audit(&provider, &account).await.unwrap().items
    };
    let deeds = audit("main").await;
    let deed = deeds.iter().find(|deed| deed.what == "accept-short-retention").unwrap();
    assert_eq!((deed.who.as_str(), deed.why.as_deref()), ("jane", Some("new destination")));
    assert_eq!(deed.after.as_deref(), Some(what));
    assert_eq!(deeds.len(), 2, "one for what was applied");
    let others: Vec<_> = audit("long").await.into_iter().map(|deed| deed.what).collect();
    assert_eq!(others, ["apply"], "nothing had to be accepted");
}

const SIGNED_ADDRESSES: &str = r#"
[[integration]]
provider = "twilio"
account = "main"
secrets = ["ssm:/hookbox/twilio"]

[[integration]]
provider = "square"
account = "eu"
secrets = ["ssm:/hookbox/square"]
url = "https://proxy.example/square/"

[[integration]]
provider = "google-pubsub"
account = "main"
tenants = ["projects/p/subscriptions/s"]
"#;

#[test]
fn an_address_that_is_signed_has_to_be_known() {
    insta::assert_snapshot!(check(SIGNED_ADDRESSES, ShortRetention::Refuse));
    let based =
        format!("base_url = \"https://hooks.example.com/\"\n{SIGNED_ADDRESSES}verify = {{ email = \"a@p\" }}\n");
    assert_eq!(check(&based, ShortRetention::Refuse), "valid");
    let addresses: Vec<_> = file(&based).declared.iter().map(|declared| declared.integration.url.clone()).collect();
    let expected = [
        "https://hooks.example.com/hooks/twilio/main",
        "https://proxy.example/square/",
        "https://hooks.example.com/hooks/google-pubsub/main",
    ];
    assert_eq!(addresses, expected.map(|url| Some(url.to_owned())), "what is stated for one integration counts first");
    // A profile's own audience takes the place of the address, an address in `verify` that of the integration's.
    let elsewhere = SIGNED_ADDRESSES
        .replace("[\"ssm:/hookbox/twilio\"]", "[\"ssm:/hookbox/twilio\"]\nverify = { url = \"https://t.example/\" }");
    let elsewhere = format!("{elsewhere}verify = {{ email = \"a@p\", audience = \"hooks\" }}\n");
    assert_eq!(check(&elsewhere, ShortRetention::Refuse), "valid");
}

const FORMS: &str = r#"
[[integration]]
provider = "facebook"
account = "no-token"
secrets = ["ssm:/text"]

[[integration]]
provider = "facebook"
account = "only-a-token"
secrets = ["ssm:/token"]

[[integration]]
provider = "facebook"
account = "empty-token"
secrets = ["ssm:/text", "ssm:/empty-token"]

[[integration]]
provider = "svix"
account = "not-base64"
secrets = ["ssm:/base64", "ssm:/text"]

[[integration]]
provider = "adyen"
account = "not-hex"
secrets = ["ssm:/base64", "ssm:/hex", "ssm:/text"]

[[integration]]
provider = "sendgrid"
account = "with-its-frame"
secrets = ["ssm:/pem"]

[[integration]]
provider = "discord"
account = "too-short"
secrets = ["ssm:/hex"]

[[integration]]
provider = "thumbtack"
account = "without-a-password"
secrets = ["ssm:/user"]

[[integration]]
provider = "yelp"
account = "not-for-a-path"
secrets = ["ssm:/text"]
"#;

fn forms(name: &str) -> (StatusCode, serde_json::Value) {
    match name {
        "/text" => holds("hush: MfKQ9!"),
        "/token" => holds("verify_token:MfKQ9"),
        "/empty-token" => holds("verify_token: "),
        "/base64" => holds("whsec_TWZLUTk="),
        "/hex" => holds("4d664b5139"),
        "/pem" => holds("-----BEGIN PUBLIC KEY-----\nTWZLUTk=\n-----END PUBLIC KEY-----"),
        "/user" => holds("MfKQ9:"),
        _ => refusal("AccessDeniedException"),
    }
}

#[tokio::test]
async fn a_secret_that_its_provider_cannot_have_signed_with_is_refused_and_never_shown() {
    let (table, secrets) = (table(&clock()).await, parameters(forms).await);
    let (refused, out) = holding(FORMS, Intent::Write, &secrets, &table).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), 2);
    insta::assert_snapshot!(refused);
    for hidden in ["MfKQ9", "TWZLUTk", "4d664b5139"] {
        assert!(!refused.to_string().contains(hidden) && !out.contains(hidden), "{refused}\n{out}");
    }
    assert_eq!(table.ledger.directory().await.unwrap().items, []);
}

#[tokio::test]
async fn nothing_is_said_of_secrets_that_could_not_be_seen() {
    let (table, secrets) = (table(&clock()).await, parameters(forms).await);
    let unseen = "[[integration]]\nprovider = \"facebook\"\naccount = \"main\"\n\
                  secrets = [\"ssm:/text\", \"ssm:/denied\", \"env:TOKEN\"]\n";
    let (answer, out) = holding(unseen, Intent::Write, &secrets, &table).await;
    assert_eq!(answer.unwrap(), Answer::Yes, "the token may be in one of the others");
    assert!(out.contains("warning: ssm:/denied could not be checked: access is denied"), "{out}");
    let good =
        "[[integration]]\nprovider = \"facebook\"\naccount = \"eu\"\nsecrets = [\"ssm:/text\", \"ssm:/token\"]\n";
    assert_eq!(holding(good, Intent::Write, &secrets, &table).await.0.unwrap(), Answer::Yes);
}
