//! Whether the provider sent it: the raw bytes against every secret of the endpoint. Never open when unsure.

use futures_util::future::join_all;
use hookbox_providers::{Misconfiguration, Reason, Secret, Verdict};
use hookbox_runtime::{SecretError, Secrets};

use crate::endpoint::Endpoint;

/// Why a request is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// Nobody vouches for it.
    #[error("{0}")]
    Invalid(Reason),
    /// The verifier cannot work as it is configured.
    #[error("verification is misconfigured: {0}")]
    Misconfigured(Misconfiguration),
    /// A secret could not be read, and none of the others matched: it might have been the one.
    #[error("a secret that may be the right one cannot be used")]
    SecretUnreadable {
        /// Its place in the integration's list.
        index: usize,
        /// Which one, and why.
        #[source]
        source: SecretError,
    },
    /// The secrets could not be read before the deadline.
    #[error("the secrets could not be read in time")]
    SecretsTooSlow,
    /// The scheme needs something fetched that this function does not fetch.
    #[error("the profile needs a document that could not be fetched")]
    NotFetched,
}

/// The secrets of an endpoint that could be read, each with its place in the configuration.
pub struct EndpointSecrets {
    readable: Vec<Secret>,
    places: Vec<usize>,
    unreadable: Option<(usize, SecretError)>,
}

impl EndpointSecrets {
    /// Reads them all; one that cannot be read does not stand in the way of the others.
    pub async fn read(secrets: &Secrets, endpoint: &Endpoint) -> Self {
        let references = &endpoint.integration.secrets;
        let texts = join_all(references.iter().map(|reference| secrets.get(reference))).await;
        let mut read = Self { readable: Vec::new(), places: Vec::new(), unreadable: None };
        for (place, (reference, text)) in references.iter().zip(texts).enumerate() {
            let secret = match text {
                Ok(text) => Secret::new(text.expose()).map_err(|_| SecretError::Empty { reference: reference.clone() }),
                Err(error) => Err(error),
            };
            match secret {
                Ok(secret) => {
                    read.readable.push(secret);
                    read.places.push(place);
                }
                Err(error) => read.unreadable = Some((place, error)),
            }
        }
        read
    }

    /// Those that could be read.
    pub fn readable(&self) -> &[Secret] {
        &self.readable
    }

    /// What the profile's verdict over the readable secrets means; gives the configured place of the one that matched.
    pub fn judge(self, verdict: &Verdict) -> Result<usize, Untrusted> {
        if let Verdict::Valid { secret_index, .. } = verdict {
            return Ok(self.places.get(*secret_index).copied().unwrap_or(*secret_index));
        }
        if let Some((index, source)) = self.unreadable {
            return Err(Untrusted::SecretUnreadable { index, source });
        }
        Err(match verdict {
            Verdict::Invalid(reason) => Untrusted::Invalid(*reason),
            Verdict::Misconfigured(reason) => Untrusted::Misconfigured(*reason),
            Verdict::NeedsFetch { .. } | Verdict::Valid { .. } => Untrusted::NotFetched,
        })
    }
}
