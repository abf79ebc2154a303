//! What makes two deliveries the same event, provider by provider: nothing that changes with a retry, and everything that
//! tells two events apart.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ways;

use std::time::Duration;

use hookbox_core::event::{Disposition, Event, Identity, IdentityWindow};
use hookbox_providers::Request;
use ways::configured;

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn events(provider: &str, headers: &[(&str, &str)], body: &str) -> Vec<Event> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let request = Request { headers: &headers, body: body.as_bytes(), ..ways::empty() };
    configured(provider, None).decode(&request).unwrap_or_else(|error| panic!("{provider}: {error}")).events
}

fn one(provider: &str, headers: &[(&str, &str)], body: &str) -> Event {
    let mut events = events(provider, headers, body);
    assert_eq!(events.len(), 1, "{provider}");
    events.remove(0)
}

fn id(event: &Event) -> &str {
    match &event.identity {
        Identity::ProviderEvent { event_id } => event_id,
        other => panic!("{other:?}"),
    }
}

/// A retry: the same identity and the same content, whatever else changed.
fn assert_same(first: &Event, retried: &Event) {
    assert_eq!(first.identity, retried.identity);
    assert_eq!(first.digest, retried.digest, "{:?}", first.identity);
}

#[test]
fn the_readable_forms_are_kept_and_completed() {
    let text = |provider, file: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/payloads/");
        let body = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
        let headers = [("Sentry-Hook-Resource", "issue"), ("Request-ID", "req-1")];
        id(&events(provider, &headers, &body)[0]).to_owned()
    };
    for (provider, file, expected) in [
        ("facebook", "facebook/single_message.json", "facebook:106540352242922:message:m_AAAA1"),
        ("whatsapp", "whatsapp/message.text.json", "whatsapp:message:wamid.X1:106540352242922"),
        ("mailgun", "mailgun/event.opened.json", "mailgun:Ase7i2zsRYeDXztHGENqRA"),
        ("mailgun", "mailgun/inbound_route.form", "mailgun:<20251009085320.1.ABCDEF@example.com>:sales@mg.example.com"),
        ("twilio", "twilio/status.sent.form", "twilio-status:SM00000000000000000000000000000001:sent"),
        ("sentry", "sentry/issue.resolved.json", "sentry:front-end:FRONT-END-9:resolved:req-1"),
    ] {
        assert_eq!(text(provider, file), expected);
    }
    let batch = include_str!("../../../tests/payloads/whatsapp/batch_messages_statuses.json");
    let status = "whatsapp:status:wamid.OUT1:sent:15550001111:106540352242922";
    assert_eq!(id(&events("whatsapp", &[], batch)[2]), status);
}

