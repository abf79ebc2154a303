//! Nothing of an open, held or reviewed job expires, and a folder whose jobs have all ended does: in every order of
//! reads and writes.

use std::fmt::Write as _;

use hookbox_core::job::State;
use hookbox_core::transition::dismiss::dismiss;
use hookbox_core::transition::hold::hold;
use hookbox_core::transition::new_version::new_version;
use hookbox_core::transition::release::release;
use hookbox_core::transition::replay::{ForgottenKey, replay};

use super::*;
use crate::test_support::deed;
use crate::{Added, Held, LedgerError};

/// One step of somebody who works on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Reads the folder; what follows is decided on this.
    Read,
    Claim,
    Complete,
    /// Claims and completes.
    Finish,
    Review,
    Dismiss,
    Replay,
    /// Goes on with the next version of it.
    NewVersion,
    /// Holds it under a pause that stands all the time.
    Hold,
    Release,
    /// The sweeper's.
    Keep,
}

use Step::{Claim, Complete, Dismiss, Finish, Hold, Keep, NewVersion, Read, Release, Replay, Review};

struct Writer {
    operation: &'static str,
    steps: Vec<Step>,
    seen: Option<(Loaded, Job)>,
}

/// Every way to merge sequences of these lengths; a way names whose step is next.
fn merges(lengths: &[usize]) -> Vec<Vec<usize>> {
    if lengths.iter().all(|length| *length == 0) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (who, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        let mut rest = lengths.to_vec();
        rest[who] = length - 1;
        all.extend(merges(&rest).into_iter().map(|way| std::iter::once(who).chain(way).collect::<Vec<_>>()));
    }
    all
}

impl Writer {
    async fn step(&mut self, world: &World, folder: &Folder, step: Step) {
        if step == Read || self.seen.is_none() {
            let loaded = world.load(folder).await;
            let ours = loaded.jobs.iter().filter(|job| job.key.operation.as_str() == self.operation);
            let job = ours.max_by_key(|job| job.key.version).unwrap().clone();
            self.seen = Some((loaded, job));
        }
        let (loaded, before) = self.seen.clone().unwrap();
        let now = world.now();
        let after = match step {
            Read => return,
            Keep => return world.ledger.keep(&loaded).await.unwrap(),
            NewVersion => {
                let next = new_version(&before, &loaded.jobs, now).unwrap();
                let deed = deed("new-version", &next.key, now);
                let added = world.ledger.add_job(&loaded, &before, &next, &deed).await.unwrap();
                assert_eq!(added, Added::Written);
                self.seen = Some((loaded, next));
                return;
            }
            Finish => {
                let running = world.claimed(&loaded, &before).await;
                let done = completed(&running, now);
                world.ledger.write_job(&loaded, &running, &done).await.unwrap();
                self.seen = Some((loaded, done));
                return;
            }
            Claim => claimed(&before, now),
            Complete => completed(&before, now),
            Review => in_review(&before, now),
            Dismiss => dismiss(&before, now).unwrap(),
            Replay => replay(&before, ForgottenKey::Accept, now).unwrap(),
            Hold => hold(&before, now).unwrap(),
            Release => release(&before, now).unwrap(),
        };
        if step == Hold {
            let pauses = world.ledger.pauses(&before.provider, &before.account).await.unwrap().items;
            let held = world.ledger.hold_job(&loaded, &before, &after, &pauses[0]).await.unwrap();
            assert_eq!(held, Held::Written);
        } else {
            // Nobody else writes this job, so a lost race may only be about the folder and is none.
            world.ledger.write_job(&loaded, &before, &after).await.unwrap();
        }
        self.seen = Some((loaded, after));
    }
}

async fn check(world: &World, folder: &Folder, way: &str) {
    let loaded = world.load(folder).await;
    let (expiring, kept) = world.fates(&loaded).await;
    let must_stay = |job: &Job| match job.state {
        State::Held | State::Review { .. } => true,
        State::Pending | State::Processing { .. } | State::Retrying { .. } => job.round > 1 || job.key.version > 1,
        State::Completed { .. } | State::Dismissed { .. } => false,
    };
    if loaded.jobs.iter().any(must_stay) {
        assert_eq!(expiring, [""; 0], "expires beside a held, reviewed or replayed job: {way}");
    }
    if loaded.jobs.iter().all(Job::has_ended) {
        assert_eq!(kept, [""; 0], "kept for ever: {way}");
    }
    assert!(expiring.is_empty() || kept.is_empty(), "a folder expires as a whole: {way}");
}

