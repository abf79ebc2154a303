//! The worker function: a queue message becomes a claim, the claim a call, and the call an outcome that is written down.
//!
//! The job in the ledger is the truth and a message only says where to look. The transitions of `hookbox_core` decide
//! what happens to a job; this crate reads, writes and calls around them:
//!
//! 1. [`batch`]: the messages of an invocation, each on its own, and which of them go back to the queue.
//! 2. `job`: load the folder, decide, claim immediately before the call.
//! 3. `attempt`: ask where an earlier outcome is unknown, read the payload, call the operation.
//! 4. `settle`: write what came of it, and send the wake-up of a retry.
//!
//! A team that needs more than `http` and `sqs` links its own operations and deploys its own worker:
//!
//! ```no_run
//! use hookbox_core::outcome::Report;
//! use hookbox_worker::{Call, Operation, Worker};
//!
//! struct InitialResponse;
//!
//! impl Operation for InitialResponse {
//!     async fn call(&self, call: &Call<'_>) -> Report {
//!         println!("{} happened to {:?}", call.facts.kind, call.facts.resource);
//!         Report::done("answered")
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), lambda_runtime::Error> {
//! Worker::builder().operation("initial-response", InitialResponse).build().await?.run().await
//! # }
//! ```
//!
//! `examples/own_operations.rs` shows every kind of outcome.

pub mod batch;
mod builder;
mod job;

mod attempt;
mod settle;

pub mod operation;

pub use batch::{Batch, BatchResponse};
pub use builder::{BuildError, Builder, Surroundings, Worker};
pub use hookbox_destination::{Facts, InvalidSigningSecret, signature};
pub use operation::{Asked, Call, Operation, Question};
