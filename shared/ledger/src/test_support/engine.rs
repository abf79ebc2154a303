//! dynoxide as an HTTP client of the SDK: the request is answered where it is made.

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) fn client(database: Database) -> SharedHttpClient {
    http_client_fn(move |_, _| SharedHttpConnector::new(Engine { database: database.clone() }))
}

struct Engine {
    database: Database,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl HttpConnector for Engine {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let database = self.database.clone();
        // Done when it is polled, not when it is made: a call that is dropped unpolled has no effect.
        HttpConnectorFuture::new(async move {
            let operation = operation(&request);
            let (status, body) = match answer(&database, &operation, request.body().bytes().unwrap_or_default()) {
                Ok(body) => (200, body),
                Err(error) => (error.status_code(), error.to_json()),
            };
            Ok(response(status, body))
        })
    }
}

/// The operation that a request asks for, such as `UpdateItem`.
pub(super) fn operation(request: &HttpRequest) -> String {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

/// An answer as DynamoDB gives it.
pub(super) fn response(status: u16, body: String) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

fn answer(database: &Database, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
    match operation {
        "TransactWriteItems" => run(body, |request| database.transact_write_items(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "PutItem" => run(body, |request| database.put_item(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "Scan" => run(body, |request| database.scan(request)),
        "CreateTable" => run(body, |request| database.create_table(request)),
        "DescribeTable" => run(body, |request| database.describe_table(request)),
        "DescribeTimeToLive" => run(body, |request| database.describe_time_to_live(request)),
        "UpdateTimeToLive" => run(body, |request| database.update_time_to_live(request)),
        other => Err(DynoxideError::ValidationException(format!("the test engine does not know {other}"))),
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    call: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let invalid = |error: serde_json::Error| DynoxideError::ValidationException(error.to_string());
    let answer = call(serde_json::from_slice(body).map_err(invalid)?)?;
    serde_json::to_string(&answer).map_err(invalid)
}
