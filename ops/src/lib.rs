//! The `hookbox` command: apply configuration, send samples, inspect, count, follow, export and erase receipts and jobs,
//! judge and decode deliveries, rehearse and rebuild destinations.
//!
//! Every command is a function of its arguments, its surroundings and a [`terminal::Terminal`], so that tests and other
//! programs run it without a process. It works with the caller's own AWS credentials; nothing in the account answers
//! for it.

pub mod cli;

pub mod apply;
pub mod config;
pub mod dlq;
pub mod jobs;
pub mod pauses;
pub mod receipts;
pub mod erase;
pub mod export;
pub mod rebuild;
pub mod cleanup;
pub mod search;
pub mod stats;
pub mod tail;
pub mod doctor;
pub mod sandbox;
pub mod rehearse;
pub mod send;
pub mod verify;
pub mod decode;
pub mod providers;

pub mod bulk;
pub mod connection;
pub mod deed;
pub mod failure;
pub mod layout;
pub mod local;
pub mod own_profiles;
pub mod terminal;

#[cfg(test)]
mod testing;
