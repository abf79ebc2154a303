//! The sweeper on a real table, before queues and tables that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backlog;
mod deadline;
mod events;
mod gauges;
mod held;
mod keep;
mod outage;
mod poison;
mod races;
mod review;
mod wakes;
mod world;
