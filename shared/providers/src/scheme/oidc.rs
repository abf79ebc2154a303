//! A JSON Web Token in `Authorization: Bearer`, signed with a key of a published set (Google Pub/Sub). The body is not
//! signed: that the token is for this endpoint, and for this service account, is all that there is. Anybody can have
//! Google sign one for an account of their own, so the account is part of the configuration.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookbox_core::time::Timestamp;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;

use super::credential::authorization;
use super::fetched::host_and_path;
use crate::decode::json::Json;
use crate::profile::duration;
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::verdict::{Fetched, Match, Misconfiguration, Reason, Refusal};

/// Longer tokens are none of Google's.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The scheme `oidc` with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Oidc {
    keys_url: String,
    issuers: Vec<String>,
    /// Whom the token is for; the endpoint's public URL if nothing else is said.
    audience: Option<String>,
    email: Option<String>,
    /// How far the clocks may be apart.
    tolerance: std::time::Duration,
    untimed: bool,
}

impl Oidc {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let keys_url = file.keys_url.take().unwrap_or_default();
        if host_and_path(&keys_url).is_none() {
            return Err(Flaw::new("name the https address of the key set")).under("keys_url");
        }
        let issuers = file.issuers.take().map(|issuers| issuers.as_slice().to_vec()).unwrap_or_default();
        if issuers.is_empty() {
            return Err(Flaw::new("nothing says who issues the tokens")).under("issuers");
        }
        let tolerance = file.tolerance.take().map(|text| duration::parse(&text).under("tolerance")).transpose()?;
        Ok(Self {
            keys_url,
            issuers,
            audience: file.audience.take(),
            email: file.email.take(),
            tolerance: tolerance.unwrap_or_default(),
            untimed: file.untimed,
        })
    }

    pub(super) fn keys_url(&self) -> &str {
        &self.keys_url
    }

    /// What is missing that is no secret.
    pub(super) fn check_settings(&self, url: Option<&str>) -> Result<(), Misconfiguration> {
        if self.audience.is_none() && url.is_none() {
            return Err(Misconfiguration::NoUrl);
        }
        self.email.as_ref().map(|_| ()).ok_or(Misconfiguration::NoEmail)
    }

    pub(super) fn verify(&self, request: &Request<'_>, fetched: &Fetched, now: Timestamp) -> Result<Match, Refusal> {
        // Without an audience of its own a subscription states its endpoint, with the query that it was given.
        let audiences = match &self.audience {
            Some(audience) => [Some(audience.clone()), None],
            None => [request.url.map(str::to_owned), request.signed_url()],
        };
        let email = self.email.as_deref().ok_or(Misconfiguration::NoEmail)?;
        let token = authorization(request, "bearer")?;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Reason::MalformedCredential.into());
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Reason::MalformedCredential)?;
        let (head, claims) = signed.split_once('.').ok_or(Reason::MalformedCredential)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Reason::MalformedCredential)?;
        let head = object(head).ok_or(Reason::MalformedCredential)?;
        // The sender does not choose the algorithm.
        if head.get("alg").and_then(Value::as_str) != Some("RS256") {
            return Err(Reason::NoUsableSignature.into());
        }
        let kid = head.get("kid").and_then(Value::as_str).ok_or(Reason::MalformedCredential)?;

        let keys = fetched.get(&self.keys_url).ok_or_else(|| Refusal::NeedsFetch(self.keys_url.clone()))?;
        // Something else than a key set in its place says nothing of the sender.
        let keys = KeySet::read(keys).ok_or_else(|| Refusal::NeedsFetch(self.keys_url.clone()))?;
        let (modulus, exponent) = keys.key(kid).ok_or(Reason::UnknownKey)?;
        let key = RsaPublicKeyComponents { n: &modulus, e: &exponent };
        key.verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature)
            .map_err(|_| Reason::SignatureMismatch)?;

        let claims = object(claims).ok_or(Reason::MalformedCredential)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let for_us = text("aud").is_some_and(|named| audiences.iter().flatten().any(|audience| audience == named))
            && text("iss").is_some_and(|issuer| self.issuers.iter().any(|known| known == issuer))
            && text("email") == Some(email)
            && claims.get("email_verified") == Some(&Value::Bool(true));
        if !for_us {
            return Err(Reason::CredentialMismatch.into());
        }
        let time = |name: &str| claims.get(name).and_then(Value::as_i64).map(Timestamp::from_seconds);
        let expires_at = time("exp").ok_or(Reason::MissingTimestamp)?;
        let issued_at = time("iat").ok_or(Reason::MissingTimestamp)?;
        if !self.untimed {
            if now >= expires_at.plus(self.tolerance).plus(std::time::Duration::from_millis(1)) {
                return Err(Reason::TooOld.into());
            }
            if issued_at > now.plus(self.tolerance) {
                return Err(Reason::TooNew.into());
            }
        }
        Ok(Match::signed(0, Some(issued_at)))
    }
}

/// One part of a token.
fn object(part: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    let json = Json::parse(std::str::from_utf8(&bytes).ok()?.into()).ok()?;
    json.root().is_object().then(|| json.root().clone())
}

/// The keys that are published.
struct KeySet(Vec<Value>);

impl KeySet {
    fn read(text: &[u8]) -> Option<Self> {
        let set = Json::parse(std::str::from_utf8(text).ok()?.into()).ok()?;
        set.root().get("keys")?.as_array().cloned().map(Self)
    }

    /// Modulus and exponent of the RSA key of this name.
    fn key(&self, kid: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let is = |key: &Value, name: &str, value: &str| key.get(name).and_then(Value::as_str) == Some(value);
        let key = self.0.iter().find(|key| is(key, "kid", kid) && is(key, "kty", "RSA"))?;
        if key.get("alg").is_some() && !is(key, "alg", "RS256") {
            return None;
        }
        let part = |name: &str| URL_SAFE_NO_PAD.decode(key.get(name)?.as_str()?).ok();
        Some((part("n")?, part("e")?))
    }
}
