//! Time and randomness that tests decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_async::rt::sleep::{AsyncSleep, Sleep};
use aws_smithy_async::time::TimeSource;
use hookbox_core::surroundings::{Clock, Random};
use hookbox_core::time::Timestamp;

/// A clock that stands still until it is moved. It is the core's clock, the SDK's time source, the SDK's sleep (which
/// moves it) and the engine's clock.
///
/// A sleep is over when it is polled. So a future that races a sleep must itself be done when it is polled once, as the
/// calls of [`TestTable::on`](super::TestTable::on) are; a socket in between would always lose.
#[derive(Clone, Debug)]
pub struct TestClock {
    millis: Arc<AtomicI64>,
}

impl TestClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { millis: Arc::new(AtomicI64::new(now.as_millis())) }
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        self.millis.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Moves it anywhere.
    pub fn set(&self, now: Timestamp) {
        self.millis.store(now.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis.load(Ordering::SeqCst))
    }
}

impl TimeSource for TestClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Clock::now(self).since(Timestamp::from_millis(0))
    }
}

impl AsyncSleep for TestClock {
    fn sleep(&self, duration: Duration) -> Sleep {
        let clock = self.clone();
        Sleep::new(async move { clock.advance(duration) })
    }
}

impl dynoxide::storage_backend::Clock for TestClock {
    fn now_unix_secs(&self) -> u64 {
        Clock::now(self).since(Timestamp::from_millis(0)).as_secs()
    }

    fn now_unix_secs_f64(&self) -> f64 {
        Clock::now(self).since(Timestamp::from_millis(0)).as_secs_f64()
    }
}

/// Numbers that look random and come from a seed (splitmix64).
#[derive(Debug)]
pub struct TestRandom {
    state: AtomicU64,
}

impl TestRandom {
    /// From a seed.
    pub fn seeded(seed: u64) -> Arc<dyn Random> {
        Arc::new(Self { state: AtomicU64::new(seed) })
    }

    /// From a seed that no other call in this process gets, so that two ledgers never draw the same tokens.
    pub fn fresh() -> Arc<dyn Random> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::seeded(NEXT.fetch_add(1, Ordering::SeqCst) << 40)
    }
}

impl Random for TestRandom {
    fn next_u64(&self) -> u64 {
        let step = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.state.fetch_add(step, Ordering::SeqCst).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
