//! Signature schemes: few, in code, pure and of constant time. Their parameters come from a profile, never from the
//! request: a header cannot choose the algorithm.

mod compare;
mod encoding;
mod signed;
mod carrier;
mod credential;
mod der;
mod ed25519;
mod fetched;
mod hmac;
mod url_form;
mod body_fields;
mod public_key;
mod sns;
mod paypal;
mod oidc;
mod standard_webhooks;

use hookbox_core::time::Timestamp;

use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{OneOrMany, PARAMETERS, SchemeFile};
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Match, Misconfiguration, Reason, Refusal};

use body_fields::BodyFields;
use compare::{Search, same_text};
use credential::Credential;
use hmac::{Algorithm, Construction, Hmac};
use oidc::Oidc;
use paypal::PayPal;
use public_key::PublicKey;
use sns::Sns;
use standard_webhooks::StandardWebhooks;
use url_form::UrlForm;

/// More signatures than this in one header are not looked at: providers send two or three during a rotation.
const MAX_SIGNATURES: usize = 16;

/// A scheme with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    kind: Kind,
    /// The endpoint's public URL, where the integration states it.
    url: Option<String>,
}

#[derive(Clone, Debug)]
enum Kind {
    Hmac(Hmac),
    StandardWebhooks(StandardWebhooks),
    UrlForm(UrlForm),
    BodyFields(BodyFields),
    PublicKey(PublicKey),
    Sns(Sns),
    PayPal(PayPal),
    Oidc(Oidc),
    Credential(Credential),
}

/// What a signed sample carries beside its own headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// The headers of the signature or the credential.
    pub headers: Vec<(String, String)>,
    /// The last segment of the path, for a secret path.
    pub path_token: Option<String>,
    /// The query in the place of the request's own, where something of the signature stands in it.
    pub query: Option<String>,
    /// The body in the place of the request's own, where the signature stands in it.
    pub body: Option<Vec<u8>>,
}

/// A sample cannot be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The secret is not in the encoding that the scheme needs.
    #[error("the secret is not in the encoding that the scheme needs")]
    SecretEncoding,
    /// The provider signs the URL, and none was given.
    #[error("the provider signs the endpoint's URL, and none was given")]
    NoUrl,
    /// The signature carries an id, and none was given.
    #[error("the signature carries an id, and none was given")]
    NoId,
    /// The signature stands in the body, and the sample has no place for it.
    #[error("the signature stands in the body, and the sample has no place for it")]
    NoPlace,
    /// The scheme signs with a private key, and the secret is none.
    #[error("the provider signs with a private key, and the secret is none")]
    PrivateKey,
    /// The provider signs with a key that nobody else has.
    #[error("only the provider can sign such a delivery")]
    OnlyTheProvider,
}

impl Scheme {
    pub(crate) fn compile(file: &SchemeFile) -> Result<Self, Flaw> {
        let mut left = file.clone();
        (left.variant, left.vectors) = (None, OneOrMany::default());
        let url = left.url.take().map(|url| public_url(&url).under("url")).transpose()?;
        let kind = match std::mem::take(&mut left.scheme).as_str() {
            "hmac" => Kind::Hmac(Hmac::compile(&mut left, Construction::Hmac)?),
            "secret-prefix-hash" => Kind::Hmac(Hmac::compile(&mut left, Construction::SecretPrefix)?),
            "standard-webhooks" => Kind::StandardWebhooks(StandardWebhooks::compile(&mut left)?),
            "url-form" => Kind::UrlForm(UrlForm::compile(&mut left)?),
            "body-fields" => Kind::BodyFields(BodyFields::compile(&mut left)?),
            "ed25519" => Kind::PublicKey(PublicKey::compile(&mut left, public_key::Algorithm::Ed25519)?),
            "ecdsa-p256" => Kind::PublicKey(PublicKey::compile(&mut left, public_key::Algorithm::EcdsaP256)?),
            "aws-sns" => Kind::Sns(Sns::compile(&left)),
            "paypal" => Kind::PayPal(PayPal::compile(&mut left)?),
            "oidc" => Kind::Oidc(Oidc::compile(&mut left)?),
            "basic" => Kind::Credential(Credential::Basic),
            "bearer" => Kind::Credential(Credential::Bearer),
            "token" => Kind::Credential(Credential::token(&mut left)?),
            "path-token" => Kind::Credential(Credential::PathToken),
            other => {
                let known = "hmac, secret-prefix-hash, standard-webhooks, url-form, body-fields, ed25519, ecdsa-p256, \
                             aws-sns, paypal, oidc, basic, bearer, token, path-token";
                return Err(Flaw::new(format!("`{other}` is no scheme; there are {known}"))).under("scheme");
            }
        };
        nothing_left(&left, &file.scheme)?;
        let scheme = Self { kind, url };
        if scheme.url.is_some() && !scheme.signs_url() {
            return Err(Flaw::new("the provider does not sign the URL")).under("url");
        }
        Ok(scheme)
    }

