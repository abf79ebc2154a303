use std::path::Path;

use serde_json::Value;

use super::*;
use crate::terminal::Format;
use crate::testing::{ACME, Captured, terminal, tests_folder};

fn arguments(provider: &str, body: &Path, headers: &[String]) -> DecodeArgs {
    DecodeArgs {
        provider: provider.parse().unwrap(),
        body: body.to_owned(),
        headers: headers.to_vec(),
        profiles: ProfilesArgs::default(),
    }
}

fn decoded(args: &DecodeArgs) -> (Value, Captured) {
    let (mut terminal, captured) = terminal(Format::Table);
    assert_eq!(run(args, &mut terminal).unwrap(), Answer::Yes);
    (captured.json(), captured)
}

/// What of the expected fields is given otherwise; times as instants.
fn differences(found: &Value, expected: &Value) -> Vec<String> {
    let instant = |value: &Value| match value {
        Value::String(text) => {
            ExactTime::parse_rfc3339(text).or_else(|| ExactTime::parse_rfc3339(&format!("{text}Z"))).unwrap()
        }
        Value::Number(number) => {
            let text = number.to_string();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let unit = if whole.len() > 11 { 6 } else { 9 };
            ExactTime::from_nanos(format!("{whole}{fraction:0<unit$}").parse().unwrap()).unwrap()
        }
        other => panic!("{other} is no time"),
    };
    let expected = expected.as_object().unwrap().iter();
    expected
        .filter(|(name, value)| {
            let found = &found[name.as_str()];
            if *name == "occurred_at" && !value.is_null() {
                found.is_null() || instant(found) != instant(value)
            } else {
                found != *value
            }
        })
        .map(|(name, value)| format!("{name} is {}, not {value}", found[name.as_str()]))
        .collect()
}

#[test]
fn every_payload_prints_exactly_its_events() {
    let folder = tests_folder("payloads");
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let headers = entry["headers"].as_object().unwrap().iter();
        let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {}", value.as_str().unwrap())).collect();
        let (found, _) = decoded(&arguments(entry["provider"].as_str().unwrap(), &folder.join(file), &headers));
        let (found, expected) = (found.as_array().unwrap(), entry["events"].as_array().unwrap());
        if found.len() != expected.len() {
            wrong.push(format!("{file}: {} events, not {}", found.len(), expected.len()));
        }
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.as_object().unwrap().len(), 9, "{file}: every field is there");
            assert_eq!(found["key"].as_str().unwrap().len(), 64);
            wrong.extend(differences(found, expected).into_iter().map(|what| format!("{file}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(index.len() >= 81, "only {} payloads", index.len());
}

#[test]
fn an_event_is_shown_with_its_identity_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(folder.path().join("acme.toml"), ACME).unwrap();
    std::fs::write(&body, r#"{"id":"chg_9","type":"contact.created","at":"2026-11-30T08:00:00Z"}"#).unwrap();
    let args = DecodeArgs {
        profiles: ProfilesArgs { profiles: Some(folder.path().to_owned()) },
        ..arguments("acme", &body, &[])
    };
    // People and programs get the same.
    for format in [Format::Table, Format::Json, Format::Jsonl] {
        let (mut terminal, captured) = terminal(format);
        run(&args, &mut terminal).unwrap();
        insta::assert_snapshot!(format!("decoded_{format:?}"), captured.out());
    }

    // Without an id only a profile that says so guesses.
    std::fs::write(&body, r#"{"type":"contact.created"}"#).unwrap();
    let failure = run(&args, &mut terminal(Format::Table).0).unwrap_err();
    assert_eq!(failure.code(), 1);
    assert!(failure.to_string().contains("the event has no id"), "{failure}");
}

#[test]
fn identities_are_readable() {
    let lead = |tenant: Option<&str>, version: Option<&str>| Identity::LeadEvent {
        tenant: tenant.map(str::to_owned),
        resource: "lead_1".into(),
        kind: "created".into(),
        version: version.map(str::to_owned),
    };
    assert_eq!(readable(&lead(None, None)), "lead_1:created");
    assert_eq!(readable(&lead(Some("biz"), Some("7"))), "biz:lead_1:created:7");
    let digest = hookbox_core::digest::Digest::of(b"x");
    let content = Identity::Content { tenant: Some("page".into()), kind: "feed".into(), version: None, digest };
    assert_eq!(readable(&content), format!("content:page:feed:{digest}"));
}

#[test]
fn what_ingest_would_only_keep_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, r#"{"notificationItems":[{"NotificationRequestItem":{"eventCode":"REPORT"}},{}]}"#).unwrap();
    let (events, captured) = decoded(&arguments("adyen", &body, &[]));
    assert_eq!(events.as_array().unwrap().len(), 2);
    insta::assert_snapshot!(captured.notes());
}

#[test]
fn what_cannot_be_decoded_is_a_negative_answer_and_a_bad_argument_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, "{").unwrap();
    let code = |args: &DecodeArgs| run(args, &mut terminal(Format::Table).0).unwrap_err().code();
    assert_eq!(code(&arguments("stripe", &body, &[])), 1);
    assert_eq!(code(&arguments("nobody", &body, &[])), 2);
    assert_eq!(code(&arguments("stripe", &body, &["no header".into()])), 2);
    assert_eq!(code(&arguments("stripe", Path::new("/nowhere"), &[])), 2);
}
