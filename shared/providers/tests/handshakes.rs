//! What providers ask before they deliver anything: answered without a receipt, verified first where it is signed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ways;

use hookbox_core::time::Timestamp;
use hookbox_providers::{Answer, Configured, Fetched, Handshake, Misconfiguration, Reason, Request, Secret, Verdict};
use ways::{Delivery, NOW, URL, WAYS, Way, configured, secret};

fn payload(file: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/payloads/");
    std::fs::read(format!("{folder}{file}")).unwrap()
}

fn way(name: &str) -> &'static Way {
    WAYS.iter().find(|way| way.name == name).expect("the way")
}

/// What a signed body is.
fn signed(name: &str, body: &[u8], headers: &[(&str, &str)]) -> Option<Handshake> {
    let way = way(name);
    let mut delivery = Delivery::new(body);
    delivery.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    delivery.sign(&way.configured, "id", &way.signing).unwrap();
    way.configured.handshake(&delivery.request(), &way.secrets(), &Fetched::nothing(), NOW)
}

fn unsigned(name: &str, method: &str, body: &[u8]) -> Option<Handshake> {
    let way = way(name);
    let request = Request { method, path_token: None, url: Some(URL), query: None, headers: &[], body };
    way.configured.handshake(&request, &way.secrets(), &Fetched::nothing(), NOW)
}

