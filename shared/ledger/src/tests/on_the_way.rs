//! What happens between a client and the table that no fault covers.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_types::SdkConfig;

/// The same configuration, whose calls are made as `call` makes them.
pub(super) fn on_the_way(
    config: &SdkConfig,
    call: impl Fn(SharedHttpConnector, HttpRequest) -> HttpConnectorFuture + Send + Sync + 'static,
) -> SdkConfig {
    let inner = config.http_client().unwrap();
    let call = Arc::new(call);
    let client = http_client_fn(move |settings, components| {
        let inner = inner.http_connector(settings, components);
        SharedHttpConnector::new(OnTheWay { inner, call: Arc::clone(&call) })
    });
    config.to_builder().http_client(client).build()
}

/// The same configuration, where somebody does something just before call `number` arrives.
pub(super) fn before_call(
    number: usize,
    config: &SdkConfig,
    deed: impl Future<Output = ()> + Send + 'static,
) -> SdkConfig {
    type Deed = Pin<Box<dyn Future<Output = ()> + Send>>;
    let waiting: Arc<Mutex<(usize, Option<Deed>)>> = Arc::new(Mutex::new((0, Some(Box::pin(deed)))));
    on_the_way(config, move |inner, request| {
        let waiting = Arc::clone(&waiting);
        HttpConnectorFuture::new(async move {
            let deed = {
                let (made, deed) = &mut *waiting.lock().unwrap();
                *made += 1;
                if *made > number { deed.take() } else { None }
            };
            if let Some(deed) = deed {
                deed.await;
            }
            inner.call(request).await
        })
    })
}

struct OnTheWay<F> {
    inner: SharedHttpConnector,
    call: Arc<F>,
}

impl<F> std::fmt::Debug for OnTheWay<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnTheWay").finish_non_exhaustive()
    }
}

impl<F: Fn(SharedHttpConnector, HttpRequest) -> HttpConnectorFuture + Send + Sync> HttpConnector for OnTheWay<F> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        (self.call)(self.inner.clone(), request)
    }
}
