//! Ingest is killed before it can answer: nothing was promised, and the redelivery makes it good.

use hookbox_core::job::Status;
use serde_json::{Value, json};

use crate::hookbox::hookbox;
use crate::interceptor::{Cut, Interceptor};
use crate::stage::{Delivered, Stage, until};

/// Each time the provider gets no 2xx and delivers again.
pub(crate) async fn before_and_after_the_commit(stage: &Stage) {
    let interceptor = Interceptor::before(stage.aws.value("AWS_ENDPOINT_URL")).await;
    let usual = redirect_ingest(stage, |variables| {
        let mut redirected = variables.clone();
        redirected["AWS_ENDPOINT_URL_DYNAMODB"] = json!(interceptor.url);
        redirected
    });
    killed_before_the_commit(stage, &interceptor).await;
    killed_after_the_commit(stage, &interceptor).await;
    redirect_ingest(stage, |_| usual);
}

/// Changes the function's environment; gives what it was. Only the table gets another address.
fn redirect_ingest(stage: &Stage, change: impl FnOnce(&Value) -> Value) -> Value {
    let function = json!({"FunctionName": stage.aws.value("HOOKBOX_INGEST_FUNCTION")});
    let usual = stage.aws.call("lambda", "get_function_configuration", &function)["Environment"]["Variables"].take();
    let environment = json!({"Variables": change(&usual)});
    let changed = json!({"FunctionName": function["FunctionName"], "Environment": environment});
    stage.aws.call("lambda", "update_function_configuration", &changed);
    usual
}

/// Delivers, and kills ingest once its transaction is where it is cut off.
async fn deliver_and_kill(stage: &Stage, interceptor: &Interceptor, event_id: &str, cut: Cut) {
    interceptor.set(Some(cut));
    let kill = async {
        interceptor.has_kept_one().await;
        assert!(stage.aws.crash("ingest"), "ingest waits for the table");
        interceptor.set(None);
    };
    let (lost, ()) = tokio::join!(stage.deliver("ok", event_id, ""), kill);
    assert!(lost.status >= 500, "{}", lost.status);
    assert_eq!(lost.body["success"], Value::Null, "this is the API's own answer, not one of ingest");
}

/// Nothing is stored, so the redelivery is the first.
async fn killed_before_the_commit(stage: &Stage, interceptor: &Interceptor) {
    let event_id = "evt_killed_before";
    deliver_and_kill(stage, interceptor, event_id, Cut::BeforeCommit).await;
    assert_eq!(show(stage, event_id).0, 1, "there is no such receipt");
    let again = stage.deliver("ok", event_id, "").await;
    assert_eq!((again.status, again.state()), (200, "created"));
    one_receipt_one_job_one_effect(stage, &again, 0).await;
}

/// All is stored and worked on before the redelivery comes, which is a duplicate with the ordinary success.
async fn killed_after_the_commit(stage: &Stage, interceptor: &Interceptor) {
    let event_id = "evt_killed_after";
    deliver_and_kill(stage, interceptor, event_id, Cut::AfterCommit).await;
    until("the job of the delivery that was never answered ends", || async {
        (show(stage, event_id).1["jobs"][0]["status"] == "completed").then_some(())
    })
    .await;
    let again = stage.deliver("ok", event_id, "").await;
    assert_eq!((again.status, again.state()), (200, "duplicate"));
    one_receipt_one_job_one_effect(stage, &again, 1).await;
}

fn show(stage: &Stage, event_id: &str) -> (i32, Value) {
    let question = ["receipts", "show", "--provider", "stripe", "--account", "ok", "--event-id", event_id];
    hookbox(&stage.aws, &question)
}

async fn one_receipt_one_job_one_effect(stage: &Stage, delivered: &Delivered, duplicates: u64) {
    let (folder, job) = stage.settled(delivered.receipt()).await;
    assert_eq!(folder.receipt.expect("a receipt").duplicate_count, duplicates);
    assert_eq!((job.status(), job.attempts_total), (Status::Completed, 1));
    assert_eq!(stage.sandbox.seen(&job.key.to_string()).await, (1, 1));
}