#[test]
fn a_comment_that_is_edited_twice_in_a_second_is_two_events_and_a_retry_in_another_batch_is_none() {
    let change = |text: &str| {
        format!(
            r#"{{"field":"feed","value":{{"item":"comment","verb":"edited","comment_id":"1_2","created_time":1760000000,"message":"{text}"}}}}"#
        )
    };
    let body = |time: u8, changes: &[String]| {
        format!(r#"{{"object":"page","entry":[{{"id":"9","time":{time},"changes":[{}]}}]}}"#, changes.join(","))
    };
    let both = events("facebook", &[], &body(1, &[change("a"), change("b")]));
    assert_ne!(both[0].identity, both[1].identity);
    assert_same(&both[1], &one("facebook", &[], &body(2, &[change("b")])));
    assert!(both[0].weak.is_none());
}

#[test]
fn the_same_message_seen_by_two_pages_is_two_events() {
    let body = |page: &str| {
        format!(
            r#"{{"entry":[{{"id":"{page}","messaging":[{{"sender":{{"id":"5"}},"timestamp":1,"message":{{"mid":"m"}}}}]}}]}}"#
        )
    };
    assert_ne!(one("facebook", &[], &body("1")).identity, one("facebook", &[], &body("2")).identity);
}

#[test]
fn what_no_rule_of_meta_knows_by_name_is_kept_by_its_content() {
    let body = r#"{"entry":[{"id":"1","messaging":[{"sender":{"id":"5"},"timestamp":7,"optin":{"ref":"r"}},{"sender":{"id":"5"},"timestamp":7,"novelty":{}}]}]}"#;
    let events = events("facebook", &[], body);
    assert_eq!(events[0].kind, "optin");
    assert_eq!((events[1].kind.as_str(), &events[1].disposition), ("messaging", &Disposition::Accepted));
    assert!(id(&events[0]).starts_with("facebook:1:5:7:"), "{:?}", events[0].identity);
    let change = r#"{"entry":[{"id":"1","changes":[{"field":"account_update","value":{"event":"X"}}]}]}"#;
    let weak = one("whatsapp", &[], change);
    assert_eq!((weak.kind.as_str(), weak.tenant.as_deref()), ("account_update", Some("1")));
    assert_eq!(weak.weak, Some(IdentityWindow(Duration::from_secs(7 * 86_400))));
    assert!(matches!(weak.identity, Identity::Content { .. }));
}

#[test]
fn a_status_of_a_group_message_counts_once_for_each_recipient() {
    let body = |to: &str| {
        format!(
            r#"{{"entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"metadata":{{"phone_number_id":"7"}},"statuses":[{{"id":"w","status":"read","timestamp":"1","recipient_id":"{to}"}}]}}}}]}}]}}"#
        )
    };
    assert_ne!(one("whatsapp", &[], &body("a")).identity, one("whatsapp", &[], &body("b")).identity);
}

#[test]
fn an_issue_that_is_resolved_twice_is_two_events() {
    let body = include_str!("../../../tests/payloads/sentry/issue.resolved.json");
    let with = |request: &str| one("sentry", &[("Sentry-Hook-Resource", "issue"), ("Request-ID", request)], body);
    assert_ne!(with("a").identity, with("b").identity);
    let without = one("sentry", &[("Sentry-Hook-Resource", "issue")], body);
    assert_eq!(without.weak, Some(IdentityWindow(Duration::from_mins(15))), "without its id it is known by content");
}

#[test]
fn counters_of_attempts_and_times_of_delivery_are_not_the_events() {
    let pairs = [
        (
            "hubspot",
            r#"[{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":4,"subscriptionType":"t","attemptNumber":0,"objectId":5}]"#,
            ("\"attemptNumber\":0", "\"attemptNumber\":3"),
        ),
        (
            "intercom",
            r#"{"id":"n","topic":"t","app_id":"a","delivery_attempts":1,"delivered_at":0,"delivery_status":"pending","first_sent_at":1}"#,
            ("\"delivery_attempts\":1,\"delivered_at\":0", "\"delivery_attempts\":2,\"delivered_at\":9"),
        ),
        (
            "google-pubsub",
            r#"{"message":{"messageId":"1","data":"e30="},"subscription":"s","deliveryAttempt":1}"#,
            ("\"deliveryAttempt\":1", "\"deliveryAttempt\":2"),
        ),
        ("paddle", r#"{"event_id":"e","event_type":"t","notification_id":"n1","data":{}}"#, ("\"n1\"", "\"n2\"")),
        (
            "mailgun",
            r#"{"signature":{"timestamp":"1","token":"a","signature":"b"},"event-data":{"id":"e","event":"opened"}}"#,
            ("\"token\":\"a\"", "\"token\":\"c\""),
        ),
        (
            "aws-sns",
            r#"{"Type":"Notification","MessageId":"m","TopicArn":"t","Message":"x","SigningCertURL":"u1"}"#,
            ("\"u1\"", "\"u2\""),
        ),
    ];
    for (provider, body, (old, new)) in pairs {
        assert!(body.contains(old), "{provider}");
        assert_same(&one(provider, &[JSON], body), &one(provider, &[JSON], &body.replace(old, new)));
    }
    let linear =
        |at: u8| format!(r#"{{"type":"Issue","action":"update","data":{{"id":"1"}},"webhookTimestamp":{at}}}"#);
    let delivery = [("Linear-Delivery", "d")];
    assert_same(&one("linear", &delivery, &linear(1)), &one("linear", &delivery, &linear(2)));
}

#[test]
fn portals_subscriptions_and_shops_keep_equal_ids_apart() {
    let hubspot = |portal: u8, property: &str| {
        format!(
            r#"[{{"eventId":1,"subscriptionId":2,"portalId":{portal},"occurredAt":4,"subscriptionType":"t","objectId":5,"propertyName":"{property}"}}]"#
        )
    };
    let first = one("hubspot", &[], &hubspot(1, "a"));
    assert_ne!(first.identity, one("hubspot", &[], &hubspot(2, "a")).identity);
    assert_ne!(first.identity, one("hubspot", &[], &hubspot(1, "b")).identity);

    let shopify = |topic: &str| {
        let headers = [
            ("X-Shopify-Topic", topic),
            ("X-Shopify-Shop-Domain", "d"),
            ("X-Shopify-Webhook-Id", topic),
            ("X-Shopify-Event-Id", "e"),
        ];
        one("shopify", &headers, r#"{"id":1}"#)
    };
    let (create, paid) = (shopify("orders/create"), shopify("orders/paid"));
    assert_eq!(create.event_id, paid.event_id, "one action of the merchant");
    assert_ne!(create.identity, paid.identity, "and two events");

    let mandrill = |url: &str| {
        let events = format!(r#"[{{"event":"click","_id":"m","ts":1,"url":"{url}"}}]"#);
        one(
            "mandrill",
            &[FORM],
            &format!("mandrill_events={}", form_urlencoded::byte_serialize(events.as_bytes()).collect::<String>()),
        )
    };
    assert_ne!(mandrill("https://a").identity, mandrill("https://b").identity, "two links in one second");
}

#[test]
fn adyen_knows_a_duplicate_by_reference_event_and_success() {
    let body = |success: &str, reason: &str| {
        format!(
            r#"{{"notificationItems":[{{"NotificationRequestItem":{{"pspReference":"P","eventCode":"CAPTURE","success":"{success}","merchantAccountCode":"M","reason":"{reason}","additionalData":{{"hmacSignature":"{reason}"}}}}}}]}}"#
        )
    };
    let first = one("adyen", &[], &body("true", "a"));
    assert_eq!(id(&first), "adyen:M:P:CAPTURE:true");
    assert_ne!(first.identity, one("adyen", &[], &body("false", "a")).identity);
    let changed = one("adyen", &[], &body("true", "b"));
    assert_eq!(changed.identity, first.identity);
    assert_ne!(changed.digest, first.digest, "another reason is another content of the same event");
}

#[test]
fn a_trigger_of_zendesk_may_send_anything_and_is_known_by_its_call() {
    let call = ("X-Zendesk-Webhook-Invocation-Id", "01F");
    for body in ["", "plain text", "a=1&b=2", "<xml/>", r#"{"ticket_id":"1"}"#, "null"] {
        let event = one("zendesk", &[call], body);
        assert_eq!((id(&event), event.kind.as_str()), ("01F", "trigger"), "{body}");
        assert_eq!(event.payload.body, body.as_bytes());
    }
}

#[test]
fn every_form_of_twilio_is_read_by_its_own_rule() {
    let inbound = "MessageSid=SM1&SmsStatus=received&AccountSid=AC1&Body=";
    let event = one("twilio", &[FORM], inbound);
    assert_eq!((event.kind.as_str(), id(&event)), ("message.inbound", "twilio-inbound:SM1"));
    let call = |n: u8| format!("CallSid=CA1&CallStatus=in-progress&AccountSid=AC1&SequenceNumber={n}");
    assert_eq!(id(&one("twilio", &[FORM], &call(1))), "twilio-call:CA1:in-progress:1");
    let asked = |digits: u8| format!("CallSid=CA1&CallStatus=in-progress&AccountSid=AC1&Digits={digits}");
    assert_ne!(one("twilio", &[FORM], &asked(1)).identity, one("twilio", &[FORM], &asked(2)).identity);
    // No rule for arrays takes the fields of an unknown form for elements.
    let unknown = events("twilio", &[FORM], "AccountSid=AC1&Novelty=1");
    assert_eq!((unknown.len(), unknown[0].kind.as_str()), (1, "callback"));
}

#[test]
fn an_identity_of_any_length_is_one_and_a_longer_one_is_another() {
    let mids = |last: u32| (0..20).chain([last]).map(|at| format!("\"m_{at}{}\"", "x".repeat(90))).collect::<Vec<_>>();
    let delivery = |last| {
        let delivery = format!(r#"{{"watermark":1760000000000,"mids":[{}]}}"#, mids(last).join(","));
        let item = format!(r#"{{"sender":{{"id":"5"}},"recipient":{{"id":"1"}},"timestamp":1,"delivery":{delivery}}}"#);
        one("facebook", &[], &format!(r#"{{"object":"page","entry":[{{"id":"1","messaging":[{item}]}}]}}"#))
    };
    assert_same(&delivery(20), &delivery(20));
    assert_ne!(delivery(20).identity, delivery(21).identity);

    // Whoever sends a message chooses its id.
    let inbound =
        |id: &str| one("mailgun", &[FORM], &format!("recipient=a%40b&Message-Id={id}&timestamp=1&token=t&signature=s"));
    let (folded, long) = (inbound("%3Ca%0D%0A+b%3E"), inbound(&"x".repeat(2_000)));
    assert_eq!((folded.event_id.as_deref(), folded.kind.as_str()), (None, "inbound"));
    assert_eq!(
        (long.event_id.as_deref(), long.resource.as_deref()),
        (None, None),
        "what is too long to show is left out"
    );
    assert_ne!(folded.identity, long.identity);
}

/// One connection serves many pages, numbers and businesses, and what has no id may be the same for two of them.
#[test]
fn what_is_known_by_its_content_is_known_by_whose_it_is_too() {
    let meta = |field: &str, value: &str| {
        format!(
            r#"{{"object":"x","entry":[{{"id":"A","time":1,"changes":[{{"field":"{field}","value":{value}}}]}},{{"id":"B","time":1,"changes":[{{"field":"{field}","value":{value}}}]}}]}}"#
        )
    };
    for (provider, body) in [
        ("whatsapp", meta("account_update", r#"{"event":"ACCOUNT_RESTRICTION"}"#)),
        ("facebook", meta("category", r#"{"category":"shop"}"#)),
        ("instagram", meta("story_insights", r#"{"reach":1}"#)),
    ] {
        let both = events(provider, &[JSON], &body);
        assert_eq!(both.len(), 2, "{provider}");
        assert_eq!(both[0].digest, both[1].digest, "{provider}");
        assert_ne!(both[0].identity, both[1].identity, "{provider}");
        assert!(both.iter().all(|event| event.weak.is_some()), "{provider}");
    }
    let lead = |business: &str| {
        let body = r#"{"data":{"id":"BUSINESS","updates":[{"event_type":"CONSUMER_PHONE_NUMBER_OPT_IN_EVENT","lead_id":"L"}]}}"#;
        one("yelp", &[JSON], &body.replace("BUSINESS", business)).identity
    };
    assert_ne!(lead("b1"), lead("b2"));
    let normal = |account: &str| {
        let body = format!(r#"{{"accountId":"{account}","eventId":"1","leadId":"L","kind":"lead.updated"}}"#);
        one("generic", &[JSON], &body).identity
    };
    assert_ne!(normal("a"), normal("b"), "ids of two accounts may overlap");
    let opaque = r#"{"entry":[{"id":"A","new":[1]},{"id":"B","new":[1]}]}"#;
    let unknown = events("whatsapp", &[JSON], opaque);
    assert_eq!(unknown[1].tenant.as_deref(), Some("B"), "what no rule takes has an owner too");
}

#[test]
fn a_kind_that_stands_beside_the_body_is_part_of_what_an_event_is_known_by() {
    let shopify = |topic: &str| one("shopify", &[JSON, ("X-Shopify-Topic", topic)], r#"{"id":1}"#);
    assert_eq!(shopify("orders/create").digest, shopify("orders/paid").digest);
    assert_ne!(shopify("orders/create").identity, shopify("orders/paid").identity);
}

/// The quality of a number falls, rises and falls again: twice the same content.
#[test]
fn a_time_beside_the_content_tells_two_of_whatsapp_apart_and_a_retry_is_the_same() {
    let body = |time: u32| {
        format!(
            r#"{{"entry":[{{"id":"A","time":{time},"changes":[{{"field":"phone_number_quality_update","value":{{"event":"FLAGGED"}}}}]}}]}}"#
        )
    };
    let (first, later) = (one("whatsapp", &[JSON], &body(1)), one("whatsapp", &[JSON], &body(2)));
    assert_ne!(first.identity, later.identity);
    assert_same(&first, &one("whatsapp", &[JSON], &body(1)));
}

#[test]
fn null_is_as_good_as_missing() {
    for (provider, with, without) in [
        (
            "yelp",
            r#"{"data":{"id":"b","updates":[{"event_type":"CONSUMER_PHONE_NUMBER_OPT_IN_EVENT","event_id":null,"lead_id":"L"}]}}"#,
            r#""event_id":null,"#,
        ),
        (
            "facebook",
            r#"{"entry":[{"id":"A","messaging":[{"sender":{"id":"1"},"timestamp":5,"message":{"mid":null,"text":"t"}}]}]}"#,
            r#""mid":null,"#,
        ),
        (
            "facebook",
            r#"{"entry":[{"id":"A","changes":[{"field":"feed","value":{"created_time":null,"item":"post"}}]}]}"#,
            r#""created_time":null,"#,
        ),
        (
            "instagram",
            r#"{"entry":[{"id":"A","messaging":[{"sender":{"id":"1"},"timestamp":5,"message":{"mid":null,"text":"t"}}]}]}"#,
            r#""mid":null,"#,
        ),
    ] {
        let null = one(provider, &[JSON], with);
        let missing = one(provider, &[JSON], &with.replace(without, ""));
        assert_eq!(null.disposition, Disposition::Accepted, "{provider}: {with}");
        assert_eq!(
            (null.kind, null.weak, null.resource),
            (missing.kind, missing.weak, missing.resource),
            "{provider}: {with}"
        );
    }
}

/// A text that was cut in the middle of a character fails nothing, and nothing else of its batch.
#[test]
fn half_a_character_in_a_text_fails_no_delivery() {
    let body = r#"{"entry":[{"id":"A","messaging":[{"sender":{"id":"1"},"timestamp":5,"message":{"mid":"m1","text":"cut \ud83d"}},{"sender":{"id":"1"},"timestamp":6,"message":{"mid":"m2","text":"whole"}}]}]}"#;
    let both = events("facebook", &[JSON], body);
    assert_eq!(both.iter().map(id).collect::<Vec<_>>(), ["facebook:A:message:m1", "facebook:A:message:m2"]);
    assert!(String::from_utf8(both[0].payload.body.clone()).unwrap().contains(r"cut \ud83d"), "handed on as it came");
}

/// What Twilio and Mandrill sign is the same however often a field is repeated, so that the event must be too.
#[test]
fn a_repeated_field_of_a_form_makes_no_other_event() {
    let body = "CallSid=CA1&CallStatus=completed&SequenceNumber=3&AccountSid=AC1";
    let (once, twice) = (one("twilio", &[FORM], body), one("twilio", &[FORM], &format!("{body}&SequenceNumber=3")));
    assert_same(&once, &twice);
}

#[test]
fn json_of_twilio_is_read_as_its_forms_are() {
    let json = r#"{"MessageSid":"SM1","MessageStatus":"sent","AccountSid":"AC1"}"#;
    let form = "MessageSid=SM1&MessageStatus=sent&AccountSid=AC1";
    assert_eq!(one("twilio", &[JSON], json).identity, one("twilio", &[FORM], form).identity);
    let event = r#"{"specversion":"1.0","type":"com.twilio.x","id":"EZ1","data":{"accountSid":"AC1"}}"#;
    let (alone, listed) = (one("twilio", &[JSON], event), one("twilio", &[JSON], &format!("[{event}]")));
    assert_eq!((id(&alone), &alone.tenant), (id(&listed), &listed.tenant));
}

#[test]
fn what_an_empty_list_stands_beside_is_still_seen() {
    let count = |body: &str| events("facebook", &[JSON], body).len();
    let good = r#"{"id":"A","messaging":[{"sender":{"id":"1"},"timestamp":5,"message":{"mid":"m"}}]}"#;
    assert_eq!(count(&format!(r#"{{"entry":[{good},{{"id":"B","messaging":[]}}]}}"#)), 1);
    assert_eq!(count(&format!(r#"{{"entry":[{good},{{"id":"B","messaging":[],"new":[1]}}]}}"#)), 2);
    assert_eq!(count(&format!(r#"{{"entry":[{good},{{"id":"B","messaging":[],"new":{{"x":1}}}}]}}"#)), 2);
    assert_eq!(count(&format!(r#"{{"entry":[{good},{{"id":"B"}}]}}"#)), 2);
}
