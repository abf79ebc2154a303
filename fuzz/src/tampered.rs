//! Signed requests that were changed afterwards: the first byte chooses the profile and its variant, then each four bytes
//! are one change: what is done and where, the place in two bytes, and a byte.

use std::sync::LazyLock;

use hookbox_providers::{Request, SampleValues, Signed, Verdict};
use serde_json::Value;

use super::ways::{Delivery, NOW, URL, WAYS, Way};

/// Whoever signs the URL was sent to this query; an escape in it may be written otherwise.
const QUERY: &str = "a=1&b=%2Fx";

/// Every way to verify of which we can sign, with a signed request.
pub static SIGNED: LazyLock<Vec<(&Way, Delivery)>> =
    LazyLock::new(|| WAYS.iter().filter(|way| way.is_signable()).map(|way| (way, signed(way))).collect());

fn signed(way: &Way) -> Delivery {
    let sample =
        way.configured.sample(&SampleValues { occurred_at: NOW, ..SampleValues::default() }).expect("a sample");
    let query = way.configured.signs_url().then(|| QUERY.to_owned());
    let draft = Delivery { headers: sample.headers, query, ..Delivery::new(&sample.body) };
    let id = Some(sample.event_id.as_str());
    let signed = way.configured.sign(&draft.request(), id, &way.signing, NOW).expect("a signature");
    let Signed { headers, path_token, query, body } = signed;
    Delivery {
        headers: [draft.headers, headers].concat(),
        path_token,
        query: query.or(draft.query),
        body: body.unwrap_or(draft.body),
    }
}

/// No panic, and what is still valid says what was signed.
pub fn holds(data: &[u8]) {
    let Some((first, edits)) = data.split_first() else { return };
    let (way, original) = &SIGNED[usize::from(*first) % SIGNED.len()];
    let mut changed = original.clone();
    for edit in edits.chunks_exact(4).take(64) {
        let [what, high, low, byte] = *edit else { return };
        apply(&mut changed, what, usize::from(high) << 8 | usize::from(low), byte);
    }
    says_what_was_signed(way, original, &changed);
}

/// Fails where a changed request is valid and claims something else than was signed.
pub fn says_what_was_signed(way: &Way, original: &Delivery, changed: &Delivery) {
    let verdict = changed.verify(&way.configured, &way.secrets());
    if matches!(verdict, Verdict::Valid { .. }) {
        assert_eq!(verdict, original.verify(&way.configured, &way.secrets()), "{}: another time or token", way.name);
        let (before, after) = (claim(way, original), claim(way, changed));
        assert_eq!(before, after, "{}: valid, and nobody signed that", way.name);
    }
}

/// One change: `what` names the part by its rest after division by 8, and what is done to it by its upper bits.
fn apply(delivery: &mut Delivery, what: u8, at: usize, byte: u8) {
    let headers = delivery.headers.len();
    let part = usize::from(byte) % (headers + 3);
    let edit = |bytes: &mut Vec<u8>, byte: u8| match (what % 8, bytes.len()) {
        (0, length @ 1..) => bytes[at % length] ^= 1 << (byte % 8),
        (1, length @ 1..) => bytes[at % length] = byte,
        (2, length) => bytes.insert(at % (length + 1), byte),
        (3, length @ 1..) => drop(bytes.remove(at % length)),
        (4, length @ 1..) => bytes.swap(at % length, usize::from(byte) % length),
        (5, length @ 2..) => bytes.truncate(at % length),
        (6, length @ 1..4_096) => bytes.extend_from_within(at % length..),
        _ => {}
    };
    let text = |text: &mut String| {
        let mut bytes = std::mem::take(text).into_bytes();
        edit(&mut bytes, what.rotate_left(4) ^ byte);
        *text = String::from_utf8_lossy(&bytes).into_owned();
    };
    match part.checked_sub(headers) {
        None if what % 8 == 7 => delivery.headers.push(delivery.headers[part].clone()),
        None => text(&mut delivery.headers[part].1),
        Some(0) => text(delivery.query.get_or_insert_default()),
        Some(1) => text(delivery.path_token.get_or_insert_default()),
        Some(_) => edit(&mut delivery.body, what.rotate_left(4) ^ byte),
    }
}

/// What a signature vouches for, in the provider's own words.
fn claim(way: &Way, delivery: &Delivery) -> Vec<String> {
    let body = String::from_utf8_lossy(&delivery.body).into_owned();
    let request = delivery.request();
    let query = request.query.filter(|query| !query.is_empty()).unwrap_or_default();
    match way.configured.scheme() {
        "path-token" => vec![delivery.path_token.clone().unwrap_or_default()],
        "basic" | "bearer" | "token" => vec![credential(way, &request)],
        "url-form" if query.contains("bodySHA256") => vec![query.to_owned(), body],
        // Nothing stands between names and values: that is the provider's own text.
        "url-form" => vec![format!("{URL}?{query}{}", sorted(&body))],
        "body-fields" => body_fields(way, &body),
        _ => {
            let query = if way.configured.signs_url() { unescaped(query) } else { String::new() };
            vec![body, query, id(way, &request)]
        }
    }
}

fn value<'a>(request: &Request<'a>, name: &str) -> &'a str {
    let found = request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim()).unwrap_or_default()
}

fn credential(way: &Way, request: &Request<'_>) -> String {
    let own = way.own_headers(&Delivery::new(b""));
    let (name, _) = own.first().expect("the credential");
    value(request, name).rsplit(' ').next().unwrap_or_default().to_owned()
}

/// The signed id, where there is one.
fn id(way: &Way, request: &Request<'_>) -> String {
    let own = way.own_headers(&Delivery::new(b""));
    let name = own.iter().map(|(name, _)| name).find(|name| name.to_lowercase().ends_with("-id"));
    name.map(|name| value(request, name).to_owned()).unwrap_or_default()
}

fn unescaped(query: &str) -> String {
    form_urlencoded::parse(query.replace('&', "%26").replace('=', "%3D").as_bytes()).map(|(name, _)| name).collect()
}

fn sorted(body: &str) -> String {
    let mut pairs: Vec<_> = form_urlencoded::parse(body.as_bytes()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into_iter().flat_map(|(name, value)| [name, value]).collect()
}

fn body_fields(way: &Way, body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).expect("what is valid is JSON");
    let text = |place: Option<&Value>| match place {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    if way.provider() == "mailgun" {
        let field = |name: &str| {
            let inner = text(body.pointer(&format!("/signature/{name}")));
            if inner.is_empty() { text(body.get(name)) } else { inner }
        };
        return vec![field("timestamp"), field("token")];
    }
    let fields = [
        "pspReference",
        "originalReference",
        "merchantAccountCode",
        "merchantReference",
        "amount/value",
        "amount/currency",
        "eventCode",
        "success",
    ];
    let items = body["notificationItems"].as_array().expect("items");
    let item = |item: &Value| {
        let field = |name: &&str| text(item.pointer(&format!("/NotificationRequestItem/{name}")));
        fields.iter().map(field).collect::<Vec<_>>().join(":")
    };
    // An item twice is one notification.
    let mut items: Vec<String> = items.iter().map(item).collect();
    items.dedup();
    items
}
