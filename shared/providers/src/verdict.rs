//! What a scheme says about a request, and why. No reason ever holds a signature, a token or a secret.

use std::collections::BTreeMap;
use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::time::Timestamp;

/// What a scheme says about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It comes from somebody who knows the secret.
    Valid {
        /// Which of the integration's secrets it was: a rotation is finished when the old one no longer matches.
        secret_index: usize,
        /// When it was signed, where the signature covers that.
        signed_at: Option<Timestamp>,
        /// What the signature may vouch for once only.
        once: Option<Once>,
    },
    /// Nobody vouches for it.
    Invalid(Reason),
    /// The answer needs what is found at this URL, which the scheme has checked against its allow-list.
    NeedsFetch {
        /// What to fetch: https, no redirects.
        url: String,
    },
    /// The verifier cannot work as it is configured. Nothing is accepted until it is.
    Misconfigured(Misconfiguration),
}

/// Something that a valid signature may be used for only once, because it does not cover the event: whoever has seen one
/// could send another event under it.
///
/// Whoever stores the delivery remembers `token`, within the account, together with the keys of the delivery's events,
/// for `remember_for`. Seen again with the same events it is a repetition and gets the ordinary success; with any other
/// event it is a forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once {
    /// Digest of the token: the token itself is a credential.
    pub token: Digest,
    /// At least how long it must be remembered: as long as the signature would be believed.
    pub remember_for: Duration,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// The signature header is missing or empty.
    #[error("the signature is missing")]
    MissingSignature,
    /// A header that counts occurs more than once.
    #[error("a header of the signature occurs more than once")]
    DuplicateHeader,
    /// The signature is not of the form that the provider documents.
    #[error("the signature is malformed")]
    MalformedSignature,
    /// There are signatures, but none of the version that is configured.
    #[error("there is no signature of the configured version")]
    NoUsableSignature,
    /// More signatures than any provider sends.
    #[error("there are too many signatures")]
    TooManySignatures,
    /// The signature is another one than that of this request under any of the secrets.
    #[error("the signature does not match")]
    SignatureMismatch,
    /// The signed id is missing.
    #[error("the signed id is missing")]
    MissingId,
    /// The signed id is malformed.
    #[error("the signed id is malformed")]
    MalformedId,
    /// The signed timestamp is missing.
    #[error("the signed timestamp is missing")]
    MissingTimestamp,
    /// The signed timestamp is malformed.
    #[error("the signed timestamp is malformed")]
    MalformedTimestamp,
    /// Signed longer ago than the tolerance allows.
    #[error("the signature is too old")]
    TooOld,
    /// Signed further in the future than the tolerance allows.
    #[error("the signature is from the future")]
    TooNew,
    /// The password, token or secret path is missing.
    #[error("the credential is missing")]
    MissingCredential,
    /// The credential is not of the form that the scheme asks for.
    #[error("the credential is malformed")]
    MalformedCredential,
    /// The credential is another one than any of the secrets.
    #[error("the credential does not match")]
    CredentialMismatch,
    /// The request names a document that the provider does not have.
    #[error("the request names a document that the provider does not have")]
    NoSuchDocument,
    /// The request names a URL that is not the provider's.
    #[error("the request names a URL that is not the provider's")]
    ForeignUrl,
    /// The handshake holds no challenge that can be sent back: none at all, a long one, or one that a browser would not
    /// take for plain text.
    #[error("the handshake holds no challenge that can be sent back")]
    UnusableChallenge,
    /// The body is of a form that the signature does not cover.
    #[error("the signature does not cover such a body")]
    BodyNotSigned,
    /// The certificate is not one that the provider may sign with.
    #[error("the certificate is not the provider's, or not valid now")]
    BadCertificate,
    /// The key is not in the published set. If that was fetched a while ago, it may be in a newer one.
    #[error("the key is not among those that are published")]
    UnknownKey,
}

