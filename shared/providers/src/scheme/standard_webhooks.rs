//! Standard Webhooks: `id.timestamp.body` under HMAC-SHA256 (`v1`, secrets `whsec_…`) or Ed25519 (`v1a`, public keys
//! `whpk_…`). Which of the two counts is decided by the configured secret, never by the header.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use hookbox_core::time::Timestamp;
use subtle::Choice;

use super::carrier::sole;
use super::compare::{Search, same_mac};
use super::hmac::Algorithm;
use super::signed::{Tolerance, Unit};
use super::{MAX_SIGNATURES, SignError, Signed, ed25519, header_name};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Misconfiguration, Reason, Refusal};

/// The scheme with the families of header names that it may arrive under (`webhook-`, `svix-`).
#[derive(Clone, Debug)]
pub(crate) struct StandardWebhooks {
    families: Vec<String>,
    tolerance: Option<Tolerance>,
}

/// The three headers of a family.
const NAMES: [&str; 3] = ["id", "timestamp", "signature"];

/// What a secret's text says that it is.
enum Key {
    Shared(Vec<u8>),
    Public(ed25519::PublicKey),
}

impl Key {
    fn read(secret: &Secret) -> Option<Self> {
        let text = secret.text();
        if let Some(text) = text.strip_prefix("whpk_") {
            return ed25519::PublicKey::from_bytes(&STANDARD_PAD_INDIFFERENT.decode(text).ok()?).map(Self::Public);
        }
        let key = STANDARD_PAD_INDIFFERENT.decode(text.strip_prefix("whsec_").unwrap_or(text)).ok()?;
        (!key.is_empty()).then_some(Self::Shared(key))
    }
}

impl StandardWebhooks {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let families = file.header_prefixes.take().unwrap_or_else(|| vec!["webhook-".to_owned()]);
        if families.is_empty() {
            return Err(Flaw::new("no family of headers is named")).under("header_prefixes");
        }
        for (index, family) in families.iter().enumerate() {
            header_name(family).at(index).under("header_prefixes")?;
        }
        Ok(Self { families, tolerance: Tolerance::take(file)? })
    }

    pub(super) fn secret_headers(&self) -> Vec<String> {
        self.families.iter().map(|family| format!("{family}signature").to_ascii_lowercase()).collect()
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret], now: Timestamp) -> Result<Match, Refusal> {
        let key = |(index, secret)| Key::read(secret).ok_or(Misconfiguration::SecretEncoding { index });
        let keys = secrets.iter().enumerate().map(key).collect::<Result<Vec<_>, _>>()?;
        let family = self.family(request)?;
        let signatures = parse(sole(request, &format!("{family}signature"), Reason::MissingSignature)?)?;
        let id = plain(request, &format!("{family}id"), Reason::MissingId, Reason::MalformedId)?;
        let timestamp =
            plain(request, &format!("{family}timestamp"), Reason::MissingTimestamp, Reason::MalformedTimestamp)?;
        let signed_at = Unit::Seconds.read(timestamp)?;

        let pieces = [id.as_bytes(), b".", timestamp.as_bytes(), b".", request.body];
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            match key {
                Key::Shared(key) => {
                    let mac = Algorithm::Sha256.mac(key, &pieces);
                    for signature in &signatures.shared {
                        search.note(index, same_mac(&mac, signature));
                    }
                }
                Key::Public(key) => {
                    let message = pieces.concat();
                    for signature in &signatures.public {
                        search.note(index, Choice::from(u8::from(key.verifies(&message, signature))));
                    }
                }
            }
        }
        let secret_index = search.matched()?;
        if let Some(tolerance) = self.tolerance {
            tolerance.check(signed_at, now)?;
        }
        Ok(Match::signed(secret_index, Some(signed_at)))
    }

    /// The family that the request uses. Where it carries a second one, that must say the same: otherwise an id could
    /// be read from headers that nobody signed.
    fn family(&self, request: &Request<'_>) -> Result<&str, Reason> {
        let mut used = self
            .families
            .iter()
            .filter(|family| NAMES.iter().any(|name| request.has_header(&format!("{family}{name}"))));
        let first = used.next().ok_or(Reason::MissingSignature)?;
        for other in used {
            for name in NAMES {
                let one = request.header(&format!("{first}{name}"));
                if one.is_err() || one != request.header(&format!("{other}{name}")) {
                    return Err(Reason::DuplicateHeader);
                }
            }
        }
        Ok(first)
    }

    pub(super) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        let id = id.filter(|id| !id.contains('.')).ok_or(SignError::NoId)?;
        let timestamp = Unit::Seconds.write(now);
        let pieces = [id.as_bytes(), b".", timestamp.as_bytes(), b".", request.body];
        let signature = if let Some(key) = secret.text().strip_prefix("whsk_") {
            let key = STANDARD_PAD_INDIFFERENT.decode(key).map_err(|_| SignError::SecretEncoding)?;
            let signature = ed25519::sign(&key, &pieces.concat()).ok_or(SignError::SecretEncoding)?;
            format!("v1a,{}", STANDARD.encode(signature))
        } else {
            let Some(Key::Shared(key)) = Key::read(secret) else {
                return Err(SignError::SecretEncoding);
            };
            format!("v1,{}", STANDARD.encode(Algorithm::Sha256.mac(&key, &pieces)))
        };
        let family = self.families.first().map(String::as_str).unwrap_or_default();
        let headers = [("id", id.to_owned()), ("timestamp", timestamp), ("signature", signature)];
        let headers = headers.into_iter().map(|(name, value)| (format!("{family}{name}"), value)).collect();
        Ok(Signed { headers, ..Signed::default() })
    }
}

