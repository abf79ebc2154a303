//! One HTTP request and the head of its answer, with the one thing that the caller must know of a failure: whether the
//! request may have arrived.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use hookbox_runtime::chain;
use http_body::{Body, Frame, SizeHint};

/// Sends requests. Product code uses [`Client`]; a simulation brings its own.
pub trait Exchange: Send + Sync {
    /// Sends the request and gives the head of the answer; the body of the answer decides nothing.
    fn exchange(
        &self,
        request: http::Request<Bytes>,
        within: Duration,
    ) -> BoxFuture<'_, Result<http::Response<()>, ExchangeError>>;
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The address cannot be called at all.
    #[error("{detail}")]
    Unusable {
        /// For people.
        detail: String,
    },
    /// No byte of the request has left: it had no effect.
    #[error("{detail}")]
    NotSent {
        /// `connect` or `connect-timeout`.
        code: &'static str,
        /// For people.
        detail: String,
    },
    /// The request may have arrived.
    #[error("{detail}")]
    Unanswered {
        /// `timeout` or `connection-lost`.
        code: &'static str,
        /// For people.
        detail: String,
    },
}

/// How long a connection, with TLS, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of an answer is read before the connection is closed.
const DRAINED_BYTES: usize = 64 * 1024;
/// How long the rest of an answer is read: some servers stop working when their client leaves early.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The HTTP client of the process.
///
/// Every exchange has a connection of its own. A frozen Lambda process wakes up with connections that the other side has
/// closed, and a request written to one of those ends as an unknown outcome. Proxies, redirects, compression and
/// repetitions are off, whatever the environment says.
#[derive(Clone, Debug)]
pub struct Client(reqwest::Client);

/// The client cannot be built: the machine has no root certificates, for example.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be built")]
pub struct ClientError(#[source] reqwest::Error);

impl Client {
    /// Builds the client; once in a process, because it reads the root certificates.
    pub fn new() -> Result<Self, ClientError> {
        // An error says that one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .user_agent(concat!("Hookbox/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map(Self)
            .map_err(ClientError)
    }

    async fn send(&self, request: http::Request<Bytes>, within: Duration) -> Result<http::Response<()>, ExchangeError> {
        let (head, body) = request.into_parts();
        // The body of a request without bytes is never asked for, so nothing would show that it was sent.
        let begun = Arc::new(AtomicBool::new(body.is_empty()));
        let mut sent = self.0.request(head.method, head.uri.to_string()).headers(head.headers).timeout(within);
        if !body.is_empty() {
            sent = sent.body(reqwest::Body::wrap(Watched { bytes: Some(body), begun: begun.clone() }));
        }
        let mut answer = sent.send().await.map_err(|error| classified(error, begun.load(Ordering::SeqCst)))?;
        let mut seen = http::Response::new(());
        *seen.status_mut() = answer.status();
        *seen.headers_mut() = std::mem::take(answer.headers_mut());
        // The head decides; what happens to the body does not.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, drain(answer)).await;
        Ok(seen)
    }
}

impl Exchange for Client {
    fn exchange(
        &self,
        request: http::Request<Bytes>,
        within: Duration,
    ) -> BoxFuture<'_, Result<http::Response<()>, ExchangeError>> {
        self.send(request, within).boxed()
    }
}

async fn drain(mut answer: reqwest::Response) {
    let mut left = DRAINED_BYTES;
    while let Ok(Some(chunk)) = answer.chunk().await {
        left = left.saturating_sub(chunk.len());
        if left == 0 {
            break;
        }
    }
}

fn classified(error: reqwest::Error, begun: bool) -> ExchangeError {
    let (connecting, late) = (error.is_connect(), error.is_timeout());
    let building = error.is_builder();
    // An address may hold a password or a token.
    let detail = chain(&error.without_url());
    match (building, connecting || !begun, late) {
        (true, _, _) => ExchangeError::Unusable { detail },
        (_, true, true) => ExchangeError::NotSent { code: "connect-timeout", detail },
        (_, true, false) => ExchangeError::NotSent { code: "connect", detail },
        (_, false, true) => ExchangeError::Unanswered { code: "timeout", detail },
        (_, false, false) => ExchangeError::Unanswered { code: "connection-lost", detail },
    }
}

/// A request body that notes when it is first asked for: then there is a connection, and bytes are about to leave.
struct Watched {
    bytes: Option<Bytes>,
    begun: Arc<AtomicBool>,
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.begun.store(true, Ordering::SeqCst);
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        // The HTTP/1 writer asks this just before it writes the head.
        self.begun.store(true, Ordering::SeqCst);
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
