//! What every function needs from its surroundings: configuration, secrets, clock, telemetry.
