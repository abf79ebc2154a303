//! A table inside the test process, a clock that tests move, and faults on the way between.

use std::sync::Arc;

use aws_types::SdkConfig;
use hookbox_core::surroundings::Random;
use hookbox_core::time::Timestamp;

use crate::Ledger;

/// The table of [`crate::table`], in dynoxide, in this process.
#[derive(Clone)]
pub struct TestTable {}

impl TestTable {
    /// A new empty table behind a loopback port, in real time.
    pub async fn start() -> Self {
        unimplemented!()
    }

    /// A new empty table on virtual time: no socket, no waiting; a call is done when it is polled once.
    pub async fn on(clock: &TestClock) -> Self {
        let _ = clock;
        unimplemented!()
    }

    /// The name of the table.
    pub fn name(&self) -> &str {
        unimplemented!()
    }

    /// A configuration for clients of this table.
    pub fn config(&self) -> SdkConfig {
        unimplemented!()
    }

    /// A ledger on this table with four shards.
    pub fn ledger(&self) -> Ledger {
        unimplemented!()
    }
}

/// A clock that stands still until it is moved. It is the SDK's time source and its sleep (which moves it), the core's
/// clock and dynoxide's.
#[derive(Clone, Debug)]
pub struct TestClock {}

impl TestClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        let _ = now;
        unimplemented!()
    }
}

/// Numbers that look random and come from a seed.
#[derive(Debug)]
pub struct TestRandom {}

impl TestRandom {
    /// From a seed.
    pub fn seeded(seed: u64) -> Arc<dyn Random> {
        let _ = seed;
        unimplemented!()
    }
}
