//! The ledger: receipts, jobs, payloads and configuration in one DynamoDB table.
