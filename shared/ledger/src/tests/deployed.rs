use std::collections::BTreeSet;

use serde_json::json;

use super::answers::{answering, error};
use super::*;
use crate::deployed::{DeployedIndex, KeyAttributes, Projected, TimeToLive};
use crate::error::LedgerError;
use crate::table::{Index, TABLE};

fn defined(index: &Index) -> DeployedIndex {
    DeployedIndex {
        name: index.name.to_owned(),
        status: Some("ACTIVE".to_owned()),
        key: KeyAttributes { hash: Some(index.hash.to_owned()), range: Some(index.range.to_owned()) },
        projected: Projected::Include(index.include.iter().map(|name| (*name).to_owned()).collect()),
    }
}

#[tokio::test]
async fn a_table_is_described_as_it_was_made() {
    let world = World::new().await;
    let table = world.ledger.deployed().await.unwrap().unwrap();
    assert_eq!((table.status.as_deref(), table.on_demand, table.deletion_protected), (Some("ACTIVE"), true, false));
    assert_eq!(table.key, KeyAttributes { hash: Some("pk".to_owned()), range: Some("sk".to_owned()) });
    let stream = table.stream.unwrap();
    assert_eq!(stream.view.as_deref(), Some(TABLE.stream_view));
    assert!(stream.arn.unwrap().contains("/stream/"));
    let mut indexes = table.indexes;
    indexes.sort_by_key(|index| index.name.clone());
    let mut expected: Vec<_> = TABLE.indexes.iter().map(defined).collect();
    expected.sort_by_key(|index| index.name.clone());
    assert_eq!(indexes, expected);
    let expires = world.ledger.deployed_time_to_live().await.unwrap().unwrap();
    let enabled = TimeToLive { status: Some("ENABLED".to_owned()), attribute: Some("expires_at".to_owned()) };
    assert_eq!(expires, enabled);
}

#[tokio::test]
async fn what_the_engine_has_not_is_read_as_dynamodb_says_it() {
    let world = World::new().await;
    let key = "arn:aws:kms:eu-west-1:1:key/k";
    let table = json!({"Table": {
        "TableStatus": "UPDATING", "DeletionProtectionEnabled": true,
        "BillingModeSummary": {"BillingMode": "PROVISIONED"},
        "StreamSpecification": {"StreamEnabled": false},
        "SSEDescription": {"Status": "ENABLED", "KMSMasterKeyArn": key, "InaccessibleEncryptionDateTime": 1.0},
        "GlobalSecondaryIndexes": [
            {"IndexName": "open", "Projection": {"ProjectionType": "ALL"}},
            {"IndexName": "history", "Projection": {"ProjectionType": "KEYS_ONLY"}, "IndexStatus": "CREATING"},
        ],
    }});
    let table = answering(&world, &[(200, table)]).deployed().await.unwrap().unwrap();
    assert_eq!((table.on_demand, table.deletion_protected, table.stream), (false, true, None));
    let encryption = table.encryption.unwrap();
    assert_eq!((encryption.key.as_deref(), encryption.inaccessible), (Some(key), true));
    let projected: Vec<_> = table.indexes.iter().map(|index| (index.status.as_deref(), &index.projected)).collect();
    assert_eq!(projected, [(None, &Projected::All), (Some("CREATING"), &Projected::Include(BTreeSet::new()))]);

    for (status, expected) in [("ENABLED", true), ("DISABLED", false)] {
        let recovery = json!({"PointInTimeRecoveryStatus": status});
        let backups = json!({"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery});
        let answer = json!({ "ContinuousBackupsDescription": backups });
        assert_eq!(answering(&world, &[(200, answer)]).deployed_recovery().await.unwrap(), Some(expected));
    }
}

#[tokio::test]
async fn that_there_is_no_table_is_an_answer_and_that_nobody_may_look_is_none() {
    let world = World::new().await;
    let none = error("ResourceNotFoundException", "Requested resource not found");
    let denied = error("AccessDeniedException", "no");
    let ledger = || answering(&world, std::slice::from_ref(&none));
    assert_eq!(ledger().deployed().await.unwrap(), None);
    assert_eq!(ledger().deployed_time_to_live().await.unwrap(), None);
    let none = error("TableNotFoundException", "Table not found");
    assert_eq!(answering(&world, &[none]).deployed_recovery().await.unwrap(), None);
    let ledger = || answering(&world, std::slice::from_ref(&denied));
    let refused = [
        ledger().deployed().await.map(drop).unwrap_err(),
        ledger().deployed_time_to_live().await.map(drop).unwrap_err(),
        ledger().deployed_recovery().await.map(drop).unwrap_err(),
    ];
    let actions = refused.map(|error| match error {
        LedgerError::Refused { action: Some(action), .. } => action,
        other => panic!("{other:?}"),
    });
    assert_eq!(
        actions,
        ["dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:DescribeContinuousBackups"]
    );
}
