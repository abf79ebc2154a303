//! Every built-in profile, signed and verified: what is valid, what is not, and that nothing in between is.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ways;

use std::ops::Range;

use hookbox_core::event::Disposition;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Fetched, Handshake, Misconfiguration, Reason, Request, SampleValues, SignError, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};
use ways::{Delivery, NOW, STANDARD_SECRET, WAYS, Way, configured, generic, secret};

/// Providers whose events have no id of their own.
const WITHOUT_ID: [&str; 3] = ["calendly", "zoom", "discord"];

#[test]
fn a_signed_sample_is_valid_and_yields_one_event_with_what_was_set() {
    for way in WAYS.iter() {
        let (name, provider) = (&way.name, way.provider());
        let set = json!({"n": 1});
        let values = SampleValues {
            event_id: Some("id-77"),
            resource: Some("res-9"),
            occurred_at: NOW,
            set: Some(&set),
            ..SampleValues::default()
        };
        let delivery = way.signed(&values);
        if way.is_signable() {
            let verdict = delivery.verify(&way.configured, &way.secrets());
            assert!(matches!(verdict, Verdict::Valid { secret_index: 0, .. }), "{name}: {verdict:?}");
        }
        let decoded = way.configured.decode(&delivery.request()).unwrap();
        let [event] = decoded.events.as_slice() else { panic!("{name}: {} events", decoded.events.len()) };
        let expected = match name.as_str() {
            "adyen/payments" | "adyen/banking" => Some("id-77:AUTHORISATION:true"),
            _ => (!WITHOUT_ID.contains(&provider)).then_some("id-77"),
        };
        assert_eq!(event.event_id.as_deref(), expected, "{name}");
        assert_eq!(event.resource.as_deref(), Some("res-9"), "{name}");
        assert_eq!(event.disposition, Disposition::Accepted, "{name}");
        let time = event.occurred_at.or((provider == "github").then_some(NOW));
        assert_eq!(time, Some(NOW), "{name}");

        let other = json!({"n": 2});
        let changed = way.signed(&SampleValues { set: Some(&other), ..values });
        let changed = &way.configured.decode(&changed.request()).unwrap().events[0];
        // Where the content is part of the identity, what is set makes another event.
        assert!(changed.identity == event.identity || ["zoom", "discord"].contains(&provider), "{name}");
        assert_ne!(changed.digest, event.digest, "{name}: what is set makes another payload of the same event");
    }
}

fn signable() -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(|way| way.is_signable())
}

#[test]
fn a_rotation_tries_every_secret_and_says_which_one_it_was() {
    for way in signable() {
        let name = &way.name;
        let delivery = way.sample();
        let verdict = delivery.verify(&way.configured, &[way.other.clone(), way.verifying.clone()]);
        assert!(matches!(verdict, Verdict::Valid { secret_index: 1, .. }), "{name}: {verdict:?}");
        let refused = delivery.reason(&way.configured, std::slice::from_ref(&way.other));
        assert!(matches!(refused, Some(Reason::SignatureMismatch | Reason::CredentialMismatch)), "{name}: {refused:?}");
    }
}

#[test]
fn without_a_secret_nothing_is_valid_and_the_configuration_is_to_blame() {
    for way in WAYS.iter().filter(|way| way.configured.needs_secret()) {
        let verdict = way.sample().verify(&way.configured, &[]);
        assert_eq!(verdict, Verdict::Misconfigured(Misconfiguration::NoSecret), "{}", way.name);
    }
}

