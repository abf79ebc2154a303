//! The dispatcher function: the DynamoDB stream of jobs to the queues.
