use super::*;
use crate::TokenUse;
use crate::test_support::Fault;

async fn use_token(ledger: &Ledger, account: &str, token: &str, identity: &str) -> TokenUse {
    let (provider, account) = ("mailgun".parse().unwrap(), account.parse().unwrap());
    let expires_at = START.plus(DAY).to_epoch_seconds();
    let token = Digest::of(token.as_bytes());
    ledger.use_token(&provider, &account, token, Digest::of(identity.as_bytes()), expires_at).await.unwrap()
}

#[tokio::test]
async fn a_token_stands_for_one_identity() {
    let world = World::new().await;
    assert_eq!(use_token(&world.ledger, "demo", "t1", "delivered 1").await, TokenUse::Ours);
    assert_eq!(use_token(&world.ledger, "demo", "t1", "delivered 1").await, TokenUse::Ours, "the provider tries again");
    assert_eq!(use_token(&world.ledger, "demo", "t1", "delivered 2").await, TokenUse::Another);
    assert_eq!(use_token(&world.ledger, "demo", "t2", "delivered 2").await, TokenUse::Ours);
    assert_eq!(use_token(&world.ledger, "other", "t1", "delivered 2").await, TokenUse::Ours, "another connection");
}

#[tokio::test]
async fn a_use_whose_answer_was_lost_is_ours() {
    let world = World::new().await;
    let faults = Faults::none();
    faults.on_next("UpdateItem", Fault::LoseReply);
    assert_eq!(use_token(&world.through(&faults), "demo", "t1", "delivered 1").await, TokenUse::Ours);
    assert!(faults.all_happened());
}

#[tokio::test]
async fn a_token_is_forgotten() {
    let world = World::new().await;
    use_token(&world.ledger, "demo", "t1", "delivered 1").await;
    world.clock.advance(DAY + Duration::from_secs(1));
    world.table.database().sweep_ttl().unwrap();
    assert_eq!(use_token(&world.ledger, "demo", "t1", "delivered 2").await, TokenUse::Ours);
}
