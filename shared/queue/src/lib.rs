//! The work queue and the dead-letter queue on Amazon SQS.
//!
//! A message is a wake-up that carries a job key and nothing else: the job in the table is the truth, so losing, repeating
//! or reordering messages is harmless. A notice on the dead-letter queue also says why the job waits for a person.

pub mod error;
pub mod message;
pub mod queue;
pub mod deployed;

#[cfg(feature = "test-support")]
pub mod test_support;

pub use deployed::{DeployedQueue, Redrive};
pub use error::QueueError;
pub use message::{Message, MessageError};
pub use queue::{Body, Depth, Handle, Queue, Received};
