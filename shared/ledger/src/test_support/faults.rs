//! Faults between a client and AWS. No product code knows of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_async::rt::sleep::{AsyncSleep as _, SharedAsyncSleep, default_async_sleep};
use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_types::SdkConfig;
use serde_json::{Value, json};

use super::engine::{operation, response};

/// What goes wrong with one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request never arrives.
    FailBefore,
    /// It is done, and the answer is lost.
    LoseReply,
    /// It is done twice; the second answer counts.
    DoTwice,
    /// Refused: too many requests (`ThrottlingError` as the reason of a transaction).
    Throttle,
    /// Refused: too many requests (`ProvisionedThroughputExceeded` as the reason of a transaction).
    ExceedThroughput,
    /// Refused: another transaction holds an item. Anything but a write to a table is served all the same.
    Conflict,
    /// Refused: the same transaction is still under way. Anything else is served all the same.
    InProgress,
    /// Refused: the service failed.
    Internal,
    /// It takes that long, then it is done.
    Delay(Duration),
    /// It is done, then the answer takes that long.
    DelayReply(Duration),
    /// The process dies before the request leaves it: this and every later effect fails, until
    /// [`restart`](Faults::restart).
    StopBefore,
    /// The process dies when the request is done: every later effect fails, until [`restart`](Faults::restart).
    StopAfter,
}

/// One call to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Its number, from 0, over all clients that share the [`Faults`].
    pub number: usize,
    /// What was called, such as `UpdateItem`.
    pub operation: String,
    /// What went wrong with it.
    pub fault: Option<Fault>,
}

/// Numbers every effect of the clients that it wraps, and makes those go wrong that it was told to.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    planned: BTreeMap<usize, Fault>,
    next: Vec<(String, Fault)>,
    log: Vec<Effect>,
    stopped: bool,
}

impl Faults {
    /// None yet.
    pub fn none() -> Self {
        Self::default()
    }

    /// Makes effect `number` go wrong.
    pub fn at(&self, number: usize, fault: Fault) -> &Self {
        self.state.lock().unwrap().planned.insert(number, fault);
        self
    }

    /// Makes the next call of an operation go wrong; called again, the one after it.
    pub fn on_next(&self, operation: &str, fault: Fault) -> &Self {
        self.state.lock().unwrap().next.push((operation.to_owned(), fault));
        self
    }

    /// Nothing goes wrong from now on: what was planned and has not happened never will.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap();
        state.planned.clear();
        state.next.clear();
    }

    /// Every effect so far.
    pub fn log(&self) -> Vec<Effect> {
        self.state.lock().unwrap().log.clone()
    }

    /// How many effects there were.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap().log.len()
    }

    /// Whether every planned fault has happened: a cut that was never reached proves nothing.
    pub fn all_happened(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.next.is_empty() && state.planned.keys().all(|number| *number < state.log.len())
    }

    /// Whether the process is dead.
    pub fn is_stopped(&self) -> bool {
        self.state.lock().unwrap().stopped
    }

    /// A new process: effects happen again. Its memory is the caller's to drop.
    pub fn restart(&self) {
        self.state.lock().unwrap().stopped = false;
    }

    /// Numbers an effect of any other kind, such as a call to a destination, and says what is to go wrong with it.
    pub fn enter(&self, operation: &str) -> Option<Fault> {
        let mut state = self.state.lock().unwrap();
        let number = state.log.len();
        let next = state.next.iter().position(|(name, _)| name == operation);
        let fault = if state.stopped {
            Some(Fault::StopBefore)
        } else {
            state.planned.get(&number).copied().or_else(|| next.map(|at| state.next.remove(at).1))
        };
        state.stopped |= matches!(fault, Some(Fault::StopBefore | Fault::StopAfter));
        state.log.push(Effect { number, operation: operation.to_owned(), fault });
        fault
    }

    /// The same configuration with these faults between its clients and AWS.
    pub fn wrap(&self, config: &SdkConfig) -> SdkConfig {
        let inner = config.http_client().expect("a configuration with an HTTP client");
        let sleep = config.sleep_impl().or_else(default_async_sleep).expect("a way to sleep");
        let faults = self.clone();
        let client = http_client_fn(move |settings, components| {
            SharedHttpConnector::new(Faulty {
                inner: inner.http_connector(settings, components),
                faults: faults.clone(),
                sleep: sleep.clone(),
            })
        });
        config.to_builder().http_client(client).build()
    }
}

#[derive(Debug)]
struct Faulty {
    inner: SharedHttpConnector,
    faults: Faults,
    sleep: SharedAsyncSleep,
}

impl HttpConnector for Faulty {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, faults, sleep) = (self.inner.clone(), self.faults.clone(), self.sleep.clone());
        HttpConnectorFuture::new(async move {
            let operation = operation(&request);
            let Some(fault) = faults.enter(&operation) else { return inner.call(request).await };
            match fault {
                Fault::FailBefore => Err(lost("the connection was refused")),
                Fault::StopBefore => Err(lost("the process is dead")),
                Fault::LoseReply | Fault::StopAfter => {
                    inner.call(request).await?;
                    Err(lost("the answer was lost"))
                }
                Fault::DoTwice => {
                    let again = request.try_clone().expect("a body in memory");
                    inner.call(request).await?;
                    inner.call(again).await
                }
                Fault::Delay(duration) => {
                    sleep.sleep(duration).await;
                    inner.call(request).await
                }
                Fault::DelayReply(duration) => {
                    let answer = inner.call(request).await;
                    sleep.sleep(duration).await;
                    answer
                }
                Fault::Throttle | Fault::ExceedThroughput | Fault::Conflict | Fault::InProgress | Fault::Internal => {
                    match refusal(fault, &operation, &request) {
                        Some(answer) => Ok(answer),
                        None => inner.call(request).await,
                    }
                }
            }
        })
    }
}

fn lost(what: &'static str) -> ConnectorError {
    ConnectorError::io(what.into())
}

/// The answer of a service that did nothing; `None` where it has no such answer.
fn refusal(fault: Fault, operation: &str, request: &HttpRequest) -> Option<HttpResponse> {
    let transaction = operation == "TransactWriteItems";
    let write = transaction || matches!(operation, "PutItem" | "UpdateItem" | "DeleteItem");
    let (reason, code) = match fault {
        Fault::Internal => return Some(response(500, json!({"__type": "InternalServerError"}).to_string())),
        Fault::Throttle => ("ThrottlingError", "ThrottlingException"),
        Fault::ExceedThroughput => ("ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException"),
        Fault::Conflict if write => ("TransactionConflict", "TransactionConflictException"),
        Fault::InProgress if transaction => {
            return Some(response(400, json!({"__type": "TransactionInProgressException"}).to_string()));
        }
        _ => return None,
    };
    let answer = if transaction {
        json!({"__type": "TransactionCanceledException", "CancellationReasons": reasons(reason, request)})
    } else {
        json!({"__type": code, "message": "by the test"})
    };
    Some(response(400, answer.to_string()))
}

/// One reason for each part of the transaction: the last part is the one that was refused.
fn reasons(code: &str, request: &HttpRequest) -> Vec<Value> {
    let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
    let parts = body["TransactItems"].as_array().map_or(1, Vec::len);
    let reason = |part| json!({"Code": if part + 1 == parts { code } else { "None" }});
    (0..parts).map(reason).collect()
}
