//! The queue against an endpoint that answers what SQS rarely does. What it normally does is tested end to end.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::config::{AsyncSleep, BehaviorVersion, Region, Sleep, StalledStreamProtectionConfig};
use aws_types::SdkConfig;
use hookbox_core::key::JobKey;
use hookbox_queue::{DeployedQueue, Depth, Message, MessageError, Queue, QueueError, Redrive};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// Remembers how long it should have slept.
#[derive(Clone, Debug, Default)]
struct Pauses(Arc<Mutex<Vec<Duration>>>);

impl AsyncSleep for Pauses {
    fn sleep(&self, duration: Duration) -> Sleep {
        if duration >= Duration::from_secs(1) {
            // A timeout of the SDK: nothing here takes so long.
            return Sleep::new(std::future::pending());
        }
        self.0.lock().unwrap().push(duration);
        Sleep::new(std::future::ready(()))
    }
}

/// An SQS that answers the n-th call as its script says.
struct Sqs {
    _server: MockServer,
    queue: Queue,
    pauses: Pauses,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Sqs {
    async fn answering(script: impl Fn(usize, &Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        let server = MockServer::start().await;
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let answer = move |request: &Request| {
            let call: Value = request.body_json().unwrap();
            let mut seen = seen.lock().unwrap();
            seen.push(call.clone());
            script(seen.len(), &call)
        };
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        let (queue, pauses) = queue(&server.uri());
        Self { _server: server, queue, pauses, calls }
    }

    fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap().clone()
    }

    fn pauses(&self) -> Vec<u128> {
        self.pauses.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

fn queue(endpoint: &str) -> (Queue, Pauses) {
    let pauses = Pauses::default();
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-west-1"))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(Credentials::from_keys("a", "b", None)))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .sleep_impl(pauses.clone())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();
    (Queue::new(&config, "https://sqs.eu-west-1.amazonaws.com/1/work"), pauses)
}

fn job(n: usize) -> JobKey {
    format!("{n:064x}:deliver:v1").parse().unwrap()
}

fn messages(count: usize) -> Vec<Message> {
    (0..count).map(|n| Message::notice(job(n), "exhausted")).collect()
}

fn ids(call: &Value) -> Vec<String> {
    call["Entries"].as_array().unwrap().iter().map(|entry| entry["Id"].as_str().unwrap().to_owned()).collect()
}

/// An answer that takes all entries but those whose id is in `failed`.
fn batch(call: &Value, failed: &[&str], code: &str, sender_fault: bool) -> ResponseTemplate {
    let (bad, good): (Vec<_>, Vec<_>) = ids(call).into_iter().partition(|id| failed.contains(&id.as_str()));
    let sent: Vec<_> = good.iter().map(|id| json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "0"})).collect();
    let failures: Vec<_> = bad.iter().map(|id| json!({"Id": id, "Code": code, "SenderFault": sender_fault})).collect();
    ResponseTemplate::new(200).set_body_json(json!({"Successful": sent, "Failed": failures}))
}

fn refusal(status: u16, code: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": ""}))
}

fn sent() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"MessageId": "m", "MD5OfMessageBody": "0"}))
}

#[tokio::test]
async fn delays_are_whole_seconds_rounded_up_and_at_most_fifteen_minutes() {
    let sqs = Sqs::answering(|_, _| sent()).await;
    for delay in [0, 1, 999, 1_000, 1_001, 899_001, 900_000, 86_400_000] {
        sqs.queue.send(&job(7), Duration::from_millis(delay)).await.unwrap();
    }
    sqs.queue.send(&job(7), Duration::MAX).await.unwrap();
    let seconds: Vec<_> = sqs.calls().iter().map(|call| call["DelaySeconds"].as_i64().unwrap()).collect();
    assert_eq!(seconds, [0, 1, 1, 1, 2, 900, 900, 900, 900]);
    assert_eq!(sqs.calls()[0]["MessageBody"], format!("{{\"job\":\"{}\"}}", job(7)));
}

#[tokio::test]
async fn a_batch_goes_in_tens_with_indexes_as_ids() {
    let sqs = Sqs::answering(|_, call| batch(call, &[], "", false)).await;
    let results = sqs.queue.send_batch(&messages(23)).await;
    assert_eq!(results.len(), 23);
    assert!(results.iter().all(Result::is_ok));
    let calls = sqs.calls();
    assert_eq!(calls.iter().map(|call| ids(call).len()).collect::<Vec<_>>(), [10, 10, 3]);
    assert_eq!(ids(&calls[2]), ["0", "1", "2"]);
    let body = calls[2]["Entries"][2]["MessageBody"].as_str().unwrap();
    assert_eq!(body, format!("{{\"job\":\"{}\",\"reason\":\"exhausted\"}}", job(22)));
    assert!(sqs.queue.send_batch(&[]).await.is_empty());
    assert_eq!(sqs.calls().len(), 3, "nothing to send is no call");
}

