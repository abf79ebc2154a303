//! Answers that DynamoDB gives and the engine does not.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_smithy_runtime_api::client::http::{HttpConnector as _, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hookbox_core::transition::hold::hold;
use serde_json::{Value, json};

use super::on_the_way::on_the_way;
use super::*;
use crate::{Held, LedgerError};

/// A ledger that gets these answers first, then those of the engine.
pub(super) fn answering(world: &World, answers: &[(u16, Value)]) -> Ledger {
    let answers: Mutex<VecDeque<_>> = Mutex::new(answers.iter().cloned().collect());
    let config = on_the_way(&world.table.config(), move |inner, request| match answers.lock().unwrap().pop_front() {
        Some(answer) => HttpConnectorFuture::ready(Ok(response(answer))),
        None => inner.call(request),
    });
    world.table.ledger_with(&config)
}

fn response((status, body): (u16, Value)) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

pub(super) fn error(kind: &str, message: &str) -> (u16, Value) {
    (400, json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": message}))
}

fn cancelled(reasons: &[(&str, &str)]) -> (u16, Value) {
    let reasons: Vec<_> = reasons.iter().map(|(code, message)| json!({"Code": code, "Message": message})).collect();
    let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    (400, json!({"__type": kind, "Message": "Transaction cancelled", "CancellationReasons": reasons}))
}

async fn ingest_after(answers: &[(u16, Value)]) -> Result<Ingested, LedgerError> {
    let world = World::new().await;
    let ledger = answering(&world, answers);
    ledger.ingest(&folder("evt_1", &["deliver"], START), &payload(BODY), world.soon()).await
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let none = ("None", "");
    for answer in [
        error("ProvisionedThroughputExceededException", "rate exceeded"),
        error("ThrottlingException", "Rate of requests exceeds the allowed throughput."),
        error("RequestLimitExceeded", ""),
        error("TransactionInProgressException", ""),
        cancelled(&[none, ("ThrottlingError", ""), none]),
        cancelled(&[("ProvisionedThroughputExceeded", ""), none, none]),
        cancelled(&[("TransactionConflict", "Transaction is ongoing for the item"), none, none]),
        (500, json!({"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError"})),
        (503, json!({})),
    ] {
        let ingested = ingest_after(std::slice::from_ref(&answer)).await;
        assert!(matches!(ingested, Ok(Ingested::Created)), "{answer:?}: {ingested:?}");
    }
}

#[tokio::test]
async fn what_is_too_large_is_told_apart_from_what_is_refused() {
    let size = "Item size has exceeded the maximum allowed size";
    for answer in [
        error("ValidationException", "Item size to update has exceeded the maximum allowed size"),
        error("ValidationException", "Aggregated size of all range keys has exceeded the size limit"),
        cancelled(&[("None", ""), ("ValidationError", size)]),
    ] {
        let error = ingest_after(std::slice::from_ref(&answer)).await.unwrap_err();
        assert!(matches!(error, LedgerError::TooLarge { .. }), "{answer:?}: {error:?}");
    }
    for (answer, expected) in [
        (error("AccessDeniedException", "not authorized"), "AccessDeniedException"),
        (error("ValidationException", "Invalid ConditionExpression"), "ValidationException"),
        (cancelled(&[("None", ""), ("ValidationError", "wrong type")]), "ValidationError"),
    ] {
        let error = ingest_after(std::slice::from_ref(&answer)).await.unwrap_err();
        assert!(matches!(&error, LedgerError::Refused { code, .. } if code == expected), "{answer:?}: {error:?}");
    }
}

/// "Which action?" is the first question of whoever may not do something.
#[tokio::test]
async fn what_is_refused_names_the_iam_action_that_it_takes() {
    let world = World::new().await;
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let operation = "deliver".parse().unwrap();
    let why = "credential refused".to_owned().into();
    let denied = error("AccessDeniedException", "not authorized");
    let ledger = || answering(&world, std::slice::from_ref(&denied));
    let folder = folder("evt_1", &["deliver"], START);
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let after = claimed(job, START);
    let pause = world.ledger.put_pause(&provider, &account, &operation, &why, START).await.unwrap();
    let refused = [
        (ledger().load(&loaded.id).await.map(drop), "dynamodb:Query"),
        (ledger().integration(&provider, &account).await.map(drop), "dynamodb:GetItem"),
        (ledger().known(&[loaded.id]).await.map(drop), "dynamodb:BatchGetItem"),
        (ledger().put_pause(&provider, &account, &operation, &why, START).await.map(drop), "dynamodb:PutItem"),
        (ledger().write_job(&loaded, job, &after).await, "dynamodb:UpdateItem"),
        (ledger().delete_pause(&pause).await, "dynamodb:DeleteItem"),
        (
            ledger().ingest(&folder, &payload(BODY), world.soon()).await.map(drop),
            "dynamodb:PutItem, dynamodb:UpdateItem, dynamodb:DeleteItem and dynamodb:ConditionCheckItem",
        ),
    ];
    for (refused, expected) in refused {
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, LedgerError::Refused { action: Some(action), .. } if action == expected),
            "{expected}: {error:?}"
        );
    }
    // Of a transaction only DynamoDB knows which of its parts is not allowed.
    let named = "User: arn:aws:sts::1:assumed-role/r/jane is not authorized to perform: dynamodb:ConditionCheckItem on \
                 resource: arn:aws:dynamodb:eu-west-1:1:table/hookbox because no identity-based policy allows it";
    let named = answering(&world, &[error("AccessDeniedException", named)]);
    let error = named.ingest(&folder, &payload(BODY), world.soon()).await.unwrap_err();
    assert!(
        matches!(&error, LedgerError::Refused { action: Some(action), .. } if action == "dynamodb:ConditionCheckItem"),
        "{error:?}"
    );
}

