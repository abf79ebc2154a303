//! The dispatcher on records of a real stream, before queues that fail.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod events;
mod failures;
mod stream;
mod world;
