//! Verification of our own signature, as a destination does it: Standard Webhooks.

use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::integration::SecretRef;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, Fetched, Profiles, Request, Secret, Verdict};
use hookbox_runtime::SecretText;

use crate::failure::{Failure, Trouble};

/// Verifies the signature that the worker makes.
#[derive(Clone, Debug)]
pub struct Verifier {
    profile: Configured,
    secret: Secret,
}

impl Verifier {
    /// A verifier with the secret that `reference` led to.
    ///
    /// A secret that begins with `whsec_` is base64; of any other the text itself is the key, as the worker has it.
    pub fn new(reference: &SecretRef, secret: &SecretText) -> Result<Self, Failure> {
        let unable = |why: String| Failure::CouldNotLook(Trouble::new(format!("use the secret {reference}"), why));
        let text = secret.expose();
        let text =
            if text.starts_with("whsec_") { text.to_owned() } else { format!("whsec_{}", STANDARD.encode(text)) };
        let name = "standard-webhooks".parse().map_err(|error| unable(format!("{error}")))?;
        let profiles = Profiles::built_in();
        let profile = profiles.get(&name).map_err(|error| unable(error.to_string()))?;
        let profile = profile.ok_or_else(|| unable("there is no profile `standard-webhooks`".to_owned()))?;
        Ok(Self {
            profile: profile.configure(None, None).map_err(|error| unable(error.to_string()))?,
            secret: Secret::new(text).map_err(|error| unable(error.to_string()))?,
        })
    }

    /// The headers with which the worker would sign this body under this id.
    pub(crate) fn sign(&self, id: &str, body: &[u8], now: Timestamp) -> Result<Vec<(String, String)>, String> {
        let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body };
        let signed = self.profile.sign(&request, Some(id), &self.secret, now);
        signed.map(|signed| signed.headers).map_err(|error| error.to_string())
    }

    /// Whether the call is signed; the error says why not.
    pub(super) fn verify(&self, parts: &Parts, body: &[u8], now: Timestamp) -> Result<(), String> {
        let headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &headers, body };
        match self.profile.verify(&request, std::slice::from_ref(&self.secret), &Fetched::nothing(), now) {
            Verdict::Valid { .. } => Ok(()),
            Verdict::Invalid(reason) => Err(reason.to_string()),
            Verdict::Misconfigured(why) => Err(why.to_string()),
            Verdict::NeedsFetch { .. } => Err("the signature cannot be verified here".to_owned()),
        }
    }
}
