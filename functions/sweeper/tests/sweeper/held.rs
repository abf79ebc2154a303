//! Held jobs: they wait while their pause stands, and are released when it is gone.

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::job::State;
use hookbox_core::key::JobKey;
use hookbox_core::outcome::ErrorText;
use hookbox_core::time::Timestamp;
use hookbox_core::transition::hold::hold;
use hookbox_ledger::{Held, Pause};
use hookbox_sweeper::Tally;

use crate::world::{DAY, MINUTE, WORK, World, folders_of_shard, integration};

impl World {
    async fn pause(&self, operation: &str) -> Pause {
        let of = integration(&[]);
        let reason = ErrorText::new("401");
        let operation = operation.parse().unwrap();
        self.ledger.put_pause(&of.provider, &of.account, &operation, &reason, self.now()).await.unwrap()
    }

    async fn hold(&self, key: &JobKey, pause: &Pause) {
        let loaded = self.load(key.receipt).await;
        let job = loaded.job(key).unwrap();
        let held = hold(job, self.now()).unwrap();
        assert_eq!(self.ledger.hold_job(&loaded, job, &held, pause).await.unwrap(), Held::Written);
    }

    async fn state(&self, key: &JobKey) -> State {
        self.job(key).await.state
    }
}

#[tokio::test]
async fn held_jobs_wait_for_their_own_pause_to_end() {
    let world = World::new().await;
    world.ledger.put_integration(&integration(&["crm-upsert", "deliver"]), None).await.unwrap();
    let (deliver, upsert) = (world.pause("deliver").await, world.pause("crm-upsert").await);
    let jobs = world.commit("evt_1", &["crm-upsert", "deliver"]).await.jobs;
    world.hold(&jobs[0].key, &upsert).await;
    world.hold(&jobs[1].key, &deliver).await;
    world.clock.advance(30 * DAY);
    let swept = world.sweep().await;
    assert_eq!(swept.tally, Tally::default(), "however long it takes");
    assert_eq!(swept.gauges.held, Some(2));
    assert_eq!(world.metric("HeldJobs"), Some(2));

    world.ledger.delete_pause(&deliver).await.unwrap();
    let swept = world.sweep().await;
    assert_eq!(swept.tally, Tally { released: 1, ..Tally::default() });
    assert_eq!(world.state(&jobs[1].key).await, State::Pending);
    assert_eq!(world.state(&jobs[0].key).await, State::Held);
    assert!(world.queues.sent(WORK).is_empty(), "a released job is pending: the stream takes it to the queue");

    world.clock.advance(5 * MINUTE);
    let swept = world.sweep().await;
    assert_eq!((swept.tally.woken, swept.gauges.held), (1, Some(1)), "and if the stream does not, it is overdue");
}

#[tokio::test]
async fn what_cannot_be_read_stands_and_holds_nothing_else_up() {
    let world = World::new().await;
    world.ledger.put_integration(&integration(&["crm-upsert", "deliver"]), None).await.unwrap();
    let (deliver, upsert) = (world.pause("deliver").await, world.pause("crm-upsert").await);
    let jobs = world.commit("evt_1", &["crm-upsert", "deliver"]).await.jobs;
    world.hold(&jobs[0].key, &upsert).await;
    world.hold(&jobs[1].key, &deliver).await;
    world.ledger.delete_pause(&deliver).await.unwrap();
    let newer = AttributeValue::N("99".to_owned());
    let mut pause = world.table.item("integration#stripe#demo", "pause#crm-upsert").await.unwrap();
    pause.insert("schema".to_owned(), newer.clone());
    let mut line = world.table.item("directory", "integration#stripe#demo").await.unwrap();
    line.extend([
        ("sk".to_owned(), AttributeValue::S("integration#stripe#other".to_owned())),
        ("schema".to_owned(), newer),
    ]);
    for item in [pause, line] {
        world.table.put_item(item).await;
    }
    world.clock.advance(MINUTE);
    let swept = world.sweep().await;
    assert_eq!(swept.tally, Tally { released: 1, unreadable: 2, ..Tally::default() });
    assert_eq!(swept.gauges.held, None, "the unreadable line may have held jobs");
    assert_eq!(world.state(&jobs[0].key).await, State::Held, "its pause may say anything");
    assert_eq!(world.state(&jobs[1].key).await, State::Pending);
    assert!(world.logs().contains("pause#crm-upsert") && world.logs().contains("integration#stripe#other"));
}

#[tokio::test]
async fn a_new_pause_holds_what_an_old_one_held() {
    let world = World::new().await;
    world.ledger.put_integration(&integration(&["deliver"]), None).await.unwrap();
    let first = world.pause("deliver").await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    world.hold(&job.key, &first).await;
    world.ledger.delete_pause(&first).await.unwrap();
    world.pause("deliver").await;
    world.clock.advance(MINUTE);
    assert_eq!(world.sweep().await.tally, Tally::default());
    assert_eq!(world.state(&job.key).await, State::Held);
}

#[tokio::test]
async fn jobs_of_a_removed_operation_or_integration_are_not_held_for_ever() {
    for (retire, resume) in [(false, false), (true, false), (false, true), (true, true)] {
        let world = World::new().await;
        world.ledger.put_integration(&integration(&["deliver", "other"]), None).await.unwrap();
        let pause = world.pause("deliver").await;
        let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
        world.hold(&job.key, &pause).await;
        let of = integration(&["other"]);
        if retire {
            world.ledger.retire_integration(&of.provider, &of.account, 1, world.now()).await.unwrap();
        } else {
            let next = hookbox_core::integration::Integration { rev: 2, ..of };
            world.ledger.put_integration(&next, Some(1)).await.unwrap();
        }
        if resume {
            world.ledger.delete_pause(&pause).await.unwrap();
        }
        world.clock.advance(MINUTE);
        assert_eq!(world.sweep().await.tally, Tally { released: 1, ..Tally::default() });
        assert_eq!(world.state(&job.key).await, State::Pending, "the worker finds that it is not configured");
    }
}

#[tokio::test]
async fn a_resumed_operation_is_released_oldest_first_and_in_bounded_batches() {
    let world = World::new().await;
    world.ledger.put_integration(&integration(&["deliver"]), None).await.unwrap();
    let pause = world.pause("deliver").await;
    let folders = folders_of_shard(2, 300, world.now());
    for folder in &folders {
        world.store(folder).await;
        world.hold(&folder.jobs[0].key, &pause).await;
        world.clock.advance(std::time::Duration::from_millis(10));
    }
    world.ledger.delete_pause(&pause).await.unwrap();
    world.clock.advance(MINUTE);
    let swept = world.sweep().await;
    assert_eq!(swept.tally, Tally { released: 250, ..Tally::default() });
    assert_eq!(swept.unfinished, ["held#stripe#demo#deliver#2"], "what is left is said");
    let mut held: Vec<Timestamp> = Vec::new();
    for folder in &folders[250..] {
        let job = world.job(&folder.jobs[0].key).await;
        assert_eq!(job.state, State::Held, "the youngest wait");
        held.extend(job.open_at);
    }
    assert_eq!(held.len(), 50);
    world.clock.advance(MINUTE);
    let swept = world.sweep().await;
    assert_eq!((swept.tally.released, swept.unfinished.len()), (50, 0));
}
