//! The table as it is deployed, for whoever compares it with what [`crate::table`] says it must be.

use std::collections::BTreeSet;
use std::future::Future;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{
    BillingMode, GlobalSecondaryIndexDescription, KeySchemaElement, KeyType, PointInTimeRecoveryStatus, Projection,
    ProjectionType, TableDescription,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::Ledger;
use crate::classify::Classify;
use crate::error::LedgerError;

/// How DynamoDB says that there is no table of this name.
const NO_TABLE: [&str; 2] = ["ResourceNotFoundException", "TableNotFoundException"];

/// What DynamoDB says of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeployedTable {
    /// Such as `ACTIVE`; `None` where the answer does not say.
    pub status: Option<String>,
    /// Whether it is paid for by request, so that nothing idles and nothing runs short.
    pub on_demand: bool,
    /// Whether it cannot be deleted without a word more.
    pub deletion_protected: bool,
    /// The key that it is encrypted with; `None` for the one that AWS owns.
    pub encryption: Option<Encryption>,
    /// The attributes of its key.
    pub key: KeyAttributes,
    /// Its stream, while that is enabled.
    pub stream: Option<DeployedStream>,
    /// Its global secondary indexes.
    pub indexes: Vec<DeployedIndex>,
}

/// A key of the account that a table is encrypted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// The key.
    pub key: Option<String>,
    /// Such as `ENABLED`.
    pub status: Option<String>,
    /// Whether the table cannot be read, because its key is disabled or may not be used any more.
    pub inaccessible: bool,
}

/// The attributes of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyAttributes {
    /// Of the partition key.
    pub hash: Option<String>,
    /// Of the sort key.
    pub range: Option<String>,
}

/// The stream of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedStream {
    /// The one that carries what is written now: a stream that is switched off and on again is another one.
    pub arn: Option<String>,
    /// What it carries, such as `NEW_AND_OLD_IMAGES`.
    pub view: Option<String>,
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedIndex {
    /// Its name.
    pub name: String,
    /// Such as `ACTIVE`; `None` where the answer does not say.
    pub status: Option<String>,
    /// The attributes of its key.
    pub key: KeyAttributes,
    /// Which attributes it holds besides the keys.
    pub projected: Projected,
}

/// Which attributes an index holds besides the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projected {
    /// All.
    All,
    /// These.
    Include(BTreeSet<String>),
}

/// The time to live of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeToLive {
    /// Such as `ENABLED`.
    pub status: Option<String>,
    /// The attribute that holds it.
    pub attribute: Option<String>,
}

impl Ledger {
    /// What DynamoDB says of the table; `None` when there is none of this name.
    pub async fn deployed(&self) -> Result<Option<DeployedTable>, LedgerError> {
        let answer = self.ask(|| self.client.describe_table().table_name(self.table.as_ref()).send()).await?;
        Ok(answer.and_then(|answer| answer.table).map(DeployedTable::from))
    }

    /// The time to live of the table; `None` when there is no table.
    pub async fn deployed_time_to_live(&self) -> Result<Option<TimeToLive>, LedgerError> {
        let answer = self.ask(|| self.client.describe_time_to_live().table_name(self.table.as_ref()).send()).await?;
        Ok(answer.and_then(|answer| answer.time_to_live_description).map(|described| TimeToLive {
            status: described.time_to_live_status.map(|status| status.as_str().to_owned()),
            attribute: described.attribute_name,
        }))
    }

    /// Whether the table can be brought back to any second of the last weeks; `None` when there is no table.
    pub async fn deployed_recovery(&self) -> Result<Option<bool>, LedgerError> {
        let answer = self.ask(|| self.client.describe_continuous_backups().table_name(self.table.as_ref()).send());
        let described = answer.await?.and_then(|answer| answer.continuous_backups_description);
        Ok(described.map(|described| {
            let recovery = described.point_in_time_recovery_description;
            let status = recovery.and_then(|recovery| recovery.point_in_time_recovery_status);
            status == Some(PointInTimeRecoveryStatus::Enabled)
        }))
    }

    /// Asks about the table; that there is none is an answer.
    async fn ask<T, E: Classify, F>(&self, call: impl Fn() -> F) -> Result<Option<T>, LedgerError>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
    {
        let mut tries = self.tries();
        loop {
            let failure = match tries.make(call()).await {
                Ok(answer) => return Ok(Some(answer)),
                Err(failure) => failure,
            };
            match tries.again(failure).await {
                Err(LedgerError::Refused { code, .. }) if NO_TABLE.contains(&code.as_str()) => return Ok(None),
                again => again?,
            }
        }
    }
}

impl From<TableDescription> for DeployedTable {
    fn from(table: TableDescription) -> Self {
        let stream = table.stream_specification.filter(|stream| stream.stream_enabled);
        Self {
            status: table.table_status.map(|status| status.as_str().to_owned()),
            on_demand: table
                .billing_mode_summary
                .is_some_and(|billing| billing.billing_mode == Some(BillingMode::PayPerRequest)),
            deletion_protected: table.deletion_protection_enabled == Some(true),
            encryption: table.sse_description.map(|encryption| Encryption {
                key: encryption.kms_master_key_arn,
                status: encryption.status.map(|status| status.as_str().to_owned()),
                inaccessible: encryption.inaccessible_encryption_date_time.is_some(),
            }),
            key: KeyAttributes::of(&table.key_schema.unwrap_or_default()),
            stream: stream.map(|stream| DeployedStream {
                arn: table.latest_stream_arn,
                view: stream.stream_view_type.map(|view| view.as_str().to_owned()),
            }),
            indexes: table.global_secondary_indexes.unwrap_or_default().into_iter().map(DeployedIndex::from).collect(),
        }
    }
}

impl From<GlobalSecondaryIndexDescription> for DeployedIndex {
    fn from(index: GlobalSecondaryIndexDescription) -> Self {
        Self {
            name: index.index_name.unwrap_or_default(),
            status: index.index_status.map(|status| status.as_str().to_owned()),
            key: KeyAttributes::of(&index.key_schema.unwrap_or_default()),
            projected: Projected::of(index.projection),
        }
    }
}

impl KeyAttributes {
    fn of(schema: &[KeySchemaElement]) -> Self {
        let of = |kind: &KeyType| {
            let attribute = schema.iter().find(|attribute| attribute.key_type == *kind);
            attribute.map(|attribute| attribute.attribute_name.clone())
        };
        Self { hash: of(&KeyType::Hash), range: of(&KeyType::Range) }
    }
}

impl Projected {
    fn of(projection: Option<Projection>) -> Self {
        match projection {
            Some(projection) if projection.projection_type == Some(ProjectionType::All) => Self::All,
            Some(projection) => Self::Include(projection.non_key_attributes.unwrap_or_default().into_iter().collect()),
            None => Self::Include(BTreeSet::new()),
        }
    }
}