/// A header that must not hold a dot: it is what separates the parts of the signed text.
fn plain<'a>(request: &Request<'a>, name: &str, missing: Reason, malformed: Reason) -> Result<&'a str, Reason> {
    match request.header(name) {
        Ok(Some(value)) if value.contains('.') => Err(malformed),
        Ok(Some(value)) if !value.is_empty() => Ok(value),
        Ok(_) => Err(missing),
        Err(_) => Err(Reason::DuplicateHeader),
    }
}

struct Signatures {
    shared: Vec<Vec<u8>>,
    public: Vec<Vec<u8>>,
}

/// Reads `v1,… v1a,…`; versions that nobody knows yet are passed over.
fn parse(header: &str) -> Result<Signatures, Reason> {
    let mut signatures = Signatures { shared: Vec::new(), public: Vec::new() };
    let mut usable = 0;
    for element in header.split(' ').filter(|element| !element.is_empty()) {
        let (version, text) = element.split_once(',').ok_or(Reason::MalformedSignature)?;
        let list = match version {
            "v1" => &mut signatures.shared,
            "v1a" => &mut signatures.public,
            _ => continue,
        };
        usable += 1;
        if usable > MAX_SIGNATURES {
            return Err(Reason::TooManySignatures);
        }
        list.extend(STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty()));
    }
    if usable == 0 { Err(Reason::NoUsableSignature) } else { Ok(signatures) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn scheme() -> StandardWebhooks {
        let mut file = SchemeFile {
            header_prefixes: Some(vec!["webhook-".into(), "svix-".into()]),
            tolerance: Some("5m".into()),
            ..SchemeFile::default()
        };
        StandardWebhooks::compile(&mut file).unwrap()
    }

    fn request(headers: &[(String, String)]) -> Request<'_> {
        Request { method: "POST", path_token: None, url: None, query: None, headers, body: b"{}" }
    }

    #[test]
    fn a_second_family_of_headers_must_say_the_same() {
        let (scheme, now) = (scheme(), Timestamp::from_seconds(1_700_000_000));
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = scheme.sign(&request(&[]), Some("msg_1"), &secret, now).unwrap();
        let both: Vec<_> = signed
            .headers
            .iter()
            .flat_map(|(name, value)| [(name.clone(), value.clone()), (name.replace("webhook", "svix"), value.clone())])
            .collect();
        assert!(scheme.verify(&request(&both), std::slice::from_ref(&secret), now).is_ok());

        let mut foreign = signed.headers.clone();
        foreign.push(("svix-id".into(), "msg_2".into()));
        let refused = scheme.verify(&request(&foreign), &[secret], now);
        assert_eq!(refused, Err(Refusal::Invalid(Reason::DuplicateHeader)));
    }

    #[test]
    fn an_ed25519_key_verifies_v1a_and_never_v1() {
        let (scheme, now) = (scheme(), Timestamp::from_seconds(1_700_000_000));
        let private = Secret::new(format!("whsk_{}", STANDARD.encode([7; 32]))).unwrap();
        let public = Secret::new(format!("whpk_{}", STANDARD.encode(ed25519::public_key([7; 32])))).unwrap();
        let mut headers = scheme.sign(&request(&[]), Some("msg_1"), &private, now).unwrap().headers;
        assert!(scheme.verify(&request(&headers), std::slice::from_ref(&public), now).is_ok());
        headers[2].1 = headers[2].1.replace("v1a,", "v1,");
        let refused = scheme.verify(&request(&headers), &[public], now);
        assert_eq!(refused, Err(Refusal::Invalid(Reason::SignatureMismatch)));
    }

    #[test]
    fn a_dot_in_a_signed_part_is_refused() {
        let (scheme, now) = (scheme(), Timestamp::from_seconds(1_700_000_000));
        let secret = Secret::new("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let mut headers = scheme.sign(&request(&[]), Some("msg_1"), &secret, now).unwrap().headers;
        headers[0].1 = "msg_1.1700000000".into();
        let refused = scheme.verify(&request(&headers), &[secret], now);
        assert_eq!(refused, Err(Refusal::Invalid(Reason::MalformedId)));
    }
}
