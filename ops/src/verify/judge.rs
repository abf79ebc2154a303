//! Asks a profile about one delivery, and fetches what the profile's scheme wants to see.

use std::time::Duration;

use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, Fetched, Handshake, Reason, Request, Secret, Verdict};
use hookbox_runtime::{Documents, FetchError};

use super::finding::Finding;
use super::header::Headers;

/// How long fetching a document may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// The most documents that one verification fetches: a certificate or a key set, and one that refers to it.
const MAX_DOCUMENTS: usize = 2;

/// A delivery as it came.
#[derive(Debug)]
pub(super) struct Delivery {
    method: String,
    url: Option<String>,
    query: Option<String>,
    headers: Headers,
    pub(super) body: Vec<u8>,
}

impl Delivery {
    pub(super) fn new(method: String, url: Option<&str>, headers: Headers, body: Vec<u8>) -> Self {
        // A fragment is never sent.
        let url = url.map(|url| url.split('#').next().unwrap_or_default());
        let (url, query) = match url.map(|url| url.split_once('?').unwrap_or((url, ""))) {
            None => (None, None),
            Some((url, "")) => (Some(url.to_owned()), None),
            Some((url, query)) => (Some(url.to_owned()), Some(query.to_owned())),
        };
        Self { method, url, query, headers, body }
    }

    fn request<'a>(&'a self, configured: &Configured, body: &'a [u8]) -> Request<'a> {
        let url = self.url.as_deref();
        Request {
            method: &self.method,
            path_token: url.filter(|_| configured.has_secret_path()).and_then(|url| url.rsplit('/').next()),
            url,
            query: self.query.as_deref(),
            headers: &self.headers,
            body,
        }
    }
}

/// Judges a delivery as of a point in time.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) delivery: &'a Delivery,
    pub(super) documents: &'a Documents,
    pub(super) at: Timestamp,
}

impl Judge<'_> {
    /// What the delivery is with this body in the place of its own.
    pub(super) async fn find(
        &self,
        configured: &Configured,
        secrets: &[Secret],
        body: &[u8],
    ) -> Result<Finding, FetchError> {
        let request = self.delivery.request(configured, body);
        let mut fetched = Fetched::nothing();
        for _ in 0..=MAX_DOCUMENTS {
            let verdict = match configured.handshake(&request, secrets, &fetched, self.at) {
                Some(Handshake::Answer(answer)) => return Ok(Finding::Handshake { status: answer.status }),
                Some(Handshake::Confirm { .. }) => return Ok(Finding::Confirmation),
                Some(Handshake::Refused(verdict)) => verdict,
                None => configured.verify(&request, secrets, &fetched, self.at),
            };
            let url = match verdict {
                Verdict::Valid { secret_index, signed_at, .. } => {
                    return Ok(Finding::Valid { secret_index, signed_at });
                }
                Verdict::Invalid(reason) => return Ok(Finding::Invalid(reason)),
                Verdict::Misconfigured(reason) => return Ok(Finding::Misconfigured(reason)),
                Verdict::NeedsFetch { url } => url,
            };
            match self.documents.get(&url, FETCH_TIMEOUT).await {
                Ok(document) => fetched.insert(url, document.to_vec()),
                // As ingest has it: one that the provider does not have was never anybody's.
                Err(FetchError::Status(400..=499)) => return Ok(Finding::Invalid(Reason::NoSuchDocument)),
                Err(error) => return Err(error),
            }
        }
        Err(FetchError::NoAnswer("it asks for one document after the other".to_owned()))
    }

    /// Whether it would be valid like this.
    pub(super) async fn is_valid(&self, configured: &Configured, secrets: &[Secret], body: &[u8]) -> bool {
        matches!(self.find(configured, secrets, body).await, Ok(Finding::Valid { .. }))
    }
}
