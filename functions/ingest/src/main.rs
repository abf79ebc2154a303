//! The ingest function's process: everything is built once, then requests are answered one at a time.

use std::sync::Arc;

use hookbox_core::time::Timestamp;
use hookbox_ingest::{Ingest, request};
use hookbox_ledger::Ledger;
use hookbox_providers::Profiles;
use hookbox_runtime::{
    Documents, Https, IngestSettings, Metrics, Secrets, SystemClock, SystemRandom, sdk_config, telemetry,
};
use lambda_http::lambda_runtime::{self, LambdaEvent, tower::Service as _};
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error, Request, RequestExt as _, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let settings = IngestSettings::from_env()?;
    let config = sdk_config().await;
    let clock = Arc::new(SystemClock);
    let ledger = Ledger::new(&config, settings.table, settings.shards, Arc::new(SystemRandom));
    let secrets = Secrets::new(&config, clock.clone());
    let metrics = Metrics::new(clock.clone(), "ingest");
    let documents = Documents::new(Arc::new(Https::default()), clock.clone());
    let ingest = &Ingest::new(ledger, Profiles::built_in(), secrets, documents, clock, metrics);
    let answer = service_fn(move |request: Request| async move {
        let deadline = request.lambda_context_ref().map_or(i64::MAX, |context| context.deadline.cast_signed());
        Ok::<_, Error>(ingest.handle(request, Timestamp::from_millis(deadline)).await)
    });
    let mut adapter = Adapter::from(answer);
    lambda_runtime::run(service_fn(move |mut event: LambdaEvent<LambdaRequest>| {
        request::make_legal(&mut event.payload);
        adapter.call(event)
    }))
    .await
}
