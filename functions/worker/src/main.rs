//! The worker function with the built-in operations.

use hookbox_worker::Worker;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    hookbox_runtime::telemetry::init();
    Worker::builder().build().await?.run().await
}
