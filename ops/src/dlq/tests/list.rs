use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::dismiss::dismiss;

use super::*;
use crate::terminal::Format;
use crate::testing::{configured, held, load, pause as put_pause, terminal};

async fn listed(table: &Table, sqs: &Sqs, format: Format, limit: u32) -> String {
    let list = List::make(table, &sqs.queue().await, limit, &mut never()).await.unwrap();
    let (mut terminal, captured) = terminal(format);
    list.show(&mut terminal).unwrap();
    captured.out()
}

#[tokio::test]
async fn jobs_in_review_are_joined_with_their_notices() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Table, 100).await;
    insta::assert_snapshot!(out);
    assert!(!out.contains("4111"), "poison is not repeated");
    assert_eq!(sqs.hidden(), 0, "every message is given back");
    let again = listed(&table, &sqs, Format::Table, 100).await;
    assert_eq!(again, out, "looking changes nothing");
}

#[tokio::test]
async fn programs_get_the_list_as_json() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Json, 100).await;
    insta::assert_snapshot!(out);
}

#[tokio::test]
async fn stopped_half_way_what_was_seen_is_given_back() {
    let (table, sqs) = scene().await;
    let failure = List::make(&table, &sqs.queue().await, 100, &mut sqs.stop_after(1)).await.unwrap_err();
    assert_eq!((failure.code(), sqs.hidden(), sqs.board().looks), (1, 0, 1));
}

/// Its first handle is worth nothing any more.
#[tokio::test]
async fn a_message_that_comes_again_is_one_and_is_given_back_by_its_last_receive() {
    let (table, sqs) = scene().await;
    sqs.board().again = ["message-0".to_owned(), "message-4".to_owned()].into();
    let list: Value = serde_json::from_str(&listed(&table, &sqs, Format::Json, 100).await).unwrap();
    let messages: u64 = list.as_array().unwrap().iter().map(|line| line["messages"].as_u64().unwrap()).sum();
    assert_eq!((messages, sqs.hidden()), (5, 0));
}

#[tokio::test]
async fn a_job_in_review_that_cannot_be_read_is_named() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let key = in_review("evt_1", &table, &clock).await;
    let pk = key.receipt.to_string();
    let mut item = storage.item(&pk, "job#deliver#v0001").await.unwrap();
    item.insert("schema".to_owned(), AttributeValue::N("99".to_owned()));
    storage.put_item(item).await;
    let why = format!("item {pk} job#deliver#v0001 has schema 99, which is newer than this version");
    let sqs = Sqs::default();
    assert_eq!(listed(&table, &sqs, Format::Table, 100).await, format!("unreadable: {why}\n"));
    let json: Value = serde_json::from_str(&listed(&table, &sqs, Format::Json, 100).await).unwrap();
    assert_eq!(json, json!([{"status": "unreadable", "fault": why}]));
}

#[tokio::test]
async fn what_is_paused_waits_for_a_person_too() {
    let (clock, sqs) = (clock(), Sqs::default());
    let table = table(&clock).await;
    configured(&table).await;
    let pause = put_pause("deliver", "answered 401 Unauthorized", &table, &clock).await;
    let receipt = ingest(&event("evt_1", "charge.refunded"), &table, &clock).await;
    held(&JobKey::first(receipt, "deliver".parse().unwrap()), &pause, &table, &clock).await;
    insta::assert_snapshot!(listed(&table, &sqs, Format::Table, 100).await, @r"
    PAUSED SINCE                 INTEGRATION  OPERATION  HELD JOBS  REASON
    2026-11-30 08:00:00.125 UTC  stripe/demo  deliver    1          answered 401 Unauthorized

    hookbox resume --provider stripe --account demo --operation deliver
    ");
    let listed: Value = serde_json::from_str(&listed(&table, &sqs, Format::Json, 100).await).unwrap();
    assert_eq!(
        listed,
        json!([{
            "status": "paused", "provider": "stripe", "account": "demo", "operation": "deliver",
            "since": "2026-11-30T08:00:00.125Z", "reason": "answered 401 Unauthorized",
            "held_jobs": 1, "held_jobs_more": false,
        }])
    );
}

#[tokio::test]
async fn an_index_that_is_behind_lists_nothing() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let key = in_review("evt_1", &table, &clock).await;
    let (pk, sk) = (key.receipt.to_string(), "job#deliver#v0001");
    let before = storage.item(&pk, sk).await.unwrap();
    let loaded = load(&key.receipt, &table).await;
    let job = loaded.job(&key).unwrap();
    table.ledger.write_job(&loaded, job, &dismiss(job, clock.now()).unwrap()).await.unwrap();
    let mut item = storage.item(&pk, sk).await.unwrap();
    for attribute in ["open_pk", "open_at"] {
        item.insert(attribute.to_owned(), before[attribute].clone());
    }
    storage.put_item(item).await;
    let sqs = Sqs::default();
    assert_eq!(listed(&table, &sqs, Format::Json, 100).await, "[]\n");
}

#[tokio::test]
async fn a_limit_is_said() {
    let (table, sqs) = scene().await;
    let out = listed(&table, &sqs, Format::Table, 1).await;
    assert!(out.contains("in review (there are more: --limit)"), "{out}");
}

#[tokio::test]
async fn nothing_is_said_to_be_nothing() {
    let (clock, sqs) = (clock(), Sqs::default());
    let table = table(&clock).await;
    let out = listed(&table, &sqs, Format::Table, 100).await;
    assert_eq!(out, "nothing waits for a person, and the dead-letter queue is empty\n");
    assert_eq!(listed(&table, &sqs, Format::Json, 100).await, "[]\n");
}

#[tokio::test]
async fn a_queue_that_cannot_be_seen_is_not_an_empty_queue() {
    let (table, sqs) = scene().await;
    for (fails_from, seen) in [(1, 0), (2, 2)] {
        sqs.board().fails_from = Some(fails_from);
        sqs.board().looks = 0;
        let failure = List::make(&table, &sqs.queue().await, 100, &mut never()).await.unwrap_err();
        assert_eq!(failure.code(), 3);
        let text = failure.to_string();
        assert!(text.contains("the queue does not exist") && text.contains("--dead-letter-queue-url"), "{text}");
        assert_eq!(sqs.hidden(), 0, "the {seen} messages that were seen are given back");
    }
}
