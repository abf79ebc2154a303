//! A stopped worker: the queue fills, the sweeper does not make it worse, and every entry is reached all the same.

use hookbox_core::job::State;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::retry::{Jitter, Schedule};
use hookbox_core::transition::finish::{Finish, finish};
use hookbox_queue::Message;
use hookbox_sweeper::Tally;

use crate::world::{MINUTE, START, WORK, World};

#[tokio::test]
async fn while_the_queue_has_a_backlog_pending_entries_are_only_moved() {
    let world = World::new().await;
    let pending = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let failed = world.commit("evt_2", &["deliver"]).await.jobs[0].clone();
    let processing = world.claim(&failed, START.plus(MINUTE)).await;
    let report = Report::new(Outcome::Transient { retry_after: None }, "http-503", "");
    let schedule = Schedule::default();
    let end = Finish { now: world.now(), report: &report, schedule: &schedule, jitter: Jitter(0) };
    let retrying = world.write(&processing, &finish(&processing, end).unwrap()).await;

    world.queues.set_waiting(WORK, 100);
    world.clock.advance(5 * MINUTE);
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, moved: 1, ..Tally::default() });
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(retrying.key)], "nothing but its wake-up waits for it");
    let job = world.job(&pending.key).await;
    assert_eq!(job.wakes, 0, "a job that waits in a queue has not been woken in vain");
    assert!(job.open_at > pending.open_at);

    world.queues.set_waiting(WORK, 0);
    world.clock.advance(MINUTE);
    assert_eq!(world.sweep().await.tally.woken, 2, "the backlog is gone");
    assert_eq!(world.job(&pending.key).await.wakes, 1);
}

/// `OVERDUE=10000 make simulate` plays it with that many, which takes half an hour.
#[expect(clippy::disallowed_methods, reason = "how much is played is the caller's choice, as with every simulation")]
fn overdue() -> usize {
    std::env::var("OVERDUE").map_or(110, |jobs| jobs.parse().expect("OVERDUE is a number of jobs"))
}

#[tokio::test]
async fn jobs_behind_a_stopped_worker_make_no_storm_and_are_all_reached() {
    let jobs = overdue();
    let world = World::new().await;
    for n in 0..jobs {
        world.commit(&format!("evt_{n}"), &["deliver"]).await;
    }
    let mut reached = 0;
    for _ in 0..6 {
        world.clock.advance(10 * MINUTE);
        let swept = world.sweep().await;
        assert_eq!((swept.unfinished.len(), swept.tally.errors), (0, 0));
        reached += swept.tally.woken + swept.tally.moved;
    }
    assert_eq!(world.queues.messages(WORK).len(), jobs, "one message a job in an hour");
    assert_eq!(reached, 6 * jobs as u64);
    for n in 0..jobs {
        let folder = crate::world::folder(&format!("evt_{n}"), &["deliver"], START);
        assert_eq!(world.job(&folder.jobs[0].key).await.state, State::Pending, "nothing is given up");
    }
}