#[test]
fn a_broken_configuration_shows_with_any_request() {
    let nobody = Delivery::new(b"{}");
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
fn a_broken_configuration_shows_before_there_is_a_request() {
    for way in WAYS.iter() {
        let token = secret("verify_token:t");
        let secrets = [way.verifying.clone(), token];
        let secrets = if way.provider() == "sendgrid" { &secrets[..0] } else { &secrets[..] };
        let meta = ["facebook", "instagram", "whatsapp"].contains(&way.provider());
        let one = &secrets[..secrets.len().min(1)];
        let expected = match way.provider() {
            // Its secret is a key of a form that the sample's is not.
            "sendgrid" => Err(Misconfiguration::NoSecret),
            "google-pubsub" => Err(Misconfiguration::NoEmail),
            _ => Ok(()),
        };
        let given = if meta { secrets } else { one };
        assert_eq!(way.configured.check(Some(ways::URL), given), expected, "{}", way.name);
        if meta {
            assert_eq!(way.configured.check(None, one), Err(Misconfiguration::NoVerifyToken), "{}", way.name);
        }
        if way.configured.signs_url() {
            assert_eq!(way.configured.check(None, one), Err(Misconfiguration::NoUrl), "{}", way.name);
        }
    }
    let encoding = Misconfiguration::SecretEncoding { index: 1 };
    let standard = configured("standard-webhooks", None);
    assert_eq!(standard.check(None, &[secret(STANDARD_SECRET), secret("whsec_!")]), Err(encoding));
}

#[test]
fn a_missing_empty_or_repeated_header_is_refused() {
    for way in signable() {
        let (name, secrets) = (&way.name, way.secrets());
        let delivery = way.sample();
        for (header, _) in way.own_headers(&delivery) {
            let mut missing = delivery.clone();
            missing.headers.retain(|(known, _)| *known != header);
            assert!(missing.reason(&way.configured, &secrets).is_some(), "{name} without {header}");

            let mut empty = delivery.clone();
            " ".clone_into(empty.header(&header));
            assert!(empty.reason(&way.configured, &secrets).is_some(), "{name} with an empty {header}");

            let mut twice = delivery.clone();
            let value = twice.header(&header).clone();
            twice.headers.push((header.to_lowercase(), value));
            let reason = twice.reason(&way.configured, &secrets);
            assert_eq!(reason, Some(Reason::DuplicateHeader), "{name}, {header} twice");
        }
        if delivery.path_token.is_some() {
            for token in [None, Some(String::new())] {
                let missing = Delivery { path_token: token, ..delivery.clone() };
                assert_eq!(missing.reason(&way.configured, &secrets), Some(Reason::MissingCredential), "{name}");
            }
        }
    }
}

#[test]
fn no_message_holds_a_signature_or_a_secret() {
    for way in signable() {
        let name = &way.name;
        let delivery = way.sample();
        let verdict = delivery.verify(&way.configured, std::slice::from_ref(&way.other));
        let Verdict::Invalid(reason) = verdict else { panic!("{name}: {verdict:?}") };
        let shown = format!("{reason} {reason:?} {} {:?}", reason.code(), way.verifying);
        for value in way.own_headers(&delivery).iter().map(|(_, value)| value).chain(&delivery.path_token) {
            assert!(!shown.contains(value.as_str()), "{name}: {shown}");
        }
        assert!(!shown.contains("generic-secret"), "{name}: {shown}");
    }
}

#[test]
fn stripe_looks_into_the_past_only_and_the_edge_counts() {
    let (stripe, secrets) = (configured("stripe", None), [secret("generic-secret")]);
    let delivery = sample("stripe/-");
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
    let delivery = sample("standard-webhooks/-");
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
    let (stripe, secrets) = (configured("stripe", None), [secret("generic-secret")]);
    let delivery = sample("stripe/-");
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
    let mut delivery = Delivery::new(b"Hello, World!");
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

fn sample(name: &str) -> Delivery {
    WAYS.iter().find(|way| way.name == name).expect("the way").sample()
}

/// A signed request with one bit flipped, and where.
struct Flipped {
    part: String,
    delivery: Delivery,
}

/// The sample in which one bit of each signed part is flipped. What is left out says the same when it is written otherwise,
/// or is not signed at all.
fn flipped(way: &Way, bit: usize) -> Vec<Flipped> {
    let delivery = signed_with_query(way);
    let scheme = way.configured.scheme();
    let is_credential = matches!(scheme, "basic" | "bearer" | "token" | "path-token");
    let mut all = Vec::new();
    let mut add = |part: &str, delivery: Delivery| all.push(Flipped { part: part.to_owned(), delivery });

    // A password vouches for no body; some fields of a body are signed, and the signature beside them.
    let spans: Vec<Range<usize>> = match scheme {
        _ if is_credential => Vec::new(),
        "body-fields" => signed_members(way, &delivery.body),
        _ => std::iter::once(0..delivery.body.len()).collect(),
    };
    for span in spans {
        let mut changed = delivery.clone();
        let bit = bit % (span.len() * 8);
        changed.body[span.start + bit / 8] ^= 1 << (bit % 8);
        // A digit of an escape may be written in any case.
        let form = |body: &[u8]| form_urlencoded::parse(body).into_owned().collect::<Vec<_>>();
        if scheme != "url-form" || form(&changed.body) != form(&delivery.body) {
            add("the body", changed);
        }
    }
    for (name, _) in way.own_headers(&delivery) {
        let mut changed = delivery.clone();
        let value = changed.header(&name);
        let flipped = flip(value, bit);
        // The name of an authentication scheme is read in any case, and so are hexadecimal digits by some.
        let any_case = matches!(scheme, "basic" | "bearer") && bit / 7 % value.len() < 6
            || ["generic/-", "discord/-"].contains(&way.name.as_str());
        if !(any_case && flipped.eq_ignore_ascii_case(value)) {
            *value = flipped;
            add(&name, changed);
        }
    }
    if let Some(token) = &delivery.path_token {
        add("the path", Delivery { path_token: Some(flip(token, bit)), ..delivery.clone() });
    }
    if let Some(query) = &delivery.query {
        add("the query", Delivery { query: Some(flip(query, bit)), ..delivery.clone() });
    }
    all
}

/// A sample sent to a URL with a query, where that is signed.
fn signed_with_query(way: &Way) -> Delivery {
    if !way.configured.signs_url() {
        return way.sample();
    }
    let sample = way.configured.sample(&SampleValues { occurred_at: NOW, ..SampleValues::default() }).unwrap();
    let query = Some("a=1&b=x".to_owned());
    let mut delivery = Delivery { headers: sample.headers, query: query.clone(), ..Delivery::new(&sample.body) };
    delivery.sign(&way.configured, &sample.event_id, &way.signing).unwrap();
    Delivery { query: delivery.query.clone().or(query), ..delivery }
}

/// Where the signed members of a body and their signature stand.
fn signed_members(way: &Way, body: &[u8]) -> Vec<Range<usize>> {
    let item = "/notificationItems/0/NotificationRequestItem";
    let (above, names): (_, &[&str]) = match way.provider() {
        "mailgun" => ("/signature", &["timestamp", "token", "signature"]),
        _ => (
            item,
            &[
                "pspReference",
                "originalReference",
                "merchantAccountCode",
                "merchantReference",
                "amount/value",
                "amount/currency",
                "eventCode",
                "success",
                "additionalData/hmacSignature",
            ],
        ),
    };
    let (text, value) = (std::str::from_utf8(body).unwrap(), serde_json::from_slice::<Value>(body).unwrap());
    let place = |name: &&str| {
        let source = value.pointer(&format!("{above}/{name}")).expect("a signed member").to_string();
        let name = name.rsplit('/').next().unwrap();
        let start = text.find(&format!("\"{name}\":{source}")).expect("the member") + name.len() + 3;
        start..start + source.len()
    };
    names.iter().map(place).collect()
}

/// One of the seven bits of a character: with the eighth it would be no text any more.
fn flip(text: &str, bit: usize) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let bit = bit % (bytes.len() * 7);
    bytes[bit / 7] ^= 1 << (bit % 7);
    String::from_utf8(bytes).expect("a text without its eighth bits")
}

/// What is written at the end of base64 is looked at to the last bit, which counts for nothing.
#[test]
fn every_bit_of_the_end_of_a_signature_counts() {
    for way in signable() {
        let (delivery, secrets) = (way.sample(), way.secrets());
        for (name, value) in way.own_headers(&delivery) {
            for bit in value.len().saturating_sub(4) * 7..value.len() * 7 {
                let text = flip(&value, bit);
                if text.eq_ignore_ascii_case(&value) && ["generic/-", "discord/-"].contains(&way.name.as_str()) {
                    continue;
                }
                let mut changed = delivery.clone();
                *changed.header(&name) = text;
                let verdict = changed.verify(&way.configured, &secrets);
                assert!(matches!(verdict, Verdict::Invalid(_)), "{}, {name}, bit {bit}: {verdict:?}", way.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn one_flipped_bit_of_the_body_or_the_signature_is_never_accepted(bit in any::<usize>()) {
        let mut count = 0;
        for way in signable() {
            for Flipped { part, delivery } in flipped(way, bit) {
                let verdict = delivery.verify(&way.configured, &way.secrets());
                prop_assert!(matches!(verdict, Verdict::Invalid(_)), "{}, {}: {:?}", way.name, part, verdict);
                count += 1;
            }
        }
        prop_assert!(count > signable().count(), "{} parts", count);
    }

    #[test]
    fn no_request_makes_anything_panic(
        headers in prop::collection::vec(("(?i)x-hub-signature-256|stripe-signature|webhook-(id|timestamp|signature)|authorization|x-signature|x-github-event|content-type|x-twilio-signature|paddle-signature|paypal-(cert-url|transmission-(id|time|sig))", "[ -~]{0,60}"), 0..6),
        token in prop::option::of(".{0,10}"),
        query in prop::option::of("[a-z=&%+0-9]{0,30}"),
        body in prop::collection::vec(any::<u8>(), 0..200),
        json in r#"[\[{]{1,3}("[a-z_.]{0,12}":|[0-9"e.,:\[\]{}\\u]){0,30}[\]}]{0,3}"#,
        use_json in any::<bool>(),
    ) {
        let body = if use_json { json.into_bytes() } else { body };
        for way in WAYS.iter() {
            let configured = &way.configured;
            let request = Request {
                method: ["GET", "POST", "HEAD"][body.len() % 3], path_token: token.as_deref(), url: Some(ways::URL), query: query.as_deref(), headers: &headers, body: &body,
            };
            let secrets = way.secrets();
            let verdict = configured.verify(&request, &secrets, &Fetched::nothing(), NOW);
            let valid = matches!(verdict, Verdict::Valid { .. });
            prop_assert!(!valid);
            let _ = configured.handshake(&request, &secrets, &Fetched::nothing(), NOW);
            let _ = configured.decode(&request);
            let _ = configured.acknowledgement(&request);
        }
    }
}
