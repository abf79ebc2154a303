//! What every function needs from its surroundings: configuration, clock, randomness, AWS, secrets, telemetry.
//!
//! This is the only crate that reads the environment, the system's clock and its random numbers. Everything else takes
//! them as parameters.

pub mod aws;
pub mod causes;
pub mod clock;
pub mod documents;
mod environment;
pub mod metrics;
pub mod random;
pub mod secrets;
pub mod settings;
pub mod telemetry;

pub use aws::sdk_config;
pub use causes::chain;
pub use clock::SystemClock;
pub use documents::{Documents, Fetch, FetchError, Https};
pub use metrics::{Dimension, Metric, Metrics};
pub use random::SystemRandom;
pub use secrets::{SecretError, SecretText, Secrets};
pub use settings::{DispatcherSettings, IngestSettings, SettingsError, SweeperSettings, Variables, WorkerSettings};
