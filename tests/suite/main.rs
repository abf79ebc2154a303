//! One binary for every test across crates.

mod layering;
mod template;
