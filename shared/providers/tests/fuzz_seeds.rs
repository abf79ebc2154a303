//! What each fuzz target begins with: its assertions hold of all of that, or `make fuzz` would end at once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

#[path = "../../../fuzz/src/lib.rs"]
mod properties;

use properties::{TARGETS, seeds};

#[test]
fn every_target_has_seeds_and_holds_of_them() {
    for (target, holds) in TARGETS {
        let seeds = seeds::of(target);
        assert!(seeds.len() > 5, "{target}");
        for seed in seeds {
            holds(&seed);
        }
    }
}
