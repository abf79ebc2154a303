//! What dies in between, on the real template and the real binaries: each time the work is finished, and done once.

use crate::local_aws::LocalAws;
use crate::stage::Stage;
use crate::{ingest_killed, restart, stream_off};

/// One after the other on one local AWS, because each takes away something that the others need.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_dies_in_between_the_work_is_finished_and_done_once() {
    let mut stage = Stage::set(LocalAws::start_to_keep("e2e-crashes"));
    ingest_killed::before_and_after_the_commit(&stage).await;
    stream_off::the_sweeper_alone(&stage).await;
    restart::with_work_in_flight(&mut stage).await;
}
