//! Jobs that nobody works on are woken, less and less often, and in the end given to a person.

use hookbox_core::job::{ReviewReason, State};
use hookbox_core::limits::{MAX_WAKES, PENDING_OVERDUE, REVIEW_FIRST_NOTICE};
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::retry::{Jitter, Schedule};
use hookbox_core::transition::finish::{Finish, finish};
use hookbox_core::transition::new_version::new_version;
use hookbox_core::transition::review::review;
use hookbox_ledger::Added;
use hookbox_ledger::test_support::deed;
use hookbox_queue::Message;
use hookbox_sweeper::Tally;

use crate::world::{DEAD, MINUTE, START, WORK, World};

#[tokio::test]
async fn a_pending_job_is_woken_when_it_is_overdue_and_not_before() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    world.clock.set(START.plus(PENDING_OVERDUE).minus(MINUTE));
    assert_eq!(world.sweep().await.tally, Tally::default());

    world.clock.set(START.plus(PENDING_OVERDUE));
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, ..Tally::default() });
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(job.key.clone())]);
    assert_eq!(world.queues.sent(WORK)[0].delay, 0);
    assert_eq!(world.metric("JobsRecovered"), Some(1));
    let woken = world.job(&job.key).await;
    assert_eq!((woken.version, woken.wakes), (job.version, 1), "a wake-up disturbs no worker");
    assert_eq!(woken.open_at, Some(world.now().plus(MINUTE)));

    assert_eq!(world.sweep().await.tally, Tally::default(), "once");
    assert_eq!(world.queues.messages(WORK).len(), 1);
}

#[tokio::test]
async fn a_new_version_is_woken_and_noticed_beside_the_first() {
    let world = World::new().await;
    let folder = world.commit("evt_1", &["deliver"]).await;
    let first = review(&folder.jobs[0], ReviewReason::OperationRemoved, "", world.now()).unwrap();
    world.write(&folder.jobs[0], &first).await;
    let folder = world.load(folder.id).await;
    let second = new_version(&first, &folder.jobs, world.now()).unwrap();
    let deed = deed("new-version", &second.key, world.now());
    assert_eq!(world.ledger.add_job(&folder, &first, &second, &deed).await.unwrap(), Added::Written);
    world.clock.set(START.plus(PENDING_OVERDUE));
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, ..Tally::default() });
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(second.key.clone())]);
    let woken = world.job(&second.key).await;
    world.write(&woken, &review(&woken, ReviewReason::Permanent, "", world.now()).unwrap()).await;
    world.clock.advance(REVIEW_FIRST_NOTICE);
    assert_eq!(world.sweep().await.tally, Tally { notices: 2, ..Tally::default() });
    let mut notices = world.queues.messages(DEAD);
    notices.sort_by_key(|notice| notice.job.version);
    assert_eq!(notices, [Message::notice(first.key, "operation-removed"), Message::notice(second.key, "permanent")]);
}

#[tokio::test]
async fn wakes_become_rarer_and_end_with_a_person() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let mut woken_at = Vec::new();
    let mut reviewed_at = Vec::new();
    world
        .sweep_for(10 * 60, |minute, swept| {
            woken_at.extend((swept.tally.woken > 0).then_some(minute));
            reviewed_at.extend((swept.tally.reviewed > 0).then_some(minute));
        })
        .await;
    let pauses: Vec<_> = woken_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((woken_at[0], pauses), (5, vec![1, 2, 4, 8, 16, 32, 60, 60, 60]));
    assert_eq!(woken_at.len(), MAX_WAKES as usize);
    assert_eq!(reviewed_at, [woken_at[9] + 60]);
    assert_eq!(world.queues.messages(WORK).len(), MAX_WAKES as usize, "bounded");
    let job = world.job(&job.key).await;
    assert_eq!(job.state, State::Review { reason: ReviewReason::NeverClaimed });
    assert_eq!(world.metric("JobsToReview"), Some(1));
    assert_eq!(world.queues.messages(DEAD), [Message::notice(job.key, "never-claimed")], "15 minutes later");
}

#[tokio::test]
async fn a_running_lease_is_left_alone_and_an_expired_one_is_woken() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let lease = START.plus(7 * MINUTE);
    let processing = world.claim(&job, lease).await;
    world.clock.set(START.plus(5 * MINUTE));
    assert_eq!(world.sweep().await.tally, Tally { moved: 1, ..Tally::default() });
    assert_eq!(world.job(&job.key).await.open_at, Some(lease));
    assert!(world.queues.sent(WORK).is_empty());

    world.clock.set(lease);
    assert_eq!(world.sweep().await.tally, Tally { woken: 1, ..Tally::default() });
    let woken = world.job(&job.key).await;
    assert_eq!((woken.version, woken.state), (processing.version, processing.state), "only a claim resolves a lease");
}

#[tokio::test]
async fn a_retry_whose_message_was_lost_is_woken_a_minute_late() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let processing = world.claim(&job, START.plus(MINUTE)).await;
    let report = Report::new(Outcome::Transient { retry_after: None }, "http-503", "");
    let schedule = Schedule::default();
    let end = Finish { now: world.now(), report: &report, schedule: &schedule, jitter: Jitter(0) };
    world.write(&processing, &finish(&processing, end).unwrap()).await;

    world.clock.set(START.plus(MINUTE));
    assert_eq!(world.sweep().await.tally, Tally::default(), "due after one second, overdue a minute later");
    world.clock.set(START.plus(2 * MINUTE));
    assert_eq!(world.sweep().await.tally.woken, 1);
    assert_eq!(world.queues.messages(WORK), [Message::wake_up(job.key)]);
}

#[tokio::test]
async fn every_shard_and_every_job_of_a_folder_is_reached() {
    let world = World::new().await;
    for n in 0..30 {
        world.commit(&format!("evt_{n}"), &["crm-upsert", "deliver"]).await;
    }
    world.clock.advance(5 * MINUTE);
    assert_eq!(world.sweep().await.tally, Tally { woken: 60, ..Tally::default() });
    let mut keys: Vec<_> = world.queues.messages(WORK).into_iter().map(|message| message.job).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 60);
    let calls = world.queues.calls().iter().filter(|call| call.operation == "SendMessageBatch").count();
    assert!(calls < 20, "sent in batches: {calls}");
}
