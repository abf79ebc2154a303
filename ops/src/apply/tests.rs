use hookbox_core::integration::Integration;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestTable;

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
    let plan = Plan::make(&mine, &table).await.unwrap();
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
    let (shards, random) =
        (hookbox_core::key::Shards::new(4).unwrap(), std::sync::Arc::new(hookbox_runtime::SystemRandom));
    let ledger = hookbox_ledger::Ledger::new(&config, "hookbocks", shards, random);
    let table = Table::new(ledger, "hookbocks", "in eu-west-1");
    let failure = run(FILE, &table, Intent::Write).await.0.unwrap_err();
    assert_eq!(failure.code(), 3);
    insta::assert_snapshot!(failure);
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
