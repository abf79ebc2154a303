//! Signed requests with their verdicts, in the format of `tests/vectors/README.md`: a test kit for profiles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::name::Provider;
use hookbox_core::time::Timestamp;
use serde_json::{Map, Value};

use crate::profile::Profiles;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Verdict};

/// One signed request with the verdict that it should get.
#[derive(Clone, Debug)]
pub struct Vector {
    value: Value,
}

/// A vector that cannot be judged, which is a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Something of the format is missing or wrong.
    #[error("`{0}` is missing or not of the documented form")]
    Format(&'static str),
    /// There is no such profile.
    #[error("there is no profile `{0}`")]
    Provider(String),
    /// The profile has no way to verify of this name.
    #[error("the profile knows no scheme `{0}`")]
    Scheme(String),
    /// The vector's parameters do not fit the profile.
    #[error("{0}")]
    Profile(String),
}

impl Vector {
    /// Takes one element of a file of vectors.
    pub fn new(value: Value) -> Self {
        Self { value }
    }

    /// The vector's name, or nothing.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// Whether the request should be valid.
    pub fn expects_valid(&self) -> Result<bool, VectorError> {
        match self.text("expect") {
            Some("valid") => Ok(true),
            Some("invalid") => Ok(false),
            _ => Err(VectorError::Format("expect")),
        }
    }

    /// The verdict that the request gets from the provider's profile. The vector's own parameters count before the
    /// profile's; where it names no time, none is looked at.
    pub fn judge(&self, profiles: &Profiles) -> Result<Verdict, VectorError> {
        let provider = self.text("provider").ok_or(VectorError::Format("provider"))?;
        let unknown = || VectorError::Provider(provider.to_owned());
        let name: Provider = provider.parse().map_err(|_| unknown())?;
        let profile = profiles.get(&name).map_err(|error| VectorError::Profile(error.to_string()))?;
        let profile = profile.ok_or_else(unknown)?;

        let scheme = self.text("scheme").ok_or(VectorError::Format("scheme"))?;
        let mut parameters = Map::new();
        let index = match profile.index_for_vectors(scheme) {
            Some(index) => index,
            // A profile that can be anything is what the scheme's name says.
            None if profile.is_open() => {
                let (encoding, algorithm) =
                    scheme.split_once('-').ok_or_else(|| VectorError::Scheme(scheme.to_owned()))?;
                parameters.insert("encoding".into(), encoding.into());
                parameters.insert("algorithm".into(), algorithm.into());
                0
            }
            None => return Err(VectorError::Scheme(scheme.to_owned())),
        };
        self.put_over(profile.scheme_at(index), &mut parameters);
        let now = self.value["now"].as_i64().map(Timestamp::from_seconds);
        if let Some(seconds) = self.value["tolerance_secs"].as_u64() {
            parameters.insert("tolerance".into(), format!("{seconds}s").into());
        }
        let configured = profile
            .configure_for_vectors(index, parameters, now.is_some())
            .map_err(|error| VectorError::Profile(error.to_string()))?;

        let headers = self.value["headers"].as_object().ok_or(VectorError::Format("headers"))?;
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()
            .ok_or(VectorError::Format("headers"))?;
        let body = self.text("body_b64").and_then(|text| STANDARD.decode(text).ok());
        let body = body.ok_or(VectorError::Format("body_b64"))?;
        let (url, query) = match self.text("url") {
            None => (None, None),
            Some(url) => match url.split_once('?') {
                None => (Some(url), None),
                Some((url, query)) => (Some(url), Some(query)),
            },
        };
        let request = Request {
            method: self.text("method").ok_or(VectorError::Format("method"))?,
            path_token: url.filter(|_| configured.has_secret_path()).and_then(|url| url.rsplit('/').next()),
            url,
            query,
            headers: &headers,
            body: &body,
        };
        // An empty secret is none at all.
        let secrets: Vec<Secret> = Secret::new(self.text("secret").unwrap_or_default()).into_iter().collect();
        let now = now.unwrap_or(Timestamp::from_millis(0));
        let mut fetched = Fetched::nothing();
        match configured.verify(&request, &secrets, &fetched, now) {
            Verdict::NeedsFetch { url } => {
                fetched.insert(url, self.document()?.as_bytes().to_vec());
                Ok(configured.verify(&request, &secrets, &fetched, now))
            }
            verdict => Ok(verdict),
        }
    }

    /// The vector's own parameters, as far as the scheme has such.
    fn put_over(&self, scheme: &str, parameters: &mut Map<String, Value>) {
        let keyed = matches!(scheme, "hmac" | "secret-prefix-hash" | "body-fields");
        let key_encoding = match self.text("secret_encoding") {
            Some("utf8") if keyed => Some("text"),
            Some(encoding @ ("hex" | "base64")) if keyed => Some(encoding),
            _ => None,
        };
        let overridden = [
            ("key_encoding", key_encoding),
            ("header", self.text("signature_header")),
            ("audience", self.text("expected_audience").filter(|_| scheme == "oidc")),
            ("email", self.text("expected_email").filter(|_| scheme == "oidc")),
            ("trusted", self.text("cert_pem").filter(|_| scheme == "paypal")),
        ];
        parameters.extend(overridden.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
    }

    /// What the scheme fetches: the certificate, or the document that stands in the place of a secret.
    fn document(&self) -> Result<&str, VectorError> {
        self.text("cert_pem").or_else(|| self.text("secret")).ok_or(VectorError::Format("cert_pem"))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key)?.as_str()
    }
}
