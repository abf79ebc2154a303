//! The `sqs` operation against a fake SQS.

use hookbox_core::event::Payload;
use hookbox_core::integration::{Idempotency, Operation as OperationConfig, Target};
use hookbox_core::job::Status;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_worker::operation::sqs::SqsOperation;
use hookbox_worker::{Call, Facts, Operation as _};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::world::{START, WORK_QUEUE, World, sqs_config};

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

fn operation(queue_url: &str) -> OperationConfig {
    let target = Target::Sqs { queue_url: queue_url.to_owned() };
    OperationConfig::new("deliver".parse().unwrap(), Idempotency::None, target)
}

async fn sent(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    let bodies = requests.iter().map(|request| serde_json::from_slice::<Value>(&request.body).unwrap());
    bodies.filter(|body| body["QueueUrl"] != WORK_QUEUE).collect()
}

#[tokio::test]
async fn an_event_becomes_one_message_with_its_facts() {
    let world = World::new().await;
    let key = world.one(operation(QUEUE)).await;
    assert!(world.invoke(&world.worker(), std::slice::from_ref(&key)).await.is_empty());
    assert_eq!(world.status(&key).await, Status::Completed);
    let messages = sent(&world.sqs).await;
    let [message] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((&message["QueueUrl"], &message["MessageBody"]), (&json!(QUEUE), &json!(r#"{"id":"evt_1"}"#)));
    let attributes = message["MessageAttributes"].as_object().unwrap();
    assert!(attributes.len() <= 10);
    let text = |name: &str| attributes[name]["StringValue"].as_str().unwrap();
    assert_eq!(text("Idempotency-Key"), key.to_string());
    assert_eq!((text("Hookbox-Encoding"), text("Hookbox-Version")), ("text", "1"));
    assert_eq!((text("Hookbox-Provider"), text("Hookbox-Resource")), ("stripe", "pi_1"));
    let facts: Value = serde_json::from_str(text("Hookbox-Facts")).unwrap();
    let expected = json!({
        "hookbox-tenant": "acct_9",
        "hookbox-event-id": "evt_1",
        "hookbox-occurred-at": "2025-11-30T10:53:15.000Z",
        "hookbox-received-at": "2025-11-30T10:53:20.000Z",
        "hookbox-event-version": "17",
        "hookbox-attempt": "1",
        "content-type": "application/json",
        "query": null,
        "headers": [["x-kept", "yes"]],
    });
    assert_eq!(facts, expected);
    assert!(message.get("MessageGroupId").is_none() && message.get("MessageDeduplicationId").is_none());
}

fn facts(resource: Option<&str>) -> Facts {
    let receipt = "ab".repeat(32);
    Facts {
        job: format!("{receipt}:deliver:v1").parse().unwrap(),
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        tenant: Some("Größe \u{ffff}".into()),
        event_id: None,
        kind: "k".into(),
        resource: resource.map(str::to_owned),
        occurred_at: None,
        received_at: START,
        event_version: None,
        attempt: 1,
    }
}

async fn call(server: &MockServer, queue_url: &str, body: Vec<u8>, resource: Option<&str>) -> Report {
    let payload = Payload { body, content_type: None, headers: vec![], query: None };
    let operation = operation(queue_url);
    let timeout = operation.timeout;
    let (facts, now) = (facts(resource), START);
    let call = Call { facts: &facts, payload: &payload, operation: &operation, timeout, now };
    SqsOperation::new(&sqs_config(&server.uri())).call(&call).await
}

async fn answering(template: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(template).mount(&server).await;
    server
}

#[tokio::test]
async fn bytes_that_sqs_does_not_take_are_encoded() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"MessageId": "m"}))).await;
    for body in [&b"caf\xc3\xa9\n"[..], b"\xff\x00", b"\x01", b""] {
        assert_eq!(call(&server, QUEUE, body.to_vec(), None).await, Report::done("sqs-sent"));
    }
    let sent = sent(&server).await;
    let seen: Vec<_> = sent
        .iter()
        .map(|sent| (sent["MessageAttributes"]["Hookbox-Encoding"]["StringValue"].clone(), sent["MessageBody"].clone()))
        .collect();
    let expected = [("text", "café\n"), ("base64", "/wA="), ("base64", "AQ=="), ("empty", "-")];
    assert_eq!(seen, expected.map(|(encoding, body)| (json!(encoding), json!(body))));
    let facts = sent[0]["MessageAttributes"]["Hookbox-Facts"]["StringValue"].as_str().unwrap();
    assert!(facts.is_ascii(), "{facts}");
    assert_eq!(serde_json::from_str::<Value>(facts).unwrap()["hookbox-tenant"], "Größe \u{ffff}");
}

