//! What is particular about single schemes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ways;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::digest::Digest;
use hookbox_core::time::Timestamp;
use hookbox_providers::{
    Fetched, Misconfiguration, Once, Profiles, Reason, Request, SampleValues, SignError, Vector, Verdict,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use ways::{Delivery, NOW, WAYS, Way, configured, secret};

fn vectors(provider: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/");
    let text = std::fs::read(format!("{folder}{provider}.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap().as_array().unwrap().clone()
}

fn vector(provider: &str, name: &str) -> Value {
    vectors(provider).into_iter().find(|vector| vector["name"] == name).expect("the vector")
}

fn body(vector: &Value) -> Vec<u8> {
    STANDARD.decode(vector["body_b64"].as_str().unwrap()).unwrap()
}

fn judge(vector: Value) -> Verdict {
    Vector::new(vector).judge(&Profiles::built_in()).unwrap()
}

fn way(name: &str) -> &'static Way {
    WAYS.iter().find(|way| way.name == name).expect("the way")
}

#[test]
fn a_vector_that_cannot_be_judged_is_a_failure() {
    let profiles = Profiles::built_in();
    let good = vector("github", "docs_hello_world_trailing_newline");
    for (key, value) in [
        ("provider", json!("nobody")),
        ("scheme", json!("rot13")),
        ("headers", json!(null)),
        ("body_b64", json!("?")),
        ("method", json!(null)),
        ("signature_header", json!("X Y")),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(Vector::new(bad).judge(&profiles).is_err(), "{key}");
    }
    assert!(Vector::new(json!({"expect": "maybe"})).expects_valid().is_err());
}

#[test]
fn a_vector_names_its_header_where_the_scheme_has_one_to_name() {
    for (provider, name, header) in [
        ("standard-webhooks", "own_svix_ok", "svix-signature"),
        ("gitlab", "secret_token", "X-Gitlab-Token"),
        ("twilio", "own_multi", "X-Twilio-Signature"),
        ("discord", "own_uppersig", "X-Signature-Ed25519"),
        ("thumbtack", "basic_ok", "Authorization"),
        ("mailgun", "own_swapped", "none"),
    ] {
        let mut named = vector(provider, name);
        named["signature_header"] = json!(header);
        assert!(matches!(judge(named.clone()), Verdict::Valid { .. }), "{provider}");
        named["signature_header"] = json!("X-Other-signature");
        let has_one = !["thumbtack", "mailgun"].contains(&provider);
        assert_eq!(matches!(judge(named), Verdict::Valid { .. }), !has_one, "{provider}");
    }
}

#[test]
fn a_handshake_of_a_vector_is_judged_by_its_answer() {
    let profiles = Profiles::built_in();
    let answer = |vector: Value| Vector::new(vector).judge_answer(&profiles).unwrap();
    for (provider, name) in [
        ("zoom", "own_url_validation"),
        ("slack", "own_url_verification_answer"),
        ("discord", "own_ping_answer"),
        ("facebook", "own_verification_answer"),
    ] {
        let good = vector(provider, name);
        assert_eq!(answer(good.clone()), None, "{name}");
        let mut other = good.clone();
        other["expected_response"] = json!({"status": 200, "body": "something else"});
        assert!(answer(other).is_some_and(|why| why.contains("something else")), "{name}");
        let mut unsigned = good;
        unsigned["secret"] = json!("another");
        assert!(answer(unsigned).is_some(), "{name}");
    }
    let mut ordinary = vector("zoom", "meeting_started");
    ordinary["expected_response"] = json!(200);
    assert_eq!(answer(ordinary).as_deref(), Some("it is no handshake"));
    assert_eq!(answer(vector("zoom", "meeting_started")), None, "nothing is expected");
}

/// Schemes that only the provider can sign, and one of their valid vectors with the header that holds its signature.
const SIGNED_BY_OTHERS: [(&str, &str, &str); 4] = [
    ("sendgrid", "official_valid", "X-Twilio-Email-Event-Webhook-Signature"),
    ("discord", "webhook_event", "X-Signature-Ed25519"),
    ("paypal", "own_cert_valid", "PAYPAL-TRANSMISSION-SIG"),
    ("google-pubsub", "iss_without_scheme", "Authorization"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn one_flipped_bit_of_what_only_the_provider_can_sign_is_never_accepted(bit in any::<usize>()) {
        for (provider, name, header) in SIGNED_BY_OTHERS {
            let good = vector(provider, name);
            // The body of a Pub/Sub delivery is not signed.
            if provider != "google-pubsub" {
                let mut bytes = body(&good);
                let at = bit % (bytes.len() * 8);
                bytes[at / 8] ^= 1 << (at % 8);
                let mut changed = good.clone();
                changed["body_b64"] = json!(STANDARD.encode(bytes));
                let verdict = judge(changed);
                prop_assert!(matches!(verdict, Verdict::Invalid(_)), "{}: {:?}", provider, verdict);
            }
            let value = good["headers"][header].as_str().unwrap();
            let mut bytes = value.as_bytes().to_vec();
            let at = bit % (bytes.len() * 8);
            bytes[at / 8] ^= 1 << (at % 8);
            let Ok(flipped) = String::from_utf8(bytes) else { continue };
            if flipped.eq_ignore_ascii_case(value) && (provider == "discord" || at / 8 < 7) {
                continue;
            }
            let mut changed = good;
            changed["headers"][header] = json!(flipped);
            let verdict = judge(changed);
            prop_assert!(matches!(verdict, Verdict::Invalid(_)), "{}: {:?}", provider, verdict);
        }
    }

    #[test]
    fn one_flipped_bit_of_a_signature_in_the_body_is_never_accepted(bit in any::<usize>()) {
        for (name, before) in [("adyen/payments", "\"hmacSignature\":\""), ("mailgun/-", "\"signature\":\"")] {
            let way = way(name);
            let mut delivery = way.sample();
            let text = String::from_utf8(delivery.body.clone()).unwrap();
            let start = text.find(before).unwrap() + before.len();
            let end = start + text[start..].find('"').unwrap();
            let at = bit % ((end - start) * 8);
            delivery.body[start + at / 8] ^= 1 << (at % 8);
            let verdict = delivery.verify(&way.configured, &way.secrets());
            prop_assert!(matches!(verdict, Verdict::Invalid(_)), "{}: {:?}", name, verdict);
        }
    }

    #[test]
    fn one_flipped_bit_of_an_sns_signature_is_never_accepted(bit in 0_usize..2048) {
        let good = vector("aws-sns", "official_v2_plain");
        let text = String::from_utf8(body(&good)).unwrap();
        let message: Value = serde_json::from_str(&text).unwrap();
        let signature = message["Signature"].as_str().unwrap();
        let mut bytes = STANDARD.decode(signature).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut changed = good;
        changed["body_b64"] = json!(STANDARD.encode(text.replace(signature, &STANDARD.encode(bytes))));
        prop_assert_eq!(judge(changed), Verdict::Invalid(Reason::SignatureMismatch));
    }
}

#[test]
fn every_signed_field_of_a_body_counts() {
    let adyen = way("adyen/payments");
    let good = adyen.sample();
    let text = String::from_utf8(good.body.clone()).unwrap();
    for (old, new) in [
        ("QFQTPCQ8", "QFQTPCQ9"),
        ("8836183819713023", "8836183819713024"),
        ("DemoMerchant", "OtherMerchant"),
        ("order-1", "order-2"),
        ("1000", "1001"),
        ("EUR", "USD"),
        ("AUTHORISATION", "CAPTURE"),
        ("\"true\"", "\"false\""),
    ] {
        assert!(text.contains(old), "{old}");
        let changed = Delivery { body: text.replace(old, new).into_bytes(), ..good.clone() };
        let refused = changed.reason(&adyen.configured, &adyen.secrets());
        assert_eq!(refused, Some(Reason::SignatureMismatch), "{old}");
    }
    let unsigned = text.replace("eventDate", "otherDate");
    let changed = Delivery { body: unsigned.into_bytes(), ..good };
    assert!(matches!(changed.verify(&adyen.configured, &adyen.secrets()), Verdict::Valid { .. }));
}

#[test]
fn one_unsigned_item_of_adyen_fails_the_delivery() {
    let adyen = way("adyen/payments");
    let good = adyen.sample();
    let text = String::from_utf8(good.body.clone()).unwrap();
    for (extra, reason) in [
        (r#"{"NotificationRequestItem":{"eventCode":"CAPTURE"}}"#, Reason::MissingSignature),
        (r#"{"NotificationRequestItem":{"additionalData":{"hmacSignature":"AAAA"}}}"#, Reason::SignatureMismatch),
        (r#"{"other":1}"#, Reason::MissingSignature),
        ("1", Reason::MissingSignature),
    ] {
        let body = text.replace("]}", &format!(",{extra}]}}")).into_bytes();
        let changed = Delivery { body, ..good.clone() };
        assert_eq!(changed.reason(&adyen.configured, &adyen.secrets()), Some(reason), "{extra}");
    }
    let none = Delivery { body: br#"{"notificationItems":[]}"#.to_vec(), ..good };
    assert_eq!(none.reason(&adyen.configured, &adyen.secrets()), Some(Reason::MissingSignature));
}

#[test]
fn items_under_two_keys_of_adyen_name_the_older_one() {
    let adyen = way("adyen/payments");
    let item = |secret| {
        let mut delivery = Delivery::new(&adyen.configured.sample(&SampleValues::default()).unwrap().body);
        delivery.sign(&adyen.configured, "id", secret).unwrap();
        let text = String::from_utf8(delivery.body).unwrap();
        text.split_once('[').unwrap().1.trim_end_matches("]}").to_owned()
    };
    let body = format!("{{\"notificationItems\":[{},{}]}}", item(&adyen.other), item(&adyen.verifying));
    let verdict =
        Delivery::new(body.as_bytes()).verify(&adyen.configured, &[adyen.verifying.clone(), adyen.other.clone()]);
    assert!(matches!(verdict, Verdict::Valid { secret_index: 1, .. }), "a rotation is not over yet: {verdict:?}");
}

#[test]
fn a_mailgun_signature_vouches_for_one_event_only_and_says_so() {
    let mailgun = way("mailgun/-");
    let delivery = mailgun.sample();
    let token = Digest::of(b"CPgfbmQMTCKtHW6uIWtuVe");
    let once = Some(Once { token, remember_for: Duration::from_secs(9 * 3_600) });
    let valid = Verdict::Valid { secret_index: 0, signed_at: Some(NOW), once };
    assert_eq!(delivery.verify(&mailgun.configured, &mailgun.secrets()), valid);
    // The event is not signed: this is why the token has to be remembered.
    let swapped = String::from_utf8(delivery.body.clone()).unwrap().replace("delivered", "opened");
    let swapped = Delivery { body: swapped.into_bytes(), ..delivery.clone() };
    assert_eq!(swapped.verify(&mailgun.configured, &mailgun.secrets()), valid);

    let at = |seconds: i64| {
        let now = Timestamp::from_seconds(1_760_000_000 + seconds);
        mailgun.configured.verify(&delivery.request(), &mailgun.secrets(), &Fetched::nothing(), now)
    };
    assert_eq!(at(9 * 3_600), valid);
    assert_eq!(at(9 * 3_600 + 1), Verdict::Invalid(Reason::TooOld));
    let Verdict::Valid { once: Some(early), .. } = at(-3_600) else { panic!("the clocks may be apart") };
    assert_eq!(early.remember_for, Duration::from_secs(10 * 3_600), "for as long as it would be believed");
}

#[test]
fn digits_of_a_mailgun_token_do_not_become_part_of_its_time() {
    let mailgun = way("mailgun/-");
    let sample = mailgun.configured.sample(&SampleValues { occurred_at: NOW, ..SampleValues::default() }).unwrap();
    let body = String::from_utf8(sample.body).unwrap().replace("CPgfbmQMTCKtHW6uIWtuVe", "42gfbmQMTCKtHW6uIWtuVe");
    let mut delivery = Delivery::new(body.as_bytes());
    delivery.sign(&mailgun.configured, "id", &mailgun.signing).unwrap();
    assert!(matches!(delivery.verify(&mailgun.configured, &mailgun.secrets()), Verdict::Valid { .. }));
    let signed = String::from_utf8(delivery.body).unwrap();
    // The signed text is the same, the token is one that nobody remembers.
    for (time, token, reason) in [
        ("17600000004", "2gfbmQMTCKtHW6uIWtuVe", Reason::TooNew),
        ("176000000042", "gfbmQMTCKtHW6uIWtuVe", Reason::TooNew),
        ("176000000", "042gfbmQMTCKtHW6uIWtuVe", Reason::TooOld),
    ] {
        let cut = signed.replace("\"1760000000\"", &format!("\"{time}\"")).replace("42gfbmQMTCKtHW6uIWtuVe", token);
        assert_ne!(cut, signed);
        let verdict = Delivery::new(cut.as_bytes()).verify(&mailgun.configured, &mailgun.secrets());
        assert_eq!(verdict, Verdict::Invalid(reason), "{time}");
    }
}

#[test]
fn a_multipart_form_of_mailgun_is_verified_and_read() {
    let form = String::from_utf8(body(&vector("mailgun", "official_inbound_form"))).unwrap();
    let mut multipart = Vec::new();
    for (name, value) in form_urlencoded::parse(form.as_bytes()) {
        let head = format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        multipart.extend(head.into_bytes());
    }
    multipart.extend(
        b"--xx\r\nContent-Disposition: form-data; name=\"attachment-1\"; filename=\"a\"\r\n\r\n\xff\x00\r\n--xx--\r\n",
    );
    let headers = [("Content-Type".to_owned(), "multipart/form-data; boundary=xx".to_owned())];
    let request = Request { headers: &headers, body: &multipart, ..ways::empty() };
    let mailgun = configured("mailgun", None);
    let key = secret("key-3ax6xnjp29jd6fds4gc373sgvjxteol0");
    let verdict = mailgun.verify(&request, &[key], &Fetched::nothing(), Timestamp::from_seconds(1_403_645_220));
    assert!(matches!(verdict, Verdict::Valid { once: Some(_), .. }), "{verdict:?}");
    let event = mailgun.decode(&request).unwrap().events.remove(0);
    assert_eq!((event.kind.as_str(), event.tenant.as_deref()), ("inbound", Some("bob@mg.example.com")));
    assert_eq!(event.payload.body, multipart, "attachments stay as they came");
}

#[test]
fn a_json_body_of_twilio_is_signed_by_its_hash_or_not_at_all() {
    let twilio = way("twilio/auth-token");
    let good = twilio.sample();
    assert!(good.query.as_deref().is_some_and(|query| query.starts_with("bodySHA256=")));
    let mut without = good.clone();
    without.query = None;
    assert_eq!(without.reason(&twilio.configured, &twilio.secrets()), Some(Reason::BodyNotSigned));
    let mut twice = good.clone();
    twice.query = good.query.as_ref().map(|query| format!("{query}&{query}"));
    assert_eq!(twice.reason(&twilio.configured, &twilio.secrets()), Some(Reason::DuplicateHeader));
}

#[test]
fn the_signed_url_is_the_configured_one() {
    let profiles = Profiles::built_in();
    let square = profiles.get(&"square".parse().unwrap()).unwrap().unwrap();
    let own = square.configure(None, Some(&json!({"url": "https://own.example/hooks/square/main"}))).unwrap();
    assert!(own.signs_url());
    let key = [secret("key")];
    let mut delivery = Delivery::new(b"{}");
    delivery.sign(&own, "id", &key[0]).unwrap();
    assert!(matches!(delivery.verify(&own, &key), Verdict::Valid { .. }));
    // The deployment's own address counts only where the integration states none.
    let deployed = square.configure(None, None).unwrap();
    assert_eq!(delivery.reason(&deployed, &key), Some(Reason::SignatureMismatch));
    let nowhere = Request { url: None, ..delivery.request() };
    let verdict = deployed.verify(&nowhere, &key, &Fetched::nothing(), NOW);
    assert_eq!(verdict, Verdict::Misconfigured(Misconfiguration::NoUrl));
    for bad in ["own.example", "ftp://x/", "https://", "https:///x", "https://u@x/", "https://x/?a", "https://x/a b"] {
        assert!(square.configure(None, Some(&json!({"url": bad}))).is_err(), "{bad}");
    }
    let stripe = profiles.get(&"stripe".parse().unwrap()).unwrap().unwrap();
    let error = stripe.configure(None, Some(&json!({"url": "https://x/y"}))).unwrap_err();
    assert!(error.to_string().contains("does not sign the URL"), "{error}");
}

#[test]
fn what_is_needed_is_asked_for_once_and_only_from_the_providers_own_hosts() {
    let sns = configured("aws-sns", None);
    let good = vector("aws-sns", "official_v2_plain");
    let bytes = body(&good);
    let request = Request { body: &bytes, ..ways::empty() };
    let now = Timestamp::from_seconds(good["now"].as_i64().unwrap());
    let Verdict::NeedsFetch { url } = sns.verify(&request, &[], &Fetched::nothing(), now) else { panic!("no fetch") };
    assert!(url.starts_with("https://sns.us-east-2.amazonaws.com/SimpleNotificationService-"), "{url}");
    let mut fetched = Fetched::nothing();
    fetched.insert(url.clone(), good["secret"].as_str().unwrap().as_bytes().to_vec());
    let valid = sns.verify(&request, &[], &fetched, now);
    assert!(matches!(valid, Verdict::Valid { secret_index: 0, .. }), "{valid:?}");
    for seconds in [-400 * 86_400, 60 * 86_400] {
        let at = Timestamp::from_seconds(good["now"].as_i64().unwrap() + seconds);
        let verdict = sns.verify(&request, &[], &fetched, at);
        assert_eq!(verdict, Verdict::Invalid(Reason::BadCertificate), "not valid at {at}");
    }
    let mut broken = Fetched::nothing();
    broken.insert(url, b"<html>not found</html>".to_vec());
    assert_eq!(sns.verify(&request, &[], &broken, now), Verdict::Invalid(Reason::BadCertificate));
}

#[test]
fn a_validly_signed_sns_message_of_a_foreign_topic_names_its_topic() {
    let sns = configured("aws-sns", None);
    let profiles = Profiles::built_in();
    let profile = profiles.get(&"aws-sns".parse().unwrap()).unwrap().unwrap();
    assert!(profile.configure(None, None).unwrap().requires_tenants());
    let foreign = vector("aws-sns", "official_v1_plain");
    assert!(matches!(judge(foreign.clone()), Verdict::Valid { .. }), "AWS signs for anybody");
    let bytes = body(&foreign);
    let request = Request { body: &bytes, ..ways::empty() };
    let event = sns.decode(&request).unwrap().events.remove(0);
    let topic = "arn:aws:sns:us-east-2:295079676684:publish-and-verify-892f85fe-4836-424d-8188-ab85bef0f362";
    assert_eq!(event.tenant.as_deref(), Some(topic), "the integration's list of tenants decides");
}

/// Lines keep the signed members apart: one inside of a member would make others of the same text.
#[test]
fn no_member_of_an_sns_message_but_the_message_holds_a_line_end() {
    let changed = |name: &str| {
        let mut vector = vector("aws-sns", "official_v1_subject");
        let mut message: Value = serde_json::from_slice(&body(&vector)).unwrap();
        message[name] = json!(format!("{}\nx", message[name].as_str().unwrap()));
        vector["body_b64"] = json!(STANDARD.encode(message.to_string()));
        judge(vector)
    };
    for name in ["MessageId", "Subject", "Timestamp", "TopicArn"] {
        assert_eq!(changed(name), Verdict::Invalid(Reason::MalformedSignature), "{name}");
    }
    assert_eq!(changed("Message"), Verdict::Invalid(Reason::SignatureMismatch));
}

#[test]
fn a_signature_of_paypal_covers_a_checksum_and_vouches_for_one_event_only() {
    let verdict = judge(vector("paypal", "own_cert_valid"));
    let Verdict::Valid { once: Some(once), signed_at: Some(_), .. } = verdict else { panic!("{verdict:?}") };
    let id = vector("paypal", "own_cert_valid")["headers"]["PAYPAL-TRANSMISSION-ID"].as_str().unwrap().to_owned();
    assert_eq!(once.token, Digest::of(id.as_bytes()));
}

#[test]
fn paypal_is_believed_only_with_a_certificate_that_somebody_vouches_for() {
    let paypal = configured("paypal", None);
    let good = vector("paypal", "own_cert_valid");
    let bytes = body(&good);
    let headers: Vec<(String, String)> = good["headers"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let request = Request { headers: &headers, body: &bytes, ..ways::empty() };
    let secrets = [secret(good["secret"].as_str().unwrap())];
    let now = Timestamp::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
    let Verdict::NeedsFetch { url } = paypal.verify(&request, &secrets, &Fetched::nothing(), now) else {
        panic!("no fetch")
    };
    let mut fetched = Fetched::nothing();
    fetched.insert(url, good["cert_pem"].as_str().unwrap().as_bytes().to_vec());
    // It has the right name and signed what it should; but it signed itself, too.
    let verdict = paypal.verify(&request, &secrets, &fetched, now);
    assert_eq!(verdict, Verdict::Invalid(Reason::BadCertificate));
    for (name, value) in [
        ("PAYPAL-CERT-URL", "https://api.paypal.com.evil.test/v1/notifications/certs/CERT-test"),
        ("PAYPAL-CERT-URL", "http://api.paypal.com/v1/notifications/certs/CERT-test"),
        ("PAYPAL-CERT-URL", "https://api.paypal.com/other"),
        ("PAYPAL-CERT-URL", "https://api.paypal.com/v1/notifications/certs/a/b"),
    ] {
        let mut changed = good.clone();
        changed["headers"][name] = json!(value);
        assert_eq!(judge(changed), Verdict::Invalid(Reason::ForeignUrl), "{value}");
    }
}

/// A delivery that this certificate signed, judged by a profile that trusts the authority of our own, or does not.
fn paypal_of_our_own(name: &str, trusts: bool, now: &str) -> Verdict {
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/tests/paypal/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let profiles = Profiles::built_in();
    let paypal = profiles.get(&"paypal".parse().unwrap()).unwrap().unwrap();
    let verify = json!({"trusted": read("ca.pem"), "tolerance": "3000d"});
    let paypal = paypal.configure(None, trusts.then_some(&verify)).unwrap();
    let url = "https://api.paypal.com/v1/notifications/certs/CERT-1";
    let headers = [
        ("PAYPAL-TRANSMISSION-ID", "id-1".to_owned()),
        ("PAYPAL-TRANSMISSION-TIME", "2026-01-01T00:00:00Z".to_owned()),
        ("PAYPAL-AUTH-ALGO", "SHA256withRSA".to_owned()),
        ("PAYPAL-CERT-URL", url.to_owned()),
        ("PAYPAL-TRANSMISSION-SIG", read(&format!("{name}.sig"))),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    let request = Request { headers: &headers, body: br#"{"id":"WH-1","event_type":"T"}"#, ..ways::empty() };
    let mut fetched = Fetched::nothing();
    fetched.insert(url.to_owned(), read(&format!("{name}.pem")).into_bytes());
    let now = Timestamp::parse_rfc3339(now).unwrap();
    paypal.verify(&request, &[secret("other"), secret("WEBHOOK_ID")], &fetched, now)
}

#[test]
fn the_chain_the_name_and_the_dates_of_a_certificate_count() {
    let now = "2027-01-01T00:00:00Z";
    let valid = paypal_of_our_own("leaf", true, now);
    assert!(matches!(valid, Verdict::Valid { secret_index: 1, .. }), "{valid:?}");
    let bad = Verdict::Invalid(Reason::BadCertificate);
    assert_eq!(paypal_of_our_own("leaf", false, now), bad, "nobody knows the authority");
    assert_eq!(paypal_of_our_own("other", true, now), bad, "another name");
    assert_eq!(paypal_of_our_own("leaf", true, "2026-01-01T00:00:00Z"), bad, "not valid yet");
}

#[test]
fn a_token_of_google_is_for_one_audience_and_one_account() {
    let profiles = Profiles::built_in();
    let google = profiles.get(&"google-pubsub".parse().unwrap()).unwrap().unwrap();
    let delivery = Delivery::new(b"{}");
    let verify = |verify: Value, request: &Request<'_>| {
        let configured = google.configure(None, Some(&verify)).unwrap();
        configured.verify(request, &[], &Fetched::nothing(), NOW)
    };
    let request = delivery.request();
    assert_eq!(verify(json!({}), &request), Verdict::Misconfigured(Misconfiguration::NoEmail));
    let nowhere = Request { url: None, ..request };
    assert_eq!(verify(json!({"email": "a@b"}), &nowhere), Verdict::Misconfigured(Misconfiguration::NoUrl));
    let both = json!({"email": "a@b", "audience": "https://x"});
    assert_eq!(verify(both, &nowhere), Verdict::Invalid(Reason::MissingCredential));
    for (vector_name, field) in [("iss_without_scheme", "expected_email"), ("iss_without_scheme", "expected_audience")]
    {
        let mut other = vector("google-pubsub", vector_name);
        other[field] = json!("other");
        assert_eq!(judge(other), Verdict::Invalid(Reason::CredentialMismatch), "{field}");
    }
    let none = judge(vector("google-pubsub", "alg_none"));
    assert_eq!(none, Verdict::Invalid(Reason::NoUsableSignature), "the sender does not choose the algorithm");
    let mut unknown = vector("google-pubsub", "iss_without_scheme");
    unknown["secret"] = json!(unknown["secret"].as_str().unwrap().replace("testkid1", "testkid2"));
    assert_eq!(judge(unknown), Verdict::Invalid(Reason::UnknownKey));
}

#[test]
fn nobody_else_can_sign_for_providers_with_a_private_key() {
    for way in WAYS.iter().filter(|way| !way.is_signable()) {
        let delivery = Delivery::new(b"{}");
        let refused = way.configured.sign(&delivery.request(), Some("id"), &way.signing, NOW);
        let (public_key, only) = (way.provider() == "sendgrid", SignError::OnlyTheProvider);
        assert_eq!(refused, Err(if public_key { SignError::PrivateKey } else { only }), "{}", way.name);
        let refused = way.configured.sign_by(&delivery.request(), Some("id"), NOW, &|_| None);
        assert_eq!(refused, Err(if public_key { SignError::SecretEncoding } else { only }), "{}", way.name);
    }
}
