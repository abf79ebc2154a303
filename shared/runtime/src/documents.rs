//! Documents that verification needs from elsewhere: certificates, key sets, and addresses by which a subscription is
//! confirmed.
//!
//! Which addresses may be fetched is decided by the scheme that asks, with an allow-list. Here they are fetched so that
//! nobody can make use of us: https only, no redirects, no proxies, a bound on the answer's size and time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;

use crate::causes::chain;

/// How long a document is believed. Providers publish new keys days before they use them.
pub const DOCUMENT_CACHE: Duration = Duration::from_secs(60 * 60);
/// The largest document. Certificate chains and key sets have a few kilobytes.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
/// How long it is believed that there is nothing: whoever names a document that does not exist costs one call in this
/// time.
const ABSENCE_CACHE: Duration = Duration::from_secs(60);
/// How many documents are remembered: whoever makes us fetch many may not fill our memory.
const MAX_DOCUMENTS: usize = 64;

/// Fetches. Product code uses [`Https`]; a test brings what it needs.
pub trait Fetch: Send + Sync {
    /// The body of a successful answer to `GET url`.
    fn get<'a>(&'a self, url: &'a str, within: Duration) -> BoxFuture<'a, Result<Vec<u8>, FetchError>>;
}

/// Why there is no document. None of these shows the address: it may hold a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is not https.
    #[error("the address is not https")]
    NotHttps,
    /// The answer is no success; a redirect is none either.
    #[error("the answer was {0}")]
    Status(u16),
    /// The answer is larger than [`MAX_DOCUMENT_BYTES`].
    #[error("the answer is larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    /// There was no answer, or not all of it.
    #[error("{0}")]
    NoAnswer(String),
}

/// What was found at addresses, each with the time at which it was fetched.
type Known = HashMap<String, (Result<Arc<[u8]>, FetchError>, Timestamp)>;

impl FetchError {
    /// Whether the host says that there is no such document.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Status(404 | 410))
    }
}

/// Documents with a memory.
#[derive(Clone)]
pub struct Documents {
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    known: Arc<Mutex<Known>>,
}

impl Documents {
    /// Documents that `fetch` brings.
    pub fn new(fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        Self { fetch, clock, known: Arc::default() }
    }

    /// What stands at an address, remembered for [`DOCUMENT_CACHE`]; that there is nothing, for a minute. Any other failure
    /// passes, and remembering it would outlast the few repetitions of a sender.
    pub async fn get(&self, url: &str, within: Duration) -> Result<Arc<[u8]>, FetchError> {
        let now = self.clock.now();
        if let Some((found, at)) = self.known().get(url) {
            let believed = if found.is_ok() { DOCUMENT_CACHE } else { ABSENCE_CACHE };
            if at.is_fresh(believed, now) {
                return found.clone();
            }
        }
        let found = self.fetch.get(url, within).await.map(Arc::from);
        if found.as_ref().is_err_and(|error| !error.is_absence()) {
            return found;
        }
        let mut known = self.known();
        if known.len() >= MAX_DOCUMENTS && !known.contains_key(url) {
            // What is absent goes first, then what is oldest.
            let first = known.iter().min_by_key(|(_, (found, at))| (found.is_ok(), *at)).map(|(url, _)| url.clone());
            first.and_then(|url| known.remove(&url));
        }
        known.insert(url.to_owned(), (found.clone(), now));
        found
    }

    /// Visits an address for the effect that this has, each time anew.
    pub async fn visit(&self, url: &str, within: Duration) -> Result<(), FetchError> {
        self.fetch.get(url, within).await.map(|_| ())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Documents")
    }
}

/// Fetches over https. The client is built when it is first needed: it reads the root certificates, and most functions
/// never fetch.
#[derive(Debug, Default)]
pub struct Https(OnceLock<Result<reqwest::Client, String>>);

impl Https {
    fn client(&self) -> Result<&reqwest::Client, FetchError> {
        let built = self.0.get_or_init(|| client().map_err(|error| chain(&error)));
        built.as_ref().map_err(|why| FetchError::NoAnswer(why.clone()))
    }
}

impl Fetch for Https {
    fn get<'a>(&'a self, url: &'a str, within: Duration) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        async move {
            if !url.starts_with("https://") {
                return Err(FetchError::NotHttps);
            }
            fetch(self.client()?, url, within).await
        }
        .boxed()
    }
}

fn client() -> Result<reqwest::Client, reqwest::Error> {
    // An error says that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("Hookbox/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        // A frozen process wakes up with connections that the other side has closed.
        .pool_max_idle_per_host(0)
        .build()
}

