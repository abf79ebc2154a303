//! G2 as it is worded: after a lost reply and after half of a batch, the redelivery ends as one delivery would have.

use hookbox_ledger::test_support::Fault;

use crate::harness::world::Connection::Single;
use crate::harness::{Delivery, History, Step, Trouble, What, World};

const WHOLE: u32 = 1_000;

/// Duplicates that the receipts count, and how many receipts there are.
fn receipts(world: &World) -> (usize, i64) {
    let copy = world.copy.lock().unwrap();
    let heads = copy.events().map(|(_, folder)| &folder["head"]);
    let counts: Vec<_> = heads.map(|head| head.number("duplicate_count").unwrap_or_default()).collect();
    (counts.len(), counts.iter().sum())
}

fn states(world: &World) -> Vec<Option<Vec<String>>> {
    let provider = world.provider.lock().unwrap();
    let answers = provider.sent.iter().flat_map(|sent| &sent.answers);
    answers.map(|answer| answer.as_ref().map(|answer| answer.states.clone())).collect()
}

fn assert_kept(world: &World) {
    assert_eq!(world.fault(), None);
}

#[test]
fn a_lost_commit_reply_is_created_and_never_a_duplicate_of_itself() {
    let history = History::of_single(&["key"], vec![Step::Deliver(Delivery::one(Single, 1))]);
    let commit = history.play().faults.log().iter().position(|effect| effect.operation == "TransactWriteItems");
    let call = commit.expect("a commit");
    for fault in [Fault::LoseReply, Fault::DoTwice] {
        let world = history.with(Trouble { call, what: What::Fault(fault) }).play();
        assert_kept(&world);
        assert_eq!(states(&world), [Some(vec!["created".to_owned()])], "{fault:?}");
        assert_eq!(receipts(&world), (1, 0), "{fault:?}");
    }
}

#[test]
fn a_half_committed_batch_of_a_thousand_is_completed_by_its_redelivery() {
    let steps = vec![Step::Deliver(Delivery::batch(1..=WHOLE)), Step::DeliverAgain];
    let history = History::of_batch(&[], steps);
    let clean = history.play();
    assert_kept(&clean);
    assert_eq!(receipts(&clean), (WHOLE as usize, 0));

    // The configuration and ten looks at what is stored come first.
    let half = Trouble { call: 510, what: What::Fault(Fault::StopAfter) };
    let world = history.with(half).play();
    assert_kept(&world);
    let [None, Some(redelivered)] = &states(&world)[..] else { panic!("one death, one redelivery") };
    let created = redelivered.iter().filter(|state| *state == "created").count();
    assert_eq!((created, redelivered.len()), (500, WHOLE as usize), "the first half is found, the second is new");
    assert_eq!(receipts(&world), (WHOLE as usize, 500));
    let (clean, world) = (clean.copy.lock().unwrap(), world.copy.lock().unwrap());
    assert!(clean.events().map(|(pk, _)| pk).eq(world.events().map(|(pk, _)| pk)), "the same receipts");
}
