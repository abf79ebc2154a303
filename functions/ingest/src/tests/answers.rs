//! What each provider is told, as it is told: after the commit, for good, and when it should come again.

use hookbox_core::integration::Integration;
use hookbox_ledger::test_support::Fault;
use hookbox_providers::Profiles;
use serde_json::{Value, json};

use super::stage::{Answer, Sender, Stage, integration};
use super::stored_nothing;
use super::vectors::Signed;

/// Whose deliveries only they can sign: vectors stand for them below.
const SIGNED_ELSEWHERE: [&str; 4] = ["aws-sns", "google-pubsub", "paypal", "sendgrid"];

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn providers() -> Vec<String> {
    let profiles = Profiles::built_in();
    let names: Vec<String> = profiles.names().into_iter().map(str::to_owned).collect();
    assert!(names.len() >= 35, "{names:?}");
    names.into_iter().filter(|name| !SIGNED_ELSEWHERE.contains(&name.as_str())).collect()
}

/// The status, the content type and the body of an answer.
fn told(answer: &Answer) -> (u16, Option<&str>, &str) {
    (answer.status, answer.header("content-type"), answer.text.as_str())
}

fn is_our_own(answer: &Answer) -> bool {
    (answer.status, answer.header("content-type")) == (200, Some(JSON)) && answer.json()["success"] == true
}

#[tokio::test]
async fn each_provider_gets_the_acknowledgement_that_it_takes_for_one() {
    for provider in providers() {
        let stage = Stage::with(&provider).await;
        // The first delivery and a repetition are told the same, but for what our own answer says.
        for _ in 0..2 {
            let answer = stage.answer(Sender::of(&provider).sample("evt_1")).await;
            let expected = match provider.as_str() {
                "adyen" => (200, Some("text/plain"), "[accepted]"),
                "discord" => (204, Some(JSON), ""),
                "slack" => (200, None, ""),
                "twilio" => (204, None, ""),
                _ if is_our_own(&answer) => continue,
                _ => panic!("{provider}: {answer:?}"),
            };
            assert_eq!(told(&answer), expected, "{provider}");
            assert_eq!(answer.retry_after, None, "{provider}");
        }
        assert_eq!((stage.counted("EventsCreated"), stage.counted("EventsDuplicate")), (1, 1), "{provider}");
    }
}