    /// The scheme's name in a profile.
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Hmac(hmac) => hmac.name(),
            Kind::StandardWebhooks(_) => "standard-webhooks",
            Kind::UrlForm(_) => "url-form",
            Kind::BodyFields(_) => "body-fields",
            Kind::PublicKey(key) => key.name(),
            Kind::Sns(_) => "aws-sns",
            Kind::PayPal(_) => "paypal",
            Kind::Oidc(_) => "oidc",
            Kind::Credential(credential) => credential.name(),
        }
    }

    /// Whether the endpoint's public URL is part of what is verified.
    pub(crate) fn signs_url(&self) -> bool {
        match &self.kind {
            Kind::Hmac(hmac) => hmac.carrier().signs_url(),
            Kind::PublicKey(key) => key.carrier().signs_url(),
            Kind::UrlForm(_) | Kind::Oidc(_) => true,
            _ => false,
        }
    }

    /// Whether there is a secret, or a public key or id in its place, that the integration has to name.
    pub(crate) fn needs_secret(&self) -> bool {
        !matches!(self.kind, Kind::Sns(_) | Kind::Oidc(_))
    }

    /// Whether this is a URL that the scheme would have fetched: the provider's own.
    pub(crate) fn allows(&self, url: &str) -> bool {
        matches!(self.kind, Kind::Sns(_)) && Sns::allows(url)
    }

    /// The headers that hold a signature or a credential, in lower case. No operation is ever given them.
    pub(crate) fn secret_headers(&self) -> Vec<String> {
        match &self.kind {
            Kind::Hmac(hmac) => hmac.carrier().secret_headers(),
            Kind::StandardWebhooks(scheme) => scheme.secret_headers(),
            Kind::UrlForm(scheme) => scheme.secret_headers(),
            Kind::PublicKey(key) => key.carrier().secret_headers(),
            Kind::PayPal(_) => PayPal::secret_headers(),
            Kind::Oidc(_) => vec!["authorization".to_owned()],
            Kind::BodyFields(_) | Kind::Sns(_) => Vec::new(),
            Kind::Credential(credential) => credential.secret_headers(),
        }
    }

    pub(crate) fn verify(
        &self,
        request: &Request<'_>,
        secrets: &[Secret],
        fetched: &Fetched,
        now: Timestamp,
    ) -> Result<Match, Refusal> {
        if secrets.is_empty() && self.needs_secret() {
            return Err(Misconfiguration::NoSecret.into());
        }
        let request = &self.addressed(request);
        match &self.kind {
            Kind::Hmac(hmac) => hmac.verify(request, secrets, now),
            Kind::StandardWebhooks(scheme) => scheme.verify(request, secrets, now),
            Kind::UrlForm(scheme) => scheme.verify(request, secrets),
            Kind::BodyFields(scheme) => scheme.verify(request, secrets, now),
            Kind::PublicKey(key) => key.verify(request, secrets, now),
            Kind::Sns(sns) => sns.verify(request, fetched, now),
            Kind::PayPal(paypal) => paypal.verify(request, secrets, fetched, now),
            Kind::Oidc(oidc) => oidc.verify(request, fetched, now),
            Kind::Credential(credential) => credential.verify(request, secrets),
        }
    }

    /// The text that the request's signature covers, of a scheme whose keys may be out of reach.
    pub(crate) fn signed_text(&self, request: &Request<'_>, secret: &Secret) -> Option<String> {
        matches!(self.kind, Kind::PayPal(_)).then(|| paypal::signed_text(request, secret)).flatten()
    }

    /// What to add to a request so that `verify` finds it valid.
    pub(crate) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        let request = &self.addressed(request);
        match &self.kind {
            Kind::Hmac(hmac) => hmac.sign(request, id, secret, now),
            Kind::StandardWebhooks(scheme) => scheme.sign(request, id, secret, now),
            Kind::UrlForm(scheme) => scheme.sign(request, secret),
            Kind::BodyFields(scheme) => scheme.sign(request, secret, now),
            Kind::PublicKey(key) => key.sign(request, id, secret, now),
            Kind::Sns(_) | Kind::PayPal(_) | Kind::Oidc(_) => Err(SignError::OnlyTheProvider),
            Kind::Credential(credential) => Ok(credential.sign(secret)),
        }
    }

    /// As `sign`, with whatever signs a message with the private key that belongs to the integration's public one.
    pub(crate) fn sign_by(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        now: Timestamp,
        sign: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Signed, SignError> {
        match &self.kind {
            Kind::PublicKey(key) => key.sign_by(&self.addressed(request), id, now, sign),
            _ => Err(SignError::OnlyTheProvider),
        }
    }

    /// The request under the URL that the integration states, which counts before the deployment's own.
    fn addressed<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        Request { url: self.url.as_deref().or(request.url), ..*request }
    }
}

