use std::sync::Arc;

use super::*;
use crate::item::names;
use crate::{Audit, LedgerError, Stored, Subject};

#[tokio::test]
async fn of_two_writers_from_one_version_one_wins() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let (one, other) = (claimed(job, START), claimed(job, START.plus(Duration::from_secs(1))));
    world.ledger.write_job(&loaded, job, &one).await.unwrap();
    let error = world.ledger.write_job(&loaded, job, &other).await.unwrap_err();
    let LedgerError::ConditionFailed { stored: Stored::Job(stored) } = error else { panic!("{error}") };
    assert_eq!(*stored, one, "the loser learns what stands");
    assert_eq!(world.reload(&loaded).await.jobs, [one]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_racing_claims_one_wins() {
    let table = TestTable::start().await;
    let (folder, soon) = (folder("evt_1", &["deliver"], START), Timestamp::from_millis(i64::MAX));
    table.ledger().ingest(&folder, &payload(BODY), soon).await.unwrap();
    let loaded = Arc::new(table.ledger().load(&folder.receipt.id).await.unwrap().unwrap());
    let racers: Vec<_> = (0..20)
        .map(|_| {
            let (ledger, loaded) = (table.ledger(), Arc::clone(&loaded));
            tokio::spawn(async move {
                let after = claimed(&loaded.jobs[0], START);
                ledger.write_job(&loaded, &loaded.jobs[0], &after).await
            })
        })
        .collect();
    let mut won = 0;
    for racer in racers {
        match racer.await.unwrap() {
            Ok(()) => won += 1,
            Err(LedgerError::ConditionFailed { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn a_late_worker_cannot_overwrite() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let late = world.claimed(&loaded, &loaded.jobs[0]).await;
    world.clock.advance(Duration::from_secs(300));
    let second = world.claimed(&loaded, &late).await;
    let done = completed(&second, world.now());
    let error = world.ledger.write_job(&loaded, &late, &completed(&late, world.now())).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }));
    world.ledger.write_job(&loaded, &second, &done).await.unwrap();
    assert_eq!(world.reload(&loaded).await.jobs, [done]);
}

#[tokio::test]
async fn a_job_that_does_not_exist_is_not_written_into_existence() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    world.table.delete_item(&loaded.id.to_string(), "job#deliver#v0001").await;
    for after in [claimed(job, START), in_review(job, START)] {
        let error = world.ledger.write_job(&loaded, job, &after).await.unwrap_err();
        assert!(matches!(error, LedgerError::ConditionFailed { stored: Stored::Nothing }), "{error}");
    }
    assert!(!world.ledger.move_entry(job, &Job { open_at: Some(START), ..job.clone() }).await.unwrap());
    assert_eq!(world.reload(&loaded).await.jobs, []);
}

/// The sweeper moves the entry between the worker's read and its claim.
#[tokio::test]
async fn a_claim_leaves_a_moved_entry_where_it_is_and_forgets_the_wakes() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let moved = Job { open_at: Some(START.plus(DAY)), wakes: 3, ..job.clone() };
    assert!(world.ledger.move_entry(job, &moved).await.unwrap());
    let running = world.claimed(&loaded, job).await;
    let stored = world.reload(&loaded).await.jobs.remove(0);
    assert_eq!(stored, Job { open_at: moved.open_at, ..running });
    assert_eq!(stored.wakes, 0);
}

#[tokio::test]
async fn a_deed_is_recorded_with_its_write_or_not_at_all() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let job = &loaded.jobs[0];
    let deed = Audit {
        subject: Subject::Receipt(loaded.id),
        at: START,
        who: "jane".to_owned(),
        what: "review".to_owned(),
        on: Some(job.key.to_string()),
        why: Some("the destination is being moved".to_owned()),
        bulk: None,
        before: Some("pending".to_owned()),
        after: Some("review".to_owned()),
        expires_at: None,
    };
    let after = in_review(job, START);
    world.ledger.write_job_audited(&loaded, job, &after, &deed).await.unwrap();
    let error = world.ledger.write_job_audited(&loaded, job, &after, &deed).await.unwrap_err();
    assert!(matches!(error, LedgerError::ConditionFailed { .. }));
    let loaded = world.reload(&loaded).await;
    assert_eq!(loaded.audit, std::slice::from_ref(&deed));
    let later = Audit { at: START.plus(DAY), bulk: Some("bulk-7".to_owned()), ..deed.clone() };
    world.ledger.put_audit(&later).await.unwrap();
    assert_eq!(world.reload(&loaded).await.audit, [deed, later], "in the order of their times");
}

#[tokio::test]
async fn an_ended_job_leaves_the_open_index() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let running = world.claimed(&loaded, &loaded.jobs[0]).await;
    world.ledger.write_job(&loaded, &running, &completed(&running, START)).await.unwrap();
    let items = world.table.items().await;
    let job = items.iter().find(|item| names(item).1.starts_with("job#")).unwrap();
    assert!(!job.contains_key("open_pk") && !job.contains_key("open_at"));
    assert!(!job.contains_key("lease_expires_at"), "nothing of an earlier state is left");
}
