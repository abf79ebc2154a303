//! One item that cannot be read never stops the run.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_ledger::Loaded;

use crate::world::{MINUTE, START, WORK, World};

const JOB: &str = "job#deliver#v0001";

impl World {
    async fn spoil(&self, folder: &Loaded, attribute: &str, value: AttributeValue) {
        let mut item = self.table.item(&folder.id.to_string(), JOB).await.unwrap();
        item.insert(attribute.to_owned(), value);
        self.table.put_item(item).await;
    }
}

#[tokio::test]
async fn corrupt_and_newer_items_are_counted_named_and_left_alone() {
    let world = World::new().await;
    let mut folders = Vec::new();
    for n in 0..12 {
        folders.push(world.commit(&format!("evt_{n}"), &["deliver"]).await);
        world.clock.advance(Duration::from_millis(1));
    }
    world.spoil(&folders[0], "schema", AttributeValue::N("99".to_owned())).await;
    world.spoil(&folders[1], "status", AttributeValue::S("4111-card".to_owned())).await;
    // What the index itself shows of it is broken.
    world.spoil(&folders[2], "kind", AttributeValue::N("4111".to_owned())).await;
    world.table.delete_item(&folders[3].id.to_string(), "head").await;
    let before = world.table.item(&folders[0].id.to_string(), JOB).await;

    world.clock.set(START.plus(5 * MINUTE + MINUTE));
    let swept = world.sweep().await;
    assert_eq!(swept.tally.woken, 9, "{swept:?}");
    assert!(swept.tally.unreadable >= 3, "{swept:?}");
    assert_eq!((swept.tally.errors, swept.unfinished.len()), (0, 0));
    assert_eq!(world.metric("ItemsUnreadable"), Some(swept.tally.unreadable));
    assert_eq!(world.table.item(&folders[0].id.to_string(), JOB).await, before, "a newer item is never touched");
    let logs = world.logs();
    for folder in &folders[..3] {
        assert!(logs.contains(&folder.id.to_string()), "{logs}");
    }
    assert_eq!(world.queues.messages(WORK).len(), 9);
    assert!(!logs.contains("\"card\""), "nothing of a payload");
}

#[tokio::test]
async fn a_line_of_the_directory_that_cannot_be_read_stops_only_what_needs_it() {
    let world = World::new().await;
    world.commit("evt_1", &["deliver"]).await;
    world
        .table
        .put_item(
            [
                ("pk".to_owned(), AttributeValue::S("directory".to_owned())),
                ("sk".to_owned(), AttributeValue::S("integration#stripe#demo".to_owned())),
                ("schema".to_owned(), AttributeValue::N("99".to_owned())),
            ]
            .into(),
        )
        .await;
    world.clock.advance(5 * MINUTE);
    let swept = world.sweep().await;
    assert_eq!((swept.tally.woken, swept.tally.unreadable, swept.tally.errors), (1, 1, 0));
    assert_eq!((swept.gauges.open, swept.gauges.held), (Some(1), None), "unknown is not zero");
}
