//! The gauges are how people learn that something waits.

use std::sync::Arc;

use hookbox_core::job::ReviewReason;
use hookbox_core::transition::review::review;
use hookbox_ledger::test_support::{Fault, Faults};
use hookbox_sweeper::Gauges;

use crate::world::{HOUR, MINUTE, World};

#[tokio::test]
async fn counts_and_ages_are_published_whether_anything_is_due_or_not() {
    let world = World::new().await;
    world.sweep().await;
    for metric in ["OpenJobs", "HeldJobs", "ReviewJobs", "OldestOpenAge", "OldestReviewAge"] {
        assert_eq!(world.metric(metric), Some(0), "{metric}");
    }
    for n in 0..12 {
        world.clock.advance(MINUTE);
        let job = world.commit(&format!("evt_{n}"), &["deliver"]).await.jobs[0].clone();
        if n % 2 == 0 {
            world.write(&job, &review(&job, ReviewReason::Permanent, "422", world.now()).unwrap()).await;
        }
    }
    let swept = world.sweep().await;
    let expected = Gauges {
        open: Some(6),
        held: Some(0),
        review: Some(6),
        oldest_open_age: Some(10 * 60),
        oldest_review_age: Some(11 * 60),
    };
    assert_eq!(swept.gauges, expected);
    assert_eq!(world.metric("ReviewJobs"), Some(6));
    assert_eq!(world.metric("OldestReviewAge"), Some(660));
    assert_eq!(world.metric("OpenJobs"), Some(6));
}

#[tokio::test]
async fn a_list_that_cannot_be_read_makes_its_gauge_unknown_and_no_other() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    let faults = Faults::none();
    let sweeper = world.sweeper_with(world.table.ledger_through(&faults), Arc::new(world.clock.clone()));
    // The directory, four lists of due jobs, and then one of jobs in review that answers only when it is too late.
    faults.at(6, Fault::DelayReply(HOUR));
    let swept = sweeper.sweep(world.now().plus(MINUTE)).await.unwrap();
    assert!(faults.all_happened());
    assert_eq!(swept.gauges.open, Some(1), "{swept:?}");
    assert_eq!((swept.gauges.review, swept.gauges.oldest_review_age), (None, None));
    assert_eq!(world.metric("ReviewJobs"), None, "a number too small would end an alarm");
    assert_eq!(world.metric("OpenJobs"), Some(1));
}
