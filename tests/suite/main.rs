//! One binary for every test across crates.

mod events;
mod layering;
mod template;

mod local_aws;
mod hookbox;
mod walkthrough;
