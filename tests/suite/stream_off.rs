//! The table's stream carries nothing: the sweeper alone finds what was committed.

use hookbox_core::job::{Job, Status};
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::PENDING_OVERDUE;
use serde_json::json;

use crate::stage::{Stage, until};

const DISPATCHER: &str = "HOOKBOX_DISPATCHER_FUNCTION";

/// It finishes what the stream did not carry; when the stream comes back, nothing happens twice.
pub(crate) async fn the_sweeper_alone(stage: &Stage) {
    stage.aws.set_event_source(DISPATCHER, false);
    let mut receipts = Vec::new();
    for event_id in ["evt_unseen_1", "evt_unseen_2", "evt_unseen_3"] {
        let delivered = stage.deliver("ok", event_id, "").await;
        assert_eq!((delivered.status, delivered.state()), (200, "created"));
        receipts.push(delivered.receipt());
    }
    for receipt in &receipts {
        make_overdue(stage, receipt).await;
    }
    sweep(stage);
    let mut keys = Vec::new();
    for receipt in receipts {
        let (_, job) = stage.settled(receipt).await;
        assert_eq!((job.status(), job.attempts_total), (Status::Completed, 1), "{job:?}");
        assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (1, 1));
        keys.push(job.key.to_string());
    }
    the_stream_comes_back(stage, &keys).await;
}

/// Puts the job's entry back by the five minutes that the sweeper leaves to the stream: as if they had passed.
async fn make_overdue(stage: &Stage, receipt: &ReceiptId) {
    let folder = stage.ledger.load(receipt).await.expect("readable").expect("a folder");
    let [job] = folder.jobs.as_slice() else { panic!("one job, not {:?}", folder.jobs) };
    assert_eq!((job.status(), job.wakes), (Status::Pending, 0), "nobody has seen it");
    let due = job.received_at;
    assert!(job.open_at >= Some(due.plus(PENDING_OVERDUE)));
    let overdue = Job { open_at: Some(due), ..job.clone() };
    assert!(stage.ledger.move_entry(job, &overdue).await.expect("written"), "nobody else moves it");
}

/// One run more than those of its schedule, which may come at the same time.
fn sweep(stage: &Stage) {
    let function = stage.aws.value("HOOKBOX_SWEEPER_FUNCTION");
    let answer = stage.aws.call("lambda", "invoke", &json!({"FunctionName": function, "Payload": "{}"}));
    assert_eq!((&answer["StatusCode"], &answer["FunctionError"]), (&json!(200), &json!(null)), "{answer}");
}

/// What the stream kept meanwhile is carried now, and wakes jobs that need nothing more.
async fn the_stream_comes_back(stage: &Stage, keys: &[String]) {
    stage.aws.set_event_source(DISPATCHER, true);
    let later = stage.deliver("ok", "evt_seen", "").await;
    stage.settled(later.receipt()).await;
    until("all wake-ups are read", || async { (stage.aws.messages("HOOKBOX_WORK_QUEUE_URL") == (0, 0)).then_some(()) })
        .await;
    for key in keys {
        assert_eq!(stage.sandbox.seen(key).await, (1, 1), "a wake-up too many has no effect");
    }
}
