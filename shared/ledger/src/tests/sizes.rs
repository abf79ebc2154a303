use hookbox_core::limits::{MAX_BODY_BYTES, MAX_TRANSACTION_BYTES};

use super::*;
use crate::LedgerError;

/// Bytes that no compressor makes smaller.
fn noise(length: usize) -> Payload {
    let blocks = (0..length.div_ceil(32) as u64).flat_map(|n| *Digest::of(&n.to_be_bytes()).as_bytes());
    Payload { body: blocks.take(length).collect(), ..payload("") }
}

#[tokio::test]
async fn a_payload_is_stored_up_to_the_limit_of_a_transaction_and_refused_beyond_it() {
    let world = World::new().await;
    let room = MAX_TRANSACTION_BYTES - 16 * 1024;
    for (length, fits) in [(1_000_000, true), (room, true), (4_194_000, false), (4_400_000, false)] {
        let (folder, payload) = (folder(&format!("evt_{length}"), &["deliver"], START), noise(length));
        let faults = Faults::none();
        let ingested = world.through(&faults).ingest(&folder, &payload, world.soon()).await;
        assert_eq!(faults.count(), usize::from(fits), "what cannot fit is not sent");
        if fits {
            assert_eq!(ingested.unwrap(), Ingested::Created, "{length}");
            assert_eq!(world.ledger.payload(&folder.receipt.id).await.unwrap().as_ref(), Some(&payload));
        } else {
            let error = ingested.unwrap_err();
            assert!(matches!(error, LedgerError::TooLarge { .. }), "{error}");
            assert_eq!(world.ledger.load(&folder.receipt.id).await.unwrap(), None, "nothing is stored");
        }
    }
}

#[tokio::test]
async fn the_largest_body_of_json_is_stored() {
    let world = World::new().await;
    let line = r#"{"id":"8a7c61f2","lead":"jane.doe@example.com","stage":"qualified","score":71}"#;
    let body: String = line.repeat(MAX_BODY_BYTES / line.len());
    let folder = folder("evt_1", &["deliver"], START);
    world.ledger.ingest(&folder, &payload(&body), world.soon()).await.unwrap();
    assert_eq!(world.ledger.payload(&folder.receipt.id).await.unwrap(), Some(payload(&body)));
    let error = world.ledger.ingest(&folder, &payload(&format!("{body}{body}")), world.soon()).await.unwrap_err();
    assert!(matches!(error, LedgerError::TooLarge { limit: MAX_BODY_BYTES, .. }), "{error}");
}

#[tokio::test]
async fn headers_that_do_not_fit_into_an_item_are_too_large() {
    let world = World::new().await;
    let headers = vec![("x-long".to_owned(), "y".repeat(410_000))];
    let payload = Payload { headers, ..payload(BODY) };
    let error = world.ledger.ingest(&folder("evt_1", &[], START), &payload, world.soon()).await.unwrap_err();
    assert!(matches!(error, LedgerError::TooLarge { what: "item in bytes", .. }), "{error}");
}

#[tokio::test]
async fn expiry_of_a_payload_of_many_chunks_is_one_transaction() {
    let world = World::new().await;
    let operations: Vec<String> = (0..20).map(|n| format!("operation-{n}")).collect();
    let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
    let folder = folder("evt_1", &operations, START);
    world.ledger.ingest(&folder, &noise(4_100_000), world.soon()).await.unwrap();
    let loaded = world.load(&folder).await;
    world.reviewed(&loaded, &loaded.jobs[0]).await;
    let (expiring, kept) = world.fates(&loaded).await;
    assert_eq!((expiring.len(), kept.len()), (0, 1 + 20 + 12));
}
