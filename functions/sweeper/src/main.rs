//! The sweeper's process.

use std::sync::Arc;

use hookbox_ledger::Ledger;
use hookbox_queue::Queue;
use hookbox_runtime::{Metrics, SweeperSettings, SystemClock, SystemRandom, sdk_config, telemetry};
use hookbox_sweeper::Sweeper;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let settings = SweeperSettings::from_env()?;
    let aws = sdk_config().await;
    let clock = Arc::new(SystemClock);
    let sweeper = Sweeper::new(
        Ledger::new(&aws, settings.table, settings.shards, Arc::new(SystemRandom)),
        Queue::new(&aws, settings.work_queue_url),
        Queue::new(&aws, settings.dead_letter_queue_url),
        Arc::clone(&clock) as _,
        Metrics::new(clock, "sweeper"),
    );
    let sweeper = &sweeper;
    run(service_fn(async |event: LambdaEvent<Value>| sweeper.handle(event).await.map_err(Error::from))).await
}
