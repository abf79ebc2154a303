//! Tests across crates; see `suite/`.
