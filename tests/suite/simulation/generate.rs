//! A history from a seed.

use std::time::Duration;

use hookbox_ledger::test_support::Fault;

use super::draw::Draw;
use crate::harness::provider::Event;
use crate::harness::world::Connection::{Batch, Single, Token};
use crate::harness::{Delivery, History, Intruder, Manner, Mood, Step, Trouble, What};

/// What the events of a connection may require.
const OPERATIONS: [&str; 4] = ["key", "key-crm", "none", "reconcile"];
/// Ids of events: few, so that they meet.
const EVENTS: usize = 4;
/// Calls among which the troubles are spread: about as many as a history makes.
const CALLS: usize = 80;

/// The history of this seed.
pub(crate) fn history(seed: u64) -> History {
    let draw = &mut Draw::of(seed);
    let single = Some(operations(draw, 2));
    let batch = draw.once_in(2).then(|| operations(draw, 1));
    let token = draw.once_in(4).then(|| operations(draw, 1));
    let required: Vec<_> = single.iter().chain(&batch).chain(&token).flatten().copied().collect();
    // Without an event nothing happens, and moods of destinations that nobody calls are none.
    let first = [Step::Be(draw.one_of(&required), mood(draw)), Step::Deliver(Delivery::one(Single, 0))];
    let further = (0..3 + draw.below(13)).map(|_| step(draw, (batch.is_some(), token.is_some()), &required));
    let steps = first.into_iter().chain(further.collect::<Vec<_>>()).collect();
    let troubles = (0..draw.below(7)).map(|_| Trouble { call: draw.below(CALLS), what: what(draw) }).collect();
    History { single, batch, token, steps, troubles }
}

/// Up to `most` of the operations.
fn operations(draw: &mut Draw, most: usize) -> Vec<&'static str> {
    let mut chosen: Vec<_> = (0..=draw.below(most)).map(|_| draw.one_of(&OPERATIONS)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// One of the `required` operations of both connections may be what the step is about.
fn step(draw: &mut Draw, (batches, tokens): (bool, bool), required: &[&'static str]) -> Step {
    let connection = if batches && draw.once_in(3) {
        Batch
    } else if tokens && draw.once_in(3) {
        Token
    } else {
        Single
    };
    let operation = draw.one_of(required);
    match draw.below(36) {
        0..=4 => Step::Deliver(delivery(draw, batches, tokens)),
        5 => Step::DeliverAgain,
        8..=10 => Step::Dispatch,
        11..=14 => Step::Work { most: 1 + draw.below(10), first: draw.below(4) },
        15 => Step::Sweep,
        16..=18 => Step::Wait(draw.one_of(&[1, 6, 31, 61, 130, 400, 4_000, 90_000])),
        19 => Step::WaitDays(draw.one_of(&[1, 4, 10])),
        20 => Step::Stream { off: draw.once_in(2) },
        21 => Step::RepeatBatch,
        22 => Step::RepeatMessage(draw.below(4)),
        23 => Step::LoseMessage(draw.below(4)),
        24..=26 => Step::Be(operation, mood(draw)),
        27 => Step::Pause(connection, operation),
        28 => Step::Resume(connection, operation),
        29 if draw.once_in(2) => Step::ReplayRemembered(draw.below(4)),
        29 => Step::Replay(draw.below(4)),
        30 => Step::Dismiss(draw.below(4)),
        6 | 7 | 31..=34 => Step::Settle,
        _ => Step::Configure(connection, operations(draw, 2)),
    }
}

fn delivery(draw: &mut Draw, batches: bool, tokens: bool) -> Delivery {
    let mut event = || Event { id: u32::try_from(draw.below(EVENTS)).unwrap(), content: u8::from(draw.once_in(6)) };
    let first = event();
    let others = (event(), event());
    if tokens && draw.once_in(3) {
        return Delivery { connection: Token, events: vec![first] };
    }
    if !batches || draw.once_in(2) {
        return Delivery { connection: Single, events: vec![first] };
    }
    let events = [first, others.0, others.1];
    Delivery { connection: Batch, events: events[..=draw.below(3)].to_vec() }
}

fn mood(draw: &mut Draw) -> Mood {
    let manner = draw.one_of(&[
        Manner::Unreachable,
        Manner::LosesTheAnswer,
        Manner::WorksSlowly,
        Manner::Hangs,
        Manner::Answers(400),
        Manner::Answers(401),
        Manner::Answers(403),
        Manner::Answers(429),
        Manner::Answers(500),
        Manner::WorksAndAnswers(502),
        Manner::AsksToWait(90),
    ]);
    match draw.below(5) {
        0 => Mood::Well,
        1 | 2 => Mood::Always(manner),
        3 => Mood::First(1 + draw.below(2), manner),
        _ => Mood::Mute(manner),
    }
}

fn what(draw: &mut Draw) -> What {
    let seconds = Duration::from_secs;
    if draw.once_in(3) {
        return What::Meanwhile(draw.one_of(&[
            Intruder::Worker,
            Intruder::Sweeper,
            Intruder::Provider,
            Intruder::Person,
            Intruder::TakeOver,
        ]));
    }
    What::Fault(draw.one_of(&[
        Fault::FailBefore,
        Fault::LoseReply,
        Fault::DoTwice,
        Fault::Throttle,
        Fault::ExceedThroughput,
        Fault::Conflict,
        Fault::InProgress,
        Fault::Internal,
        Fault::Delay(seconds(3)),
        Fault::DelayReply(seconds(3)),
        Fault::Delay(seconds(100)),
        Fault::DelayReply(seconds(100)),
        Fault::StopBefore,
        Fault::StopAfter,
    ]))
}
