//! A worker that dies: what it leaves in the table and at the destination is made here, step by step, by the same
//! transitions. From outside nobody can end a real one at the right moment.

use std::time::Duration;

use hookbox_core::integration::Operation;
use hookbox_core::job::{Job, Status};
use hookbox_core::key::ReceiptId;
use hookbox_core::outcome::ErrorText;
use hookbox_core::transition::claim::{Claim, Claimed, claim};
use hookbox_core::transition::release::release;
use hookbox_ledger::{Pause, Subject};

use super::needed::Part;
use super::stage::{Stage, unable};
use crate::deed::Deed;
use crate::failure::{Failure, chain};

/// For how long the dead worker holds its lease: a real one holds it for a minute more than its invocation may take.
const LEASE: Duration = Duration::from_secs(5);
const REASON: &str = "rehearsal: a worker dies";

/// When the worker dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// It has the lease and has called nobody.
    BeforeTheCall,
    /// The destination has done its work.
    AfterTheCall,
}

/// Delivers an event, and lets the worker that takes its job die. While the operation is paused no other worker takes it.
pub(super) async fn play(name: &str, part: Part, death: Death, stage: &Stage<'_>) -> Result<ReceiptId, Failure> {
    let operation = stage.integration.operations.iter().find(|operation| operation.name.as_str() == part.name());
    let Some(operation) = operation else { return Err(unable("let a worker die", "the operation is missing")) };
    let pause = pause(operation, stage).await?;
    let died = while_paused(name, part, death, operation, stage).await;
    // Whatever went wrong: a pause that nobody meant would stay.
    resume(&pause, stage).await?;
    died
}

async fn while_paused(
    name: &str,
    part: Part,
    death: Death,
    operation: &Operation,
    stage: &Stage<'_>,
) -> Result<ReceiptId, Failure> {
    let receipt = stage.deliver(&stage.event(name, part)?).await?;
    let held = |job: &Job| job.status() == Status::Held;
    let (folder, job) = stage.once(&receipt, "the job is held", held).await?;
    let impossible = |why: &str| unable("let a worker die", why);
    let released = release(&job, stage.clock.now()).map_err(|refused| impossible(&refused.to_string()))?;
    let now = stage.clock.now();
    let claimed = claim(
        &released,
        Claim { now, lease_expires_at: now.plus(LEASE), operation, config_rev: stage.integration.rev },
    );
    let Ok(Claimed::Call { job: claimed, .. }) = claimed else { return Err(impossible("the job cannot be claimed")) };
    for (before, after) in [(&job, &released), (&released, &claimed)] {
        let written = stage.table.ledger.write_job(&folder, before, after).await;
        written.map_err(|error| stage.table.failure("let a worker die", &error))?;
    }
    // Nobody waits five minutes for the sweeper's look at what has only been claimed: as if they had passed.
    let due = Job { open_at: Some(stage.clock.now()), ..claimed.clone() };
    let moved = stage.table.ledger.move_entry(&claimed, &due).await;
    moved.map_err(|error| stage.table.failure("let the sweeper look at the job", &error))?;
    if death == Death::AfterTheCall {
        call(&claimed, operation, stage).await?;
    }
    Ok(receipt)
}

/// The call of the worker that dies: the same key, and a signature that the destination takes.
async fn call(job: &Job, operation: &Operation, stage: &Stage<'_>) -> Result<(), Failure> {
    const BODY: &[u8] = b"{}";
    let key = job.key.to_string();
    let signed = stage.calls.sign(&key, BODY, stage.clock.now());
    let signed = signed.map_err(|why| unable("sign a call to the sandbox", &why))?;
    let mut request = stage.client.post(format!("{}/ok", stage.sandbox)).body(BODY).header("idempotency-key", &key);
    for (name, value) in signed {
        request = request.header(name, value);
    }
    let attempted = format!("call the sandbox as `{}` does", operation.name);
    let answer = request.send().await.map_err(|error| unable(&attempted, &chain(&error)))?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(unable(&attempted, &format!("it answered {}", status.as_u16()))),
    }
}

async fn pause(operation: &Operation, stage: &Stage<'_>) -> Result<Pause, Failure> {
    let (provider, account) = (&stage.integration.provider, &stage.integration.account);
    let audit = deed("pause", operation.name.as_str(), "not paused", "paused", stage);
    let audit = audit.audit(stage.who, stage.clock.now());
    let reason = ErrorText::new(REASON);
    let paused = stage.table.ledger.put_pause_audited(provider, account, &operation.name, &reason, &audit).await;
    paused.map_err(|error| stage.table.failure(&format!("pause {}", operation.name), &error))
}

async fn resume(pause: &Pause, stage: &Stage<'_>) -> Result<(), Failure> {
    let audit = deed("resume", pause.operation.as_str(), "paused", "not paused", stage);
    let audit = audit.audit(stage.who, stage.clock.now());
    let resumed = stage.table.ledger.delete_pause_audited(pause, &audit).await;
    resumed.map_err(|error| stage.table.failure(&format!("resume {}", pause.operation), &error))
}

fn deed(what: &'static str, on: &str, before: &str, after: &str, stage: &Stage<'_>) -> Deed {
    Deed {
        subject: Subject::Integration(stage.integration.provider.clone(), stage.integration.account.clone()),
        what,
        on: Some(on.to_owned()),
        why: Some(REASON.to_owned()),
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
    }
}
