use super::*;

/// Takes a call of this operation now.
async fn take(world: &World, operation: &str, shard: u16, limit: u32) -> bool {
    let first = integration(&[operation]);
    let operation = &first.operations[0].name;
    world.ledger.take_call(&first.provider, &first.account, operation, shard, limit, world.now()).await.unwrap()
}

#[tokio::test]
async fn a_shard_gives_as_many_calls_in_a_second_as_it_has() {
    let world = World::new().await;
    for expected in [true, true, false, false] {
        assert_eq!(take(&world, "deliver", 0, 2).await, expected);
    }
    assert!(take(&world, "deliver", 1, 2).await, "another shard");
    assert!(take(&world, "crm-upsert", 0, 2).await, "another operation");
    assert!(!take(&world, "nothing", 0, 0).await);
    world.clock.advance(Duration::from_millis(999));
    assert!(!take(&world, "deliver", 0, 2).await, "the same second");
    world.clock.advance(Duration::from_millis(1));
    assert!(take(&world, "deliver", 0, 2).await, "the next second");
}

#[tokio::test]
async fn counters_expire_and_those_of_a_newer_version_are_left_alone() {
    let world = World::new().await;
    assert!(take(&world, "deliver", 0, 2).await);
    let mut item = world.table.items().await.remove(0);
    assert!(item["pk"].as_s().unwrap().starts_with("rate#"), "{item:?}");
    item.insert("schema".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("2".to_owned()));
    world.table.put_item(item).await;
    assert!(!take(&world, "deliver", 0, 2).await);
    world.clock.advance(DAY);
    world.table.database().sweep_ttl().unwrap();
    assert!(world.table.items().await.is_empty());
}
