//! The hookbox command: apply configuration, send samples, inspect receipts and jobs.