#[tokio::test]
async fn a_partial_failure_lands_at_its_index_and_nothing_else_is_sent_again() {
    let sqs = Sqs::answering(|_, call| batch(call, &["3"], "InvalidMessageContents", true)).await;
    let results = sqs.queue.send_batch(&messages(12)).await;
    for (i, result) in results.iter().enumerate() {
        match result {
            Err(QueueError::MessageRefused { code }) if i == 3 => assert_eq!(code, "InvalidMessageContents"),
            Ok(()) if i != 3 => {}
            other => panic!("{i}: {other:?}"),
        }
    }
    assert_eq!(sqs.calls().len(), 2, "what is refused is not tried again");
}

#[tokio::test]
async fn only_what_may_work_is_sent_again_under_its_own_id() {
    let sqs = Sqs::answering(|n, call| match n {
        1 => batch(call, &["2", "5"], "InternalError", false),
        2 => batch(call, &["5"], "RequestThrottled", true),
        _ => batch(call, &[], "", false),
    })
    .await;
    let results = sqs.queue.send_batch(&messages(7)).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(sqs.calls()[1..].iter().map(ids).collect::<Vec<_>>(), [vec!["2", "5"], vec!["5"]]);
    assert_eq!(sqs.calls()[1]["Entries"][1]["MessageBody"], messages(7)[5].to_json());
    assert_eq!(sqs.pauses(), [50, 250]);
}

#[tokio::test]
async fn a_queue_that_fails_is_not_asked_for_every_ten() {
    let sqs =
        Sqs::answering(|n, call| if n == 1 { batch(call, &[], "", false) } else { refusal(503, "Whatever") }).await;
    let results = sqs.queue.send_batch(&messages(40)).await;
    assert!(results[..10].iter().all(Result::is_ok));
    assert!(results[10..20].iter().all(|result| matches!(result, Err(QueueError::Throttled))), "{results:?}");
    assert!(results[20..].iter().all(|result| matches!(result, Err(QueueError::NotTried))));
    assert_eq!(sqs.calls().len(), 4, "three tries of the second ten, none of the others");
}

#[tokio::test]
async fn an_answer_that_forgets_contradicts_or_invents_entries_is_not_success() {
    let sqs = Sqs::answering(|_, _| {
        let good = |id: &str| json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "0"});
        let bad = json!([{"Id": "1", "Code": "InvalidMessageContents", "SenderFault": true}]);
        let answer = json!({"Successful": [good("0"), good("1"), good("9"), good("x")], "Failed": bad});
        ResponseTemplate::new(200).set_body_json(answer)
    })
    .await;
    let results = sqs.queue.send_batch(&messages(3)).await;
    assert!(results[0].is_ok());
    assert!(matches!(results[1], Err(QueueError::MessageRefused { .. })), "in both lists: {:?}", results[1]);
    assert!(matches!(results[2], Err(QueueError::Malformed { .. })), "in none: {:?}", results[2]);
}

#[tokio::test]
async fn errors_are_told_apart_and_only_transient_ones_are_tried_again() {
    type Check = fn(&QueueError) -> bool;
    let cases: [(ResponseTemplate, Check, usize); 11] = [
        (refusal(400, "RequestThrottled"), |e| matches!(e, QueueError::Throttled), 3),
        (refusal(429, "Whatever"), |e| matches!(e, QueueError::Throttled), 3),
        (refusal(500, "InternalFailure"), |e| matches!(e, QueueError::Unavailable { .. }), 3),
        (ResponseTemplate::new(502).set_body_string("<html>"), |e| matches!(e, QueueError::Unavailable { .. }), 3),
        (ResponseTemplate::new(200).set_body_string("{\"Mess"), |e| matches!(e, QueueError::Malformed { .. }), 3),
        (refusal(400, "QueueDoesNotExist"), |e| matches!(e, QueueError::NotFound), 1),
        (refusal(400, "AWS.SimpleQueueService.NonExistentQueue"), |e| matches!(e, QueueError::NotFound), 1),
        (refusal(403, "AccessDenied"), |e| matches!(e, QueueError::Denied { .. }), 1),
        (refusal(403, "InvalidClientTokenId"), |e| matches!(e, QueueError::Denied { .. }), 1),
        (refusal(400, "InvalidMessageContents"), |e| matches!(e, QueueError::MessageRefused { .. }), 1),
        (refusal(400, "KmsDisabled"), |e| matches!(e, QueueError::Refused { .. }), 1),
    ];
    for (answer, expected, tries) in cases {
        let sqs = Sqs::answering(move |_, _| answer.clone()).await;
        let error = sqs.queue.send(&job(1), Duration::ZERO).await.unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert_eq!(sqs.calls().len(), tries, "{error:?}");
        assert_eq!(sqs.pauses().len(), tries - 1, "{error:?}");
    }
}