/// Which of the secrets that are tokens of a handshake was given.
pub(crate) fn token_match(given: &str, secrets: &[Secret]) -> Result<Match, Refusal> {
    let mut search = Search::new();
    for (index, secret) in secrets.iter().enumerate() {
        if let Some(token) = secret.verify_token() {
            search.note(index, same_text(given.as_bytes(), token.as_bytes()));
        }
    }
    let secret_index = search.result().ok_or(Reason::CredentialMismatch)?;
    Ok(Match::signed(secret_index, None))
}

/// HMAC-SHA256 of a challenge, in hexadecimal digits.
pub(crate) fn hmac_sha256_hex(key: &Secret, text: &str) -> String {
    hex::encode(Algorithm::Sha256.mac(key.text().as_bytes(), &[text]))
}

/// A parameter that the scheme does not know would be one that somebody believes in.
fn nothing_left(left: &SchemeFile, scheme: &str) -> Result<(), Flaw> {
    let left = serde_json::to_value(left).map_err(|error| Flaw::new(error.to_string()))?;
    match PARAMETERS.into_iter().find(|key| left.get(key).is_some()) {
        Some(key) => Err(Flaw::new(format!("`{key}` means nothing to the scheme `{scheme}`"))).under(key),
        None => Ok(()),
    }
}

/// An absolute URL as a provider is given it; its query is the sender's.
fn public_url(url: &str) -> Result<String, Flaw> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    let plain = rest.bytes().all(|b| b.is_ascii_graphic()) && !rest.contains(['?', '#', '@', '"', '<', '>']);
    if rest.is_empty() || rest.starts_with('/') || !plain {
        let message = "write the address that the provider was given, such as https://hooks.example.com/hooks/p/a, \
                       without a query";
        return Err(Flaw::new(message));
    }
    Ok(url.to_owned())
}

/// A header's name as RFC 9110 allows it.
fn header_name(name: &str) -> Result<String, Flaw> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(Flaw::new(format!("`{name}` is not the name of a header")));
    }
    Ok(name.to_owned())
}
