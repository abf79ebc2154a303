//! A run stops in time, says what it left, and leaves no list behind for another.

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::job::ReviewReason;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::review::review;
use hookbox_ledger::test_support::TestClock;
use hookbox_sweeper::{DEADLINE_MARGIN, Swept, Tally};

use crate::world::{DEAD, HOUR, WORK, World, folders_of_shard};

/// A clock on which every look takes ten milliseconds.
#[derive(Debug)]
struct Ticking(TestClock);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        self.0.advance(Duration::from_millis(10));
        self.0.now()
    }
}

#[tokio::test]
async fn with_too_much_to_do_every_list_gets_its_share_before_the_deadline() {
    let world = World::new().await;
    let waiting = folders_of_shard(3, 1, world.now()).remove(0);
    world.store(&waiting).await;
    let job = &waiting.jobs[0];
    world.write(job, &review(job, ReviewReason::Permanent, "422", world.now()).unwrap()).await;
    world.clock.advance(Duration::from_millis(1));
    for folder in folders_of_shard(0, 200, world.now()).iter().chain(&folders_of_shard(2, 30, world.now())) {
        world.store(folder).await;
    }
    world.clock.advance(HOUR);
    let sweeper = world.sweeper_with(world.ledger.clone(), Arc::new(Ticking(world.clock.clone())));
    let begun = world.now();
    let deadline = begun.plus(DEADLINE_MARGIN + Duration::from_secs(4));
    let swept = sweeper.sweep(deadline).await.unwrap();
    assert_eq!(swept.unfinished, ["due#0"], "{swept:?}");
    assert_eq!(world.metric("SweepLeft"), Some(1));
    assert_eq!(world.queues.messages(DEAD).len(), 1, "a notice does not wait for the long list");
    let woken: Vec<_> = world.queues.messages(WORK).into_iter().map(|message| message.job.receipt).collect();
    let shards = hookbox_core::key::Shards::new(4).unwrap();
    assert_eq!(woken.iter().filter(|receipt| receipt.shard(shards) == 2).count(), 30, "nor does the other shard");
    assert!(woken.len() < 230);
    assert_eq!(swept.gauges.open, Some(230), "how things stand is said all the same");

    world.queues.take(WORK);
    let rest = world.sweeper.sweep(world.now().plus(HOUR)).await.unwrap();
    assert!(rest.unfinished.is_empty());
    assert_eq!(rest.tally.woken + woken.len() as u64, 230, "the next run goes on");
}

#[tokio::test]
async fn a_page_is_not_finished_when_the_time_is_over() {
    let world = World::new().await;
    for folder in folders_of_shard(1, 40, world.now()) {
        world.store(&folder).await;
    }
    world.clock.advance(HOUR);
    let sweeper = world.sweeper_with(world.ledger.clone(), Arc::new(Ticking(world.clock.clone())));
    let stop = world.now().plus(Duration::from_millis(150));
    let swept = sweeper.sweep(stop.plus(DEADLINE_MARGIN)).await.unwrap();
    let late = world.now().since(stop);
    assert!(late < Duration::from_millis(100) + 25 * Duration::from_millis(10), "{late:?}");
    assert!(swept.tally.woken > 0 && swept.tally.left > 0, "{swept:?}");
    assert_eq!(swept.tally.woken + swept.tally.left, 25, "the rest of its page is left and said");
    assert_eq!(swept.unfinished, ["due#1"]);
}

#[tokio::test]
async fn without_time_nothing_is_taken_up() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    world.clock.advance(HOUR);
    for left in [Duration::ZERO, DEADLINE_MARGIN] {
        // Whether the table could be read in so little time or not: nothing was written, and nothing sent.
        let swept = world.sweeper.sweep(world.now().plus(left)).await;
        let idle = |swept: &Swept| swept.tally == Tally::default() && swept.unfinished.len() == 1;
        assert!(swept.as_ref().map_or(true, idle), "{swept:?}");
        assert_eq!(world.job(&job.key).await, job);
        assert!(world.queues.sent(WORK).is_empty());
    }
    // A deadline of zero is long past; it does not mean that there is none.
    assert!(world.sweeper.sweep(Timestamp::from_millis(0)).await.map_or(true, |swept| swept.tally.woken == 0));
    assert!(world.queues.sent(WORK).is_empty());
}
