//! The hookbox command: apply configuration, send samples, inspect receipts and jobs.

pub mod config;
pub mod failure;
pub mod layout;
pub mod terminal;

#[cfg(test)]
mod testing;
