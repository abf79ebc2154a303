//! Every signed request in `tests/vectors` gets its verdict, and every body in `tests/payloads` yields its events.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::event::{Disposition, Event};
use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, Fetched, Profiles, Request, Secret, Verdict};
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The profile as the vector's own parameters ask for it.
fn configured(profiles: &Profiles, vector: &Value) -> Configured {
    let profile = profiles.get(&text(vector, "provider").parse().unwrap()).unwrap().expect("a profile");
    let mut overrides = serde_json::Map::new();
    if let Some(tolerance) = vector["tolerance_secs"].as_u64() {
        overrides.insert("tolerance".into(), json!(format!("{tolerance}s")));
    }
    if let Some(header) = vector["signature_header"].as_str() {
        overrides.insert("header".into(), json!(header));
    }
    let variant = match text(vector, "scheme") {
        "path-token" => Some("path-token"),
        "hub-sha256" | "stripe-v1" | "standard-webhooks-v1" | "standard-webhooks-v1a" | "basic-auth" => None,
        scheme => {
            let (encoding, algorithm) = scheme.split_once('-').expect("an encoding and an algorithm");
            overrides.insert("encoding".into(), json!(encoding));
            overrides.insert("algorithm".into(), json!(algorithm));
            None
        }
    };
    let overrides = Value::Object(overrides);
    profile.configure(variant, Some(&overrides)).unwrap()
}

fn verdict(profiles: &Profiles, vector: &Value) -> Verdict {
    let configured = configured(profiles, vector);
    let headers: Vec<(String, String)> = vector["headers"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let body = STANDARD.decode(text(vector, "body_b64")).unwrap();
    let url = vector["url"].as_str();
    let request = Request {
        method: text(vector, "method"),
        path_token: url.filter(|_| configured.has_secret_path()).and_then(|url| url.rsplit('/').next()),
        url,
        query: url.and_then(|url| url.split_once('?')).map(|(_, query)| query),
        headers: &headers,
        body: &body,
    };
    // Where a vector has no time, none is looked at.
    let now = Timestamp::from_seconds(vector["now"].as_i64().unwrap_or(0));
    let secrets: Vec<Secret> = Secret::new(text(vector, "secret")).into_iter().collect();
    configured.verify(&request, &secrets, &Fetched::nothing(), now)
}

#[test]
fn every_vector_gets_its_verdict() {
    let profiles = Profiles::built_in();
    let mut wrong = Vec::new();
    let mut count = 0;
    for name in profiles.names() {
        for vector in read_json(&folder("vectors").join(format!("{name}.json"))).as_array().unwrap() {
            count += 1;
            let verdict = verdict(&profiles, vector);
            let valid = matches!(verdict, Verdict::Valid { .. });
            assert!(matches!(text(vector, "expect"), "valid" | "invalid"));
            if valid != (text(vector, "expect") == "valid") {
                wrong.push(format!(
                    "{name}/{}: expected {}, got {verdict:?}",
                    text(vector, "name"),
                    text(vector, "expect")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 53, "only {count} vectors were found");
}

#[test]
fn every_payload_yields_exactly_its_events() {
    let profiles = Profiles::built_in();
    let mut files = 0;
    for entry in read_json(&folder("payloads").join("index.json")).as_array().unwrap() {
        let file = text(entry, "file");
        let profile = profiles.get(&text(entry, "provider").parse().unwrap()).unwrap().expect("a profile");
        let body = std::fs::read(folder("payloads").join(file)).unwrap();
        let headers: Vec<(String, String)> = entry["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        let request =
            Request { method: "POST", path_token: None, url: None, query: None, headers: &headers, body: &body };
        let delivery = profile.configure(None, None).unwrap().decode(&request).unwrap_or_else(|error| {
            panic!("{file}: {error}");
        });
        let expected = entry["events"].as_array().unwrap();
        assert_eq!(delivery.events.len(), expected.len(), "{file}");
        for (event, expected) in delivery.events.iter().zip(expected) {
            compare(file, event, expected);
        }
        if !delivery.batch {
            assert_eq!(delivery.events[0].payload.body, body, "{file}: the payload of one event is the body");
        }
        files += 1;
    }
    assert!(files >= 21, "only {files} payloads were found");
}

fn compare(file: &str, event: &Event, expected: &Value) {
    assert_eq!(event.disposition, Disposition::Accepted, "{file}");
    assert_eq!(event.kind, text(expected, "kind"), "{file}");
    assert_eq!(event.event_id.as_deref(), expected["event_id"].as_str(), "{file}");
    let given = |key: &str| expected.get(key).and_then(Value::as_str);
    if let Some(resource) = given("resource_id") {
        assert_eq!(event.resource.as_deref(), Some(resource), "{file}");
    }
    if let Some(account) = given("account_id") {
        assert_eq!(event.tenant.as_deref(), Some(account), "{file}");
    }
    match expected.get("occurred_at") {
        None => {}
        Some(Value::String(at)) => assert_eq!(event.occurred_at, Timestamp::parse_rfc3339(at), "{file}"),
        Some(at) => {
            let number = at.as_i64().unwrap();
            let millis = if number > 100_000_000_000 { number } else { number * 1000 };
            assert_eq!(event.occurred_at, Some(Timestamp::from_millis(millis)), "{file}");
        }
    }
}
