//! What people decide about jobs, on the real template and the real binaries.

use futures_util::future::join_all;
use hookbox_core::job::{Job, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use serde_json::Value;

use crate::hookbox::{Running, hookbox, refused};
use crate::local_aws::LocalAws;
use crate::stage::{Stage, until};

/// Jobs that a mistake at their destination has put into review.
const MANY: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_decide_is_done_on_the_real_template() {
    let stage = Stage::set(LocalAws::start("e2e-people"));
    tokio::join!(one_again_and_again(&stage), many_stopped_in_the_middle(&stage), paused_and_resumed(&stage));
}

/// Two replays, each after the other's end: both reach the destination, which remembers the key.
async fn one_again_and_again(stage: &Stage) {
    let receipt = stage.deliver("patient", "evt_again", "").await.receipt();
    let key = key(receipt);
    until("it waits half a minute", || async {
        job(stage, receipt).await.filter(|job| job.status() == Status::Retrying)
    })
    .await;
    let early = refused(&stage.aws, &replay(&key));
    assert!(early.contains("it is retrying"), "{early}");
    for round in 2..=3 {
        let before = stage.settled(receipt).await.1;
        assert_eq!(before.status(), Status::Completed);
        let calls = stage.sandbox.seen(&key).await.0;
        assert_eq!(hookbox(&stage.aws, &replay(&key)).0, 0);
        let after = until("the round ends", || async {
            job(stage, receipt).await.filter(|job| job.round == round && job.status() == Status::Completed)
        })
        .await;
        assert_eq!(after.attempts.len(), 1, "its attempts count from the start");
        assert_eq!(stage.sandbox.seen(&key).await, (calls + 1, 1), "another call, no other effect");
    }
}

/// A bulk replay that is stopped has replayed what it says, and nothing else; the rest is replayed afterwards.
async fn many_stopped_in_the_middle(stage: &Stage) {
    let events: Vec<_> = (0..MANY).map(|n| format!("evt_broken_{n}")).collect();
    let receipts = join_all(events.iter().map(|event| async { stage.deliver("broken", event, "").await.receipt() }));
    let receipts = receipts.await;
    let in_review = || async { listed(stage, "review").await.len() };
    until("all are refused", || async { (in_review().await == MANY).then_some(()) }).await;
    stage.mend_broken();

    let query = ["replay", "--account", "broken", "--since", "1h", "--reason", "mended", "--yes"];
    let bulk = Running::start(&stage.aws, &[&query[..], &["--rate", "1"]].concat());
    until("some are replayed", || async { (in_review().await <= MANY - 3).then_some(()) }).await;
    let (code, report) = bulk.interrupt();
    assert_eq!((code, report["state"].as_str()), (1, Some("cancelled")), "{report}");
    let replayed = usize::try_from(report["counts"]["replayed"].as_u64().expect("a count")).unwrap();
    assert!((3..MANY).contains(&replayed), "{report}");
    assert_eq!(in_review().await, MANY - replayed, "what was not replayed stands as it stood");

    let (code, report) = hookbox(&stage.aws, &[&query[..], &["--rate", "100"]].concat());
    let rest = (MANY - replayed) as u64;
    assert_eq!((code, report["counts"]["replayed"].as_u64()), (0, Some(rest)), "{report}");
    for receipt in receipts {
        let (folder, job) = stage.settled(receipt).await;
        assert_eq!((job.status(), job.round), (Status::Completed, 2), "{job:?}");
        assert_eq!(stage.sandbox.seen(&key(receipt)).await, (2, 1));
        let audit: Vec<_> = folder.audit.iter().filter(|audit| audit.what == "replay").collect();
        assert!(matches!(audit.as_slice(), [one] if one.bulk.is_some()), "{audit:?}");
    }
}

/// What arrives under a pause is held, and goes on by itself when the pause is gone.
async fn paused_and_resumed(stage: &Stage) {
    let operation = ["--provider", "stripe", "--account", "ok", "--operation", "deliver"];
    let pause = ["pause", "--reason", "maintenance", "--yes"];
    assert_eq!(hookbox(&stage.aws, &[&pause[..], &operation].concat()).0, 0);
    let receipt = stage.deliver("ok", "evt_paused", "").await.receipt();
    until("it is held", || async { job(stage, receipt).await.filter(|job| job.status() == Status::Held) }).await;
    let held = listed(stage, "held").await;
    assert!(held.iter().any(|job| job["job"] == key(receipt).as_str()), "{held:?}");
    assert_eq!(stage.sandbox.seen(&key(receipt)).await, (0, 0), "nothing is called");

    let resume = ["resume", "--reason", "done", "--yes"];
    assert_eq!(hookbox(&stage.aws, &[&resume[..], &operation].concat()).0, 0);
    assert_eq!(stage.settled(receipt).await.1.status(), Status::Completed);
    assert_eq!(stage.sandbox.seen(&key(receipt)).await, (1, 1));
}

fn key(receipt: ReceiptId) -> String {
    JobKey::first(receipt, "deliver".parse().unwrap()).to_string()
}

fn replay(key: &str) -> [&str; 5] {
    ["replay", key, "--reason", "once more", "--yes"]
}

async fn job(stage: &Stage, receipt: ReceiptId) -> Option<Job> {
    stage.ledger.load(&receipt).await.ok().flatten()?.jobs.first().cloned()
}

/// The jobs of a state, as the command lists them.
async fn listed(stage: &Stage, state: &str) -> Vec<Value> {
    let (code, jobs) = hookbox(&stage.aws, &["jobs", "list", "--state", state, "--since", "1h"]);
    assert_eq!(code, 0);
    jobs["jobs"].as_array().cloned().expect("a list")
}
