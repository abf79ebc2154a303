//! Everything stops at once and starts again: table, queues, functions.

use futures_util::future::join_all;
use hookbox_core::job::{AttemptOutcome, Job, Status};
use hookbox_core::key::ReceiptId;

use crate::stage::{Stage, until};

const WORKER: &str = "HOOKBOX_WORKER_FUNCTION";
const WORK_QUEUE: &str = "HOOKBOX_WORK_QUEUE_URL";

/// Jobs between two attempts, in the middle of a call and in the queue are all finished afterwards.
pub(crate) async fn with_work_in_flight(stage: &mut Stage) {
    stage.shorten_leases();
    let retrying = retrying(stage).await;
    let in_its_call = in_its_call(stage).await;
    // From here on no job is begun.
    stage.aws.set_event_source(WORKER, false);
    let waiting = waiting(stage).await;

    let addresses = stage.aws.addresses();
    stage.aws.restart();
    assert_eq!(stage.aws.addresses(), addresses, "who was led there before still is");
    stage.aws.set_event_source(WORKER, true);

    for receipt in waiting {
        let (job, seen) = completed(stage, receipt).await;
        assert_eq!((outcomes(&job), seen), (vec![AttemptOutcome::Done], (1, 1)));
    }
    let (job, seen) = completed(stage, retrying).await;
    assert_eq!((outcomes(&job), seen), (vec![AttemptOutcome::Uncertain, AttemptOutcome::Done], (2, 1)));
    let (job, seen) = completed(stage, in_its_call).await;
    assert_eq!((outcomes(&job), seen), (vec![AttemptOutcome::Uncertain, AttemptOutcome::Done], (2, 1)));
    let later = stage.deliver("ok", "evt_after_the_restart", "").await;
    assert_eq!((later.status, later.state()), (200, "created"));
    completed(stage, later.receipt()).await;
}

/// A job between two attempts, its wake-up delayed in the queue.
async fn retrying(stage: &Stage) -> ReceiptId {
    let receipt = stage.deliver("patient", "evt_retrying", "").await.receipt();
    until("the first attempt fails", || async {
        let folder = stage.ledger.load(&receipt).await.ok().flatten()?;
        (folder.jobs.first()?.status() == Status::Retrying).then_some(())
    })
    .await;
    receipt
}

/// A job whose worker is in the middle of its call.
async fn in_its_call(stage: &Stage) -> ReceiptId {
    let receipt = stage.deliver("slow", "evt_in_its_call", "").await.receipt();
    let key = format!("{receipt}:deliver:v1");
    until("the call begins", || async { (stage.sandbox.seen(&key).await.0 == 1).then_some(()) }).await;
    receipt
}

/// Jobs whose wake-ups lie in the queue.
async fn waiting(stage: &Stage) -> Vec<ReceiptId> {
    let events = ["evt_waiting_1", "evt_waiting_2", "evt_waiting_3", "evt_waiting_4", "evt_waiting_5"];
    let delivered = join_all(events.map(|event_id| stage.deliver("ok", event_id, ""))).await;
    until("they wait in the queue", || async { (stage.aws.messages(WORK_QUEUE).0 >= 5).then_some(()) }).await;
    delivered.iter().map(crate::stage::Delivered::receipt).collect()
}

/// The job at its end, and how often its destination was called and did something.
async fn completed(stage: &Stage, receipt: ReceiptId) -> (Job, (u64, u64)) {
    let (_, job) = stage.settled(receipt).await;
    assert_eq!(job.status(), Status::Completed, "{job:?}");
    let seen = stage.sandbox.seen(&job.key.to_string()).await;
    (job, seen)
}

fn outcomes(job: &Job) -> Vec<AttemptOutcome> {
    job.attempts.iter().filter_map(|attempt| attempt.result.as_ref()).map(|result| result.outcome).collect()
}