fn answer(handshake: Option<Handshake>) -> Answer {
    match handshake {
        Some(Handshake::Answer(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn slack_is_sent_its_challenge_back_as_plain_text() {
    let given = answer(signed("slack/-", &payload("slack/url_verification.json"), &[]));
    assert_eq!((given.status, given.content_type.as_deref()), (200, Some("text/plain")));
    assert_eq!(given.body, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P");
    assert_eq!(signed("slack/-", &payload("slack/event_callback.message.json"), &[]), None);
    let checked = signed("slack/-", b"ssl_check=1&token=t", &[]);
    assert!(matches!(checked, Some(Handshake::Answer(Answer { status: 200, .. }))), "{checked:?}");
    let unusable = Some(Handshake::Refused(Verdict::Invalid(Reason::UnusableChallenge)));
    for bad in ["<script>", &"a".repeat(257), "a b", "a\\nb"] {
        let body = format!(r#"{{"type":"url_verification","challenge":"{bad}"}}"#);
        assert_eq!(signed("slack/-", body.as_bytes(), &[]), unusable, "{bad}");
    }
    let without = signed("slack/-", br#"{"type":"url_verification"}"#, &[]);
    assert_eq!(without, unusable, "it is no event either");
    let base64 = signed("slack/-", br#"{"type":"url_verification","challenge":"abc+def/ghi=="}"#, &[]);
    assert_eq!(answer(base64).body, "abc+def/ghi==");
}

#[test]
fn discord_is_answered_with_pong_or_with_nothing() {
    let pong = answer(signed("discord/-", &payload("discord/interaction.ping.json"), &[]));
    assert_eq!((pong.status, pong.body.as_str()), (200, r#"{"type":1}"#));
    let nothing = answer(signed("discord/-", &payload("discord/webhook_event.ping.json"), &[]));
    assert_eq!((nothing.status, nothing.body.as_str()), (204, ""));
    assert!(nothing.content_type.is_some(), "Discord wants a content type even here");
    for event in ["discord/webhook_event.APPLICATION_AUTHORIZED.json", "discord/interaction.command.json"] {
        assert_eq!(signed("discord/-", &payload(event), &[]), None, "{event}");
    }
}

#[test]
fn zoom_is_sent_the_hmac_of_its_token() {
    let answer = answer(signed("zoom/-", &payload("zoom/endpoint.url_validation.json"), &[]));
    // HMAC-SHA256 of the token under `generic-secret`, by openssl.
    let mac = "f286110ddb831ac11bad5c2843230d2a8871b8ae1120ca90fabede83c11b2da5";
    let expected = format!(r#"{{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"{mac}"}}"#);
    assert_eq!((answer.status, answer.body), (200, expected));
}

#[test]
fn what_is_signed_is_verified_before_it_is_answered() {
    let cases = [
        ("slack/-", "slack/url_verification.json"),
        ("discord/-", "discord/interaction.ping.json"),
        ("discord/-", "discord/webhook_event.ping.json"),
        ("zoom/-", "zoom/endpoint.url_validation.json"),
        ("aws-sns/-", "aws-sns/subscription_confirmation.json"),
    ];
    for (name, file) in cases {
        let refused = unsigned(name, "POST", &payload(file));
        assert!(matches!(refused, Some(Handshake::Refused(Verdict::Invalid(_)))), "{name}: {refused:?}");
    }
}

#[test]
fn a_head_request_is_answered_where_the_provider_insists_and_nowhere_else() {
    for name in ["intercom/-", "mandrill/-"] {
        let answer = answer(unsigned(name, "HEAD", b""));
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{name}");
    }
    for way in WAYS.iter().filter(|way| !["intercom", "mandrill"].contains(&way.provider())) {
        let greeted = unsigned(&way.name, "HEAD", b"");
        assert_eq!(greeted, None, "{}", way.name);
    }
    assert_eq!(answer(signed("mandrill/-", b"mandrill_events=%5B%5D", &[])).status, 200);
    assert!(matches!(unsigned("mandrill/-", "POST", b"mandrill_events=%5B%5D"), Some(Handshake::Refused(_))));
}

fn ask_meta(meta: &Configured, secrets: &[Secret], query: &str) -> Option<Handshake> {
    let request = Request { method: "GET", path_token: None, url: None, query: Some(query), headers: &[], body: b"" };
    meta.handshake(&request, secrets, &Fetched::nothing(), NOW)
}

#[test]
fn meta_is_sent_its_challenge_back_if_the_token_is_the_agreed_one() {
    let secrets = [secret("app-secret"), secret("verify_token:old"), secret("verify_token:t-0ken")];
    for provider in ["facebook", "instagram", "whatsapp"] {
        let meta = configured(provider, None);
        let query = |token: &str| format!("hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444");
        let given = answer(ask_meta(&meta, &secrets, &query("t-0ken")));
        assert_eq!((given.status, given.body.as_str()), (200, "1158201444"));
        assert_eq!(given.content_type.as_deref(), Some("text/plain"));
        for wrong in ["wrong", "app-secret", "verify_token:t-0ken", "t-0kenx"] {
            let refused = Some(Handshake::Refused(Verdict::Invalid(Reason::CredentialMismatch)));
            assert_eq!(ask_meta(&meta, &secrets, &query(wrong)), refused, "{wrong}");
        }
        let missing = ask_meta(&meta, &secrets, "hub.mode=subscribe&hub.challenge=1");
        assert_eq!(missing, Some(Handshake::Refused(Verdict::Invalid(Reason::MissingCredential))));
        let unusable = Some(Handshake::Refused(Verdict::Invalid(Reason::UnusableChallenge)));
        assert_eq!(ask_meta(&meta, &secrets, &query("t-0ken").replace("1158201444", "%3Cb%3E")), unusable);
        assert_eq!(ask_meta(&meta, &secrets, &query("t-0ken").replace("subscribe", "other")), None);
        let none = ask_meta(&meta, &secrets[..1], &query("t-0ken"));
        let reason = Verdict::Misconfigured(Misconfiguration::NoVerifyToken);
        assert_eq!(none, Some(Handshake::Refused(reason)));
    }
}

#[test]
fn the_token_of_a_handshake_is_no_key_for_deliveries() {
    let way = way("whatsapp/-");
    let token = secret("verify_token:t-0ken");
    for key in ["verify_token:t-0ken", "t-0ken"] {
        let mut delivery = way.sample();
        delivery.headers.clear();
        delivery.sign(&way.configured, "id", &secret(key)).unwrap();
        let refused = delivery.verify(&way.configured, &[way.verifying.clone(), token.clone()]);
        assert_eq!(refused, Verdict::Invalid(Reason::SignatureMismatch), "{key}");
        let alone = delivery.verify(&way.configured, std::slice::from_ref(&token));
        assert_eq!(alone, Verdict::Misconfigured(Misconfiguration::NoSecret), "{key}");
    }
    let verdict = way.sample().verify(&way.configured, &[token, way.verifying.clone()]);
    assert!(matches!(verdict, Verdict::Valid { secret_index: 1, .. }), "{verdict:?}");
}

/// The signed confirmation among the vectors, with the certificate that it names.
fn confirmation(url: Option<&str>) -> (Vec<u8>, Fetched) {
    use base64::Engine as _;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/aws-sns.json");
    let vectors: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let vectors = vectors.as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["name"] == "own_subscription_confirmation").unwrap();
    let body = base64::engine::general_purpose::STANDARD.decode(vector["body_b64"].as_str().unwrap()).unwrap();
    let text = String::from_utf8(body.clone()).unwrap();
    let certificate = text.split('"').find(|text| text.contains("/SimpleNotificationService-")).unwrap();
    let mut fetched = Fetched::nothing();
    fetched.insert(certificate.to_owned(), vector["secret"].as_str().unwrap().as_bytes().to_vec());
    let body = match url {
        None => body,
        Some(url) => {
            let own = text.split('"').find(|text| text.contains("Action=ConfirmSubscription")).unwrap();
            text.replace(own, url).into_bytes()
        }
    };
    (body, fetched)
}

#[test]
fn an_sns_subscription_is_confirmed_by_fetching_a_url_of_sns_itself() {
    let sns = configured("aws-sns", None);
    let now = Timestamp::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
    let (body, fetched) = confirmation(None);
    let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: &body };
    let handshake = sns.handshake(&request, &[], &fetched, now);
    let Some(Handshake::Confirm { url, tenant, answer }) = handshake else { panic!("{handshake:?}") };
    assert!(url.starts_with("https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription"), "{url}");
    assert_eq!(tenant.as_deref(), Some("arn:aws:sns:us-west-2:123456789012:MyTopic"));
    assert_eq!(answer.status, 200);

    let needed = sns.handshake(&request, &[], &Fetched::nothing(), now);
    assert!(matches!(needed, Some(Handshake::Refused(Verdict::NeedsFetch { .. }))), "{needed:?}");
    // The signature covers the URL; the allow-list would hold even if it did not.
    let (foreign, fetched) = confirmation(Some("https://evil.test/?Action=ConfirmSubscription"));
    let request = Request { body: &foreign, ..request };
    let refused = sns.handshake(&request, &[], &fetched, now);
    assert_eq!(refused, Some(Handshake::Refused(Verdict::Invalid(Reason::SignatureMismatch))));
}
