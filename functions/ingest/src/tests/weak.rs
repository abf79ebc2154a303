//! Events that their provider gives no identity: told apart by their content and the time.

use std::time::Duration;

use hookbox_core::time::Timestamp;
use serde_json::{Value, json};

use super::stage::Stage;
use super::{receipt, yelp_updates};

/// A kind of event that has neither an id nor a time.
fn opt_in() -> Value {
    json!([{"event_type": "CONSUMER_PHONE_NUMBER_OPT_IN_EVENT", "lead_id": "lead-1"}])
}

#[tokio::test]
async fn a_weak_identity_is_believed_for_its_window_and_then_a_new_event() {
    let stage = Stage::with("yelp").await;
    let opt_in = opt_in();
    let first = stage.answer(yelp_updates(&opt_in)).await;
    stage.clock.advance(Duration::from_secs(60));
    assert_eq!(stage.answer(yelp_updates(&opt_in)).await.state(), "duplicate");
    stage.clock.advance(Duration::from_secs(24 * 3600));
    let (one, other) = tokio::join!(stage.answer(yelp_updates(&opt_in)), stage.answer(yelp_updates(&opt_in)));
    let mut states = [one.state(), other.state()];
    states.sort();
    assert_eq!(states, ["created", "duplicate"], "both racers derive the same key");
    assert_eq!(one.receipt(), other.receipt());
    assert_ne!(one.receipt(), first.receipt(), "evidence is never overwritten");
    assert_eq!(receipt(&stage, &first.receipt()).await.duplicate_count, 1);
    assert_eq!(stage.counted("EventsWeak"), 4);
}

/// The later event is found over the earlier receipt: that must not expire between two deliveries of the later one.
#[tokio::test]
async fn a_weak_identity_is_believed_for_its_window_when_an_earlier_receipt_expires() {
    let stage = Stage::with("yelp").await;
    let opt_in = opt_in();
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let first = stage.answer(yelp_updates(&opt_in)).await.receipt();
    let expires = receipt(&stage, &first).await.expires_at.unwrap();
    stage.clock.set(Timestamp::from_seconds(expires.get()).minus(minutes(5)));
    let later = stage.answer(yelp_updates(&opt_in)).await;
    assert_eq!(later.state(), "created");
    stage.clock.advance(minutes(10));
    stage.table.database().sweep_ttl().unwrap();
    let again = stage.answer(yelp_updates(&opt_in)).await;
    assert_eq!((again.state().as_str(), again.receipt()), ("duplicate", later.receipt()));

    stage.clock.advance(minutes(20));
    stage.table.database().sweep_ttl().unwrap();
    let new = stage.answer(yelp_updates(&opt_in)).await;
    assert_eq!((new.state().as_str(), new.receipt()), ("created", first), "its place is free by then");
}
