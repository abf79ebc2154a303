//! The real template and the real binaries on a local AWS, from a signed delivery to a completed job.

use futures_util::future::join_all;
use hookbox_core::job::{AttemptOutcome, Status};
use hookbox_core::key::ReceiptId;

use crate::hookbox::hookbox;
use crate::local_aws::{LocalAws, http};
use crate::stage::{Stage, now, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_way_on_the_real_template() {
    let stage = Stage::set(LocalAws::start("e2e"));
    // Before anything else goes on: it is not only the worker of this job that is killed.
    let killed = kill_a_worker(&stage).await;
    tokio::join!(
        finished_after_the_kill(&stage, killed),
        async {
            fifty_at_once(&stage).await;
            conflict(&stage).await;
            refusals(&stage).await;
        },
        fails_twice(&stage),
        fails_for_good(&stage),
    );
}

/// 50 identical deliveries at once: one receipt, one job, 49 duplicates, one effect.
async fn fifty_at_once(stage: &Stage) {
    let answers = join_all((0..50).map(|_| stage.deliver("ok", "evt_fifty", "same"))).await;
    assert!(answers.iter().all(|answer| answer.status == 200), "all are acknowledged");
    assert_eq!(answers.iter().filter(|answer| answer.state() == "created").count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.state() == "duplicate").count(), 49);
    let (folder, job) = stage.settled(answers[0].receipt()).await;
    assert_eq!(folder.receipt.expect("a receipt").duplicate_count, 49);
    assert_eq!(job.status(), Status::Completed);
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (1, 1));
}

async fn conflict(stage: &Stage) {
    let first = stage.deliver("ok", "evt_conflict", "one").await;
    let second = stage.deliver("ok", "evt_conflict", "another").await;
    assert_eq!((first.state(), second.state()), ("created", "conflict"));
    let (folder, _) = stage.settled(first.receipt()).await;
    assert_eq!(folder.receipt.expect("a receipt").conflicts.len(), 1);
}

/// An unknown endpoint and a bad signature cannot be told apart, and neither leaves anything.
async fn refusals(stage: &Stage) {
    let forged = |url: String| async move {
        let header = format!("t={},v1={}", now().as_millis() / 1000, "0".repeat(64));
        let answer = http().post(url).header("Stripe-Signature", header).body("{}").send().await.expect("an answer");
        (answer.status().as_u16(), answer.bytes().await.expect("a body"))
    };
    let bad = forged(stage.aws.hook("stripe", "ok")).await;
    assert_eq!(bad.0, 401);
    assert_eq!(forged(stage.aws.hook("stripe", "nobody")).await, bad);
    assert_eq!(forged(stage.aws.hook("nobody", "ok")).await, bad);
}

async fn fails_twice(stage: &Stage) {
    let delivered = stage.deliver("flaky", "evt_flaky", "").await;
    let (_, job) = stage.settled(delivered.receipt()).await;
    assert_eq!((job.status(), job.attempts_total), (Status::Completed, 3));
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (3, 1));
}

/// The job waits for a person, and its notice stands in the dead-letter queue.
async fn fails_for_good(stage: &Stage) {
    let delivered = stage.deliver("down", "evt_down", "").await;
    let (folder, job) = stage.settled(delivered.receipt()).await;
    assert_eq!((job.status(), job.attempts_total), (Status::Review, 3));
    assert_eq!(folder.receipt.expect("a receipt").expires_at, None, "nothing in review expires");
    let key = job.key.to_string();
    let look = || async {
        let (_, notices) = hookbox(&stage.aws, &["dlq", "list"]);
        let notices = notices.as_array().cloned().unwrap_or_default();
        notices.into_iter().find(|notice| notice["job"] == key.as_str() && !notice["message_id"].is_null())
    };
    let notice = until("the notice is posted", look).await;
    assert_eq!(notice["status"], "review");
}

/// A worker that is killed during its call leaves a lease behind.
async fn kill_a_worker(stage: &Stage) -> ReceiptId {
    stage.shorten_leases();
    let receipt = stage.deliver("slow", "evt_killed", "").await.receipt();
    let key = format!("{receipt}:deliver:v1");
    until("the call begins", || async { (stage.sandbox.seen(&key).await.0 == 1).then_some(()) }).await;
    until("the worker is killed", || async { stage.aws.crash("worker").then_some(()) }).await;
    receipt
}

/// The job is finished without anyone acting, and the destination, which remembers the key, does nothing twice.
async fn finished_after_the_kill(stage: &Stage, receipt: ReceiptId) {
    let (_, job) = stage.settled(receipt).await;
    assert_eq!(job.status(), Status::Completed, "{job:?}");
    let outcomes: Vec<_> = job.attempts.iter().filter_map(|a| a.result.as_ref()).map(|r| r.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Uncertain, AttemptOutcome::Done]);
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (2, 1), "two calls, one effect");
}
