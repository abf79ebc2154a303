//! What a worker will need later is kept at ingest, byte for byte, and nothing that vouches for the delivery.

use hookbox_core::event::Payload;
use hookbox_core::key::ReceiptId;
use hookbox_providers::{Configured, Profiles, Request, SampleValues};

use super::receipt;
use super::stage::{NOW, Sender, Stage};

fn configured(provider: &str) -> Configured {
    let profiles = Profiles::built_in();
    profiles.get(&provider.parse().unwrap()).unwrap().expect("a profile").configure(None, None).unwrap()
}

async fn payload(stage: &Stage, receipt: &str) -> Payload {
    stage.table.ledger().payload(&receipt.parse().unwrap()).await.unwrap().expect("a payload")
}

/// Whether `part` is what is left of `whole` when something is cut out.
fn is_cut_from(part: &[u8], whole: &[u8]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|byte| rest.any(|other| other == byte))
}

/// Deliveries of several events, one for each provider that sends such. Adyen's items hold their signatures, which the
/// sender writes.
const BATCHES: [(&str, &str, &str); 8] = [
    ("adyen", "application/json", include_str!("../../../../tests/payloads/adyen/batch_authorisation_capture.json")),
    ("facebook", "application/json", include_str!("../../../../tests/payloads/facebook/batch_messaging_and_feed.json")),
    ("hubspot", "application/json", include_str!("../../../../tests/payloads/hubspot/batch_mixed.json")),
    (
        "instagram",
        "application/json",
        include_str!("../../../../tests/payloads/instagram/batch_messages_comments.json"),
    ),
    ("mandrill", "application/x-www-form-urlencoded", include_str!("../../../../tests/payloads/mandrill/batch.form")),
    ("twilio", "application/json", include_str!("../../../../tests/payloads/twilio/event_streams_batch.json")),
    ("whatsapp", "application/json", include_str!("../../../../tests/payloads/whatsapp/batch_messages_statuses.json")),
    ("yelp", "application/json", include_str!("../../../../tests/payloads/yelp/batch_mixed_updates.json")),
];

#[tokio::test]
async fn each_event_of_a_batch_is_kept_in_the_provider_s_own_envelope() {
    for (provider, content_type, text) in BATCHES {
        let stage = Stage::with(provider).await;
        let headers = [("Content-Type".to_owned(), format!("{content_type}; charset=utf-8"))];
        let text = text.replace("<b64>", "{signature}");
        let event = Sender::of(provider).body(text.as_bytes(), &headers, None);
        let sent = {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.decode(event["body"].as_str().unwrap()).unwrap()
        };
        assert!((200..300).contains(&stage.answer(event).await.status), "{provider}");

        let profile = configured(provider);
        let (provider_name, account) = (provider.parse().unwrap(), "demo".parse().unwrap());
        let whole =
            Request { method: "POST", path_token: None, url: None, query: None, headers: &headers, body: &sent };
        let events = profile.decode(&whole).unwrap().events;
        assert!(events.len() > 1, "{provider}");
        for event in events {
            let id = ReceiptId::derive(&provider_name, &account, &event.identity, None).to_string();
            let (kept, stored) = (payload(&stage, &id).await, receipt(&stage, &id).await);
            assert_eq!(kept.content_type.as_deref(), Some(headers[0].1.as_str()), "{provider}");
            if content_type == "application/json" {
                assert!(is_cut_from(&kept.body, &sent), "{provider}: {}", String::from_utf8_lossy(&kept.body));
            }
            // Read again as a delivery of its own, it is this event and no other.
            let of_its_own = [("content-type".to_owned(), kept.content_type.clone().unwrap())];
            let headers = [&of_its_own[..], &kept.headers].concat();
            let alone = Request { headers: &headers, body: &kept.body, ..whole };
            let again = profile.decode(&alone).unwrap().events;
            assert_eq!(again.len(), 1, "{provider}: {}", String::from_utf8_lossy(&kept.body));
            assert_eq!((&again[0].identity, again[0].digest), (&event.identity, stored.event_digest), "{provider}");
            assert_eq!(again[0].payload.body, kept.body, "{provider}: it is its own envelope");
        }
    }
}

/// A body of one event is kept as it was sent, down to the blanks around it.
#[tokio::test]
async fn what_is_kept_of_a_delivery_is_its_bytes_its_type_and_the_headers_that_the_profile_names() {
    let stage = Stage::with("github").await;
    let body =
        b" {\"action\" : \"opened\",\r\n\t\"issue\": {\"id\": 9007199254740993, \"title\": \"\\u00e9 \xc3\xa9\"}}\n";
    let headers = [
        ("Content-Type", "application/json;charset=UTF-8"),
        ("X-GitHub-Event", "issues"),
        ("X-GitHub-Delivery", "d-1"),
        ("X-GitHub-Hook-ID", "42"),
        ("X-Hub-Signature", "sha1=legacy-hush"),
        ("Authorization", "Bearer hush"),
        ("Cookie", "a=hush"),
        ("X-Forwarded-For", "203.0.113.9"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let event = Sender::of("github").body(body, &headers, None);
    let signature = event["headers"]["x-hub-signature-256"].as_str().unwrap().to_owned();
    let answer = stage.answer(event).await;
    let kept = payload(&stage, &answer.receipt()).await;
    assert_eq!(kept.body, body);
    assert_eq!(kept.content_type.as_deref(), Some("application/json;charset=UTF-8"));
    let names: Vec<_> = kept.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert!(names.contains(&"x-github-event: issues".to_owned()), "{names:?}");
    assert!(names.contains(&"x-github-hook-id: 42".to_owned()), "{names:?}");
    let items = format!("{:?}", stage.table.items().await);
    for hidden in ["hush", "203.0.113.9", signature.as_str()] {
        assert!(!format!("{kept:?}").contains(hidden) && !items.contains(hidden), "{hidden}");
    }
}

/// For every provider whose deliveries can be signed here.
#[tokio::test]
async fn no_header_that_vouches_for_a_delivery_is_kept_of_any_provider() {
    let profiles = Profiles::built_in();
    let mut seen = 0;
    for provider in profiles.names() {
        if ["aws-sns", "google-pubsub", "paypal", "sendgrid"].contains(&provider) {
            continue;
        }
        let sample = configured(provider)
            .sample(&SampleValues { event_id: Some("evt_1"), occurred_at: NOW, ..SampleValues::default() })
            .unwrap();
        let stage = Stage::with(provider).await;
        let event = Sender::of(provider).sample("evt_1");
        let signed = event["headers"].as_object().unwrap().clone();
        let answer = stage.answer(event).await;
        assert!((200..300).contains(&answer.status), "{provider}: {answer:?}");
        let id = stage.only_receipt().await;
        let kept = payload(&stage, &id).await;
        let told = sample.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        assert_eq!(kept.content_type.as_ref(), told.map(|(_, value)| value), "{provider}");
        for (name, value) in &kept.headers {
            assert!(signed.get(name).is_some_and(|sent| sent == value), "{provider}: {name} as it was sent");
        }
        let of_the_sample: Vec<_> = sample.headers.iter().map(|(name, _)| name.to_lowercase()).collect();
        for (name, value) in signed.iter().filter(|(name, _)| !of_the_sample.contains(name)) {
            let value = value.as_str().unwrap();
            // A timestamp or an id beside the signature is no secret.
            if value.len() > 20 && value != "evt_1" {
                assert!(!format!("{kept:?}").contains(value), "{provider}: {name}");
            }
        }
        seen += 1;
    }
    assert!(seen >= 30, "{seen}");
}
