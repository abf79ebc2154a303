//! Stands between a function and the table, and keeps transactions from getting further.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::pending;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::local_aws::http;

const TRANSACTION: &str = "DynamoDB_20120810.TransactWriteItems";
/// As long as a function can be expected to take until it commits: it may have to be started first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where transactions are kept.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    /// The table never sees them.
    BeforeCommit,
    /// They are committed, and nobody is told.
    AfterCommit,
}

/// Hands on everything but the transactions that it is told to keep. Ends when it is dropped.
pub(crate) struct Interceptor {
    /// Its address, to be used in the table's place.
    pub(crate) url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    table: String,
    cut: Mutex<Option<Cut>>,
    kept: watch::Sender<bool>,
}

impl Interceptor {
    /// In front of the service at this address.
    pub(crate) async fn before(table: &str) -> Self {
        let shared =
            Arc::new(Shared { table: table.to_owned(), cut: Mutex::new(None), kept: watch::Sender::new(false) });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { url, shared, server }
    }

    /// From now on transactions are kept, or with `None` handed on again. Those that were kept stay where they are.
    pub(crate) fn set(&self, cut: Option<Cut>) {
        *self.shared.cut.lock().expect("not poisoned") = cut;
        self.shared.kept.send_replace(false);
    }

    /// Waits until a transaction has been kept since that was said.
    pub(crate) async fn has_kept_one(&self) {
        let mut kept = self.shared.kept.subscribe();
        let kept = tokio::time::timeout(PATIENCE, kept.wait_for(|kept| *kept)).await.expect("a transaction comes");
        kept.expect("the sender is ours");
    }
}

impl Drop for Interceptor {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    let transaction = head.headers.get("x-amz-target").is_some_and(|target| target == TRANSACTION);
    let cut = if transaction { *shared.cut.lock().expect("not poisoned") } else { None };
    if let Some(Cut::BeforeCommit) = cut {
        shared.keep().await;
    }
    let answer = shared.ask(&head, body).await;
    if let Some(Cut::AfterCommit) = cut {
        assert_eq!(answer.0, StatusCode::OK, "the transaction is committed");
        shared.keep().await;
    }
    answer.into_response()
}

impl Shared {
    async fn ask(&self, head: &Parts, body: Bytes) -> (StatusCode, HeaderMap, Bytes) {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let request = http().request(head.method.clone(), format!("{}{path}", self.table));
        let answer = request.headers(head.headers.clone()).body(body).send().await.expect("the table answers");
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        // The whole body follows, whatever pieces it came in.
        headers.remove("transfer-encoding");
        (status, headers, answer.bytes().await.expect("a body"))
    }

    async fn keep(&self) {
        self.kept.send_replace(true);
        pending::<()>().await;
    }
}
