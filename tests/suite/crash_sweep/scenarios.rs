//! The scenarios: what happens, and how it must end whatever goes wrong once.

use hookbox_ledger::test_support::Fault;

use super::sweep;
use crate::harness::world::Connection::{Batch, Single, Token};
use crate::harness::{Delivery, History, Manner, Mood, Step, Trouble, What, World};

/// The first event arrives and everything comes to rest.
fn one_event(operations: &[&'static str], before: Vec<Step>, after: Vec<Step>) -> History {
    let arrival = vec![Step::Deliver(Delivery::one(Single, 1)), Step::Settle];
    History::of_single(operations, [before, arrival, after].concat())
}

#[test]
fn a_single_event() {
    sweep("a single event", &one_event(&["key"], vec![], vec![]), |world| jobs(world, &[("key", "completed", 1)]));
}

#[test]
fn a_batch() {
    let history = History::of_batch(&["key"], vec![Step::Deliver(Delivery::batch(1..=2)), Step::Settle]);
    sweep("a batch", &history, |world| jobs(world, &[("key", "completed", 1); 2]));
}

#[test]
fn a_half_committed_batch() {
    let history = History::of_batch(&[], vec![Step::Deliver(Delivery::batch(1..=16)), Step::Settle]);
    sweep("a half-committed batch", &history, |world| match world.copy.lock().unwrap().events().count() {
        16 => Ok(()),
        receipts => Err(format!("{receipts} receipts of 16 events")),
    });
}

#[test]
fn duplicates_while_the_event_is_worked_on() {
    let again = || Step::Deliver(Delivery::one(Single, 1));
    let work = Step::Work { most: 10, first: 0 };
    let changed = Step::Deliver(Delivery::changed(Single, 1));
    let steps = vec![again(), Step::Dispatch, again(), work, changed, Step::Settle];
    sweep("duplicates", &History::of_single(&["key"], steps), |world| jobs(world, &[("key", "completed", 1)]));
}

#[test]
fn two_operations_of_which_one_fails() {
    let fails = Step::Be("key-crm", Mood::Always(Manner::Answers(422)));
    sweep("one of two fails", &one_event(&["key", "key-crm"], vec![fails], vec![]), |world| {
        jobs(world, &[("key", "completed", 1), ("key-crm", "review", 0)])
    });
}

#[test]
fn retries_and_then_success() {
    let fails = Step::Be("key", Mood::First(1, Manner::Answers(500)));
    sweep("retries", &one_event(&["key"], vec![fails], vec![]), |world| jobs(world, &[("key", "completed", 1)]));
}

#[test]
fn exhaustion() {
    let fails = Step::Be("key", Mood::Always(Manner::Unreachable));
    sweep("exhaustion", &one_event(&["key"], vec![fails], vec![]), |world| jobs(world, &[("key", "review", 0)]));
}

#[test]
fn an_unknown_outcome_where_the_key_is_remembered() {
    let loses = Step::Be("key", Mood::First(1, Manner::LosesTheAnswer));
    sweep("unknown, key", &one_event(&["key"], vec![loses], vec![]), |world| jobs(world, &[("key", "completed", 1)]));
}

/// Whoever dies in its call leaves a lease behind; a day later the destination has forgotten the key.
#[test]
fn an_unknown_outcome_where_the_key_is_forgotten() {
    let work = Step::Work { most: 10, first: 0 };
    let steps = vec![Step::Deliver(Delivery::one(Single, 1)), Step::Dispatch, work, Step::Wait(90_000), Step::Settle];
    sweep("forgotten key", &History::of_single(&["key"], steps), |world| {
        let ends = [("completed", 1), ("review", 1), ("review", 0)];
        let fits = |(status, effects)| jobs(world, &[("key", status, effects)]);
        ends.into_iter().map(fits).find(Result::is_ok).unwrap_or_else(|| jobs(world, &[("key", "completed", 1)]))
    });
}

#[test]
fn an_unknown_outcome_that_is_found() {
    let loses = Step::Be("reconcile", Mood::First(1, Manner::LosesTheAnswer));
    sweep("unknown, found", &one_event(&["reconcile"], vec![loses], vec![]), |world| {
        jobs(world, &[("reconcile", "completed", 1)])
    });
}

#[test]
fn an_unknown_outcome_that_is_not_found() {
    let hangs = Step::Be("reconcile", Mood::First(1, Manner::Hangs));
    sweep("unknown, not found", &one_event(&["reconcile"], vec![hangs], vec![]), |world| {
        jobs(world, &[("reconcile", "completed", 1)])
    });
}

#[test]
fn an_unknown_outcome_that_nobody_can_tell() {
    let mute = Step::Be("reconcile", Mood::Mute(Manner::Hangs));
    sweep("unknown, cannot tell", &one_event(&["reconcile"], vec![mute], vec![]), |world| {
        jobs(world, &[("reconcile", "review", 0)])
    });
}

#[test]
fn an_unknown_outcome_without_a_promise() {
    let loses = Step::Be("none", Mood::Always(Manner::LosesTheAnswer));
    // What dies before its call was not sent, which nobody knows.
    sweep("unknown, none", &one_event(&["none"], vec![loses], vec![]), |world| {
        jobs(world, &[("none", "review", 1)]).or_else(|_| jobs(world, &[("none", "review", 0)]))
    });
}

#[test]
fn a_pause_and_its_end() {
    let refuses = Step::Be("key", Mood::Always(Manner::Answers(401)));
    let resumed = vec![Step::Be("key", Mood::Well), Step::Resume(Single, "key"), Step::Settle];
    sweep("a pause", &one_event(&["key"], vec![refuses], resumed), |world| jobs(world, &[("key", "completed", 1)]));
}

#[test]
fn a_replay_from_review() {
    let refuses = Step::Be("key", Mood::Always(Manner::Answers(422)));
    let replayed = vec![Step::Be("key", Mood::Well), Step::Replay(0), Step::Settle];
    sweep("a replay", &one_event(&["key"], vec![refuses], replayed), |world| jobs(world, &[("key", "completed", 1)]));
}

/// What came after the destination has forgotten the key is never a second call: see G6 of the promises.
#[test]
fn a_replay_that_is_held_until_the_key_is_forgotten() {
    let steps = vec![
        Step::Pause(Single, "key"),
        Step::ReplayRemembered(0),
        Step::Settle,
        Step::Wait(90_000),
        Step::Resume(Single, "key"),
        Step::Settle,
    ];
    let history = one_event(&["key"], vec![], steps);
    let in_review = |world: &World| jobs(world, &[("key", "review", 1)]);
    assert_eq!(in_review(&history.play()), Ok(()));
    // A pause that is over too early lets the replay be done while the key is remembered.
    sweep("a held replay", &history, |world| {
        jobs(world, &[("key", "review", 1)]).or_else(|_| jobs(world, &[("key", "completed", 1)]))
    });
}

#[test]
fn a_dismissal() {
    let refuses = Step::Be("key", Mood::Always(Manner::Answers(422)));
    let dismissed = vec![Step::Dismiss(0), Step::Settle];
    sweep("a dismissal", &one_event(&["key"], vec![refuses], dismissed), |world| {
        jobs(world, &[("key", "dismissed", 0)])
    });
}

#[test]
fn a_pause_by_a_person() {
    let resumed = vec![Step::Resume(Single, "key"), Step::Settle];
    sweep("a pause by a person", &one_event(&["key"], vec![Step::Pause(Single, "key")], resumed), |world| {
        jobs(world, &[("key", "completed", 1)])
    });
}

#[test]
fn a_token_that_is_good_for_one_delivery() {
    let arrival = || Step::Deliver(Delivery::one(Token, 1));
    let history = History::of_token(&["key"], vec![arrival(), Step::Settle, arrival(), Step::Settle]);
    sweep("a token", &history, |world| jobs(world, &[("key", "completed", 1)]));
}

/// Its token is spent when the table goes down: it still vouches for the redelivery of the same events.
#[test]
fn a_token_that_is_spent_before_the_table_goes_down() {
    let history = History::of_token(&["key"], vec![Step::Deliver(Delivery::one(Token, 1)), Step::Settle]);
    let clean = history.play().faults.log();
    let commit = clean.iter().position(|effect| effect.operation == "TransactWriteItems").expect("a commit");
    assert!(
        clean[..commit].iter().any(|effect| effect.operation == "UpdateItem"),
        "the token is used before: {clean:?}"
    );
    let down = (commit..commit + 20).map(|call| Trouble { call, what: What::Fault(Fault::FailBefore) });
    let down = down.fold(history, |history, trouble| history.with(trouble));
    sweep("a spent token", &down, |world| jobs(world, &[("key", "completed", 1)]));
}

#[test]
fn an_operation_that_is_removed_and_comes_back() {
    let history = History::of_single(
        &["key"],
        vec![
            Step::Stream { off: true },
            Step::Deliver(Delivery::one(Single, 1)),
            Step::Configure(Single, vec![]),
            Step::Settle,
            Step::Configure(Single, vec!["key"]),
            Step::Replay(0),
            Step::Settle,
        ],
    );
    // Without the operation, an event that is stored requires nothing.
    sweep("a removed operation", &history, |world| {
        jobs(world, &[("key", "completed", 1)]).or_else(|_| jobs(world, &[]))
    });
}

#[test]
fn both_connections_at_once() {
    let steps = vec![
        Step::Deliver(Delivery::one(Single, 1)),
        Step::Deliver(Delivery::batch([1, 2, 1])),
        Step::Sweep,
        Step::Settle,
        Step::Deliver(Delivery::changed(Batch, 2)),
        Step::Settle,
    ];
    let history = History { batch: Some(vec![]), ..History::of_single(&["none"], steps) };
    sweep("both connections", &history, |world| {
        jobs(world, &[("none", "completed", 1)])
            .or_else(|_| jobs(world, &[("none", "review", 1)]))
            .or_else(|_| jobs(world, &[("none", "review", 0)]))
    });
}

/// Whether these are all jobs, each with its status and its effects; in any order.
fn jobs(world: &World, expected: &[(&str, &str, usize)]) -> Result<(), String> {
    let copy = world.copy.lock().unwrap();
    let mut found: Vec<_> = copy
        .jobs()
        .map(|(pk, sk, job)| {
            let operation = crate::harness::table::operation_of(sk);
            (operation, job.text("status"), world.destination.effects(&format!("{pk}:{operation}:v1")))
        })
        .collect();
    found.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}
