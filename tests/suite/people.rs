//! What people decide about jobs, on the real template and the real binaries.

use futures_util::future::join_all;
use hookbox_core::job::{Job, Status};
use hookbox_core::key::{JobKey, ReceiptId};
use serde_json::{Value, json};

use crate::hookbox::{Running, hookbox, refused};
use crate::local_aws::LocalAws;
use crate::stage::{Stage, until};

/// Jobs that a mistake at their destination has put into review.
const MANY: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_decide_is_done_on_the_real_template() {
    let stage = Stage::set(LocalAws::start("e2e-people"));
    tokio::join!(
        one_again_and_again(&stage),
        many_stopped_in_the_middle(&stage),
        paused_and_resumed(&stage),
        erased(&stage),
    );
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
    // On purpose another effect: under a key of its own, which the destination does not know.
    assert_eq!(hookbox(&stage.aws, &[&replay(&key)[..], &["--new-version"]].concat()).0, 0);
    let second = key.replace(":v1", ":v2");
    until("it happens again", || async { (stage.sandbox.seen(&second).await == (2, 1)).then_some(()) }).await;
    let third = refused(&stage.aws, &[&replay(&key)[..], &["--new-version"]].concat());
    assert!(third.contains("there is a newer version of it"), "a command that is repeated makes no third: {third}");
}

/// A bulk replay that is stopped has replayed what it says, and nothing else; the rest is replayed when it goes on.
async fn many_stopped_in_the_middle(stage: &Stage) {
    let events: Vec<_> = (0..MANY).map(|n| format!("evt_broken_{n}")).collect();
    let receipts = join_all(events.iter().map(|event| async { stage.deliver("broken", event, "").await.receipt() }));
    let receipts = receipts.await;
    let in_review = || listed(stage, "review").len();
    until("all are refused", || async { (in_review() == MANY).then_some(()) }).await;
    stage.mend_broken();

    let query = ["replay", "--account", "broken", "--since", "1h", "--reason", "mended", "--yes"];
    let bulk = Running::start(&stage.aws, &[&query[..], &["--rate", "1"]].concat());
    until("some are replayed", || async { (in_review() <= MANY - 3).then_some(()) }).await;
    let (code, report) = bulk.interrupt();
    assert_eq!((code, report["state"].as_str()), (1, Some("cancelled")), "{report}");
    let replayed = usize::try_from(report["counts"]["replayed"].as_u64().expect("a count")).unwrap();
    assert!((3..MANY).contains(&replayed), "{report}");
    assert_eq!(in_review(), MANY - replayed, "what was not replayed stands as it stood");

    let id = report["bulk"].as_str().expect("its id").to_owned();
    let (code, report) = hookbox(&stage.aws, &["replay", "--continue", &id, "--rate", "100", "--yes"]);
    assert_eq!((code, report["state"].as_str()), (0, Some("finished")), "{report}");
    assert_eq!(report["counts"]["replayed"].as_u64(), Some(MANY as u64), "{report}");
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
    let held = listed(stage, "held");
    assert!(held.iter().any(|job| job["job"] == key(receipt).as_str()), "{held:?}");
    assert_eq!(stage.sandbox.seen(&key(receipt)).await, (0, 0), "nothing is called");

    let resume = ["resume", "--reason", "done", "--yes"];
    assert_eq!(hookbox(&stage.aws, &[&resume[..], &operation].concat()).0, 0);
    assert_eq!(stage.settled(receipt).await.1.status(), Status::Completed);
    assert_eq!(stage.sandbox.seen(&key(receipt)).await, (1, 1));
}

/// Everything personal is gone with the payload, the job in review ends, and neither a redelivery nor a replay brings
/// anything back.
async fn erased(stage: &Stage) {
    let deliver = || stage.deliver("down", "evt_of_ada", "ada@example.com");
    let receipt = deliver().await.receipt();
    assert_eq!(stage.settled(receipt).await.1.status(), Status::Review);
    assert!(items(stage, receipt).iter().any(|item| item["sk"]["S"] == "payload#000"));
    assert!(items(stage, receipt).iter().any(|item| item.to_string().contains("evt_of_ada")));

    let id = receipt.to_string();
    assert_eq!(hookbox(&stage.aws, &["erase", "--receipt", &id, "--reason", "request 1", "--yes"]).0, 0);
    let is_erased = || {
        let items = items(stage, receipt);
        let text = format!("{items:?}");
        !text.contains("payload#") && !text.contains("evt_of_ada") && !text.contains("pi_1")
    };
    assert!(is_erased(), "{:?}", items(stage, receipt));
    let job = job(stage, receipt).await.expect("its job is evidence too");
    assert_eq!(job.status(), Status::Dismissed);
    assert_eq!(deliver().await.state(), "duplicate");
    assert!(is_erased(), "{:?}", items(stage, receipt));
    assert!(refused(&stage.aws, &replay(&key(receipt))).contains("erased"));
}

/// The items of a folder as they lie in the table.
fn items(stage: &Stage, receipt: ReceiptId) -> Vec<Value> {
    let query = json!({
        "TableName": stage.aws.value("HOOKBOX_TABLE"),
        "ConsistentRead": true,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": receipt.to_string()}},
    });
    let found = stage.aws.call("dynamodb", "query", &query);
    found["Items"].as_array().cloned().expect("a list")
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
fn listed(stage: &Stage, status: &str) -> Vec<Value> {
    let (code, jobs) = hookbox(&stage.aws, &["jobs", "list", "--state", status, "--since", "1h"]);
    assert_eq!(code, 0);
    jobs["jobs"].as_array().cloned().expect("a list")
}
