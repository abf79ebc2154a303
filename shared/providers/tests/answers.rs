//! What each provider wants to hear, and for how long it may send an event again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ways;

use std::time::Duration;

use hookbox_providers::{Profiles, Request};
use ways::configured;

fn acknowledged(provider: &str, content_type: &str, body: &str) -> Option<(u16, String)> {
    let headers = [("content-type".to_owned(), content_type.to_owned())];
    let request = Request { headers: &headers, body: body.as_bytes(), ..ways::empty() };
    configured(provider, None).acknowledgement(&request).map(|answer| (answer.status, answer.body.clone()))
}

#[test]
fn each_provider_is_answered_as_it_wants() {
    let (json, form) = ("application/json", "application/x-www-form-urlencoded");
    let cases = [
        ("twilio", form, "MessageSid=SM1&SmsStatus=received&AccountSid=AC1", Some((200, "<Response/>"))),
        ("twilio", form, "CallSid=CA1&AccountSid=AC1", Some((200, "<Response/>"))),
        ("twilio", form, "MessageSid=SM1&MessageStatus=sent&AccountSid=AC1", Some((204, ""))),
        ("twilio", json, r#"[{"specversion":"1.0"}]"#, Some((204, ""))),
        ("adyen", json, r#"{"notificationItems":[]}"#, Some((200, "[accepted]"))),
        ("adyen", json, r#"{"type":"x"}"#, Some((202, ""))),
        ("discord", json, r#"{"type":2,"id":"1"}"#, Some((200, r#"{"type":5}"#))),
        ("discord", json, r#"{"type":3,"id":"1"}"#, Some((200, r#"{"type":6}"#))),
        ("discord", json, r#"{"type":1,"event":{"type":"X"}}"#, Some((204, ""))),
        ("slack", json, r#"{"type":"event_callback"}"#, Some((200, ""))),
        ("slack", form, "command=%2Fx", Some((200, ""))),
        ("google-pubsub", json, "{}", Some((204, ""))),
        ("stripe", json, "{}", None),
        ("facebook", json, "{}", None),
    ];
    for (provider, content_type, body, expected) in cases {
        let expected = expected.map(|(status, body): (u16, &str)| (status, body.to_owned()));
        assert_eq!(acknowledged(provider, content_type, body), expected, "{provider}: {body}");
    }
}

#[test]
fn a_permanent_refusal_is_said_so_that_the_provider_believes_it() {
    assert_eq!(configured("mailgun", None).refusal().and_then(|refusal| refusal.status), Some(406));
    let slack = configured("slack", None);
    assert_eq!(slack.refusal().unwrap().headers, [("X-Slack-No-Retry".to_owned(), "1".to_owned())]);
    assert_eq!(configured("stripe", None).refusal(), None);
}

#[test]
fn every_budget_and_horizon_is_one_that_can_be_kept() {
    let profiles = Profiles::built_in();
    for name in profiles.names() {
        let profile = profiles.get(&name.parse().unwrap()).unwrap().unwrap();
        // The shortest is Sentry's.
        if let Some(budget) = profile.response_budget() {
            assert!((Duration::from_secs(1)..=Duration::from_secs(30)).contains(&budget), "{name}: {budget:?}");
        }
        if let Some(horizon) = profile.retry_horizon() {
            assert!(horizon <= Duration::from_secs(30 * 86_400), "{name}: {horizon:?}");
        }
        assert!(!profile.retries().is_empty(), "{name} says nothing about retries");
        assert!(name == "generic" || !profile.documentation().is_empty(), "{name} names no page");
    }
    let horizon = |name: &str| profiles.get(&name.parse().unwrap()).unwrap().unwrap().retry_horizon();
    assert_eq!(horizon("whatsapp"), Some(Duration::from_secs(7 * 86_400)));
    assert_eq!(horizon("sentry"), None, "what Sentry does not deliver at once is lost");
}

#[test]
fn anybody_can_sign_for_these_two_so_the_integration_says_whose_it_takes() {
    let profiles = Profiles::built_in();
    let required: Vec<_> =
        profiles.names().into_iter().filter(|name| configured(name, None).requires_tenants()).collect();
    assert_eq!(required, ["aws-sns", "google-pubsub"]);
}
