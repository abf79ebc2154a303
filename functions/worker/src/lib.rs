//! The worker function: queue message to claim to operation to outcome.
