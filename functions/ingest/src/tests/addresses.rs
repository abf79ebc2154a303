//! The address that a provider signs comes from the configuration, its query and what follows the account from the
//! request, and nothing of it from a header.

use hookbox_core::integration::Integration;
use hookbox_providers::{Profiles, Request, SampleValues, Secret};
use serde_json::{Value, json};

use super::stage::{NOW, SECRET, Stage, delivery, integration};
use super::stored_nothing;
use super::vectors::Signed;

const BASE: &str = "https://hooks.example.com/stage";

/// A path that API Gateway cannot hand over: no request line holds a blank.
const IMPOSSIBLE: [&str; 1] = ["sdk_inbound_unicode_query_decoded"];

#[tokio::test]
async fn what_providers_sign_is_the_configured_address_with_the_query_of_the_request() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for provider in ["twilio", "square", "hubspot", "mandrill"] {
        for signed in Signed::all(provider) {
            if IMPOSSIBLE.contains(&signed.name.as_str()) {
                continue;
            }
            let stage = Stage::new().await;
            stage.clock.set(signed.now);
            let variant = match signed.scheme.as_str() {
                scheme if scheme.starts_with("twilio-sha256") => Some("shared-key"),
                scheme => scheme.strip_prefix("hubspot-"),
            };
            let variant = variant.map(str::to_owned);
            stage.configure(&Integration { variant, ..signed.integration() }).await;
            let mut event = signed.event();
            // Whatever a proxy says, or somebody who wants us to believe it.
            event["headers"]["host"] = "elsewhere.example".into();
            event["headers"]["x-forwarded-proto"] = "http".into();
            event["headers"]["x-forwarded-host"] = "elsewhere.example".into();
            event["headers"]["x-original-url"] = "https://elsewhere.example/".into();
            let status = stage.answer(event).await.status;
            // Some of the bodies are no events: those are refused afterwards, and otherwise.
            let refused = if signed.url.is_some() { 401 } else { 503 };
            let judged = if signed.valid { ![401, 503].contains(&status) } else { status == refused };
            if !judged {
                wrong.push(format!("{provider} {}: {status}", signed.name));
            }
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
    assert_eq!(wrong, [""; 0]);
}

/// A delivery of Square's, signed for `url`.
fn square(url: &str, path: &str, query: &str) -> Value {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&"square".parse().unwrap()).unwrap().expect("a profile").configure(None, None).unwrap();
    let sample = profile.sample(&SampleValues { occurred_at: NOW, ..SampleValues::default() }).unwrap();
    let query_of = Some(query).filter(|query| !query.is_empty());
    let request = Request {
        method: "POST",
        path_token: None,
        url: Some(url),
        query: query_of,
        headers: &sample.headers,
        body: &sample.body,
    };
    let signed = profile.sign(&request, None, &Secret::new(SECRET).unwrap(), NOW).unwrap();
    let mut event = delivery(path, &[sample.headers, signed.headers].concat(), &sample.body);
    event["rawQueryString"] = query.into();
    event
}

#[tokio::test]
async fn an_address_is_signed_to_the_last_byte_of_its_path_and_query() {
    let own = format!("{BASE}/hooks/square/demo");
    // What no encoder would leave, or make, as it is.
    let query = "a[]=1&b=c|d&e=%2F+%2f&f={g}&h=`^\\&=&&?";
    let cases = [
        (own.clone(), "/hooks/square/demo", "", 200),
        (own.clone(), "/prod/hooks/square/demo", "", 200),
        (own.clone(), "/hooks/square/demo", query, 200),
        (format!("{own}/"), "/hooks/square/demo/", query, 200),
        (format!("{own}/s3cret"), "/hooks/square/demo/s3cret", query, 200),
        (format!("{own}/"), "/hooks/square/demo", "", 401),
        (own.clone(), "/hooks/square/demo/", "", 401),
        (format!("{own}/s3cret"), "/hooks/square/demo/other", "", 401),
        ("https://elsewhere.example/hooks/square/demo".to_owned(), "/hooks/square/demo", "", 401),
    ];
    for (signed_for, path, query, expected) in cases {
        let stage = Stage::new().await;
        stage.configure(&Integration { url: Some(own.clone()), ..integration("square") }).await;
        let event = square(&signed_for, path, query);
        assert_eq!(stage.answer(event.clone()).await.status, expected, "{signed_for} {path} {query}");
        let mut another = event;
        another["rawQueryString"] = format!("{query}&").into();
        assert_eq!(stage.answer(another).await.status, 401, "another query than {query}");
    }
}

#[tokio::test]
async fn an_address_in_front_of_ours_is_taken_as_it_stands() {
    let stage = Stage::new().await;
    let proxy = "https://proxy.example/square";
    stage.configure(&Integration { url: Some(proxy.to_owned()), ..integration("square") }).await;
    assert_eq!(stage.answer(square(proxy, "/hooks/square/demo/x", "a=1")).await.status, 200);
    // And the one in `verify` counts before both.
    let stage = Stage::new().await;
    let verify = Some(json!({"url": "https://first.example/"}));
    stage.configure(&Integration { url: Some(proxy.to_owned()), verify, ..integration("square") }).await;
    assert_eq!(stage.answer(square("https://first.example/", "/hooks/square/demo", "")).await.status, 200);
    assert_eq!(stage.answer(square(proxy, "/hooks/square/demo", "")).await.status, 401);
}

#[tokio::test]
async fn without_an_address_what_signs_it_is_refused_and_an_alarm() {
    let stage = Stage::new().await;
    stage.configure(&Integration { url: None, ..integration("square") }).await;
    let answer = stage.answer(square("https://h.example/hooks/square/demo", "/hooks/square/demo", "")).await;
    assert_eq!((answer.status, stage.counted("VerifierBroken")), (503, 1));
    assert!(stored_nothing(&stage).await);
}
