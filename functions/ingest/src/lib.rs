//! The ingest function: HTTP request to receipt, jobs and payload to acknowledgement.
