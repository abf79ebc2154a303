//! Every built-in profile, signed and verified: what is valid, what is not, and that nothing in between is.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::LazyLock;

use hookbox_core::event::Disposition;
use hookbox_core::time::Timestamp;
use hookbox_providers::{
    Configured, Fetched, Handshake, Misconfiguration, Profiles, Reason, Request, SampleValues, Secret, SignError,
    Signed, Verdict,
};
use proptest::prelude::*;
use serde_json::json;

const NOW: Timestamp = Timestamp::from_seconds(1_760_000_000);
const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Providers whose events have no id of their own.
const WITHOUT_ID: [&str; 2] = ["calendly", "zoom"];

/// A signed request that can be changed.
#[derive(Clone)]
struct Delivery {
    headers: Vec<(String, String)>,
    path_token: Option<String>,
    body: Vec<u8>,
}

impl Delivery {
    fn request(&self) -> Request<'_> {
        Request {
            method: "POST",
            path_token: self.path_token.as_deref(),
            url: Some("https://hooks.example.test/hooks/x/y"),
            query: None,
            headers: &self.headers,
            body: &self.body,
        }
    }

    fn verify(&self, configured: &Configured, secrets: &[Secret]) -> Verdict {
        configured.verify(&self.request(), secrets, &Fetched::nothing(), NOW)
    }

    fn reason(&self, configured: &Configured, secrets: &[Secret]) -> Option<Reason> {
        match self.verify(configured, secrets) {
            Verdict::Invalid(reason) => Some(reason),
            _ => None,
        }
    }

    fn header(&mut self, name: &str) -> &mut String {
        &mut self.headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)).expect("the header").1
    }
}

fn configured(provider: &str, variant: Option<&str>) -> Configured {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&provider.parse().unwrap()).unwrap().expect("a profile");
    profile.configure(variant, None).unwrap()
}

fn generic(verify: &serde_json::Value) -> Configured {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&"generic".parse().unwrap()).unwrap().expect("a profile");
    profile.configure(None, Some(verify)).unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

fn signed(configured: &Configured, secret: &Secret, values: &SampleValues<'_>) -> Delivery {
    let sample = configured.sample(values).unwrap();
    let mut delivery = Delivery { headers: sample.headers, path_token: None, body: sample.body };
    let Signed { headers, path_token } =
        configured.sign(&delivery.request(), Some(&sample.event_id), secret, NOW).unwrap();
    delivery.headers.extend(headers);
    delivery.path_token = path_token;
    delivery
}

fn sample(configured: &Configured, secret: &Secret) -> Delivery {
    signed(configured, secret, &SampleValues { occurred_at: NOW, ..SampleValues::default() })
}

/// Every way to verify that a built-in profile has, and two that only `generic` can be given.
static WAYS: LazyLock<Vec<(String, Configured, Secret)>> = LazyLock::new(every_way);

fn every_way() -> Vec<(String, Configured, Secret)> {
    let profiles = Profiles::built_in();
    let mut ways = Vec::new();
    for name in profiles.names() {
        let profile = profiles.get(&name.parse().unwrap()).unwrap().unwrap();
        let mut variants: Vec<_> = profile.variants().map(Some).collect();
        if variants.is_empty() {
            variants.push(None);
        }
        for variant in variants {
            let configured = profile.configure(variant, None).unwrap();
            let text = match configured.scheme() {
                "standard-webhooks" => STANDARD_SECRET,
                "basic" => "hello:world",
                _ => "generic-secret",
            };
            ways.push((format!("{name}/{}", variant.unwrap_or("-")), configured, secret(text)));
        }
    }
    let everything = json!({
        "header": "X-Sig", "algorithm": "sha512", "encoding": "base64", "prefix": "v0=", "key_encoding": "hex",
        "signed": "v0:{method}|{url}|{id}|{timestamp}:{body}", "id": "header:X-Id",
        "timestamp": "header:X-Time", "timestamp_unit": "ms", "tolerance": "5m",
    });
    ways.push(("generic/everything".into(), generic(&everything), secret("00ff10")));
    ways.push(("generic/bearer".into(), generic(&json!({"scheme": "bearer"})), secret("generic-secret")));
    ways
}

