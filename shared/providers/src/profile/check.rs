//! What keeps every request from being verified, seen before there is one.

use hookbox_core::time::Timestamp;

use super::Configured;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Misconfiguration, Verdict};

impl Configured {
    /// What keeps every request from being verified: the verdict that each would get. `url` is the address that the
    /// provider was given, as the integration has it, and `secrets` are all that the integration names.
    pub fn check(&self, url: Option<&str>, secrets: &[Secret]) -> Result<(), Misconfiguration> {
        // A broken configuration shows with any request, whatever that is, and at any time.
        let nothing = Request { method: "POST", path_token: None, url, query: None, headers: &[], body: b"" };
        if let Verdict::Misconfigured(reason) =
            self.verify(&nothing, secrets, &Fetched::nothing(), Timestamp::from_millis(0))
        {
            return Err(reason);
        }
        if self.wants_token() && secrets.iter().all(|secret| secret.verify_token().is_none()) {
            return Err(Misconfiguration::NoVerifyToken);
        }
        Ok(())
    }

    /// The part of [`check`](Self::check) that needs no secret.
    pub fn check_settings(&self, url: Option<&str>) -> Result<(), Misconfiguration> {
        self.0.scheme.check_settings(url)
    }

    /// How the scheme wants a secret to be written, in words that follow "it has to be"; none where any text will do.
    pub fn secret_form(&self) -> Option<&'static str> {
        self.0.scheme.secret_form()
    }

    /// Whether this is the address of a document that verification always needs, and not one that the sender names.
    pub fn publishes_keys_at(&self, url: &str) -> bool {
        self.0.scheme.publishes_keys_at(url)
    }
}
