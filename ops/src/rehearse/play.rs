//! How each case is played.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use hookbox_core::job::Status;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::MAX_BODY_BYTES;
use hookbox_ledger::ResourceQuery;
use serde_json::{Value, json};

use super::case::{Case, STORM};
use super::crash::{self, Death};
use super::needed::Part;
use super::stage::{EventOf, Stage, attempts, calls, effects, state};
use crate::failure::Failure;
use crate::layout::count;
use crate::send::{Draft, Outcome};

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// In the words of what was expected.
    pub seen: String,
    /// The receipts that were made.
    pub receipts: Vec<ReceiptId>,
}

/// Plays a case to its end.
pub(super) async fn play(case: Case, stage: &Stage<'_>) -> Result<Played, Failure> {
    let name = case.id();
    match case {
        Case::Storm => storm(name, stage).await,
        Case::TwoEvents => two_events(name, stage).await,
        Case::Reordered => reordered(name, stage).await,
        Case::Conflict => conflict(name, stage).await,
        Case::Forged => forged(name, stage).await,
        Case::Oversize => oversize(name, stage).await,
        Case::FailsTwice => attempted(name, Part::FailsTwice, stage).await,
        Case::Down => attempted(name, Part::Down, stage).await,
        Case::LostKey => called(name, Part::LostKey, stage).await,
        Case::LostAsked => called(name, Part::LostAsked, stage).await,
        Case::LostUnsafe => called(name, Part::LostUnsafe, stage).await,
        Case::DiesBefore => dies(name, Part::DiesBefore, Death::BeforeTheCall, stage).await,
        Case::DiesAfter => dies(name, Part::DiesAfter, Death::AfterTheCall, stage).await,
    }
}

/// What an answer calls the event: `created`, `duplicate`, `conflict`.
fn named(outcome: &Outcome) -> &str {
    outcome.body.get("state").and_then(Value::as_str).unwrap_or_default()
}

async fn storm(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let draft = stage.event(name, Part::Works)?;
    let sent = stream::iter(0..STORM).map(|_| stage.send(&draft)).buffered(STORM as usize);
    let mut receipts = BTreeSet::new();
    let mut duplicates = 0;
    for outcome in sent.collect::<Vec<_>>().await {
        let outcome = outcome?;
        receipts.extend(outcome.body.get("receiptId").and_then(Value::as_str).map(str::to_owned));
        duplicates += u64::from(named(&outcome) == "duplicate");
    }
    let receipt = stage.receipt(&draft)?;
    let end = attempts_and_effects(receipt, stage).await?;
    let (receipts, duplicates) = (count(receipts.len() as u64, "receipt"), count(duplicates, "duplicate"));
    Ok(Played { seen: format!("{receipts}, {duplicates}; {end}"), receipts: vec![receipt] })
}

/// `completed, 3 attempts, 1 effect`.
async fn attempts_and_effects(receipt: ReceiptId, stage: &Stage<'_>) -> Result<String, Failure> {
    let (_, job) = stage.ended(&receipt).await?;
    let known = stage.known(&job.key).await?;
    Ok(format!("{}, {}, {}", state(&job), attempts(&job), effects(known)))
}

async fn attempted(name: &str, part: Part, stage: &Stage<'_>) -> Result<Played, Failure> {
    let receipt = stage.deliver(&stage.event(name, part)?).await?;
    Ok(Played { seen: attempts_and_effects(receipt, stage).await?, receipts: vec![receipt] })
}

/// `completed, 2 calls, 1 effect`.
async fn calls_and_effects(receipt: ReceiptId, stage: &Stage<'_>) -> Result<String, Failure> {
    let (_, job) = stage.ended(&receipt).await?;
    let known = stage.known(&job.key).await?;
    Ok(format!("{}, {}, {}", state(&job), calls(known), effects(known)))
}

async fn called(name: &str, part: Part, stage: &Stage<'_>) -> Result<Played, Failure> {
    let receipt = stage.deliver(&stage.event(name, part)?).await?;
    Ok(Played { seen: calls_and_effects(receipt, stage).await?, receipts: vec![receipt] })
}

async fn dies(name: &str, part: Part, death: Death, stage: &Stage<'_>) -> Result<Played, Failure> {
    let receipt = crash::play(name, part, death, stage).await?;
    Ok(Played { seen: calls_and_effects(receipt, stage).await?, receipts: vec![receipt] })
}

/// Two events about one resource: the first happened `earlier` than the second.
fn pair(name: &str, stage: &Stage<'_>) -> Result<[Draft; 2], Failure> {
    let resource = stage.event_id(name);
    let of = |which: &str, before: Duration| {
        let id = stage.event_id(&format!("{name}-{which}"));
        let occurred_at = stage.clock.now().minus(before);
        stage.draft(&EventOf { id: &id, part: Part::Works, resource: &resource, occurred_at, set: None })
    };
    Ok([of("earlier", Duration::from_secs(60))?, of("later", Duration::ZERO)?])
}

