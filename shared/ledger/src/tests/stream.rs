use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::job::Status;
use serde_dynamo::Item as Image;

use super::*;
use crate::ItemError;
use crate::stream::{JobChange, job_change};

async fn image(world: &World, loaded: &Loaded) -> Image {
    world.item(loaded, "job#deliver#v0001").await.unwrap().into()
}

#[tokio::test]
async fn a_new_job_and_a_changed_job_are_told_apart() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let key = loaded.jobs[0].key.clone();
    let first = image(&world, &loaded).await;
    let expected = JobChange { key: key.clone(), old_status: None, new_status: Status::Pending, reason: None };
    assert_eq!(job_change(&Image::default(), &first).unwrap(), expected);

    world.reviewed(&loaded, &loaded.jobs[0]).await;
    let second = image(&world, &loaded).await;
    let expected = JobChange {
        key,
        old_status: Some(Status::Pending),
        new_status: Status::Review,
        reason: Some(ReviewReason::OperationRemoved),
    };
    assert_eq!(job_change(&first, &second).unwrap(), expected);
    let unknown = Image::from(std::collections::HashMap::from([(
        "status".to_owned(),
        serde_dynamo::AttributeValue::S("another".to_owned()),
    )]));
    assert_eq!(job_change(&unknown, &second).unwrap().old_status, None, "an unreadable past hides nothing");
}

#[tokio::test]
async fn what_is_not_a_job_of_ours_is_refused() {
    let world = World::new().await;
    let loaded = world.committed(&["deliver"]).await;
    let stored = world.item(&loaded, "job#deliver#v0001").await.unwrap();
    let with = |attribute: &str, value: AttributeValue| {
        let mut item = stored.clone();
        item.insert(attribute.to_owned(), value);
        job_change(&Image::default(), &Image::from(item))
    };
    let text = |text: &str| AttributeValue::S(text.to_owned());
    assert!(with("later", text("unknown")).is_ok());
    let newer = with("schema", AttributeValue::N("2".to_owned()));
    assert!(matches!(newer, Err(ItemError::NewerSchema { schema: 2, .. })));
    for broken in [
        with("schema", text("1")),
        with("sk", text("job#deliver#v1")),
        with("sk", text("head")),
        with("pk", text("integration#stripe#demo")),
        with("status", text("lost")),
        job_change(&Image::default(), &Image::default()),
    ] {
        assert!(matches!(broken, Err(ItemError::Corrupt { .. })), "{broken:?}");
    }
}
