use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::key::JobKey;
use hookbox_ledger::Subject;
use hookbox_ledger::test_support::{TestClock, TestTable};

use super::*;
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::testing::{Captured, clock, configured, event, held, ingest, pause as put_pause, table, terminal};

fn operation(name: &str) -> OperationArgs {
    OperationArgs {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        operation: name.parse().unwrap(),
    }
}

fn change(operation: &OperationArgs, intent: Intent) -> Change<'_> {
    Change { operation, reason: Some("new token"), intent, author: Author::Named("jane".to_owned()) }
}

/// Two held jobs of `deliver`.
async fn scene() -> (Table, TestClock) {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    let pause = put_pause("deliver", "answered 401 Unauthorized", &table, &clock).await;
    for id in ["evt_1", "evt_2"] {
        let receipt = ingest(&event(id, "charge.refunded"), &table, &clock).await;
        held(&JobKey::first(receipt, "deliver".parse().unwrap()), &pause, &table, &clock).await;
    }
    clock.advance(Duration::from_secs(3_600));
    (table, clock)
}

async fn listed(table: &Table, format: Format) -> String {
    let (mut terminal, captured) = terminal(format);
    show(&Pauses::read(table).await.unwrap(), &mut terminal).unwrap();
    captured.out()
}

/// What was recorded: who, what, on what, why, before and after.
async fn audit(table: &Table) -> Vec<[String; 6]> {
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let deeds = table.ledger.integration_audit(&provider, &account).await.unwrap().items;
    let of = |text: Option<String>| text.unwrap_or_default();
    deeds
        .into_iter()
        .map(|deed| {
            assert_eq!(deed.subject, Subject::Integration(provider.clone(), account.clone()));
            [deed.who, deed.what, of(deed.on), of(deed.why), of(deed.before), of(deed.after)]
        })
        .collect()
}

#[tokio::test]
async fn the_list_says_why_since_when_how_many_and_what_to_type() {
    let (table, _) = scene().await;
    insta::assert_snapshot!(listed(&table, Format::Table).await);
    insta::assert_snapshot!(listed(&table, Format::Json).await);
}

#[tokio::test]
async fn nothing_paused_is_said_to_be_nothing() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    assert_eq!(listed(&table, Format::Table).await, "nothing is paused\n");
}

#[tokio::test]
async fn a_bad_line_or_pause_is_named_beside_the_others() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    put_pause("deliver", "answered 401 Unauthorized", &table, &clock).await;
    put_pause("audit", "maintenance", &table, &clock).await;
    let newer = ("schema".to_owned(), AttributeValue::N("99".to_owned()));
    let mut pause = storage.item("integration#stripe#demo", "pause#audit").await.unwrap();
    pause.extend([newer.clone()]);
    let mut line = storage.item("directory", "integration#stripe#demo").await.unwrap();
    line.extend([newer, ("sk".to_owned(), AttributeValue::S("integration#stripe#other".to_owned()))]);
    for item in [pause, line] {
        storage.put_item(item).await;
    }
    insta::assert_snapshot!(listed(&table, Format::Table).await);
}

#[tokio::test]
async fn resuming_shows_the_pause_ends_it_and_is_recorded() {
    let (table, clock) = scene().await;
    let deliver = operation("deliver");
    let (mut terminal, captured) = Captured::answering("y\n");
    let answer = change(&deliver, Intent::Ask).resume(&table, &clock, &mut terminal).await.unwrap();
    assert_eq!(answer, Answer::Yes);
    assert_eq!(captured.notes(), "Resume stripe/demo deliver? [y/N] ");
    insta::assert_snapshot!(captured.out());
    assert_eq!(listed(&table, Format::Table).await, "nothing is paused\n");
    let before = "paused since 2026-11-30T08:00:00.125Z: answered 401 Unauthorized";
    assert_eq!(audit(&table).await, [["jane", "resume", "deliver", "new token", before, "not paused"]]);
}

