//! Whether the provider sent it: the raw bytes against every secret of the endpoint. Never open when unsure.

use std::time::Duration;

use futures_util::future::join_all;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Answer, Fetched, Handshake, Misconfiguration, Once, Reason, Request, Secret, Verdict};
use hookbox_runtime::{Documents, FetchError, SecretError, Secrets};

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
    /// The scheme needs a document that could not be fetched.
    #[error("a document that verification needs could not be fetched")]
    NotFetched(#[source] FetchError),
    /// A document that the request names could not be fetched: whoever sends it chooses the name.
    #[error("a document that the request names could not be fetched")]
    NamedNotFetched(#[source] FetchError),
    /// The scheme asks for more documents than any needs.
    #[error("verification asks for one document after the other")]
    TooManyDocuments,
    /// What the signature may vouch for once only was used for something else before.
    #[error("the signed token was used for another event")]
    TokenUsed,
}

/// The most documents that one verification fetches: a certificate or a key set, and one that refers to it.
const MAX_DOCUMENTS: usize = 2;
/// How long fetching a document may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(2);

/// What a trusted request is.
#[derive(Debug)]
pub enum Trusted {
    /// A handshake, and its answer.
    Handshake(Answer),
    /// A handshake that is answered after this address was visited.
    Confirmation {
        /// Where to.
        url: String,
        /// Whose deliveries it is about.
        tenant: Option<String>,
        /// The answer.
        answer: Answer,
    },
    /// A delivery.
    Delivery {
        /// The configured place of the secret that matched.
        secret_index: usize,
        /// What the signature may vouch for once only.
        once: Option<Once>,
    },
}

/// A document that the sender names, and that its host does not have, was never anybody's. Whatever else the host answers
/// may pass, and so does the absence of what the provider always `published`. An alarm for everybody who names a host that
/// nobody has would be theirs to ring.
fn unfetched(error: FetchError, published: bool) -> Untrusted {
    match published {
        true => Untrusted::NotFetched(error),
        false if error.is_absence() => Untrusted::Invalid(Reason::NoSuchDocument),
        false => Untrusted::NamedNotFetched(error),
    }
}

/// How long fetching may take that must end by `deadline`.
pub fn fetch_timeout(now: Timestamp, deadline: Timestamp) -> Duration {
    deadline.since(now).min(FETCH_TIMEOUT)
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

    /// Whether the request is what it seems: asks the profile, and fetches what the profile's scheme needs to know.
    pub async fn authenticate(
        self,
        endpoint: &Endpoint,
        delivered: &Request<'_>,
        documents: &Documents,
        clock: &dyn Clock,
        deadline: Timestamp,
    ) -> Result<Trusted, Untrusted> {
        let now = clock.now();
        let mut fetched = Fetched::nothing();
        let mut key_set = None;
        for _ in 0..=MAX_DOCUMENTS {
            let verdict = match endpoint.profile.handshake(delivered, &self.readable, &fetched, now) {
                Some(Handshake::Answer(answer)) => return Ok(Trusted::Handshake(answer)),
                Some(Handshake::Confirm { url, tenant, answer }) => {
                    return Ok(Trusted::Confirmation { url, tenant, answer });
                }
                Some(Handshake::Refused(verdict)) => verdict,
                None => endpoint.profile.verify(delivered, &self.readable, &fetched, now),
            };
            let url = match verdict {
                Verdict::NeedsFetch { url } => url,
                Verdict::Valid { secret_index, once, .. } => {
                    return Ok(Trusted::Delivery { secret_index: self.place(secret_index), once });
                }
                Verdict::Invalid(reason) => match key_set.take() {
                    // Keys are rotated, and ours may be the older set. Once it has been looked for, the verdict stands.
                    Some(key_set) if reason == Reason::UnknownKey => key_set,
                    _ => return Err(self.doubted(Untrusted::Invalid(reason))),
                },
                Verdict::Misconfigured(reason) => {
                    let reason = self.in_the_configuration(reason);
                    return Err(self.doubted(Untrusted::Misconfigured(reason)));
                }
            };
            let within = fetch_timeout(clock.now(), deadline);
            let published = endpoint.profile.publishes_keys_at(&url);
            let again = fetched.get(&url).is_some();
            let found = if again { documents.renew(&url, within).await } else { documents.get(&url, within).await };
            let document = found.map_err(|error| unfetched(error, published))?;
            if published && !again {
                key_set = Some(url.clone());
            }
            fetched.insert(url, document.to_vec());
        }
        Err(Untrusted::TooManyDocuments)
    }

    /// The configured place of a secret that could be read.
    fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().unwrap_or(index)
    }

    fn in_the_configuration(&self, reason: Misconfiguration) -> Misconfiguration {
        match reason {
            Misconfiguration::SecretEncoding { index } => Misconfiguration::SecretEncoding { index: self.place(index) },
            other => other,
        }
    }

    /// The secret that could not be read may have been the right one.
    fn doubted(self, otherwise: Untrusted) -> Untrusted {
        match self.unreadable {
            Some((index, source)) => Untrusted::SecretUnreadable { index, source },
            None => otherwise,
        }
    }
}
