//! The dispatcher's process.

use std::sync::Arc;

use hookbox_dispatcher::Dispatcher;
use hookbox_queue::Queue;
use hookbox_runtime::{DispatcherSettings, Metrics, SystemClock, sdk_config, telemetry};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let settings = DispatcherSettings::from_env()?;
    let aws = sdk_config().await;
    let dispatcher = Dispatcher::new(
        Queue::new(&aws, settings.work_queue_url),
        Queue::new(&aws, settings.dead_letter_queue_url),
        Metrics::new(Arc::new(SystemClock), "dispatcher"),
    );
    let dispatcher = &dispatcher;
    run(service_fn(async |event: LambdaEvent<Value>| dispatcher.dispatch(&event.payload).await.map_err(Error::from)))
        .await
}
