//! What must hold of any input to `hookbox-providers`: one module for each target, and what each begins with.
//!
//! `make fuzz` looks for inputs of which it does not hold; the tests of the crate replay what each target begins with.

#[path = "../../shared/providers/tests/ways/mod.rs"]
pub mod ways;

pub mod decode;
pub mod verify;
pub mod tampered;
pub mod documents;
pub mod json;
pub mod fields;
pub mod profile;
pub mod seeds;

/// What a target asserts of an input.
pub type Holds = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Holds); 7] = [
    ("decode", decode::holds),
    ("verify", verify::holds),
    ("tampered", tampered::holds),
    ("documents", documents::holds),
    ("json", json::holds),
    ("fields", fields::holds),
    ("profile", profile::holds),
];