/// A job that is there and a receipt that another transaction holds: that is no orphan, it is a race that is not over.
#[tokio::test]
async fn a_receipt_that_was_not_looked_at_is_not_taken_for_missing() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = serde_json::to_value(serde_dynamo::Item::from(world.item(&loaded, "job#deliver#v0001").await.unwrap()));
    let mut answer = cancelled(&[("TransactionConflict", ""), ("ConditionalCheckFailed", ""), ("None", "")]);
    answer.1["CancellationReasons"][1]["Item"] = job.unwrap();
    world.table.delete_item(&loaded.id.to_string(), "head").await;
    world.table.delete_item(&loaded.id.to_string(), "job#deliver#v0001").await;
    let ledger = answering(&world, &[answer]);
    let ingested = ledger.ingest(&folder("evt_1", &["deliver"], START), &payload(BODY), world.soon()).await.unwrap();
    assert_eq!(ingested, Ingested::Created, "the other transaction was given up, so this one is the first");
}

/// The hold was done and its answer lost, the pause is gone since, and the second try could not look at the job.
#[tokio::test]
async fn a_job_that_was_not_looked_at_may_have_been_held() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let why = "credential refused".to_owned().into();
    let pause = world.ledger.put_pause(&job.provider, &job.account, &job.key.operation, &why, START).await.unwrap();
    let made = AtomicUsize::new(0);
    let config = on_the_way(&world.table.config(), move |inner, request| match made.fetch_add(1, Ordering::SeqCst) {
        0 => HttpConnectorFuture::new(async move {
            inner.call(request).await?;
            Err(ConnectorError::io("the answer was lost".into()))
        }),
        1 => {
            let none = ("None", "");
            let reasons = [("TransactionConflict", ""), none, none, ("ConditionalCheckFailed", "")];
            HttpConnectorFuture::ready(Ok(response(cancelled(&reasons))))
        }
        _ => inner.call(request),
    });
    let held = hold(job, START).unwrap();
    let outcome = world.table.ledger_with(&config).hold_job(&loaded, job, &held, &pause).await.unwrap();
    assert_eq!(outcome, Held::Written);
    assert_eq!(world.reload(&loaded).await.jobs, [held]);
}

#[tokio::test]
async fn a_failed_condition_that_shows_an_empty_item_shows_none() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let mut answer = error("ConditionalCheckFailedException", "The conditional request failed");
    answer.1["Item"] = json!({});
    let ledger = answering(&world, &[answer]);
    let job = &loaded.jobs[0];
    let error = ledger.write_job(&loaded, job, &claimed(job, START)).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { stored: crate::Stored::Nothing }), "{error:?}");
}

/// What a call of many items had no time for comes with its answer, and is asked for again.
#[tokio::test]
async fn what_a_look_left_out_is_looked_at_next() {
    let world = World::new().await;
    let loaded = world.committed(&[]).await;
    let unprocessed = |times: usize| {
        let key = json!({"pk": {"S": loaded.id.to_string()}, "sk": {"S": "head"}});
        let table = world.table.name();
        let left = json!({table: {"Keys": [key], "ConsistentRead": true}});
        vec![(200, json!({"Responses": {}, "UnprocessedKeys": left})); times]
    };
    let known = answering(&world, &unprocessed(2)).known(&[loaded.id]).await.unwrap();
    assert_eq!(known.get(&loaded.id), loaded.receipt.as_ref());
    let error = answering(&world, &unprocessed(20)).known(&[loaded.id]).await.unwrap_err();
    assert!(matches!(error, LedgerError::Throttled), "never taken for absent: {error}");
}
