//! Queues and tables that fail: errors are counted, nothing is used up, and the next run finds everything.

use std::sync::Arc;

use hookbox_core::job::ReviewReason;
use hookbox_core::transition::review::review;
use hookbox_ledger::test_support::{Fault, Faults};
use hookbox_queue::Message;
use hookbox_queue::test_support::Badly;
use hookbox_sweeper::{SweepError, Tally};

use crate::world::{DEAD, HOUR, MINUTE, WORK, World};

#[tokio::test]
async fn a_work_queue_that_is_down_uses_up_no_wakes() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    world.clock.advance(HOUR);
    world.queues.answer(|call| call.operation.starts_with("Send").then_some(Badly::Refuse(500, "InternalFailure")));
    world
        .sweep_for(90, |minute, swept| {
            assert_eq!((swept.tally.woken, swept.tally.errors), (0, 1), "minute {minute}");
        })
        .await;
    assert_eq!(world.metric("SweepErrors"), Some(1));
    let stored = world.job(&job.key).await;
    assert_eq!((stored.wakes, stored.open_at), (0, job.open_at), "as if nobody had looked");

    world.queues.recover();
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, ..Tally::default() });
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(job.key)]);
}

#[tokio::test]
async fn a_notice_that_could_not_be_posted_does_not_wait_ten_days() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let waiting = review(&job, ReviewReason::Permanent, "422", world.now()).unwrap();
    world.write(&job, &waiting).await;
    world.clock.advance(HOUR);
    world.queues.answer(|call| call.url.ends_with(DEAD).then_some(Badly::Refuse(403, "AccessDenied")));
    assert_eq!(world.sweep().await.tally, Tally { errors: 1, ..Tally::default() });
    world.queues.recover();
    world.clock.advance(MINUTE);
    assert_eq!(world.sweep().await.tally, Tally { notices: 1, ..Tally::default() });
}

#[tokio::test]
async fn one_refused_message_is_put_back_and_the_others_are_sent() {
    let world = World::new().await;
    for n in 0..8 {
        world.commit(&format!("evt_{n}"), &["deliver"]).await;
    }
    world.clock.advance(HOUR);
    world.queues.answer(|call| {
        (call.operation == "SendMessageBatch").then(|| Badly::Entries(vec![0], "InvalidMessageContents"))
    });
    let swept = world.sweep().await;
    let refused = swept.tally.errors;
    assert!(refused >= 1, "{swept:?}");
    assert_eq!(swept.tally.woken, 8 - refused, "{swept:?} {}", world.logs());
    world.queues.recover();
    let again = world.sweep().await;
    assert_eq!(again.tally.woken, refused, "found again at once: {swept:?} {again:?}");
}

#[tokio::test]
async fn a_queue_that_fails_is_not_asked_for_every_page() {
    let world = World::new().await;
    for n in 0..120 {
        world.commit(&format!("evt_{n}"), &["deliver"]).await;
    }
    world.clock.advance(HOUR);
    world.queues.answer(|call| call.operation.starts_with("Send").then_some(Badly::Refuse(400, "QueueDoesNotExist")));
    let swept = world.sweep().await;
    assert_eq!(swept.unfinished.len(), 4, "{swept:?}");
    assert!(swept.tally.errors <= 100, "one page of each list: {swept:?}");
    let calls = world.queues.calls().iter().filter(|call| call.operation.starts_with("Send")).count();
    assert!(calls <= 4, "{calls}");
    world.queues.recover();
    assert_eq!(world.sweep().await.tally.woken, 120);
}

#[tokio::test]
async fn an_unknown_depth_is_an_error_and_no_reason_to_wake_nobody() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    world.clock.advance(HOUR);
    world.queues.answer(|call| (call.operation == "GetQueueAttributes").then_some(Badly::Refuse(403, "AccessDenied")));
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, errors: 1, ..Tally::default() });
}

#[tokio::test]
async fn one_call_that_fails_costs_one_entry() {
    let world = World::new().await;
    for n in 0..6 {
        world.commit(&format!("evt_{n}"), &["deliver"]).await;
    }
    world.clock.advance(HOUR);
    let faults = Faults::none();
    let sweeper = world.sweeper_with(world.table.ledger_through(&faults), Arc::new(world.clock.clone()));
    // The first write of an entry is refused for good; its answer is no reason to try again.
    faults.on_next("UpdateItem", Fault::LoseReply).on_next("UpdateItem", Fault::FailBefore);
    let swept = sweeper.sweep(world.now().plus(MINUTE)).await.unwrap();
    assert!(faults.all_happened());
    assert_eq!(swept.tally, Tally { woken: 6, ..Tally::default() }, "the ledger tries again and knows its own write");
}

#[tokio::test]
async fn only_a_table_that_cannot_be_read_fails_the_run() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    world.clock.advance(HOUR);
    let faults = Faults::none();
    let sweeper = world.sweeper_with(world.table.ledger_through(&faults), Arc::new(world.clock.clone()));
    faults.at(0, Fault::StopBefore);
    let error = sweeper.sweep(world.now().plus(MINUTE)).await.unwrap_err();
    assert!(matches!(error, SweepError::Unreachable { .. }), "{error:?}");
    assert!(world.queues.sent(WORK).is_empty());
    assert_eq!(world.metric("ReviewJobs"), None, "nothing is known, so nothing is said");
    faults.restart();
    assert_eq!(sweeper.sweep(world.now().plus(MINUTE)).await.unwrap().tally.woken, 1);
}
