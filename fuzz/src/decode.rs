//! Decoding, by every profile: the first byte chooses the profile and its variant, the second the content type, the rest
//! is the body.

use hookbox_core::event::{Disposition, Event};
use hookbox_core::limits::MAX_EVENTS_PER_DELIVERY;
use hookbox_providers::{Delivery, Fetched, Request, SampleValues};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::ways::{NOW, URL, WAYS, Way};

/// What a body may call itself.
pub const CONTENT_TYPES: [Option<&str>; 7] = [
    None,
    Some("application/json; charset=utf-8"),
    Some("application/x-www-form-urlencoded"),
    Some("application/x-www-form-urlencoded; charset=utf-8"),
    Some("multipart/form-data; boundary=b"),
    Some("multipart/form-data; boundary=\"--x\"; charset=x"),
    Some("text/plain"),
];

/// The choice of a way to verify by one byte.
pub fn way(byte: u8) -> &'static Way {
    &WAYS[usize::from(byte) % WAYS.len()]
}

/// No panic; the same events each time; bytes cut out of the body; and an event that is the same event when it comes
/// alone, or written in another order.
pub fn holds(data: &[u8]) {
    let [way_at, content_type_at, body @ ..] = data else { return };
    let way = way(*way_at);
    let content_type = CONTENT_TYPES[usize::from(*content_type_at) % CONTENT_TYPES.len()];
    let headers = headers(way, content_type);
    let request = Request { method: "POST", path_token: None, url: Some(URL), query: None, headers: &headers, body };
    let _ = way.configured.acknowledgement(&request);
    let _ = way.configured.handshake(&request, &way.secrets(), &Fetched::nothing(), NOW);
    let decoded = way.configured.decode(&request);
    assert_eq!(decoded, way.configured.decode(&request), "another time it is another delivery");
    let Ok(delivery) = decoded else { return };
    holds_of(&delivery, body);
    for event in delivery.events.iter().filter(|event| delivery.batch && event.disposition == Disposition::Accepted) {
        comes_alone(way, &request, event);
    }
    if content_type == CONTENT_TYPES[1] && matches!(body.trim_ascii_start().first(), Some(b'{' | b'[')) {
        let other = reordered(body);
        let again = way.configured.decode(&Request { body: other.as_bytes(), ..request }).expect("the same document");
        let facts = |delivery: &Delivery| delivery.events.iter().map(without_payload).collect::<Vec<_>>();
        assert_eq!(facts(&delivery), facts(&again), "the order of keys or a blank is part of the event");
    }
}

/// The headers of the profile's sample under another content type.
fn headers(way: &Way, content_type: Option<&str>) -> Vec<(String, String)> {
    let sample = way.configured.sample(&SampleValues::default()).expect("a sample").headers;
    let kept = sample.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    kept.chain(content_type.map(|value| ("Content-Type".to_owned(), value.to_owned()))).collect()
}

/// What holds of every delivery.
pub fn holds_of(delivery: &Delivery, body: &[u8]) {
    let events = &delivery.events;
    assert!((1..=MAX_EVENTS_PER_DELIVERY).contains(&events.len()), "{} events", events.len());
    assert_eq!(delivery.batch, events.len() > 1);
    for event in events {
        if delivery.batch {
            assert!(is_cut_from(&event.payload.body, body), "a payload holds what the body does not");
        } else {
            assert_eq!(event.payload.body, body, "a single event is the body");
        }
    }
}

/// Whether the bytes are those of the body with some of them left out. What is cut out of a form is encoded anew, which
/// the sender need not have done in the same way.
fn is_cut_from(part: &[u8], body: &[u8]) -> bool {
    let is_form = !matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    let mut rest = body.iter();
    is_form || part.iter().all(|byte| rest.any(|other| other == byte))
}

/// An event of a batch, sent in its own envelope alone, is the same event.
fn comes_alone(way: &Way, request: &Request<'_>, event: &Event) {
    let alone = Request { body: &event.payload.body, ..*request };
    let again = way.configured.decode(&alone).expect("the envelope is a delivery");
    let [only] = again.events.as_slice() else { panic!("{} events in one envelope", again.events.len()) };
    assert_eq!(without_payload(only), without_payload(event), "alone it is another event");
}

fn without_payload(event: &Event) -> Event {
    let mut event = event.clone();
    event.payload.body.clear();
    event
}

/// The same document with every object turned round and a blank wherever one may be.
fn reordered(body: &[u8]) -> String {
    let raw: Box<RawValue> = serde_json::from_slice(body).expect("JSON that has been decoded");
    let mut out = String::new();
    write_reordered(&raw, &mut out);
    out
}

fn write_reordered(raw: &RawValue, out: &mut String) {
    out.push(' ');
    let text = raw.get().trim_start();
    if text.starts_with('{') {
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).expect("an object");
        out.push('{');
        for (at, (key, value)) in members.iter().rev().enumerate() {
            out.push_str(if at > 0 { " ,\n" } else { "\t" });
            out.push_str(&serde_json::Value::from(key.as_str()).to_string());
            out.push_str(" :");
            write_reordered(value, out);
        }
        out.push_str(" }");
    } else if text.starts_with('[') {
        let items: Vec<Box<RawValue>> = serde_json::from_str(text).expect("an array");
        out.push('[');
        for (at, value) in items.iter().enumerate() {
            out.push_str(if at > 0 { "\r\n, " } else { "" });
            write_reordered(value, out);
        }
        out.push_str(" ]");
    } else {
        out.push_str(text);
    }
    out.push(' ');
}