async fn fetch(client: &reqwest::Client, url: &str, within: Duration) -> Result<Vec<u8>, FetchError> {
    let no_answer = |error: reqwest::Error| FetchError::NoAnswer(chain(&error.without_url()));
    let mut answer = client.get(url).timeout(within).send().await.map_err(no_answer)?;
    if !answer.status().is_success() {
        return Err(FetchError::Status(answer.status().as_u16()));
    }
    let mut document = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(no_answer)? {
        if document.len() + chunk.len() > MAX_DOCUMENT_BYTES {
            return Err(FetchError::TooLarge);
        }
        document.extend_from_slice(&chunk);
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    #[derive(Debug, Default)]
    struct At(AtomicI64);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::SeqCst))
        }
    }

    /// Gives each fetch its number; fails on addresses that say so.
    #[derive(Default)]
    struct Numbers(AtomicUsize);

    impl Fetch for Numbers {
        fn get<'a>(&'a self, url: &'a str, _: Duration) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            let answer = if url.contains("gone") {
                Err(FetchError::Status(404))
            } else if url.contains("busy") {
                Err(FetchError::Status(429))
            } else {
                Ok(vec![u8::try_from(number % 256).unwrap()])
            };
            std::future::ready(answer).boxed()
        }
    }

    #[tokio::test]
    async fn a_document_is_believed_for_an_hour_and_its_absence_for_a_minute() {
        let clock = Arc::new(At::default());
        let documents = Documents::new(Arc::new(Numbers::default()), clock.clone());
        let get = async |url: &str| documents.get(url, SOON).await.map(|document| document[0]);
        assert_eq!((get("https://a").await, get("https://a").await, get("https://b").await), (Ok(0), Ok(0), Ok(1)));
        let gone = Err(FetchError::Status(404));
        assert_eq!((get("https://gone").await, get("https://gone").await), (gone.clone(), gone.clone()));
        clock.0.store(i64::try_from(ABSENCE_CACHE.as_millis()).unwrap(), Ordering::SeqCst);
        assert_eq!((get("https://gone").await, get("https://a").await), (gone, Ok(0)));
        clock.0.store(i64::try_from(DOCUMENT_CACHE.as_millis()).unwrap(), Ordering::SeqCst);
        assert_eq!(get("https://a").await, Ok(4), "two failures were fetched in between");
        assert_eq!(get("https://busy").await, Err(FetchError::Status(429)));
        assert_eq!(get("https://busy").await, Err(FetchError::Status(429)));
        assert_eq!(documents.visit("https://a", SOON).await, Ok(()));
        assert_eq!(get("https://c").await, Ok(8), "what passes is fetched, and a visit made, each time");
    }

    #[tokio::test]
    async fn the_memory_is_bounded_and_absences_leave_it_first() {
        let documents = Documents::new(Arc::new(Numbers::default()), Arc::new(At::default()));
        documents.get("https://a", SOON).await.unwrap();
        for n in 0..1_000 {
            assert!(documents.get(&format!("https://gone/{n}"), SOON).await.is_err());
        }
        assert_eq!(documents.known().len(), MAX_DOCUMENTS);
        assert_eq!(documents.get("https://a", SOON).await.map(|document| document[0]), Ok(0), "still known");
        for n in 0..1_000 {
            documents.get(&format!("https://{n}"), SOON).await.unwrap();
        }
        assert_eq!(documents.known().len(), MAX_DOCUMENTS);
    }

    #[tokio::test]
    async fn only_https_is_fetched() {
        for url in ["http://127.0.0.1:1/", "file:///etc/passwd", "HTTPS://x", "//x", ""] {
            assert_eq!(Https::default().get(url, SOON).await, Err(FetchError::NotHttps), "{url}");
        }
    }

    #[tokio::test]
    async fn an_answer_is_a_success_of_bounded_size_and_no_redirect() {
        let server = MockServer::start().await;
        let answer = async |at: &str, template: ResponseTemplate| {
            Mock::given(path(at)).respond_with(template).mount(&server).await;
            fetch(&client().unwrap(), &format!("{}{at}", server.uri()), SOON).await
        };
        assert_eq!(answer("/key", ResponseTemplate::new(200).set_body_string("pem")).await, Ok(b"pem".to_vec()));
        let elsewhere = ResponseTemplate::new(302).insert_header("location", format!("{}/key", server.uri()));
        assert_eq!(answer("/moved", elsewhere).await, Err(FetchError::Status(302)));
        assert_eq!(answer("/broken", ResponseTemplate::new(500)).await, Err(FetchError::Status(500)));
        let large = ResponseTemplate::new(200).set_body_bytes(vec![0; MAX_DOCUMENT_BYTES + 1]);
        assert_eq!(answer("/large", large).await, Err(FetchError::TooLarge));
        let most = ResponseTemplate::new(200).set_body_bytes(vec![0; MAX_DOCUMENT_BYTES]);
        assert_eq!(answer("/most", most).await.map(|document| document.len()), Ok(MAX_DOCUMENT_BYTES));
    }

    #[tokio::test]
    async fn what_went_wrong_shows_no_address() {
        let slow = MockServer::start().await;
        Mock::given(path("/slow")).respond_with(ResponseTemplate::new(200).set_delay(SOON)).mount(&slow).await;
        let url = format!("{}/slow?token=hush", slow.uri());
        let error = fetch(&client().unwrap(), &url, Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(error, FetchError::NoAnswer(_)));
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
}