#[tokio::test]
async fn what_is_said_depends_on_what_was_sent() {
    let message = "MessageSid=SM1&AccountSid=AC1";
    let cases = [
        ("twilio", None, FORM, format!("{message}&SmsStatus=received&Body=hi"), (200, Some("text/xml"), "<Response/>")),
        ("twilio", None, FORM, format!("{message}&MessageStatus=sent"), (204, None, "")),
        (
            "twilio",
            None,
            FORM,
            "CallSid=CA1&CallStatus=ringing&AccountSid=AC1".to_owned(),
            (200, Some("text/xml"), "<Response/>"),
        ),
        (
            "discord",
            None,
            JSON,
            r#"{"type":1,"id":"1","application_id":"2"}"#.to_owned(),
            (200, Some(JSON), r#"{"type":1}"#),
        ),
        ("discord", None, JSON, r#"{"type":0,"version":1,"application_id":"2"}"#.to_owned(), (204, Some(JSON), "")),
        (
            "discord",
            None,
            JSON,
            r#"{"type":2,"id":"1","application_id":"2","data":{"name":"x"}}"#.to_owned(),
            (200, Some(JSON), r#"{"type":5}"#),
        ),
        ("slack", None, FORM, "command=%2Fx&trigger_id=1.2&team_id=T1&text=".to_owned(), (200, None, "")),
        (
            "slack",
            None,
            JSON,
            r#"{"type":"url_verification","challenge":"3eZbrw1a"}"#.to_owned(),
            (200, Some("text/plain"), "3eZbrw1a"),
        ),
        (
            "adyen",
            Some("banking"),
            JSON,
            r#"{"type":"x","data":{"id":"1"},"timestamp":"2025-11-30T10:00:00Z"}"#.to_owned(),
            (202, None, ""),
        ),
    ];
    for (provider, variant, content_type, body, expected) in cases {
        let stage = Stage::new().await;
        let variant = variant.map(str::to_owned);
        stage.configure(&Integration { variant: variant.clone(), ..integration(provider) }).await;
        let headers = [("Content-Type".to_owned(), content_type.to_owned())];
        let event = Sender::of(provider).in_the_way_of(variant.as_deref()).body(body.as_bytes(), &headers, None);
        assert_eq!(told(&stage.answer(event).await), expected, "{provider}: {body}");
    }
    let sns = Signed::of("aws-sns", "official_v2_plain");
    let stage = Stage::new().await;
    stage.clock.set(sns.now);
    let tenants = vec![sns.json("TopicArn")];
    stage.configure(&Integration { secrets: Vec::new(), tenants, ..integration("aws-sns") }).await;
    stage.elsewhere.documents.lock().unwrap().insert(sns.json("SigningCertURL"), sns.secret.clone().into_bytes());
    assert!(is_our_own(&stage.answer(sns.event()).await));
}

/// Whoever repeats what will never be accepted is told so in the words that it understands.
#[tokio::test]
async fn a_refusal_for_good_is_said_as_the_provider_reads_it() {
    for provider in providers() {
        let stage = Stage::new().await;
        let tenants = vec!["nobody".to_owned()];
        stage.configure(&Integration { tenants, ..integration(&provider) }).await;
        let answer = stage.answer(Sender::of(&provider).sample("evt_1")).await;
        let expected = if provider == "mailgun" { 406 } else { 403 };
        assert_eq!((answer.status, answer.retry_after.as_deref()), (expected, None), "{provider}");
        assert_eq!(answer.header("x-slack-no-retry"), (provider == "slack").then_some("1"), "{provider}");
        assert!(stored_nothing(&stage).await, "{provider}");
    }
}

/// What may yet be accepted is never refused for good, whatever the provider.
#[tokio::test]
async fn only_what_is_not_known_to_be_stored_asks_to_come_again_and_in_the_same_words_for_all() {
    for provider in providers() {
        let stage = Stage::with(&provider).await;
        for _ in 0..40 {
            stage.faults.on_next("TransactWriteItems", Fault::Throttle);
        }
        let answer = stage.answer(Sender::of(&provider).sample("evt_1")).await;
        // Zendesk alone documents that it honours it.
        let retry_after = (provider == "zendesk").then_some("5");
        assert_eq!((answer.status, answer.retry_after.as_deref()), (503, retry_after), "{provider}");
        assert_eq!(
            (answer.header("content-type"), answer.header("x-slack-no-retry")),
            (Some(JSON), None),
            "{provider}"
        );
        stage.faults.end();

        let mut forged = Sender::of(&provider).sample("evt_2");
        forged["rawQueryString"] = Value::Null;
        let headers = forged["headers"].as_object_mut().unwrap();
        headers.values_mut().for_each(|value| *value = json!(format!("{}x", value.as_str().unwrap())));
        forged["rawPath"] = format!("/hooks/{provider}/demo/x").into();
        forged["body"] = "eyJ4IjoxfQ==".into();
        let forged = stage.answer(forged).await;
        assert_eq!((forged.status, forged.retry_after.as_deref()), (401, None), "{provider}");
        assert_eq!(forged.header("x-slack-no-retry"), None, "{provider}");
    }
}

/// An empty list is no event and no fault: a provider that is told otherwise sends it again.
#[tokio::test]
async fn an_empty_list_is_acknowledged_and_leaves_nothing() {
    for (provider, body) in [
        ("facebook", r#"{"object":"page","entry":[]}"#),
        ("facebook", r#"{"object":"page","entry":[{"id":"1","time":2,"messaging":[]}]}"#),
        ("whatsapp", r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[]}]}"#),
        ("yelp", r#"{"time":"2022","object":"business","data":{"id":"b","updates":[]}}"#),
        ("hubspot", "[ ]"),
        ("adyen", r#"{"live":"false","notificationItems":[]}"#),
    ] {
        let stage = Stage::with(provider).await;
        let headers = [("Content-Type".to_owned(), JSON.to_owned())];
        if provider == "adyen" {
            // Its signatures stand in the items, and there are none: nobody vouches for it.
            let event = super::delivery("/hooks/adyen/demo", &headers, body.as_bytes());
            assert_eq!(stage.answer(event).await.status, 401);
            continue;
        }
        let answer = stage.answer(Sender::of(provider).body(body.as_bytes(), &headers, None)).await;
        assert_eq!(answer.status, 200, "{provider}: {body}");
        assert!(stored_nothing(&stage).await, "{provider}: {body}");
    }
}