#[test]
fn a_signed_sample_is_valid_and_yields_one_event_with_what_was_set() {
    for (name, configured, secret) in WAYS.clone() {
        let set = json!({"n": 1});
        let values = SampleValues {
            event_id: Some("id-77"),
            resource: Some("res-9"),
            occurred_at: NOW,
            set: Some(&set),
            ..SampleValues::default()
        };
        let delivery = signed(&configured, &secret, &values);
        let verdict = delivery.verify(&configured, std::slice::from_ref(&secret));
        assert!(matches!(verdict, Verdict::Valid { secret_index: 0, .. }), "{name}: {verdict:?}");
        let decoded = configured.decode(&delivery.request()).unwrap();
        let [event] = decoded.events.as_slice() else { panic!("{name}: {} events", decoded.events.len()) };
        let provider = name.split('/').next().unwrap();
        let expected = (!WITHOUT_ID.contains(&provider)).then_some("id-77");
        assert_eq!(event.event_id.as_deref(), expected, "{name}");
        assert_eq!(event.resource.as_deref(), Some("res-9"), "{name}");
        assert_eq!(event.disposition, Disposition::Accepted, "{name}");
        let time = event.occurred_at.or((name == "github/-").then_some(NOW));
        assert_eq!(time, Some(NOW), "{name}");

        let other = json!({"n": 2});
        let changed = signed(&configured, &secret, &SampleValues { set: Some(&other), ..values });
        let changed = &configured.decode(&changed.request()).unwrap().events[0];
        // Where the content is part of the identity, what is set makes another event.
        assert!(changed.identity == event.identity || provider == "zoom", "{name}");
        assert_ne!(changed.digest, event.digest, "{name}: what is set makes another payload of the same event");
    }
}

