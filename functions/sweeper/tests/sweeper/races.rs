//! Runs may overlap, and workers work meanwhile: one write entitles one sender.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_types::SdkConfig;
use hookbox_core::job::State;
use hookbox_core::surroundings::Clock as _;
use hookbox_ledger::test_support::TestTable;
use hookbox_queue::test_support::TestQueues;
use hookbox_runtime::{Metrics, SystemClock};
use hookbox_sweeper::{Sweeper, Tally};

use crate::world::{DEAD, HOUR, MINUTE, WORK, World, claimed, folder, payload};

type Happening = Arc<Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>>;

type When = Arc<dyn Fn(&HttpRequest) -> bool + Send + Sync>;

/// Something happens just before the first such request reaches the table.
#[derive(Clone)]
struct Between {
    inner: SharedHttpConnector,
    when: When,
    happening: Happening,
}

impl std::fmt::Debug for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Between")
    }
}

impl HttpConnector for Between {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let happening = if (self.when)(&request) { self.happening.lock().unwrap().take() } else { None };
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            if let Some(happening) = happening {
                happening.await;
            }
            inner.call(request).await
        })
    }
}

/// Before an entry is written.
fn before_a_write(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|target| target.ends_with(".UpdateItem"))
}

/// Before a folder is read.
fn before_a_folder(request: &HttpRequest) -> bool {
    let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
    !body.contains("IndexName") && !body.contains("integration#") && !body.contains("UpdateExpression")
}

fn between(
    config: &SdkConfig,
    when: impl Fn(&HttpRequest) -> bool + Send + Sync + 'static,
    happens: impl Future<Output = ()> + Send + 'static,
) -> SdkConfig {
    let inner = config.http_client().unwrap();
    let when: When = Arc::new(when);
    let happening: Happening = Arc::new(Mutex::new(Some(Box::pin(happens))));
    let client = http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Between {
            inner: inner.http_connector(settings, components),
            when: Arc::clone(&when),
            happening: Arc::clone(&happening),
        })
    });
    config.to_builder().http_client(client).build()
}

#[tokio::test]
async fn a_worker_that_claims_in_between_is_not_disturbed() {
    let world = World::new().await;
    let loaded = world.commit("evt_1", &["deliver"]).await;
    world.clock.advance(HOUR);
    let job = loaded.jobs[0].clone();
    let processing = claimed(&job, world.now(), world.now().plus(MINUTE));
    let (ledger, expected) = (world.ledger.clone(), processing.clone());
    let config = between(&world.table.config(), before_a_write, async move {
        ledger.write_job(&loaded, &job, &processing).await.unwrap();
    });
    let sweeper = world.sweeper_with(world.table.ledger_with(&config), Arc::new(world.clock.clone()));
    let swept = sweeper.sweep(world.now().plus(MINUTE)).await.unwrap();
    assert_eq!(swept.tally, Tally { lost: 1, ..Tally::default() });
    assert!(world.queues.sent(WORK).is_empty());
    assert_eq!(world.job(&expected.key).await, expected);
}

#[tokio::test]
async fn a_job_that_is_deleted_in_between_is_no_error() {
    for gone in [&["job#deliver#v0001"][..], &["head", "job#deliver#v0001", "payload#000"]] {
        let world = World::new().await;
        let loaded = world.commit("evt_1", &["deliver"]).await;
        world.clock.advance(HOUR);
        let table = world.table.clone();
        let config = between(&world.table.config(), before_a_folder, async move {
            for sk in gone {
                table.delete_item(&loaded.id.to_string(), sk).await;
            }
        });
        let sweeper = world.sweeper_with(world.table.ledger_with(&config), Arc::new(world.clock.clone()));
        let swept = sweeper.sweep(world.now().plus(MINUTE)).await.unwrap();
        assert_eq!(swept.tally, Tally { gone: 1, ..Tally::default() });
        assert!(world.queues.sent(WORK).is_empty());
    }
}

#[tokio::test]
async fn of_two_sweepers_that_have_read_the_same_entry_one_sends() {
    let world = World::new().await;
    let job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    world.clock.advance(HOUR);
    let (other, deadline) = (world.sweeper.clone(), world.now().plus(MINUTE));
    let config = between(&world.table.config(), before_a_write, async move {
        assert_eq!(other.sweep(deadline).await.unwrap().tally.woken, 1);
    });
    let sweeper = world.sweeper_with(world.table.ledger_with(&config), Arc::new(world.clock.clone()));
    assert_eq!(sweeper.sweep(deadline).await.unwrap().tally, Tally { lost: 1, ..Tally::default() });
    assert_eq!(world.queues.messages(WORK).len(), 1);
    assert_eq!(world.job(&job.key).await.wakes, 1);
}

#[tokio::test]
async fn of_two_sweepers_one_gives_a_job_that_nobody_claims_to_a_person() {
    let world = World::new().await;
    let mut job = world.commit("evt_1", &["deliver"]).await.jobs[0].clone();
    let worn = hookbox_core::job::Job { wakes: 10, ..job.clone() };
    assert!(world.ledger.move_entry(&job, &worn).await.unwrap());
    world.clock.advance(HOUR);
    let first = world.sweep().await;
    let second = world.sweep().await;
    assert_eq!((first.tally.reviewed, second.tally.reviewed), (1, 0));
    job = world.job(&job.key).await;
    assert!(matches!(job.state, State::Review { .. }));
}

/// In real time over sockets, where calls of the sweepers mix.
#[tokio::test]
async fn four_sweepers_at_once_wake_every_job_once() {
    const JOBS: u64 = 40;
    let table = TestTable::start().await;
    let queues = TestQueues::new();
    let an_hour_ago = SystemClock.now().minus(HOUR);
    for n in 0..JOBS {
        let folder = folder(&format!("evt_{n}"), &["deliver"], an_hour_ago);
        table.ledger().ingest(&folder, &payload(), SystemClock.now().plus(MINUTE)).await.unwrap();
    }
    let sweeper = || {
        let silent = Metrics::to(Arc::new(SystemClock), "sweeper", Arc::new(|_: &str| {}));
        Sweeper::new(table.ledger(), queues.queue(WORK), queues.queue(DEAD), Arc::new(SystemClock), silent)
    };
    let sweepers = [sweeper(), sweeper(), sweeper(), sweeper()];
    let deadline = SystemClock.now().plus(MINUTE);
    let [one, two, three, four] = sweepers.each_ref().map(|sweeper| sweeper.sweep(deadline));
    let (one, two, three, four) = tokio::join!(one, two, three, four);
    let runs = [one, two, three, four].map(|run| run.unwrap().tally);
    assert_eq!(runs.iter().map(|tally| tally.woken).sum::<u64>(), JOBS, "{runs:?}");
    assert_eq!(runs.iter().map(|tally| tally.errors).sum::<u64>(), 0, "{runs:?}");
    let mut keys: Vec<_> = queues.messages(WORK).into_iter().map(|message| message.job).collect();
    keys.sort();
    keys.dedup();
    assert_eq!((keys.len() as u64, queues.messages(WORK).len() as u64), (JOBS, JOBS));
}
