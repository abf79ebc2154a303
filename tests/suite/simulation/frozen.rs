//! Histories that once broke a promise.