#[test]
fn a_rotation_tries_every_secret_and_says_which_one_it_was() {
    for (name, configured, secret) in WAYS.clone() {
        let other = match configured.scheme() {
            "standard-webhooks" => Secret::new("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap(),
            "path-token" => Secret::new("another").unwrap(),
            _ if name == "generic/everything" => Secret::new("0101").unwrap(),
            _ => Secret::new("an:other").unwrap(),
        };
        let delivery = sample(&configured, &secret);
        let verdict = delivery.verify(&configured, &[other.clone(), secret]);
        assert!(matches!(verdict, Verdict::Valid { secret_index: 1, .. }), "{name}: {verdict:?}");
        let refused = delivery.reason(&configured, &[other]);
        assert!(matches!(refused, Some(Reason::SignatureMismatch | Reason::CredentialMismatch)), "{name}: {refused:?}");
    }
}

#[test]
fn without_a_secret_nothing_is_valid_and_the_configuration_is_to_blame() {
    for (name, configured, secret) in WAYS.clone() {
        let delivery = sample(&configured, &secret);
        let verdict = delivery.verify(&configured, &[]);
        assert_eq!(verdict, Verdict::Misconfigured(Misconfiguration::NoSecret), "{name}");
    }
}

#[test]
fn a_broken_configuration_shows_with_any_request() {
    let nobody = Delivery { headers: vec![], path_token: None, body: b"{}".to_vec() };
    let encoding = Verdict::Misconfigured(Misconfiguration::SecretEncoding { index: 1 });
    let standard = configured("standard-webhooks", None);
    for bad in ["whsec_", "whsec_!!", "whpk_AAAA", "not base64"] {
        let verdict = nobody.verify(&standard, &[secret(STANDARD_SECRET), secret(bad)]);
        assert_eq!(verdict, encoding, "{bad}");
    }
    let basic = configured("thumbtack", None);
    assert_eq!(nobody.verify(&basic, &[secret("a:b"), secret("no-colon")]), encoding);
    let path = configured("yelp", None);
    for bad in ["a/b", "a?b", "a b", "ü"] {
        assert_eq!(nobody.verify(&path, &[secret("good"), secret(bad)]), encoding, "{bad} is no segment of a path");
    }
    let hex = generic(&json!({"key_encoding": "hex"}));
    assert_eq!(nobody.verify(&hex, &[secret("00"), secret("0")]), encoding);
    let url = generic(&json!({"signed": "{url}{body}"}));
    let mut request = nobody.request();
    request.url = None;
    let verdict = url.verify(&request, &[secret("x")], &Fetched::nothing(), NOW);
    assert_eq!(verdict, Verdict::Misconfigured(Misconfiguration::NoUrl));
    assert_eq!(url.sign(&request, None, &secret("x"), NOW), Err(SignError::NoUrl));
}

#[test]
fn a_missing_empty_or_repeated_header_is_refused() {
    for (name, configured, secret) in WAYS.clone() {
        let secrets = [secret];
        let delivery = sample(&configured, &secrets[0]);
        let own = configured.sign(&delivery.request(), Some("id"), &secrets[0], NOW).unwrap();
        for (header, _) in &own.headers {
            let mut missing = delivery.clone();
            missing.headers.retain(|(known, _)| known != header);
            assert!(missing.reason(&configured, &secrets).is_some(), "{name} without {header}");

            let mut empty = delivery.clone();
            " ".clone_into(empty.header(header));
            assert!(empty.reason(&configured, &secrets).is_some(), "{name} with an empty {header}");

            let mut twice = delivery.clone();
            let value = twice.header(header).clone();
            twice.headers.push((header.to_lowercase(), value));
            assert_eq!(twice.reason(&configured, &secrets), Some(Reason::DuplicateHeader), "{name}, {header} twice");
        }
        if own.path_token.is_some() {
            for token in [None, Some(String::new())] {
                let missing = Delivery { path_token: token, ..delivery.clone() };
                assert_eq!(missing.reason(&configured, &secrets), Some(Reason::MissingCredential), "{name}");
            }
        }
    }
}

#[test]
fn no_message_holds_a_signature_or_a_secret() {
    for (name, configured, secret) in WAYS.clone() {
        let mut delivery = sample(&configured, &secret);
        let own = configured.sign(&delivery.request(), Some("id"), &secret, NOW).unwrap();
        delivery.body.push(b' ');
        delivery.path_token = delivery.path_token.map(|token| format!("{token}x"));
        for (_, value) in &mut delivery.headers {
            value.push('0');
        }
        let verdict = delivery.verify(&configured, std::slice::from_ref(&secret));
        let Verdict::Invalid(reason) = verdict else { panic!("{name}: {verdict:?}") };
        let shown = format!("{reason} {reason:?} {} {secret:?}", reason.code());
        for value in own.headers.iter().map(|(_, value)| value).chain(&own.path_token) {
            assert!(!shown.contains(value.as_str()), "{name}: {shown}");
        }
    }
}

#[test]
fn stripe_looks_into_the_past_only_and_the_edge_counts() {
    let (stripe, secrets) = (configured("stripe", None), [secret("whsec_test")]);
    let delivery = sample(&stripe, &secrets[0]);
    let at = |seconds: i64| {
        let now = Timestamp::from_seconds(1_760_000_000 + seconds);
        stripe.verify(&delivery.request(), &secrets, &Fetched::nothing(), now)
    };
    let valid = Verdict::Valid { secret_index: 0, signed_at: Some(NOW), once: None };
    assert_eq!((at(300), at(-100_000)), (valid.clone(), valid));
    assert_eq!(at(301), Verdict::Invalid(Reason::TooOld));
}

#[test]
fn standard_webhooks_look_both_ways() {
    let (standard, secrets) = (configured("standard-webhooks", None), [secret(STANDARD_SECRET)]);
    let delivery = sample(&standard, &secrets[0]);
    let at = |seconds: i64| {
        let now = Timestamp::from_seconds(1_760_000_000 + seconds);
        standard.verify(&delivery.request(), &secrets, &Fetched::nothing(), now)
    };
    let valid = Verdict::Valid { secret_index: 0, signed_at: Some(NOW), once: None };
    assert_eq!((at(300), at(-300)), (valid.clone(), valid));
    assert_eq!(at(301), Verdict::Invalid(Reason::TooOld));
    assert_eq!(at(-301), Verdict::Invalid(Reason::TooNew));
}

#[test]
fn a_list_of_signatures_is_read_to_a_limit_and_joined_headers_are_refused() {
    let (stripe, secrets) = (configured("stripe", None), [secret("whsec_test")]);
    let delivery = sample(&stripe, &secrets[0]);
    let with = |change: &dyn Fn(&str) -> String| {
        let mut changed = delivery.clone();
        let value = changed.header("Stripe-Signature");
        *value = change(value);
        changed.verify(&stripe, &secrets)
    };
    let foreign = format!(",v1={}", "0".repeat(64));
    let valid = |verdict: Verdict| matches!(verdict, Verdict::Valid { .. });
    assert!(valid(with(&|value| format!("{value}{foreign}"))));
    assert!(valid(with(&|value| value.replace(",v1=", &format!("{foreign} , v1=")))));
    assert!(valid(with(&|value| format!("{value},v0=zz,new=1"))), "elements that nobody knows yet are passed over");
    assert_eq!(with(&|value| format!("{value}{}", foreign.repeat(16))), Verdict::Invalid(Reason::TooManySignatures));
    assert_eq!(with(&|value| format!("{value},{value}")), Verdict::Invalid(Reason::DuplicateHeader));
    assert_eq!(with(&|value| value.replace("v1=", "v0=")), Verdict::Invalid(Reason::NoUsableSignature));
    assert_eq!(with(&|value| value.replace("t=", "t=+")), Verdict::Invalid(Reason::MalformedTimestamp));
    assert_eq!(with(&|value| value.to_uppercase()), Verdict::Invalid(Reason::NoUsableSignature));
}

#[test]
fn the_header_does_not_choose_the_algorithm() {
    let (github, secrets) = (configured("github", None), [secret("It's a Secret to Everybody")]);
    let sha1 = generic(&json!({"algorithm": "sha1", "header": "X-Hub-Signature-256", "prefix": "sha1="}));
    let mut delivery = Delivery { headers: vec![], path_token: None, body: b"Hello, World!".to_vec() };
    let headers = sha1.sign(&delivery.request(), None, &secrets[0], NOW).unwrap().headers;
    assert_eq!(headers[0].1, "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59");
    delivery.headers = headers;
    assert_eq!(delivery.reason(&github, &secrets), Some(Reason::MalformedSignature));
    assert!(matches!(delivery.verify(&sha1, &secrets), Verdict::Valid { .. }));
}

#[test]
fn yelp_is_greeted_back_only_on_the_secret_path_and_only_with_letters_and_digits() {
    let (yelp, secrets) = (configured("yelp", None), [secret("y-9f2c3b7a1d")]);
    let ask = |query: &str, token: Option<&str>, method: &str| {
        let request = Request { method, path_token: token, url: None, query: Some(query), headers: &[], body: b"" };
        yelp.handshake(&request, &secrets, &Fetched::nothing(), NOW)
    };
    let Some(Handshake::Answer(answer)) = ask("verification=abc123", Some("y-9f2c3b7a1d"), "GET") else {
        panic!("no answer")
    };
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"verification":"abc123"}"#));
    assert_eq!(answer.content_type.as_deref(), Some("application/json"));
    let refused = Some(Handshake::Refused(Verdict::Invalid(Reason::CredentialMismatch)));
    assert_eq!(ask("verification=abc123", Some("wrong"), "GET"), refused);
    let long = "a".repeat(257);
    for query in ["", "verification=", "verification=%3Cscript%3E", &format!("verification={long}"), "other=1"] {
        assert_eq!(ask(query, Some("y-9f2c3b7a1d"), "GET"), None, "{query}");
    }
    assert_eq!(ask("verification=a&verification=b", Some("y-9f2c3b7a1d"), "GET"), None);
    assert_eq!(ask("verification=abc123", Some("y-9f2c3b7a1d"), "POST"), None);
}