impl Reason {
    /// A short name for metrics and logs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::MissingSignature => "missing-signature",
            Self::DuplicateHeader => "duplicate-header",
            Self::MalformedSignature => "malformed-signature",
            Self::NoUsableSignature => "no-usable-signature",
            Self::TooManySignatures => "too-many-signatures",
            Self::SignatureMismatch => "signature-mismatch",
            Self::MissingId => "missing-id",
            Self::MalformedId => "malformed-id",
            Self::MissingTimestamp => "missing-timestamp",
            Self::MalformedTimestamp => "malformed-timestamp",
            Self::TooOld => "too-old",
            Self::TooNew => "too-new",
            Self::MissingCredential => "missing-credential",
            Self::MalformedCredential => "malformed-credential",
            Self::CredentialMismatch => "credential-mismatch",
            Self::NoSuchDocument => "no-such-document",
            Self::ForeignUrl => "foreign-url",
            Self::UnusableChallenge => "unusable-challenge",
            Self::BodyNotSigned => "body-not-signed",
            Self::BadCertificate => "bad-certificate",
            Self::UnknownKey => "unknown-key",
        }
    }
}

/// Why a verifier cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misconfiguration {
    /// The integration has no secret.
    #[error("no secret is configured")]
    NoSecret,
    /// A secret is not in the encoding that the scheme needs.
    #[error("secret {index} is not in the encoding that the scheme needs")]
    SecretEncoding {
        /// Its place in the integration's list, from 0.
        index: usize,
    },
    /// The provider signs the URL, and none is configured.
    #[error("the provider signs the endpoint's URL, and none is configured")]
    NoUrl,
    /// The provider's handshake carries a token, and no secret begins with `verify_token:`.
    #[error("no secret begins with `verify_token:`, and the provider's handshake carries such a token")]
    NoVerifyToken,
    /// The service account that the provider's tokens are made out to is not configured.
    #[error("the account that the provider's tokens are made out to (`email`) is not configured")]
    NoEmail,
}

/// What was fetched for a scheme that asked for it: bodies by URL.
#[derive(Clone, Debug, Default)]
pub struct Fetched(BTreeMap<String, Vec<u8>>);

impl Fetched {
    /// Nothing yet.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Adds what was found at a URL.
    pub fn insert(&mut self, url: String, body: Vec<u8>) {
        self.0.insert(url, body);
    }

    /// What was found at a URL.
    pub fn get(&self, url: &str) -> Option<&[u8]> {
        self.0.get(url).map(Vec::as_slice)
    }
}

/// The ways in which a scheme stops short of a valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Invalid(Reason),
    Misconfigured(Misconfiguration),
    NeedsFetch(String),
}

impl Refusal {
    /// The same, with the place of a secret as `place` has it.
    pub(crate) fn at_places(self, place: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Misconfigured(Misconfiguration::SecretEncoding { index }) => {
                Self::Misconfigured(Misconfiguration::SecretEncoding { index: place(index) })
            }
            other => other,
        }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::Invalid(reason)
    }
}

impl From<Misconfiguration> for Refusal {
    fn from(reason: Misconfiguration) -> Self {
        Self::Misconfigured(reason)
    }
}

/// Which secret matched, and when the request was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) secret_index: usize,
    pub(crate) signed_at: Option<Timestamp>,
    pub(crate) once: Option<Once>,
}

impl Match {
    pub(crate) fn signed(secret_index: usize, signed_at: Option<Timestamp>) -> Self {
        Self { secret_index, signed_at, once: None }
    }
}

impl From<Result<Match, Refusal>> for Verdict {
    fn from(result: Result<Match, Refusal>) -> Self {
        match result {
            Ok(Match { secret_index, signed_at, once }) => Self::Valid { secret_index, signed_at, once },
            Err(Refusal::Invalid(reason)) => Self::Invalid(reason),
            Err(Refusal::NeedsFetch(url)) => Self::NeedsFetch { url },
            Err(Refusal::Misconfigured(reason)) => Self::Misconfigured(reason),
        }
    }
}
