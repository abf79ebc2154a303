//! One binary for every test across crates.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod events;
mod guarantees;
mod layering;
mod template;
mod policies;

mod harness;
mod known_faults;
mod crash_sweep;
mod simulation;

mod local_aws;
mod hookbox;
mod stage;
mod walkthrough;
mod interceptor;
mod ingest_killed;
mod stream_off;
mod restart;
mod crashes;
mod people;
mod doctor;
