//! The pure core of Hookbox: identity, receipts, jobs and every transition between their states.