#[tokio::test]
async fn a_throttled_send_goes_through_a_moment_later() {
    let sqs = Sqs::answering(|n, _| if n < 3 { refusal(400, "RequestThrottled") } else { sent() }).await;
    sqs.queue.send(&job(1), Duration::from_secs(5)).await.unwrap();
    assert_eq!(sqs.calls()[2], sqs.calls()[0], "the same request");
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let (queue, _) = queue("http://127.0.0.1:1");
    let error = queue.send(&job(1), Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, QueueError::Unavailable { .. }), "{error:?}");
    let results = queue.send_batch(&messages(2)).await;
    assert!(results.iter().all(|result| matches!(result, Err(QueueError::Unavailable { .. }))), "{results:?}");
}

#[tokio::test]
async fn depth_has_three_numbers_or_is_no_answer() {
    let answer = json!({"Attributes": {
        "ApproximateNumberOfMessages": "7",
        "ApproximateNumberOfMessagesNotVisible": "2",
        "ApproximateNumberOfMessagesDelayed": "1",
    }});
    let whole = answer.clone();
    let sqs = Sqs::answering(move |_, _| ResponseTemplate::new(200).set_body_json(&whole)).await;
    assert_eq!(sqs.queue.depth().await.unwrap(), Depth { visible: 7, in_flight: 2, delayed: 1 });

    for broken in [json!({"Attributes": {"ApproximateNumberOfMessages": "many"}}), json!({})] {
        let sqs = Sqs::answering(move |_, _| ResponseTemplate::new(200).set_body_json(&broken)).await;
        assert!(matches!(sqs.queue.depth().await, Err(QueueError::Malformed { .. })), "zero would mean no backlog");
    }
}

#[tokio::test]
async fn one_foreign_message_does_not_hide_the_others() {
    let notice = messages(1)[0].to_json();
    let answer = json!({"Messages": [
        {"MessageId": "m1", "ReceiptHandle": "h1", "Body": "not ours"},
        {"MessageId": "m2", "ReceiptHandle": "h2", "Body": notice,
         "Attributes": {"SentTimestamp": "1700000000123", "ApproximateReceiveCount": "4"}},
    ]});
    let sqs = Sqs::answering(move |_, _| ResponseTemplate::new(200).set_body_json(&answer)).await;
    let received = sqs.queue.peek(50, Duration::from_secs(30)).await.unwrap();
    assert!(matches!(received[0].message, Err(MessageError::NotJson { .. })));
    assert_eq!(received[1].message, Ok(messages(1)[0].clone()));
    assert_eq!(received[1].receives, 4);
    assert_eq!(received[1].sent_at.unwrap().as_millis(), 1_700_000_000_123);
    let call = &sqs.calls()[0];
    assert_eq!((&call["MaxNumberOfMessages"], &call["VisibilityTimeout"]), (&json!(10), &json!(30)));

    sqs.queue.release(&received[0].handle).await.unwrap();
    sqs.queue.delete(&received[1].handle).await.unwrap();
    let calls = sqs.calls();
    assert_eq!((&calls[1]["ReceiptHandle"], &calls[1]["VisibilityTimeout"]), (&json!("h1"), &json!(0)));
    assert_eq!(calls[2]["ReceiptHandle"], "h2");
}

