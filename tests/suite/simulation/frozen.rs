//! Histories that once broke a promise, or a rule of the simulation that was wrong: each with a sentence.

use std::time::Duration;

use hookbox_ledger::test_support::Fault;

use super::{fault_of, told};
use crate::harness::world::Connection::{Batch, Single};
use crate::harness::{Delivery, History, Intruder, Step, Trouble, What};

fn histories() -> Vec<(&'static str, History)> {
    let meanwhile = |call, intruder| Trouble { call, what: What::Meanwhile(intruder) };
    vec![
        (
            "A replay that is not to pass the memory of its destination makes no call once that is over.",
            History::of_single(
                &["key"],
                vec![
                    Step::Deliver(Delivery::one(Single, 0)),
                    Step::Settle,
                    Step::ReplayRemembered(0),
                    Step::Wait(90_000),
                ],
            ),
        ),
        (
            "An invocation that hangs for six minutes would have been ended: what it says of an old signature is no refusal.",
            History {
                troubles: vec![
                    meanwhile(0, Intruder::TakeOver),
                    meanwhile(3, Intruder::TakeOver),
                    Trouble { call: 8, what: What::Fault(Fault::Delay(Duration::from_secs(100))) },
                ],
                ..History::of_single(&["key", "reconcile"], vec![Step::Deliver(Delivery::one(Single, 0))])
            },
        ),
        (
            "Payloads expire before receipts: who replays after that finds nothing to send, and that is no loss.",
            History::of_batch(
                &["none"],
                vec![Step::Deliver(Delivery::batch([2])), Step::WaitDays(10), Step::Replay(2)],
            ),
        ),
        (
            "A conflict that takes long to note is answered without a note: the event is safe, the answer is not late.",
            History {
                troubles: vec![meanwhile(4, Intruder::TakeOver)],
                ..History::of_batch(
                    &[],
                    vec![Step::Deliver(Delivery::batch([1, 2])), Step::Deliver(Delivery::changed(Batch, 2))],
                )
            },
        ),
        (
            "Whoever meets an event in the middle of its commit is told the same, and there is one job.",
            History {
                troubles: vec![meanwhile(1, Intruder::Provider), meanwhile(3, Intruder::TakeOver)],
                ..History::of_single(&["reconcile"], vec![Step::Deliver(Delivery::one(Single, 1))])
            },
        ),
    ]
}

#[test]
fn what_once_broke_a_promise_does_not_any_more() {
    for (sentence, history) in histories() {
        assert_eq!(fault_of(&history), None, "{sentence}\n{}", told(&history));
    }
}