/// Lets writers, each with its operation and its steps, meet in every order.
async fn every_order(writers: &[(&'static str, &[Step])]) -> usize {
    let lengths: Vec<_> = writers.iter().map(|(_, steps)| steps.len()).collect();
    let ways = merges(&lengths);
    let world = World::new().await;
    for operation in &integration(&["a", "b"]).operations {
        let Integration { provider, account, .. } = integration(&[]);
        let why = "credential refused".to_owned().into();
        world.ledger.put_pause(&provider, &account, &operation.name, &why, START).await.unwrap();
    }
    for (event, way) in ways.iter().enumerate() {
        let folder = folder(&format!("evt_{event}"), &["a", "b"], world.now());
        world.ledger.ingest(&folder, &payload(BODY), world.soon()).await.unwrap();
        let mut writers: Vec<_> =
            writers.iter().map(|(operation, steps)| Writer { operation, steps: steps.to_vec(), seen: None }).collect();
        let mut history = String::new();
        for who in way {
            let step = writers[*who].steps.remove(0);
            write!(history, "{}{who} {step:?}, ", writers[*who].operation).unwrap();
            writers[*who].step(&world, &folder, step).await;
            // Between two reads nothing new is there to check.
            if step != Read {
                check(&world, &folder, &history).await;
            }
        }
    }
    ways.len()
}

#[tokio::test]
async fn two_jobs_that_finish_together() {
    let finishes: &[Step] = &[Read, Claim, Complete];
    assert_eq!(every_order(&[("a", finishes), ("b", finishes)]).await, 20);
}

#[tokio::test]
async fn a_review_beside_a_completion() {
    every_order(&[("a", &[Read, Review, Dismiss]), ("b", &[Read, Claim, Complete])]).await;
    every_order(&[("a", &[Read, Review, Read, Dismiss]), ("b", &[Read, Claim, Complete])]).await;
}

#[tokio::test]
async fn two_reviews_that_are_dismissed_together() {
    let dismissed: &[Step] = &[Read, Review, Dismiss];
    every_order(&[("a", dismissed), ("b", dismissed)]).await;
}

#[tokio::test]
async fn a_hold_beside_a_review() {
    every_order(&[("a", &[Read, Hold, Release, Claim, Complete]), ("b", &[Read, Review, Dismiss])]).await;
}

#[tokio::test]
async fn a_replay_beside_the_last_dismissal() {
    let dismissed: &[Step] = &[Review, Read, Dismiss];
    every_order(&[("a", &[Finish, Replay, Read, Review]), ("b", dismissed)]).await;
    // The same on a folder that was read before the replay.
    every_order(&[("a", &[Finish, Read, Replay, Review]), ("b", dismissed)]).await;
}

#[tokio::test]
async fn a_new_version_beside_the_last_completion() {
    every_order(&[("a", &[Finish, NewVersion, Read, Review]), ("b", &[Read, Claim, Complete])]).await;
    every_order(&[("a", &[Finish, Read, NewVersion, Claim, Complete]), ("b", &[Review, Read, Dismiss])]).await;
    every_order(&[("a", &[Read, Finish, NewVersion, Finish]), ("b", &[Read, Finish, NewVersion])]).await;
}

#[tokio::test]
async fn the_sweeper_keeps_a_folder_beside_its_last_completion() {
    every_order(&[("a", &[Read, Finish]), ("b", &[Read, Finish]), ("a", &[Read, Keep])]).await;
}

#[tokio::test]
async fn a_kept_folder_expires_after_its_end_and_not_before_its_retention() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    world.clock.advance(Duration::from_secs(60));
    world.ledger.keep(&loaded).await.unwrap();
    let loaded = world.reload(&loaded).await;
    assert_eq!(world.fates(&loaded).await.0, [""; 0]);
    world.ledger.keep(&loaded).await.unwrap();
    assert_eq!(world.reload(&loaded).await.receipt.unwrap().version, 2, "keeping it twice is keeping it once");

    world.clock.advance(200 * DAY);
    let running = world.claimed(&loaded, &loaded.jobs[0]).await;
    world.ledger.write_job(&loaded, &running, &completed(&running, world.now())).await.unwrap();
    let after = world.reload(&loaded).await;
    let expiry = after.receipt.as_ref().unwrap().expires_at;
    assert_eq!(expiry, Some(world.now().plus(3 * DAY).to_epoch_seconds()));
    assert_eq!(world.fates(&after).await.1, [""; 0]);
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 0);
    world.clock.advance(4 * DAY);
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 3);
}

#[tokio::test]
async fn a_held_job_outlives_every_retention_with_its_payload() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let why = "credential refused".to_owned().into();
    let pause = world.ledger.put_pause(&job.provider, &job.account, &job.key.operation, &why, START).await.unwrap();
    world.ledger.hold_job(&loaded, job, &hold(job, START).unwrap(), &pause).await.unwrap();
    world.clock.advance(400 * DAY);
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 0);
    let loaded = world.reload(&loaded).await;
    assert_eq!(world.ledger.payload(&loaded.id).await.unwrap(), Some(payload(BODY)));
}

#[tokio::test]
async fn a_replayed_job_has_its_payload_however_little_was_left_of_it() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let running = world.claimed(&loaded, &loaded.jobs[0]).await;
    let done = completed(&running, world.now());
    world.ledger.write_job(&loaded, &running, &done).await.unwrap();
    world.clock.advance(Duration::from_secs(7 * 24 * 3_600 - 60));
    let again = replay(&done, ForgottenKey::Accept, world.now()).unwrap();
    world.ledger.write_job(&loaded, &done, &again).await.unwrap();
    world.clock.advance(DAY);
    assert_eq!(world.table.database().sweep_ttl().unwrap(), 0);
    assert_eq!(world.ledger.payload(&loaded.id).await.unwrap(), Some(payload(BODY)));
}

#[tokio::test]
async fn a_job_is_held_only_under_the_pause_that_was_read() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let why = "credential refused".to_owned().into();
    let put = || world.ledger.put_pause(&job.provider, &job.account, &job.key.operation, &why, START);
    let first = put().await.unwrap();
    world.ledger.delete_pause(&first).await.unwrap();
    let held = hold(job, START).unwrap();
    assert_eq!(world.ledger.hold_job(&loaded, job, &held, &first).await.unwrap(), Held::Resumed);
    let second = put().await.unwrap();
    assert_eq!(world.ledger.hold_job(&loaded, job, &held, &first).await.unwrap(), Held::Resumed, "an older pause");
    assert_eq!(world.reload(&loaded).await.jobs, loaded.jobs, "nothing was written");
    assert_eq!(world.ledger.hold_job(&loaded, job, &held, &second).await.unwrap(), Held::Written);
    let error = world.ledger.hold_job(&loaded, job, &held, &second).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }), "the job counts before the pause");
}