/// Flips one bit of a text or of bytes; `None` where that would be no text any more.
fn flip_text(text: &str, bit: usize) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let bit = bit % (bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
    String::from_utf8(bytes).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn one_flipped_bit_of_the_body_or_the_signature_is_never_accepted(bit in any::<usize>(), of_body in any::<bool>()) {
        for (name, configured, secret) in WAYS.clone() {
            let secrets = [secret];
            let delivery = sample(&configured, &secrets[0]);
            let signs_body = matches!(configured.scheme(), "hmac" | "standard-webhooks");
            let mut changed = delivery.clone();
            if of_body {
                if !signs_body {
                    continue;
                }
                let bit = bit % (changed.body.len() * 8);
                changed.body[bit / 8] ^= 1 << (bit % 8);
            } else if let Some(token) = &delivery.path_token {
                changed.path_token = flip_text(token, bit);
            } else {
                let own = configured.sign(&delivery.request(), Some("id"), &secrets[0], NOW).unwrap();
                let (header, _) = own.headers.last().unwrap();
                let value = changed.header(header);
                let Some(flipped) = flip_text(value, bit) else { continue };
                // The name of an authentication scheme is read in any case, and so is `generic`'s hexadecimal.
                if flipped.eq_ignore_ascii_case(value) && (!signs_body || name == "generic/-") {
                    continue;
                }
                *value = flipped;
            }
            let verdict = changed.verify(&configured, &secrets);
            prop_assert!(matches!(verdict, Verdict::Invalid(_)), "{}: {:?}", name, verdict);
        }
    }

    #[test]
    fn no_request_makes_anything_panic(
        headers in prop::collection::vec(("(?i)x-hub-signature-256|stripe-signature|webhook-(id|timestamp|signature)|authorization|x-signature|x-github-event|content-type", "[ -~]{0,60}"), 0..6),
        token in prop::option::of(".{0,10}"),
        query in prop::option::of("[a-z=&%+0-9]{0,30}"),
        body in prop::collection::vec(any::<u8>(), 0..200),
        json in r#"[\[{]{1,3}("[a-z_.]{0,12}":|[0-9"e.,:\[\]{}\\u]){0,30}[\]}]{0,3}"#,
        use_json in any::<bool>(),
    ) {
        let body = if use_json { json.into_bytes() } else { body };
        for (_, configured, secret) in WAYS.clone() {
            let request = Request {
                method: "GET", path_token: token.as_deref(), url: None, query: query.as_deref(), headers: &headers, body: &body,
            };
            let secrets = [secret];
            let verdict = configured.verify(&request, &secrets, &Fetched::nothing(), NOW);
            let valid = matches!(verdict, Verdict::Valid { .. });
            prop_assert!(!valid);
            let _ = configured.handshake(&request, &secrets, &Fetched::nothing(), NOW);
            let _ = configured.decode(&request);
        }
    }
}
