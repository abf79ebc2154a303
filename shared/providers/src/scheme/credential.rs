//! Requests that are not signed but carry something that only the provider knows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::carrier::sole;
use super::compare::{Search, same_text};
use super::{Signed, header_name};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Misconfiguration, Reason, Refusal};

/// A credential and where it stands.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// `Authorization: Basic`, the secret being `user:password`.
    Basic,
    /// `Authorization: Bearer`.
    Bearer,
    /// A header of its own whose whole value is the secret.
    Token {
        /// The header's name.
        header: String,
    },
    /// The last segment of the path.
    PathToken,
}

impl Credential {
    pub(super) fn token(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let header = file.header.take().ok_or_else(|| Flaw::new("the header of the token is not named"))?;
        let [header] = header.as_slice() else {
            return Err(Flaw::new("a token stands in one header")).under("header");
        };
        Ok(Self::Token { header: header_name(header).under("header")? })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Bearer => "bearer",
            Self::Token { .. } => "token",
            Self::PathToken => "path-token",
        }
    }

    pub(super) fn secret_headers(&self) -> Vec<String> {
        match self {
            Self::Basic | Self::Bearer => vec!["authorization".to_owned()],
            Self::Token { header } => vec![header.to_ascii_lowercase()],
            Self::PathToken => Vec::new(),
        }
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret]) -> Result<Match, Refusal> {
        let usable = |secret: &Secret| match self {
            Self::Basic => secret.text().split_once(':').is_some_and(|(_, password)| !password.trim().is_empty()),
            // Anything else would be encoded on its way, or end the segment.
            Self::PathToken => secret.text().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~+=".contains(&b)),
            Self::Bearer | Self::Token { .. } => true,
        };
        if let Some(index) = secrets.iter().position(|secret| !usable(secret)) {
            return Err(Misconfiguration::SecretEncoding { index }.into());
        }
        let given: Vec<u8> = match self {
            Self::Basic => {
                STANDARD.decode(authorization(request, "basic")?).map_err(|_| Reason::MalformedCredential)?
            }
            Self::Bearer => authorization(request, "bearer")?.into(),
            Self::Token { header } => sole(request, header, Reason::MissingCredential)?.into(),
            Self::PathToken => request.path_token.unwrap_or_default().into(),
        };
        if given.is_empty() {
            return Err(Reason::MissingCredential.into());
        }
        let mut search = Search::new();
        for (index, secret) in secrets.iter().enumerate() {
            search.note(index, same_text(&given, secret.text().as_bytes()));
        }
        let secret_index = search.result().ok_or(Reason::CredentialMismatch)?;
        Ok(Match::signed(secret_index, None))
    }

    pub(super) fn sign(&self, secret: &Secret) -> Signed {
        let header =
            |name: &str, value: String| Signed { headers: vec![(name.to_owned(), value)], ..Signed::default() };
        match self {
            Self::Basic => header("Authorization", format!("Basic {}", STANDARD.encode(secret.text()))),
            Self::Bearer => header("Authorization", format!("Bearer {}", secret.text())),
            Self::Token { header: name } => header(name, secret.text().to_owned()),
            Self::PathToken => Signed { path_token: Some(secret.text().to_owned()), ..Signed::default() },
        }
    }
}

/// What follows the scheme's name in `Authorization`; the name is in any case (RFC 9110).
pub(super) fn authorization<'a>(request: &Request<'a>, scheme: &str) -> Result<&'a str, Reason> {
    let value = sole(request, "authorization", Reason::MissingCredential)?;
    match value.split_once(' ') {
        Some((name, credential)) if name.eq_ignore_ascii_case(scheme) => Ok(credential.trim_start_matches(' ')),
        _ => Err(Reason::MalformedCredential),
    }
}
