//! A table inside the test process, a clock that tests move, and faults on the way between.
//!
//! [`TestTable::on`] is made for simulations: it needs no socket, a call is done when it is polled once, and waiting
//! moves the clock instead of taking time. [`TestTable::start`] is the same engine behind a loopback port in real time.
//! Wrap the configuration of either with [`Faults`] to make every call to AWS an effect that can be cut, and with
//! [`Meter`] to see what it costs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

mod behind;
mod clock;
mod engine;
mod faults;
mod fill;
mod meter;

use std::sync::Arc;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{IdentityCache, Region, StalledStreamProtectionConfig};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType, StreamSpecification, StreamViewType, TimeToLiveSpecification,
};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use dynoxide::Database;
use hookbox_core::key::{JobKey, Shards};
use hookbox_core::time::Timestamp;

pub use behind::Behind;
pub use clock::{TestClock, TestRandom};
pub use faults::{Effect, Fault, Faults};
pub use meter::{Consumed, Meter};

use crate::expression::text;
use crate::item::Item;
use crate::table::{Index, TABLE};
use crate::transact::Key;
use crate::{Audit, Ledger, Subject};

const NAME: &str = "hookbox";

/// The table of [`crate::table`], in dynoxide, in this process.
#[derive(Clone)]
pub struct TestTable {
    database: Database,
    config: SdkConfig,
}

impl std::fmt::Debug for TestTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestTable").finish_non_exhaustive()
    }
}

impl TestTable {
    /// A new empty table behind a loopback port, in real time. It lives as long as the runtime.
    pub async fn start() -> Self {
        let database = Database::memory().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
        let client = aws_smithy_http_client::Builder::new().build_http();
        let config = config(client).endpoint_url(endpoint).build();
        Self { database, config }.created().await
    }

    /// A new empty table on virtual time: no socket, no waiting; a call is done when it is polled once.
    pub async fn on(clock: &TestClock) -> Self {
        let database = Database::memory_with_clock(Arc::new(clock.clone())).unwrap();
        let config = config(engine::client(database.clone()))
            .endpoint_url("http://dynoxide.invalid")
            .time_source(clock.clone())
            .sleep_impl(clock.clone())
            .build();
        Self { database, config }.created().await
    }

    /// The name of the table.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// A configuration for clients of this table.
    pub fn config(&self) -> SdkConfig {
        self.config.clone()
    }

    /// The engine: for time to live ([`Database::sweep_ttl`]) and for stream records.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A ledger on this table with four shards.
    pub fn ledger(&self) -> Ledger {
        self.ledger_with(&self.config)
    }

    /// A ledger on this table that calls through faults.
    pub fn ledger_through(&self, faults: &Faults) -> Ledger {
        self.ledger_with(&faults.wrap(&self.config))
    }

    /// A ledger on this table that calls as `config` says.
    pub fn ledger_with(&self, config: &SdkConfig) -> Ledger {
        Ledger::new(config, NAME, Shards::new(4).unwrap(), TestRandom::fresh())
    }

    /// An item as it is stored; `None` when there is none.
    pub async fn item(&self, pk: &str, sk: &str) -> Option<Item> {
        let call = Client::new(&self.config).get_item().table_name(NAME).consistent_read(true);
        call.set_key(Some(Key::new(pk, sk).into_attributes())).send().await.unwrap().item
    }

    /// Stores an item whatever is there, as a newer version or a broken one would.
    pub async fn put_item(&self, item: Item) {
        Client::new(&self.config).put_item().table_name(NAME).set_item(Some(item)).send().await.unwrap();
    }

    /// Deletes an item, as time to live does: alone.
    pub async fn delete_item(&self, pk: &str, sk: &str) {
        let call = Client::new(&self.config).delete_item().table_name(NAME);
        call.set_key(Some(Key::new(pk, sk).into_attributes())).send().await.unwrap();
    }

    /// Every item of a partition, by sort key.
    pub async fn partition(&self, pk: &str) -> Vec<Item> {
        let call = Client::new(&self.config).query().table_name(NAME).consistent_read(true);
        let call = call.key_condition_expression("pk = :pk").expression_attribute_values(":pk", text(pk));
        let mut pages = call.into_paginator().items().send();
        let mut items = Vec::new();
        while let Some(item) = pages.next().await {
            items.push(item.unwrap());
        }
        items
    }

    /// Every item of the table, in no order.
    pub async fn items(&self) -> Vec<Item> {
        let mut pages =
            Client::new(&self.config).scan().table_name(NAME).consistent_read(true).into_paginator().items().send();
        let mut items = Vec::new();
        while let Some(item) = pages.next().await {
            items.push(item.unwrap());
        }
        items
    }

    async fn created(self) -> Self {
        let mut create = Client::new(&self.config)
            .create_table()
            .table_name(NAME)
            .billing_mode(BillingMode::PayPerRequest)
            .key_schema(key(TABLE.hash, KeyType::Hash))
            .key_schema(key(TABLE.range, KeyType::Range))
            .stream_specification(
                StreamSpecification::builder()
                    .stream_enabled(true)
                    .stream_view_type(StreamViewType::from(TABLE.stream_view))
                    .build()
                    .unwrap(),
            )
            .set_attribute_definitions(Some(attributes()));
        for definition in TABLE.indexes {
            create = create.global_secondary_indexes(index(definition));
        }
        create.send().await.unwrap();
        let expires = TimeToLiveSpecification::builder().attribute_name(TABLE.time_to_live).enabled(true);
        let call = Client::new(&self.config).update_time_to_live().table_name(NAME);
        call.time_to_live_specification(expires.build().unwrap()).send().await.unwrap();
        self
    }
}

fn config(client: SharedHttpClient) -> aws_types::sdk_config::Builder {
    SdkConfig::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "test")))
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(client)
}

fn key(attribute: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(attribute).key_type(kind).build().unwrap()
}

fn attributes() -> Vec<AttributeDefinition> {
    let texts = [TABLE.hash, TABLE.range].into_iter().chain(TABLE.indexes.iter().map(|index| index.hash));
    let numbers = TABLE.indexes.iter().map(|index| index.range);
    let texts = texts.map(|name| (name, ScalarAttributeType::S));
    let numbers = numbers.map(|name| (name, ScalarAttributeType::N));
    let define = |(name, kind)| AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build();
    texts.chain(numbers).map(define).collect::<Result<_, _>>().unwrap()
}

fn index(definition: &Index) -> GlobalSecondaryIndex {
    let projection = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(definition.include.iter().map(|name| (*name).to_owned()).collect()))
        .build();
    GlobalSecondaryIndex::builder()
        .index_name(definition.name)
        .key_schema(key(definition.hash, KeyType::Hash))
        .key_schema(key(definition.range, KeyType::Range))
        .projection(projection)
        .build()
        .unwrap()
}

/// The record of a deed to a job: jane did it at `at`.
pub fn deed(what: &str, on: &JobKey, at: Timestamp) -> Audit {
    Audit {
        subject: Subject::Receipt(on.receipt),
        at,
        who: "jane".to_owned(),
        what: what.to_owned(),
        on: Some(on.to_string()),
        why: Some("it is needed".to_owned()),
        bulk: None,
        before: None,
        after: None,
        expires_at: None,
    }
}
