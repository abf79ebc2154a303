//! One binary for every test across crates.
