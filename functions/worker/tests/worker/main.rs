//! The worker on the real ledger (DynamoDB in this process), a destination over HTTP and a fake work queue.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod world;

mod events;
#[path = "../../examples/own_operations.rs"]
#[expect(dead_code, reason = "its main is not called here")]
mod own_operations;
mod leases;
mod linked;
mod logs;
mod messages;
mod outcomes;
mod pauses;
mod reconcile;
mod sqs;
