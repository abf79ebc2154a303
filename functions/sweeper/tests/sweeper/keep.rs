//! Nothing of a folder expires while one of its jobs has been open for long.

use hookbox_core::limits::DEFAULT_PAYLOAD_RETENTION;
use hookbox_ledger::Loaded;

use crate::world::{MINUTE, START, WORK, World};

impl World {
    /// The sort keys of the folder's items that expire.
    async fn expiring(&self, folder: &Loaded) -> Vec<String> {
        let mut expiring = Vec::new();
        for sk in ["head", "job#crm-upsert#v0001", "job#deliver#v0001", "payload#000"] {
            let item = self.table.item(&folder.id.to_string(), sk).await.unwrap();
            expiring.extend(item.contains_key("expires_at").then(|| sk.to_owned()));
        }
        expiring
    }
}

#[tokio::test]
async fn expiry_is_removed_after_half_of_the_payloads_retention() {
    let world = World::new().await;
    // Both jobs wait in a queue that nobody empties.
    world.queues.set_waiting(WORK, 1_000);
    let folder = world.commit("evt_1", &["crm-upsert", "deliver"]).await;
    let all = world.expiring(&folder).await;
    assert!(all.contains(&"payload#000".to_owned()) && all.contains(&"head".to_owned()), "{all:?}");

    world.clock.set(START.plus(DEFAULT_PAYLOAD_RETENTION / 2).minus(MINUTE));
    assert_eq!(world.sweep().await.tally.kept, 0);
    assert_eq!(world.expiring(&folder).await, all);

    world.clock.set(START.plus(DEFAULT_PAYLOAD_RETENTION / 2 + MINUTE));
    let swept = world.sweep().await;
    assert!(swept.tally.kept >= 1 && swept.tally.errors == 0, "{swept:?}");
    assert_eq!(world.expiring(&folder).await, Vec::<String>::new());
    assert_eq!(swept.tally.woken, 2, "and both are looked after: after a day their own messages are taken for lost");

    world.clock.advance(2 * MINUTE);
    assert_eq!(world.sweep().await.tally.kept, 0, "once");
}
