//! From bodies to events: identities, batches, faults and payloads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use hookbox_core::event::{Disposition, Event, Identity, IdentityWindow};
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::MAX_EVENTS_PER_DELIVERY;
use hookbox_providers::{Configured, DecodeError, Delivery, Fault, MAX_JSON_DEPTH, Profiles, Request};
use serde_json::{Value, json};

fn configured(provider: &str, verify: Option<&Value>) -> Configured {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&provider.parse().unwrap()).unwrap().expect("a profile");
    profile.configure(None, verify).unwrap()
}

fn decode_bytes(configured: &Configured, headers: &[(&str, &str)], body: &[u8]) -> Result<Delivery, DecodeError> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let request = Request { method: "POST", path_token: None, url: None, query: Some("a=1"), headers: &headers, body };
    configured.decode(&request)
}

fn decode(provider: &str, body: &str) -> Result<Delivery, DecodeError> {
    decode_bytes(&configured(provider, None), &[], body.as_bytes())
}

fn one(provider: &str, body: &str) -> Event {
    let mut delivery = decode(provider, body).unwrap();
    assert_eq!(delivery.events.len(), 1);
    assert!(!delivery.batch);
    delivery.events.remove(0)
}

fn provider_event(event_id: &str) -> Identity {
    Identity::ProviderEvent { event_id: event_id.to_owned() }
}

/// What an event is known by that has nothing else.
fn content(event: &Event) -> Identity {
    let Event { tenant, kind, version, digest, .. } = event.clone();
    Identity::Content { tenant, kind, version, digest }
}