#[tokio::test]
async fn a_fifo_queue_gets_a_group_and_a_deduplication_id_of_the_key() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"MessageId": "m"}))).await;
    let queue = format!("{QUEUE}.fifo");
    let long = "ü".repeat(100);
    for resource in [Some("pi_1"), Some(&*long), Some(""), None] {
        assert_eq!(call(&server, &queue, b"{}".to_vec(), resource).await, Report::done("sqs-sent"));
    }
    let sent = sent(&server).await;
    assert_eq!(sent[0]["MessageGroupId"], "pi_1");
    assert_eq!(sent[3]["MessageGroupId"], "ab".repeat(32));
    for message in &sent {
        let (group, id) =
            (message["MessageGroupId"].as_str().unwrap(), message["MessageDeduplicationId"].as_str().unwrap());
        assert!((1..=128).contains(&group.len()) && group.is_ascii());
        assert_eq!((id.len(), id), (64, sent[0]["MessageDeduplicationId"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn answers_of_sqs_fall_into_their_class() {
    let transient = Outcome::Transient { retry_after: None };
    let cases = [
        (400, "com.amazonaws.sqs#QueueDoesNotExist", Outcome::Permanent, "sqs-queuedoesnotexist"),
        (400, "InvalidParameterValue", Outcome::Permanent, "sqs-invalidparametervalue"),
        (403, "AccessDenied", Outcome::CredentialRefused, "sqs-accessdenied"),
        (400, "com.amazonaws.sqs#RequestThrottled", transient, "sqs-requestthrottled"),
        (403, "ExpiredToken", transient, "sqs-expiredtoken"),
        (500, "InternalFailure", Outcome::Unknown, "sqs-internalfailure"),
    ];
    for (status, code, outcome, expected) in cases {
        let server = answering(ResponseTemplate::new(status).set_body_json(json!({"__type": code}))).await;
        let report = call(&server, QUEUE, b"{}".to_vec(), None).await;
        assert_eq!((report.outcome, report.code.as_str()), (outcome, expected), "{code}");
        assert_eq!(sent(&server).await.len(), 1, "the SDK repeats nothing: {code}");
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_and_a_connection_that_is_not_made_are_told_apart_from_the_unknown() {
    let server = answering(ResponseTemplate::new(200).set_body_json(json!({"MessageId": "m"}))).await;
    let report = call(&server, QUEUE, vec![b'a'; 1024 * 1024], None).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Permanent, "too-large"));
    assert!(sent(&server).await.is_empty());
    drop(server);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    let dropping = tokio::spawn(async move { drop(listener.accept().await) });
    let payload = Payload { body: b"{}".to_vec(), content_type: None, headers: vec![], query: None };
    let (operation, facts) = (operation(QUEUE), facts(None));
    let call = Call { facts: &facts, payload: &payload, operation: &operation, timeout: operation.timeout, now: START };
    let sqs = SqsOperation::new(&sqs_config(&uri));
    let report = sqs.call(&call).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Unknown, "connection-lost"));
    dropping.await.unwrap();
    // Nobody listens any more.
    let report = sqs.call(&call).await;
    assert_eq!((report.outcome, report.code.as_str()), (Outcome::Transient { retry_after: None }, "connect"));
}