#[tokio::test]
async fn what_is_only_looked_at_or_not_confirmed_stays_paused() {
    let (table, clock) = scene().await;
    let deliver = operation("deliver");
    let (mut nobody, captured) = terminal(Format::Json);
    let answer = change(&deliver, Intent::DryRun).resume(&table, &clock, &mut nobody).await.unwrap();
    assert_eq!(answer, Answer::Yes);
    assert_eq!(
        (captured.json()["written"].clone(), captured.json()["pause"]["held_jobs"].clone()),
        (false.into(), 2.into())
    );

    let (mut says_no, _) = Captured::answering("n\n");
    let failure = change(&deliver, Intent::Ask).resume(&table, &clock, &mut says_no).await.unwrap_err();
    assert_eq!(failure.code(), 1);
    let failure = change(&deliver, Intent::Ask).resume(&table, &clock, &mut nobody).await.unwrap_err();
    assert_eq!(failure.code(), 2, "nobody can be asked");
    assert_eq!(Pauses::read(&table).await.unwrap().standing.len(), 1);
    assert_eq!(audit(&table).await, [[""; 6]; 0]);
}

#[tokio::test]
async fn what_is_not_paused_is_not_resumed() {
    let (table, clock) = scene().await;
    let (mut terminal, captured) = terminal(Format::Table);
    let audit_operation = operation("audit");
    let failure = change(&audit_operation, Intent::Write).resume(&table, &clock, &mut terminal).await.unwrap_err();
    assert_eq!(failure.code(), 1);
    insta::assert_snapshot!(failure, @r"
    could not resume stripe/demo audit
      why: it is not paused
      try: hookbox pauses list names the operations that are
    ");
    assert_eq!(captured.out(), "");
}

#[tokio::test]
async fn pausing_is_asked_for_done_once_and_recorded() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    let deliver = operation("deliver");
    let (mut looks, captured) = terminal(Format::Table);
    change(&deliver, Intent::DryRun).pause(&table, &clock, &mut looks).await.unwrap();
    assert_eq!(captured.out(), "would pause stripe/demo deliver: its jobs would be held until it is resumed\n");
    assert_eq!(listed(&table, Format::Table).await, "nothing is paused\n");

    let (mut terminal, captured) = Captured::answering("y\n");
    change(&deliver, Intent::Ask).pause(&table, &clock, &mut terminal).await.unwrap();
    assert_eq!(captured.notes(), "Pause stripe/demo deliver? Its jobs will be held. [y/N] ");
    insta::assert_snapshot!(captured.out(), @r"
    paused stripe/demo deliver: its jobs are held until it is resumed
    hookbox resume --provider stripe --account demo --operation deliver
    ");
    let standing = Pauses::read(&table).await.unwrap().standing;
    assert_eq!((standing.len(), standing[0].pause.reason.as_str()), (1, "new token"));

    let again = change(&deliver, Intent::Write).pause(&table, &clock, &mut terminal).await.unwrap_err();
    assert_eq!(again.code(), 1);
    insta::assert_snapshot!(again, @r"
    could not pause stripe/demo deliver
      why: it is paused already, since 2026-11-30 08:00:00.125 UTC: new token
      try: hookbox resume --provider stripe --account demo --operation deliver ends it
    ");
    assert_eq!(audit(&table).await, [["jane", "pause", "deliver", "new token", "not paused", "paused"]]);
}

#[tokio::test]
async fn programs_get_the_pause_that_is_made_or_ended() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    let deliver = operation("deliver");
    let (mut terminal, captured) = terminal(Format::Json);
    for intent in [Intent::DryRun, Intent::Write] {
        change(&deliver, intent).pause(&table, &clock, &mut terminal).await.unwrap();
    }
    for intent in [Intent::DryRun, Intent::Write] {
        change(&deliver, intent).resume(&table, &clock, &mut terminal).await.unwrap();
    }
    insta::assert_snapshot!(captured.out());
    assert_eq!(audit(&table).await.len(), 2);
}

#[tokio::test]
async fn only_what_is_configured_is_paused() {
    let clock = clock();
    let table = table(&clock).await;
    let (mut terminal, _) = terminal(Format::Table);
    let unknown = operation("crm");
    let failure = change(&unknown, Intent::Write).pause(&table, &clock, &mut terminal).await.unwrap_err();
    assert!(failure.to_string().contains("stripe/demo is not configured"), "{failure}");
    configured(&table).await;
    let failure = change(&unknown, Intent::Write).pause(&table, &clock, &mut terminal).await.unwrap_err();
    assert_eq!(failure.code(), 1);
    insta::assert_snapshot!(failure, @r"
    could not pause stripe/demo crm
      why: stripe/demo has no operation `crm`
      try: one of deliver, audit
    ");
}
