//! The headers of a request to a destination, and its signature.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hookbox_core::event::Payload;
use hookbox_core::time::Timestamp;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

use crate::facts::{Facts, visible};

/// Standard base64 with or without its padding, as secrets are found in the wild.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The signing secret begins with `whsec_` and goes on with something that is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what follows `whsec_` in the signing secret is not base64")]
pub struct InvalidSigningSecret;

/// The signature of Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.
///
/// A secret that begins with `whsec_` is the base64 of the key, with or without padding; of any other secret the key is
/// its text as it stands.
pub fn signature(secret: &str, id: &str, timestamp: i64, body: &[u8]) -> Result<String, InvalidSigningSecret> {
    let key = match secret.strip_prefix("whsec_") {
        Some(encoded) => LENIENT.decode(encoded).map_err(|_| InvalidSigningSecret)?,
        None => secret.as_bytes().to_vec(),
    };
    // HMAC takes a key of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| InvalidSigningSecret)?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// A `POST` of the event's bytes to `url`, with the headers that were kept, the facts, and a signature with `secret` as of
/// `now`.
pub fn delivery(
    url: &str,
    facts: &Facts,
    payload: &Payload,
    secret: &str,
    now: Timestamp,
) -> Result<http::Request<Bytes>, Unsendable> {
    let mut headers = HeaderMap::new();
    for (name, value) in passed_on(payload) {
        headers.append(name, value);
    }
    if let Some(content_type) = payload.content_type.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    if let Some(query) = &payload.query {
        set(&mut headers, "hookbox-query", query);
    }
    set(&mut headers, "idempotency-key", &facts.job.to_string());
    tell(&mut headers, facts);
    sign(&mut headers, facts, secret, now, &payload.body)?;
    request(http::Method::POST, url, headers, Bytes::copy_from_slice(&payload.body))
}

/// A `GET` of `url` with the facts, signed over no bytes when there is a secret.
pub fn question(
    url: &str,
    facts: &Facts,
    secret: Option<&str>,
    now: Timestamp,
) -> Result<http::Request<Bytes>, Unsendable> {
    let mut headers = HeaderMap::new();
    tell(&mut headers, facts);
    if let Some(secret) = secret {
        sign(&mut headers, facts, secret, now, b"")?;
    }
    request(http::Method::GET, url, headers, Bytes::new())
}

/// Why a request cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// It cannot be signed.
    #[error(transparent)]
    Secret(#[from] InvalidSigningSecret),
    /// It cannot be sent there.
    #[error("the address is not one: write it as RFC 3986 does, other characters percent-encoded")]
    Address,
}

fn request(
    method: http::Method,
    url: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<http::Request<Bytes>, Unsendable> {
    let mut request = http::Request::builder().method(method).uri(url).body(body).map_err(|_| Unsendable::Address)?;
    *request.headers_mut() = headers;
    Ok(request)
}

fn tell(headers: &mut HeaderMap, facts: &Facts) {
    for (name, fact) in facts.named() {
        set(headers, name, &fact);
    }
}

/// The id is the job key: Standard Webhooks wants it to stay the same over all repetitions, and the key holds no dot.
fn sign(
    headers: &mut HeaderMap,
    facts: &Facts,
    secret: &str,
    now: Timestamp,
    body: &[u8],
) -> Result<(), InvalidSigningSecret> {
    let id = facts.job.to_string();
    let timestamp = now.as_millis().div_euclid(1000);
    set(headers, "webhook-signature", &signature(secret, &id, timestamp, body)?);
    set(headers, "webhook-timestamp", &timestamp.to_string());
    set(headers, "webhook-id", &id);
    Ok(())
}

fn set(headers: &mut HeaderMap, name: &'static str, text: &str) {
    // Percent-encoded text is always a header value.
    if let Ok(value) = HeaderValue::from_str(&visible(text)) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// The kept headers that a destination gets: nothing of the provider's connection to us, no credential or signature of
/// theirs (it is not verifiable there and may be secret), and no name that we use ourselves. A second guard behind the
/// profile, which names what is kept.
pub fn passed_on(payload: &Payload) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let nominated: Vec<String> = payload
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    payload.headers.iter().filter_map(move |(name, value)| {
        let name = name.to_ascii_lowercase();
        if nominated.contains(&name) || !may_pass(&name) {
            return None;
        }
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    })
}

fn may_pass(name: &str) -> bool {
    const OF_THE_CONNECTION: &[&str] = &[
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ];
    const SECRET: &[&str] =
        &["api-key", "apikey", "authorization", "cookie", "hmac", "password", "secret", "signature", "token"];
    !OF_THE_CONNECTION.contains(&name)
        && !SECRET.iter().any(|part| name.contains(part))
        && !name.starts_with("hookbox-")
        && !name.starts_with("webhook-")
}

#[cfg(test)]
mod tests;
