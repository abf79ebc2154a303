//! The pure core of Hookbox: identity, receipts, jobs and every transition between their states.
//!
//! Nothing here performs I/O, reads a clock, draws a random number or knows AWS. The same input gives the same output,
//! on every machine and in every order of calls, so the functions that surround it can be simulated from a seed.
//!
//! The modules stand in the order in which an event meets them.

pub mod surroundings;
pub mod time;
pub mod name;
pub mod event;
pub mod digest;
pub mod key;
pub mod receipt;
pub mod address;
pub mod integration;
pub mod job;
pub mod outcome;
pub mod retry;
pub mod transition;
pub mod invariants;
pub mod limits;
