//! What a destination is told of an event, by the worker and by whoever feeds history to it again: the facts, the
//! headers, the signature, the request.
//!
//! Nothing here performs I/O: the same event gives the same request, whoever sends it.

mod facts;
mod request;

pub use facts::{Facts, unreserved, visible};
pub use request::{InvalidSigningSecret, Unsendable, delivery, passed_on, question, signature};