fn fault(result: Result<Delivery, DecodeError>) -> Fault {
    match result {
        Err(DecodeError::Shape { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_simple_provider_is_known_by_the_raw_id_of_its_event() {
    let stripe = one("stripe", r#"{"id":"evt_1","object":"event","type":"a.b","created":1760000000}"#);
    assert_eq!(stripe.identity, provider_event("evt_1"));
    assert_eq!((stripe.weak, stripe.event_id.as_deref()), (None, Some("evt_1")));
    let key = ReceiptId::derive(&"stripe".parse().unwrap(), &"demo".parse().unwrap(), &stripe.identity, None);
    let digest = hookbox_core::digest::Digest::of(br#"["stripe","demo","provider-event","evt_1"]"#);
    assert_eq!(key.to_string(), digest.to_string());

    let headers = [("x-github-delivery", "72d3162e"), ("X-GitHub-Event", "issues"), ("X-Other", "x")];
    let body = br#"{"action":"opened","issue":{"id":9007199254740993}}"#;
    let delivery = decode_bytes(&configured("github", None), &headers, body).unwrap();
    let github = &delivery.events[0];
    assert_eq!(github.identity, provider_event("72d3162e"));
    assert_eq!(github.kind, "issues.opened");
    assert_eq!(github.resource.as_deref(), Some("9007199254740993"), "an id beyond 2^53 keeps its text");
    let kept: Vec<_> = github.payload.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(kept, [("x-github-event", "issues"), ("x-github-delivery", "72d3162e")]);
    assert_eq!(github.payload.query, None);
}

#[test]
fn three_kinds_of_one_yelp_message_are_three_events() {
    let body =
        |kind: &str| format!(r#"{{"event_type":"message.{kind}","message_id":"m-7","timestamp":1765500001000}}"#);
    for kind in ["delivered", "read"] {
        assert_eq!(one("yelp", &body(kind)).identity, provider_event(&format!("yelp:message.{kind}:m-7")));
    }
    let created = one("yelp", r#"{"event_type":"message.created","message":{"message_id":"m-7"}}"#);
    assert_eq!(created.identity, provider_event("yelp:message.created:m-7"));
    assert_eq!(created.event_id.as_deref(), Some("m-7"));
}

#[test]
fn every_update_of_a_yelp_review_is_an_event_of_its_own() {
    let body = |at: &str| {
        format!(r#"{{"event_type":"review.updated","review":{{"review_id":"r:1","updated_at":"2025-12-12T{at}Z"}}}}"#)
    };
    let (first, second) = (one("yelp", &body("10:00:00")), one("yelp", &body("11:00:00")));
    assert_eq!(first.identity, provider_event(r"yelp:review.updated:r\:1:2025-12-12T10\:00\:00Z"));
    assert_ne!(first.identity, second.identity);
    assert_eq!(first.version.as_deref(), Some("2025-12-12T10:00:00Z"));
}

#[test]
fn a_yelp_opt_in_without_an_id_is_known_by_lead_and_kind_for_a_short_while() {
    let kind = "CONSUMER_PHONE_NUMBER_OPT_IN_EVENT";
    let body = format!(r#"{{"time":"2022","data":{{"id":"b","updates":[{{"event_type":"{kind}","lead_id":"L"}}]}}}}"#);
    let event = one("yelp", &body);
    let identity =
        Identity::LeadEvent { tenant: Some("b".into()), resource: "L".into(), kind: kind.into(), version: None };
    assert_eq!(event.identity, identity);
    assert_eq!(event.weak, Some(IdentityWindow(Duration::from_mins(15))));
    let retried = one("yelp", &body.replace("2022", "2023"));
    assert_eq!(
        (retried.identity, retried.digest),
        (event.identity, event.digest),
        "the envelope's time is not the event's"
    );
}

#[test]
fn a_thumbtack_message_and_its_negotiation_stay_apart_and_a_retry_is_no_conflict() {
    let body = |kind: &str, triggered: &str| {
        format!(
            r#"{{"event":{{"eventType":"{kind}","triggeredAt":"{triggered}"}},"data":{{"messageID":"10","negotiationID":"10","business":{{"businessID":"95"}}}}}}"#
        )
    };
    let message = one("thumbtack", &body("MessageCreatedV4", "2026-01-01T00:00:00Z"));
    let negotiation = one("thumbtack", &body("NegotiationCreatedV4", "2026-01-01T00:00:00Z"));
    assert_eq!(message.identity, provider_event("thumbtack:95:MessageCreatedV4:10"));
    assert_eq!(negotiation.identity, provider_event("thumbtack:95:NegotiationCreatedV4:10"));
    let retried = one("thumbtack", &body("MessageCreatedV4", "2026-01-01T00:05:00Z"));
    assert_eq!((retried.identity, retried.digest), (message.identity, message.digest));
}

#[test]
fn a_digest_leaves_out_what_changes_with_every_retry_and_nothing_else() {
    let body = |pending: u8, amount: u8| {
        format!(
            r#"{{"id":"evt_1","object":"event","type":"t","pending_webhooks":{pending},"data":{{"object":{{"amount":{amount}}}}}}}"#
        )
    };
    let first = one("stripe", &body(2, 5));
    let retried = one("stripe", &body(1, 5));
    let changed = one("stripe", &body(2, 6));
    assert_eq!(first.digest, retried.digest);
    assert_ne!(first.digest, changed.digest);
    let other_order = one("stripe", r#"{ "data":{"object":{"amount":5}}, "type":"t","object":"event","id":"evt_1" }"#);
    assert_eq!(first.digest, other_order.digest);
}

#[test]
fn a_batch_yields_each_element_in_the_providers_own_envelope() {
    let update =
        |id: &str, kind: &str| format!(r#"{{"event_id":"{id}", "event_type":"{kind}","lead_id":"L","n":1.10}}"#);
    let body = |updates: &[String]| {
        format!("{{\"time\":\"t\",\n \"data\":{{\"id\":\"b\",\"updates\":[ {} ]}}}}", updates.join(" , "))
    };
    let all = [update("e1", "NEW_EVENT"), update("e2", "NEW_EVENT"), update("e3", "OTHER")];
    let delivery = decode("yelp", &body(&all)).unwrap();
    assert!(delivery.batch);
    for (event, update) in delivery.events.iter().zip(&all) {
        assert_eq!(String::from_utf8(event.payload.body.clone()).unwrap(), body(std::slice::from_ref(update)));
        assert_eq!(event.tenant.as_deref(), Some("b"));
    }
    let alone = one("yelp", &body(&all[1..2]));
    assert_eq!(alone, delivery.events[1], "however it is batched, it is the same event");
}

#[test]
fn a_bad_element_of_a_batch_is_kept_as_evidence_and_the_others_are_events() {
    let long = "x".repeat(1_025);
    let body = format!(
        r#"{{"data":{{"id":"b","updates":[
            {{"event_id":"e1","event_type":"NEW_EVENT","lead_id":"L"}},
            {{"event_id":"e2","lead_id":"L"}},
            {{"event_id":"e3","event_type":"NEW_EVENT","lead_id":"{long}"}},
            {{"event_id":"e\u00004","event_type":"NEW_EVENT","lead_id":"L"}},
            {{"event_id":{{}},"event_type":"NEW_EVENT"}},
            {{"event_type":"SOMETHING_NEW","lead_id":"L"}},
            17,
            {{"event_type":"CONSUMER_PHONE_NUMBER_OPT_IN_EVENT"}}
        ]}}}}"#
    );
    let delivery = decode("yelp", &body).unwrap();
    let rejected = |reason: &str| Disposition::Rejected(reason.to_owned());
    let seen: Vec<_> = delivery.events.iter().map(|event| (event.kind.as_str(), event.disposition.clone())).collect();
    let ignored = Disposition::Ignored("no rule of the profile takes this element".to_owned());
    assert_eq!(
        seen,
        [
            ("NEW_EVENT", Disposition::Accepted),
            ("unknown", rejected("kind (item:$.event_type): missing")),
            // Its resource is too long to be kept, and it is an event all the same.
            ("NEW_EVENT", Disposition::Accepted),
            ("NEW_EVENT", Disposition::Accepted),
            ("NEW_EVENT", rejected("identity (yelp:{item:$.event_id}:{body:$.data.id?}): not a text or a number")),
            ("SOMETHING_NEW", ignored),
            ("unknown", rejected("kind (element:$.event_type): missing")),
            ("CONSUMER_PHONE_NUMBER_OPT_IN_EVENT", rejected("the event has no id and nothing else that is stable")),
        ]
    );
    assert_eq!((delivery.events[2].event_id.as_deref(), &delivery.events[2].resource), (Some("e3"), &None));
    for event in delivery.events[1..].iter().filter(|event| event.disposition != Disposition::Accepted) {
        assert_eq!(event.identity, content(event));
        assert!(event.weak.is_some());
    }
    assert_eq!(decode("yelp", &body).unwrap(), delivery, "the same again is the same evidence");
    let only: Value = serde_json::from_slice(&delivery.events[6].payload.body).unwrap();
    assert_eq!(only, json!({"data": {"id": "b", "updates": [17]}}));
}

#[test]
fn a_delivery_of_one_bad_event_is_refused_without_an_echo() {
    let secret = "do-not-echo";
    for body in [
        format!(r#"{{"id":"evt_1","object":"event","type":{{"x":"{secret}"}}}}"#),
        format!(r#"{{"id":"evt_1","object":"event","{secret}":1}}"#),
        format!(r#"{{"{secret}":1,"{secret}":2}}"#),
        format!("{{}} {secret}"),
        format!(r#"{{"x":"{secret}"}}"#),
        format!("\"{secret}\""),
    ] {
        let error = decode("stripe", &body).unwrap_err();
        assert!(matches!(error, DecodeError::Shape { .. }), "{body}: {error}");
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
    }
    let error = decode("stripe", r#"{"id":"evt_1","object":"event"}"#).unwrap_err();
    assert_eq!(error.to_string(), "kind (body:$.type): missing");
    assert_eq!(decode("stripe", r#"{"object":"event","type":"t"}"#), Err(DecodeError::NoStableKey));
}

#[test]
fn an_unsupported_kind_gets_what_the_profile_says() {
    let ignored = one("stripe", r#"{"id":"x","object":"something","type":"t"}"#);
    assert_eq!((ignored.kind.as_str(), ignored.event_id), ("t", None));
    assert!(matches!(ignored.disposition, Disposition::Ignored(_)));

    let body = br#"{"id":"e1","type":"lead.deleted"}"#;
    let kinds = json!({"kinds": ["lead.created"]});
    let rejected = decode_bytes(&configured("generic", Some(&kinds)), &[], body);
    assert!(matches!(rejected, Err(DecodeError::Unsupported { .. })), "{rejected:?}");
    let ignoring = json!({"kinds": "lead.created", "unsupported": {"answer": "ignore"}});
    let ignored = decode_bytes(&configured("generic", Some(&ignoring)), &[], body).unwrap().events.remove(0);
    assert!(matches!(ignored.disposition, Disposition::Ignored(_)));
    assert_eq!((ignored.identity, ignored.kind.as_str()), (provider_event("e1"), "lead.deleted"));
}

#[test]
fn generic_reads_the_normal_form_and_refuses_what_has_no_key() {
    let full = r#"{"provider":"other","accountId":"a","eventId":"evt-1","leadId":"L","kind":"lead.updated","occurredAt":"2025-10-09T08:53:20Z","payload":{}}"#;
    let event = one("generic", full);
    assert_eq!((event.identity, event.weak), (provider_event("a:evt-1"), None));
    assert_eq!(
        (event.kind.as_str(), event.resource.as_deref(), event.tenant.as_deref()),
        ("lead.updated", Some("L"), Some("a"))
    );

    let without = full.replace(r#""eventId":"evt-1","#, "");
    let event = one("generic", &without);
    let lead = |version: Option<&str>| Identity::LeadEvent {
        tenant: Some("a".into()),
        resource: "L".into(),
        kind: "lead.updated".into(),
        version: version.map(str::to_owned),
    };
    assert_eq!((event.identity, event.weak.is_some()), (lead(None), true));
    let versioned = one("generic", &without.replace(r#""leadId""#, r#""version":3,"leadId""#));
    assert_eq!((versioned.identity, versioned.weak), (lead(Some("3")), None), "a version of its own is not weak");

    assert_eq!(one("generic", r#"{"event":"lead.created","id":"evt-123"}"#).identity, provider_event("evt-123"));
    assert_eq!(decode("generic", r#"{"event":"lead.created"}"#), Err(DecodeError::NoStableKey));
    assert_eq!(decode("generic", r#"{"event":"lead.created","id":""}"#), Err(DecodeError::NoStableKey));
    assert_eq!(decode("generic", r#"{"event":"lead.created","id":null}"#), Err(DecodeError::NoStableKey));
    assert_eq!(fault(decode("generic", r#"{"id":"1"}"#)), Fault::Missing);
}

#[test]
fn generic_takes_its_rules_from_the_integration() {
    let verify = json!({
        "event": {
            "each": [{"as": "item", "path": "$[*]"}],
            "id": "item:$.uid", "identity": "{header:X-Shop}:{item:$.uid}", "kind": ["item:$.what", "const:thing"],
            "occurred_at": "item:$.at", "time_unit": "ms", "volatile": ["/try"],
            "without_id": [{"use": "digest", "window": "1h"}],
        },
        "keep": {"headers": ["X-Shop"], "query": true},
    });
    let configured = configured("generic", Some(&verify));
    let headers = [("X-Shop", "s1"), ("Content-Type", "application/json")];
    let body = br#"[{"uid":1,"what":"w","at":5,"try":1}, {"at":6,"try":2}]"#;
    let events = decode_bytes(&configured, &headers, body).unwrap().events;
    assert_eq!(events[0].identity, provider_event("s1:1"));
    assert_eq!(events[0].occurred_at.unwrap().as_millis(), 5);
    assert_eq!(events[0].payload.body, br#"[{"uid":1,"what":"w","at":5,"try":1}]"#);
    assert_eq!(events[0].payload.headers, [("x-shop".to_owned(), "s1".to_owned())]);
    assert_eq!(events[0].payload.content_type.as_deref(), Some("application/json"));
    assert_eq!(events[0].payload.query.as_deref(), Some("a=1"));
    assert_eq!(events[1].kind, "thing");
    assert_eq!(events[1].identity, content(&events[1]));
    assert_eq!(events[1].weak, Some(IdentityWindow(Duration::from_hours(1))));
    let retried = decode_bytes(&configured, &headers, br#"[{"at":6,"try":3}]"#).unwrap().events.remove(0);
    assert_eq!(retried.identity, events[1].identity);
}

#[test]
fn inner_matches_stay_paired_with_their_outer_entry_and_nothing_is_dropped() {
    let verify = json!({"event": [
        {
            "each": [{"as": "entry", "path": "$.entry[*]"}, {"as": "item", "path": "$.messaging[?@.message]"}],
            "id": "{entry:$.id}:{item:$.message.mid}", "identity": "{entry:$.id}:{item:$.message.mid}",
            "kind": "const:message", "tenant": "entry:$.id",
        },
        {
            "each": [{"as": "entry", "path": "$.entry[*]"}, {"as": "item", "path": "$.changes[*]"}],
            "id": "item:$.id", "kind": "item:$.field", "tenant": "entry:$.id",
        },
    ], "unsupported": {"answer": "ignore"}});
    let body = br#"{"entry":[
        {"id":"p1","messaging":[{"message":{"mid":"m1"}},{"read":{}}],"changes":[{"id":"c1","field":"feed"}]},
        {"id":"p2","messaging":[{"message":{"mid":"m1"}}]},
        {"id":"p3","standby":[{"x":1}]}
    ]}"#;
    let delivery = decode_bytes(&configured("generic", Some(&verify)), &[], body).unwrap();
    let seen: Vec<_> = delivery
        .events
        .iter()
        .map(|event| (event.kind.as_str(), event.tenant.as_deref(), event.event_id.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("message", Some("p1"), Some("p1:m1")),
            ("unknown", None, None),
            ("feed", Some("p1"), Some("c1")),
            ("message", Some("p2"), Some("p2:m1")),
            ("unknown", None, None),
        ]
    );
    let payloads: Vec<Value> =
        delivery.events.iter().map(|event| serde_json::from_slice(&event.payload.body).unwrap()).collect();
    assert_eq!(payloads[0], json!({"entry": [{"id": "p1", "messaging": [{"message": {"mid": "m1"}}], "changes": []}]}));
    assert_eq!(payloads[1], json!({"entry": [{"id": "p1", "messaging": [{"read": {}}], "changes": []}]}));
    assert_eq!(payloads[4], json!({"entry": [{"id": "p3", "standby": [{"x": 1}]}]}));
}

#[test]
fn github_forms_are_read_and_handed_on_as_they_are() {
    let headers =
        |content_type| vec![("X-GitHub-Delivery", "d"), ("X-GitHub-Event", "push"), ("Content-Type", content_type)];
    let github = configured("github", None);
    let form =
        b"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22repository%22%3A%7B%22full_name%22%3A%22o%2Fd%22%7D%7D";
    let event = decode_bytes(&github, &headers("application/x-www-form-urlencoded"), form).unwrap().events.remove(0);
    assert_eq!(event.resource.as_deref(), Some("o/d@refs/heads/main"));
    assert_eq!(event.payload.body, form);
    let json = br#"{"ref":"refs/heads/main","repository":{"full_name":"o/d"}}"#;
    let same = decode_bytes(&github, &headers("application/json; charset=utf-8"), json).unwrap().events.remove(0);
    assert_eq!((same.digest, same.identity), (event.digest, event.identity), "one event in two dresses");

    let missing = decode_bytes(&github, &headers("application/x-www-form-urlencoded"), b"other=1");
    assert_eq!(missing, Err(DecodeError::Shape { path: "form:payload".into(), fault: Fault::Missing }));
    let two = decode_bytes(&github, &headers("application/x-www-form-urlencoded"), b"payload=%7B%7D&payload=%7B+%7D");
    assert_eq!(fault(two), Fault::Duplicate);
}

#[test]
fn the_payload_of_one_event_is_the_body_to_the_last_blank() {
    let body = " {\"id\" : \"e1\",\n\"type\":\"t\\u0041\" }\r\n";
    assert_eq!(one("generic", body).payload.body, body.as_bytes());
    let update = "\n{\"data\":{\"updates\":[ {\"event_id\":\"e\",\"event_type\":\"t\"} ]}}\n";
    assert_eq!(one("yelp", update).payload.body, update.as_bytes());
    let form = b"payload=%7b%22ref%22:%22x%22%7d&";
    let headers = [("X-GitHub-Delivery", "d"), ("X-GitHub-Event", "push")];
    let delivery = decode_bytes(&configured("github", None), &headers, form).unwrap();
    assert_eq!(delivery.events[0].payload.body, form, "however it was encoded");
}

#[test]
fn a_batch_in_a_form_field_is_cut_inside_the_form() {
    let verify = json!({
        "body": {"format": "form", "form_json": "events"},
        "event": {"each": [{"as": "item", "path": "$[*]"}], "id": "item:$.id", "kind": "form:kind"},
    });
    let body = b"kind=k&events=%5B%7B%22id%22%3A1%7D%2C%7B%22id%22%3A2%7D%5D&x=%41";
    let events = decode_bytes(&configured("generic", Some(&verify)), &[], body).unwrap().events;
    let payloads: Vec<_> =
        events.iter().map(|event| String::from_utf8_lossy(&event.payload.body).into_owned()).collect();
    assert_eq!(
        payloads,
        ["kind=k&events=%5B%7B%22id%22%3A1%7D%5D&x=%41", "kind=k&events=%5B%7B%22id%22%3A2%7D%5D&x=%41"]
    );
}

#[test]
fn bytes_that_are_no_text_are_refused_each_for_its_reason() {
    let stripe = configured("stripe", None);
    let refused = |body: &[u8]| fault(decode_bytes(&stripe, &[], body));
    assert_eq!(refused(b""), Fault::Empty);
    assert_eq!(refused(b"\xef\xbb\xbf{}"), Fault::ByteOrderMark);
    assert_eq!(refused(b"{\"id\":\"\xff\"}"), Fault::InvalidUtf8);
    assert_eq!(refused(b"{} "), Fault::Missing, "blanks after the end are allowed");
    assert_eq!(refused(b"{} {}"), Fault::TrailingBytes { at: 3 });
    assert_eq!(refused(b"{\"a\":1,\"a\":1}"), Fault::DuplicateKey { at: 7 });
    let deep = format!("{}{}", "[".repeat(MAX_JSON_DEPTH + 1), "]".repeat(MAX_JSON_DEPTH + 1));
    assert_eq!(refused(deep.as_bytes()), Fault::TooDeep { at: MAX_JSON_DEPTH });
    assert_eq!(refused(b"\xef\xbb\xbf"), Fault::ByteOrderMark);
    assert_eq!(refused(b"Hello, World!"), Fault::Syntax { at: 0 });
}

#[test]
fn a_delivery_holds_a_limited_number_of_events_and_bytes() {
    let updates = |count: usize| {
        let update = r#"{"event_id":"e","event_type":"t","lead_id":"l"}"#;
        format!(r#"{{"data":{{"updates":[{}]}}}}"#, vec![update; count].join(","))
    };
    assert_eq!(decode("yelp", &updates(1_000)).unwrap().events.len(), 1_000);
    let limit = MAX_EVENTS_PER_DELIVERY;
    assert_eq!(decode("yelp", &updates(limit + 1)), Err(DecodeError::TooManyEvents { limit }));
    let large = updates(1_000).replace("{\"data\"", &format!("{{\"x\":\"{}\",\"data\"", "y".repeat(70_000)));
    assert!(matches!(decode("yelp", &large), Err(DecodeError::TooLarge { .. })));
}

#[test]
fn a_callback_by_get_has_its_fields_in_the_query() {
    let twilio = configured("twilio", None);
    let query = "MessageSid=SM1&MessageStatus=sent&AccountSid=AC1&Body=caf%C3%A9+a";
    let decode = |method, query, body| {
        twilio.decode(&Request { method, path_token: None, url: None, query, headers: &[], body })
    };
    let event = decode("GET", Some(query), b"").unwrap().events.remove(0);
    assert_eq!(event.identity, provider_event("twilio-status:SM1:sent"));
    assert_eq!((event.payload.body.as_slice(), event.payload.query.as_deref()), (&b""[..], Some(query)));
    // The query of a request with a body is somebody else's.
    let posted = decode("POST", Some(query), b"MessageSid=SM2&MessageStatus=sent").unwrap().events.remove(0);
    assert_eq!(posted.identity, provider_event("twilio-status:SM2:sent"));
    assert_eq!(fault(decode("POST", None, b"")), Fault::Empty);
    assert_eq!(fault(slack_without_a_body(Some(query))), Fault::Empty, "only where the profile says so");
}

fn slack_without_a_body(query: Option<&str>) -> Result<Delivery, DecodeError> {
    let slack = configured("slack", None);
    slack.decode(&Request { method: "POST", path_token: None, url: None, query, headers: &[], body: b"" })
}

#[test]
fn times_keep_every_digit_beside_the_events() {
    let body = r#"[{"specversion":"1.0","id":"1","type":"a","time":"2025-10-09T10:53:20.123456789+02:00"},{"specversion":"1.0","id":"2","type":"a"}]"#;
    let delivery = decode_bytes(&configured("twilio", None), &[("Content-Type", "application/json")], body.as_bytes());
    let delivery = delivery.unwrap();
    let times: Vec<_> = delivery.times.iter().map(|at| at.map(|at| at.to_string())).collect();
    assert_eq!(times, [Some("2025-10-09T08:53:20.123456789Z".to_owned()), None]);
    let millis = delivery.events[0].occurred_at.map(hookbox_core::time::Timestamp::as_millis);
    assert_eq!(millis, Some(1_760_000_000_123));
}