/// How many of the receipts' jobs were completed, and how many effects they had.
async fn completed(receipts: &[ReceiptId], stage: &Stage<'_>) -> Result<(u64, u64), Failure> {
    let (mut completed, mut effects) = (0, 0);
    for receipt in receipts {
        let (_, job) = stage.ended(receipt).await?;
        completed += u64::from(job.status() == Status::Completed);
        effects += stage.known(&job.key).await?.effects;
    }
    Ok((completed, effects))
}

async fn two_events(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let mut receipts = Vec::new();
    let mut resources = BTreeSet::new();
    for draft in pair(name, stage)? {
        let receipt = stage.deliver(&draft).await?;
        let (folder, _) = stage.ended(&receipt).await?;
        resources.extend(folder.receipt.and_then(|receipt| receipt.resource));
        receipts.push(receipt);
    }
    let (done, effects) = completed(&receipts, stage).await?;
    let (made, of) = (count(receipts.len() as u64, "receipt"), count(resources.len() as u64, "resource"));
    let seen = format!("{made} of {of}; {done} completed, {}", count(effects, "effect"));
    Ok(Played { seen, receipts })
}

async fn reordered(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let [earlier, later] = pair(name, stage)?;
    let later = stage.deliver(&later).await?;
    let earlier = stage.deliver(&earlier).await?;
    let (done, _) = completed(&[later, earlier], stage).await?;
    let listed = listed(name, stage).await?;
    let order = match listed.as_slice() {
        list if *list == [later, earlier] => "listed as they happened",
        list if *list == [earlier, later] => "listed as they arrived",
        _ => "not both listed",
    };
    let seen = format!("2 receipts, {order}; {done} completed");
    Ok(Played { seen, receipts: vec![earlier, later] })
}

/// The receipts of a resource, the latest first, as soon as the index has both.
async fn listed(name: &str, stage: &Stage<'_>) -> Result<Vec<ReceiptId>, Failure> {
    let query = ResourceQuery {
        provider: stage.integration.provider.clone(),
        account: stage.integration.account.clone(),
        resource: stage.event_id(name),
    };
    loop {
        let page = stage.table.ledger.of_resource(&query, 10, None).await;
        let page = page.map_err(|error| stage.table.failure("list the receipts of a resource", &error))?;
        let listed: Vec<_> = page.items.into_iter().map(|entry| entry.id).collect();
        if listed.len() >= 2 || stage.clock.now() >= stage.deadline {
            return Ok(listed);
        }
        stage.pause().await;
    }
}

async fn conflict(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let receipt = stage.deliver(&stage.event(name, Part::Works)?).await?;
    let (id, other) = (stage.event_id(name), json!({"rehearsal": "another content"}));
    let occurred_at = stage.clock.now();
    let other = EventOf { id: &id, part: Part::Works, resource: &id, occurred_at, set: Some(&other) };
    stage.send(&stage.draft(&other)?).await?;
    let end = attempts_and_effects(receipt, stage).await?;
    let (folder, _) = stage.ended(&receipt).await?;
    let conflicts = folder.receipt.map_or(0, |receipt| receipt.conflicts.len() as u64);
    let (conflicts, jobs) = (count(conflicts, "conflict"), count(folder.jobs.len() as u64, "job"));
    Ok(Played { seen: format!("{conflicts}, {jobs}; {end}"), receipts: vec![receipt] })
}

/// The status of an answer, and whether there is a receipt all the same.
async fn refused(outcome: &Outcome, draft: &Draft, stage: &Stage<'_>) -> Result<Played, Failure> {
    let receipt = stage.receipt(draft)?;
    let stored = stage.load(&receipt).await?.is_some();
    let status = outcome.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    let seen = format!("{status}, {}", if stored { "a receipt" } else { "no receipt" });
    Ok(Played { seen, receipts: if stored { vec![receipt] } else { Vec::new() } })
}

async fn forged(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let signed = stage.event(name, Part::Works)?;
    let other = stage.event(&format!("{name}-other"), Part::Works)?;
    let outcome = stage.signer.send_forged(&signed, other.body.clone(), stage.client).await?;
    refused(&outcome, &other, stage).await
}

async fn oversize(name: &str, stage: &Stage<'_>) -> Result<Played, Failure> {
    let draft = stage.event(name, Part::Works)?;
    let mut large = draft.clone();
    // Blanks after a document are nothing in JSON, and bytes all the same.
    large.body.resize(MAX_BODY_BYTES + 1, b' ');
    let outcome = stage.send(&large).await?;
    refused(&outcome, &draft, stage).await
}