#[tokio::test]
async fn what_is_denied_names_the_iam_action_that_it_takes() {
    let sqs = Sqs::answering(|n, _| match n {
        1 => ResponseTemplate::new(200).set_body_json(json!({"Messages": [
            {"MessageId": "m1", "ReceiptHandle": "h1", "Body": "card 4111"},
        ]})),
        _ => refusal(403, "AccessDenied"),
    })
    .await;
    let queue = &sqs.queue;
    let handle = queue.peek(1, Duration::ZERO).await.unwrap().remove(0).handle;
    let denied = [
        (queue.send(&job(1), Duration::ZERO).await, "sqs:SendMessage"),
        (queue.send_batch(&[Message::wake_up(job(1))]).await.remove(0), "sqs:SendMessage"),
        (queue.depth().await.map(drop), "sqs:GetQueueAttributes"),
        (queue.deployed().await.map(drop), "sqs:GetQueueAttributes"),
        (queue.peek(1, Duration::ZERO).await.map(drop), "sqs:ReceiveMessage"),
        (queue.delete(&handle).await, "sqs:DeleteMessage"),
        (queue.release(&handle).await, "sqs:ChangeMessageVisibility"),
    ];
    for (denied, expected) in denied {
        let error = denied.unwrap_err();
        assert!(matches!(error, QueueError::Denied { action, .. } if action == expected), "{expected}: {error:?}");
        assert!(error.to_string().contains(expected), "a function that logs it names it too: {error}");
    }
    let sqs = Sqs::answering(|_, _| refusal(400, "KmsAccessDenied")).await;
    let error = sqs.queue.depth().await.unwrap_err();
    assert!(matches!(error, QueueError::Denied { action, .. } if action.contains("kms:Decrypt")), "{error:?}");
}

#[tokio::test]
async fn a_queue_is_described_as_it_is_set_up() {
    let depth = [("", "3"), ("NotVisible", "2"), ("Delayed", "1")];
    let attributes = |more: Value| {
        let mut all = more;
        for (name, number) in depth {
            all[format!("ApproximateNumberOfMessages{name}")] = json!(number);
        }
        move |_: usize, call: &Value| {
            assert_eq!(call["AttributeNames"], json!(["All"]));
            ResponseTemplate::new(200).set_body_json(json!({ "Attributes": all }))
        }
    };
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead","maxReceiveCount":"5"}"#;
    let sqs = Sqs::answering(attributes(json!({
        "QueueArn": "arn:aws:sqs:eu-west-1:1:work", "VisibilityTimeout": "360", "MessageRetentionPeriod": "1209600",
        "RedrivePolicy": policy, "SqsManagedSseEnabled": "true",
    })))
    .await;
    let depth = Depth { visible: 3, in_flight: 2, delayed: 1 };
    let expected = DeployedQueue {
        arn: Some("arn:aws:sqs:eu-west-1:1:work".to_owned()),
        visibility: Some(Duration::from_secs(360)),
        retention: Some(Duration::from_secs(14 * 24 * 3_600)),
        redrive: Some(Redrive { target: Some("arn:aws:sqs:eu-west-1:1:dead".to_owned()), max_receives: Some(5) }),
        encrypted: true,
        depth,
    };
    assert_eq!(sqs.queue.deployed().await.unwrap(), expected);

    let bare = Sqs::answering(attributes(json!({"SqsManagedSseEnabled": "false", "RedrivePolicy": ""}))).await;
    assert_eq!(bare.queue.deployed().await.unwrap(), DeployedQueue { depth, ..DeployedQueue::default() });
    let own_key = Sqs::answering(attributes(json!({"KmsMasterKeyId": "alias/own"}))).await;
    assert!(own_key.queue.deployed().await.unwrap().encrypted);
    let broken = Sqs::answering(attributes(json!({"RedrivePolicy": "5 times"}))).await;
    assert!(matches!(broken.queue.deployed().await, Err(QueueError::Malformed { .. })));
}

#[tokio::test]
async fn a_receive_that_is_over_is_told_from_a_deletion_and_is_given_back_already() {
    for code in ["ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"] {
        let sqs = Sqs::answering(move |n, _| match n {
            1 => ResponseTemplate::new(200).set_body_json(json!({"Messages": [
                {"MessageId": "m1", "ReceiptHandle": "h1", "Body": "card 4111"},
            ]})),
            _ => refusal(400, code),
        })
        .await;
        let received = sqs.queue.peek(1, Duration::from_secs(30)).await.unwrap().remove(0);
        assert_eq!(received.body.expose(), "card 4111");
        assert!(!format!("{received:?}").contains("4111"), "{received:?}");
        let error = sqs.queue.delete(&received.handle).await.unwrap_err();
        assert!(matches!(error, QueueError::NotHeld), "{error:?}");
        sqs.queue.release(&received.handle).await.unwrap();
        assert_eq!(sqs.calls().len(), 3);
    }
}
