//! Signature schemes: few, in code, pure and of constant time. Their parameters come from a profile, never from the
//! request: a header cannot choose the algorithm.

mod compare;
mod credential;
mod ed25519;
mod hmac;
mod signed;
mod standard_webhooks;

use hookbox_core::time::Timestamp;

use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Match, Misconfiguration, Reason, Refusal};

use credential::Credential;
use hmac::Hmac;
use standard_webhooks::StandardWebhooks;

/// More signatures than this in one header are not looked at: providers send two or three during a rotation.
const MAX_SIGNATURES: usize = 16;

/// A scheme with its parameters.
#[derive(Clone, Debug)]
pub(crate) enum Scheme {
    Hmac(Hmac),
    StandardWebhooks(StandardWebhooks),
    Credential(Credential),
}

/// What a signed sample carries beside its own headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// The headers of the signature or the credential.
    pub headers: Vec<(String, String)>,
    /// The last segment of the path, for a secret path.
    pub path_token: Option<String>,
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
}

impl Scheme {
    pub(crate) fn compile(file: &SchemeFile) -> Result<Self, Flaw> {
        let mut left = file.clone();
        left.variant = None;
        let scheme = match std::mem::take(&mut left.scheme).as_str() {
            "hmac" => Self::Hmac(Hmac::compile(&mut left)?),
            "standard-webhooks" => Self::StandardWebhooks(StandardWebhooks::compile(&mut left)?),
            "basic" => Self::Credential(Credential::Basic),
            "bearer" => Self::Credential(Credential::Bearer),
            "token" => Self::Credential(Credential::token(&mut left)?),
            "path-token" => Self::Credential(Credential::PathToken),
            other => {
                let known = "hmac, standard-webhooks, basic, bearer, token, path-token";
                return Err(Flaw::new(format!("`{other}` is no scheme; there are {known}"))).under("scheme");
            }
        };
        nothing_left(&left, &file.scheme)?;
        Ok(scheme)
    }

    /// The scheme's name in a profile.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Hmac(_) => "hmac",
            Self::StandardWebhooks(_) => "standard-webhooks",
            Self::Credential(credential) => credential.name(),
        }
    }

    /// The headers that hold a signature or a credential, in lower case. No operation is ever given them.
    pub(crate) fn secret_headers(&self) -> Vec<String> {
        match self {
            Self::Hmac(hmac) => vec![hmac.header()],
            Self::StandardWebhooks(scheme) => scheme.secret_headers(),
            Self::Credential(credential) => credential.secret_headers(),
        }
    }

    pub(crate) fn verify(
        &self,
        request: &Request<'_>,
        secrets: &[Secret],
        _fetched: &Fetched,
        now: Timestamp,
    ) -> Result<Match, Refusal> {
        if secrets.is_empty() {
            return Err(Misconfiguration::NoSecret.into());
        }
        match self {
            Self::Hmac(hmac) => hmac.verify(request, secrets, now),
            Self::StandardWebhooks(scheme) => scheme.verify(request, secrets, now),
            Self::Credential(credential) => credential.verify(request, secrets),
        }
    }

    /// What to add to a request so that `verify` finds it valid.
    pub(crate) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        match self {
            Self::Hmac(hmac) => hmac.sign(request, id, secret, now),
            Self::StandardWebhooks(scheme) => scheme.sign(request, id, secret, now),
            Self::Credential(credential) => Ok(credential.sign(secret)),
        }
    }
}

/// A parameter that the scheme does not know would be one that somebody believes in.
fn nothing_left(left: &SchemeFile, scheme: &str) -> Result<(), Flaw> {
    let set = [
        ("algorithm", left.algorithm.is_some()),
        ("encoding", left.encoding.is_some()),
        ("key_encoding", left.key_encoding.is_some()),
        ("header", left.header.is_some()),
        ("header_prefixes", left.header_prefixes.is_some()),
        ("prefix", left.prefix.is_some()),
        ("list", left.list.is_some()),
        ("signed", left.signed.is_some()),
        ("id", left.id.is_some()),
        ("timestamp", left.timestamp.is_some()),
        ("timestamp_unit", left.timestamp_unit.is_some()),
        ("tolerance", left.tolerance.is_some()),
        ("tolerance_sides", left.tolerance_sides.is_some()),
    ];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(Flaw::new(format!("`{key}` means nothing to the scheme `{scheme}`"))).under(key),
        None => Ok(()),
    }
}

/// A header that carries a signature: there once, and not empty.
fn signature_header<'a>(request: &Request<'a>, name: &str) -> Result<&'a str, Reason> {
    match request.header(name) {
        Ok(Some(value)) if !value.is_empty() => Ok(value),
        Ok(_) => Err(Reason::MissingSignature),
        Err(_) => Err(Reason::DuplicateHeader),
    }
}

/// A header's name as RFC 9110 allows it.
fn header_name(name: &str) -> Result<String, Flaw> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(Flaw::new(format!("`{name}` is not the name of a header")));
    }
    Ok(name.to_owned())
}
