//! Every signed request in `tests/vectors` gets its verdict, and every body in `tests/payloads` yields its events.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hookbox_core::event::{Disposition, Event};
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, DecodeError, Delivery, Profiles, Request, Vector, Verdict};
use serde_json::Value;

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

/// Every vector of every file, with the file's name.
fn vectors() -> Vec<(String, Vector)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder("vectors")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut vectors = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let values = read_json(&path).as_array().unwrap().clone();
        vectors.extend(values.into_iter().map(|value| (name.clone(), Vector::new(value))));
    }
    vectors
}

#[test]
fn every_vector_gets_its_verdict() {
    let profiles = Profiles::built_in();
    let mut wrong = Vec::new();
    let vectors = vectors();
    for (file, vector) in &vectors {
        let expected = vector.expects_valid().unwrap();
        match vector.judge(&profiles) {
            Ok(verdict) if matches!(verdict, Verdict::Valid { .. }) == expected => {}
            other => wrong.push(format!("{file}/{}: expected valid: {expected}, got {other:?}", vector.name())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(vectors.len() >= VECTORS, "only {} vectors were found", vectors.len());
}

/// So many files were there when this was written.
const VECTORS: usize = 167;
const PAYLOADS: usize = 81;

struct Body {
    file: String,
    configured: Configured,
    headers: Vec<(String, String)>,
    bytes: Vec<u8>,
    expected: Vec<Value>,
}

impl Body {
    fn request(&self) -> Request<'_> {
        let (headers, body) = (&self.headers, &self.bytes);
        Request { method: "POST", path_token: None, url: None, query: None, headers, body }
    }

    fn decode(&self) -> Result<Delivery, DecodeError> {
        self.configured.decode(&self.request())
    }

    /// The events with a key of their own: the same one twice in a delivery is one.
    fn events(&self) -> Vec<Event> {
        let delivery = self.decode().unwrap_or_else(|error| panic!("{}: {error}", self.file));
        if !delivery.batch {
            assert_eq!(delivery.events[0].payload.body, self.bytes, "{}: one event's payload is the body", self.file);
        }
        let mut keys = HashSet::new();
        delivery.events.into_iter().filter(|event| keys.insert(key(event))).collect()
    }
}

fn key(event: &Event) -> ReceiptId {
    ReceiptId::derive(&"p".parse().unwrap(), &"a".parse().unwrap(), &event.identity, None)
}

fn bodies() -> Vec<Body> {
    let profiles = Profiles::built_in();
    let index = read_json(&folder("payloads").join("index.json"));
    let entries = index.as_array().unwrap().iter();
    entries
        .map(|entry| {
            let file = text(entry, "file").to_owned();
            let profile = profiles.get(&text(entry, "provider").parse().unwrap()).unwrap().expect("a profile");
            let headers = entry["headers"].as_object().unwrap().iter();
            Body {
                configured: profile.configure(None, None).unwrap(),
                headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect(),
                bytes: std::fs::read(folder("payloads").join(&file)).unwrap(),
                expected: entry["events"].as_array().unwrap().clone(),
                file,
            }
        })
        .collect()
}

#[test]
fn every_payload_yields_exactly_its_events() {
    let bodies = bodies();
    let mut wrong = Vec::new();
    for body in bodies.iter().filter(|body| !body.expected.is_empty()) {
        let events = body.events();
        if events.len() != body.expected.len() {
            wrong.push(format!("{}: {} events, not {}", body.file, events.len(), body.expected.len()));
        }
        for (event, expected) in events.iter().zip(&body.expected) {
            wrong.extend(differences(event, expected).into_iter().map(|what| format!("{}: {what}", body.file)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bodies.len() >= PAYLOADS, "only {} payloads were found", bodies.len());
}

/// What differs from the fields that are expected.
fn differences(event: &Event, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |name: &str, got: Option<&str>| match expected.get(name) {
        Some(value) if value.as_str() != got => wrong.push(format!("{name} is {got:?}, not {value}")),
        _ => {}
    };
    check("event_id", event.event_id.as_deref());
    check("kind", Some(&event.kind));
    check("resource_id", event.resource.as_deref());
    check("account_id", event.tenant.as_deref());
    if event.disposition != Disposition::Accepted {
        wrong.push(format!("{} is {:?}", event.kind, event.disposition));
    }
    let at = match expected.get("occurred_at") {
        None => event.occurred_at,
        Some(Value::String(at)) => Timestamp::parse_rfc3339(at).or_else(|| Timestamp::parse_rfc3339(&format!("{at}Z"))),
        Some(Value::Number(at)) => {
            let number = at.as_f64().unwrap();
            let millis = if number > 1e11 { number } else { (number * 1000.0).floor() };
            #[allow(clippy::cast_possible_truncation)]
            Some(Timestamp::from_millis(millis as i64))
        }
        Some(_) => None,
    };
    if at != event.occurred_at {
        wrong.push(format!("occurred_at is {:?}, not {at:?}", event.occurred_at));
    }
    wrong
}

#[test]
fn distinct_events_have_distinct_keys_over_all_payloads_of_a_provider() {
    let mut seen: HashSet<(String, ReceiptId)> = HashSet::new();
    for body in bodies().iter().filter(|body| !body.expected.is_empty()) {
        for event in body.events() {
            // Some payloads hold the same example again: then even the content is the same.
            let folder = body.file.split('/').next().unwrap();
            let fresh = seen.insert((folder.to_owned(), key(&event)));
            let shared_id = ["github", "sentry", "facebook"].contains(&folder);
            assert!(fresh || shared_id, "{}: {:?}", body.file, event.identity);
        }
    }
}
