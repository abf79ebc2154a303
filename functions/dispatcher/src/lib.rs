//! The dispatcher function: the DynamoDB stream of jobs to the queues.
//!
//! A job that becomes pending goes to the work queue, one that waits for a person to the dead-letter queue, as job keys
//! only: the job in the table is the truth. What is lost here is found by the sweeper, and what is sent twice is harmless,
//! so a record that can never be sent is counted and passed, and never holds up its shard.

pub mod dispatch;
pub mod record;

pub use dispatch::{DispatchError, Dispatcher, Response};
