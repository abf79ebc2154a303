//! Every scenario, cut at every call to the outside in every way.
//!
//! A scenario is played once without trouble and its calls are counted. Then it is played again for each call and each
//! thing that can go wrong with it, and each time everything must come to rest as it was promised. A new call is covered
//! on the day it is written.

mod scenarios;
mod whole_batch;

use std::sync::Mutex;
use std::time::Duration;

use hookbox_ledger::test_support::Fault;

use crate::harness::{History, Intruder, Trouble, What, World};

/// What is checked of a scenario's end, beside the promises.
type End = fn(&World) -> Result<(), String>;

/// What can go wrong with a call that only reads: to lose its answer is the same as to fail it, and to do it twice is
/// nothing. A refusal is classified apart from a lost connection, so there is one of each.
const READ: [What; 7] = [
    What::Fault(Fault::FailBefore),
    What::Fault(Fault::Throttle),
    What::Fault(Fault::Internal),
    What::Fault(Fault::DelayReply(Duration::from_secs(100))),
    What::Fault(Fault::StopBefore),
    What::Meanwhile(Intruder::Worker),
    What::Meanwhile(Intruder::TakeOver),
];

/// What can go wrong with any other call as well.
const EFFECT: [What; 4] = [
    What::Fault(Fault::LoseReply),
    What::Fault(Fault::StopAfter),
    What::Meanwhile(Intruder::Sweeper),
    What::Meanwhile(Intruder::Provider),
];

/// What can go wrong with a write to the table, or a call to a destination, as well.
const WRITE: [What; 3] = [
    What::Fault(Fault::ExceedThroughput),
    What::Fault(Fault::Delay(Duration::from_secs(4))),
    What::Meanwhile(Intruder::Person),
];

/// What can go wrong with a call to AWS that is no read, as well: what is done twice at a destination is two calls.
const TWICE: [What; 1] = [What::Fault(Fault::DoTwice)];

/// What can go wrong with a write to the table alone.
const CONTENDED: [What; 1] = [What::Fault(Fault::Conflict)];

fn troubles(operation: &str) -> Vec<What> {
    let transaction = [What::Fault(Fault::InProgress)];
    match operation {
        "GetItem" | "BatchGetItem" | "Query" | "GetQueueAttributes" => READ.to_vec(),
        "GET" => [&READ[..], &EFFECT].concat(),
        "SendMessage" | "SendMessageBatch" => [&READ[..], &EFFECT, &TWICE].concat(),
        "POST" => [&READ[..], &EFFECT, &WRITE].concat(),
        "UpdateItem" | "PutItem" | "DeleteItem" => [&READ[..], &EFFECT, &TWICE, &WRITE, &CONTENDED].concat(),
        "TransactWriteItems" => [&READ[..], &EFFECT, &TWICE, &WRITE, &CONTENDED, &transaction].concat(),
        other => panic!("say what can go wrong with {other}"),
    }
}

/// The cuts of all scenarios that were played so far.
static CUTS: Mutex<usize> = Mutex::new(0);

/// Plays the scenario clean and then with every cut. Fails with the cuts that did not end as they must.
#[expect(clippy::print_stdout, reason = "how many cuts there were")]
fn sweep(name: &str, scenario: &History, end: End) {
    let clean = scenario.play();
    assert_eq!(fault_of(&clean, end), None, "{name} without any trouble");
    let calls = *clean.troubled_calls.get().unwrap();
    assert!(calls > 0, "{name} makes no call");
    let (mut cuts, mut failures) = (0, Vec::new());
    for effect in &clean.faults.log()[..calls] {
        for what in troubles(&effect.operation) {
            let cut = Trouble { call: effect.number, what };
            let world = scenario.with(cut).play();
            assert!(reached(&world, cut), "{name}: {cut:?} was never reached");
            failures.extend(fault_of(&world, end).map(|fault| format!("{} {cut:?}: {fault}", effect.operation)));
            cuts += 1;
        }
    }
    let mut all = CUTS.lock().unwrap();
    *all += cuts;
    println!("{name}: {calls} calls, {cuts} cuts; {all} cuts so far");
    drop(all);
    let shown = failures.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{name}: {} of {cuts} cuts did not end as they must\n{shown}", failures.len());
}

/// Up to its cut a run is the clean one, so the call was made and the trouble with it.
fn reached(world: &World, cut: Trouble) -> bool {
    let log = world.faults.log();
    match cut.what {
        What::Fault(fault) => log.get(cut.call).is_some_and(|effect| effect.fault == Some(fault)),
        What::Meanwhile(intruder) => world.interrupts.acted().contains(&(cut.call, intruder)),
    }
}

fn fault_of(world: &World, end: End) -> Option<String> {
    world.fault().or_else(|| end(world).err())
}
