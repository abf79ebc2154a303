//! Notices of jobs that wait for a person: SQS forgets them after 14 days, the sweeper does not.

use hookbox_core::job::ReviewReason;
use hookbox_core::limits::{REVIEW_FIRST_NOTICE, REVIEW_NOTICE_INTERVAL};
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::review::review;
use hookbox_queue::Message;
use hookbox_sweeper::Tally;

use crate::world::{DEAD, MINUTE, START, WORK, World};

#[tokio::test]
async fn a_notice_is_posted_after_a_quarter_of_an_hour_and_then_every_ten_days() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let waiting = review(&job, ReviewReason::OperationRemoved, "not configured", world.now()).unwrap();
    world.write(&job, &waiting).await;
    let first = START.plus(REVIEW_FIRST_NOTICE);
    let posted = Tally { notices: 1, ..Tally::default() };
    for (at, expected) in [
        (first.minus(MINUTE), Tally::default()),
        (first, posted),
        (first.plus(MINUTE), Tally::default()),
        (first.plus(REVIEW_NOTICE_INTERVAL).minus(MINUTE), Tally::default()),
        (first.plus(REVIEW_NOTICE_INTERVAL), posted),
    ] {
        world.clock.set(at);
        assert_eq!(world.sweep().await.tally, expected, "{at}");
    }
    let notice = Message::notice(job.key.clone(), "operation-removed");
    assert_eq!(world.queues.take(DEAD), [notice.clone(), notice]);
    assert_eq!(world.metric("NoticesPosted"), Some(1));
    assert!(world.queues.sent(WORK).is_empty());

    let waiting = world.job(&job.key).await;
    world.write(&waiting, &dismiss(&waiting, world.now()).unwrap()).await;
    world.clock.advance(REVIEW_NOTICE_INTERVAL);
    assert_eq!(world.sweep().await.tally, Tally::default(), "nobody waits any more");
}
