//! What `template.yaml` deploys, where the code relies on it. A test compares the two.

use std::time::Duration;

/// What the dispatcher's event source lets through: jobs that are new or changed, and pending or in review.
pub const STREAM_FILTER: &str = r#"{"eventName":["INSERT","MODIFY"],"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"job#"}]}},"NewImage":{"status":{"S":["pending","review"]}}}}"#;
/// How often the dispatcher's event source tries a batch again.
pub const STREAM_RETRIES: i32 = 20;
/// From which age on it gives up a record: for as long a bad one holds up its shard.
pub const STREAM_MAX_AGE: Duration = Duration::from_secs(3_600);
/// How often the sweeper comes.
pub const SWEEP_RATE: &str = "rate(1 minute)";
/// How long the queues keep a message: as long as SQS does.
pub const QUEUE_RETENTION: Duration = Duration::from_secs(14 * 24 * 3_600);
/// The variables that each function reads.
pub const VARIABLES: [(&str, &[&str]); 4] = [
    ("ingest", &["HOOKBOX_TABLE", "HOOKBOX_SHARDS"]),
    ("dispatcher", &["HOOKBOX_WORK_QUEUE_URL", "HOOKBOX_DEAD_LETTER_QUEUE_URL"]),
    ("worker", &["HOOKBOX_TABLE", "HOOKBOX_SHARDS", "HOOKBOX_WORK_QUEUE_URL"]),
    ("sweeper", &["HOOKBOX_TABLE", "HOOKBOX_SHARDS", "HOOKBOX_WORK_QUEUE_URL", "HOOKBOX_DEAD_LETTER_QUEUE_URL"]),
];
