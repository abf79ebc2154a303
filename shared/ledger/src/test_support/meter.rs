//! What calls cost, as the engine bills them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use serde_json::{Value, json};

use super::engine::operation;

/// What one call consumed, in write units or, for a read, in read units.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumed {
    /// What was called, such as `UpdateItem`.
    pub operation: String,
    /// Units of the table itself.
    pub table: f64,
    /// Units of each index.
    pub indexes: BTreeMap<String, f64>,
}

impl Consumed {
    /// Units of table and indexes.
    pub fn total(&self) -> f64 {
        self.table + self.indexes.values().sum::<f64>()
    }

    /// Whether these are read units.
    pub fn is_read(&self) -> bool {
        matches!(self.operation.as_str(), "GetItem" | "BatchGetItem" | "Query" | "Scan")
    }
}

/// Asks for the consumed capacity of every call of the clients that it wraps, and adds it up. For
/// [`TestTable::on`](super::TestTable::on), whose answers are there at once.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    calls: Arc<Mutex<Vec<Consumed>>>,
}

impl Meter {
    /// Every call so far.
    pub fn calls(&self) -> Vec<Consumed> {
        self.calls.lock().unwrap().clone()
    }

    /// Write units so far.
    pub fn written(&self) -> f64 {
        self.calls().iter().filter(|call| !call.is_read()).map(Consumed::total).sum()
    }

    /// Read units so far.
    pub fn read(&self) -> f64 {
        self.calls().iter().filter(|call| call.is_read()).map(Consumed::total).sum()
    }

    /// Forgets the calls so far.
    pub fn reset(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// The same configuration, metered.
    pub fn wrap(&self, config: &SdkConfig) -> SdkConfig {
        let inner = config.http_client().expect("a configuration with an HTTP client");
        let calls = self.calls.clone();
        let client = http_client_fn(move |settings, components| {
            let inner = inner.http_connector(settings, components);
            SharedHttpConnector::new(Metered { inner, calls: calls.clone() })
        });
        config.to_builder().http_client(client).build()
    }
}

#[derive(Debug)]
struct Metered {
    inner: SharedHttpConnector,
    calls: Arc<Mutex<Vec<Consumed>>>,
}

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (inner, calls) = (self.inner.clone(), self.calls.clone());
        HttpConnectorFuture::new(async move {
            let operation = operation(&request);
            let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
            body["ReturnConsumedCapacity"] = json!("INDEXES");
            *request.body_mut() = SdkBody::from(body.to_string());
            let answer = inner.call(request).await?;
            let body: Value = serde_json::from_slice(answer.body().bytes().unwrap_or_default()).unwrap_or_default();
            let mut calls = calls.lock().unwrap();
            // A transaction has one entry for each table, a single call one alone.
            match &body["ConsumedCapacity"] {
                Value::Array(tables) => calls.extend(tables.iter().map(|table| consumed(&operation, table))),
                Value::Null => {}
                table => calls.push(consumed(&operation, table)),
            }
            Ok(answer)
        })
    }
}

fn consumed(operation: &str, capacity: &Value) -> Consumed {
    let units = |value: &Value| value["CapacityUnits"].as_f64().unwrap_or_default();
    let indexes = capacity["GlobalSecondaryIndexes"].as_object();
    Consumed {
        operation: operation.to_owned(),
        table: units(&capacity["Table"]),
        indexes: indexes.into_iter().flatten().map(|(name, value)| (name.clone(), units(value))).collect(),
    }
}
