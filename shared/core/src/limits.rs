//! Every bound in one place, with the relations between them checked when the code is compiled.

use std::time::Duration;

/// The largest request body, in bytes. A synchronous Lambda event holds 6 MB including the base64 of the body and the
/// headers, which leaves 4.5 MB of body.
pub const MAX_BODY_BYTES: usize = 4_500_000;
/// The most items in one `TransactWriteItems` call (DynamoDB service quota).
pub const MAX_TRANSACTION_ITEMS: usize = 100;
/// The most bytes in one `TransactWriteItems` call (DynamoDB service quota: 4 MB).
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// The largest DynamoDB item (service quota: 400 KB, names included).
pub const MAX_ITEM_BYTES: usize = 400 * 1024;
/// Compressed payload bytes in one item; the rest of the item is room for its names and headers.
pub const PAYLOAD_CHUNK_BYTES: usize = 350 * 1024;
/// The most operations of one integration, and so the most jobs that an event comes with.
pub const MAX_OPERATIONS: usize = 20;
/// The most jobs of one event that a new version can be added to: what keeps or ends one of them writes all of them, and
/// the payload, in one transaction.
pub const MAX_JOBS: usize = 50;
/// The most events in one delivery. `SendGrid` sends as many as 768 KB hold, which are 8,000 of 100 bytes; Meta up to 1,000
/// updates in one POST. Nobody can make a provider send less at once, so this is beyond what any does.
pub const MAX_EVENTS_PER_DELIVERY: usize = 20_000;
/// The longest part of an identity and the longest kind or resource, in bytes.
pub const MAX_FIELD_BYTES: usize = 1_024;
/// The longest error text that a job keeps, in characters.
pub const MAX_ERROR_CHARS: usize = 500;
/// How many arrivals a receipt describes; later ones are only counted.
pub const MAX_ARRIVALS: usize = 20;
/// How many conflicts a receipt describes.
pub const MAX_CONFLICTS: usize = 10;
/// How many windows of a weak identity may follow each other.
pub const MAX_IDENTITY_CHAIN: usize = 100;

/// Into how many partitions the indexes are spread when the stack states nothing.
pub const DEFAULT_SHARDS: u16 = 4;
/// The most partitions of an index, a power of two: every list of open jobs is read once for each of them in each run of
/// the sweeper.
pub const MAX_SHARDS: u16 = 64;

/// The longest delay of an SQS message (service quota).
pub const MAX_QUEUE_DELAY: Duration = Duration::from_secs(900);
/// The longest visibility timeout of an SQS message (service quota).
pub const MAX_VISIBILITY: Duration = Duration::from_secs(12 * 3_600);
/// Receives of a message before SQS moves it to the dead-letter queue: crashes and failed reads only.
pub const MAX_RECEIVES: u32 = 5;

/// Retry delays when an operation does not state its own: five attempts a round.
pub const DEFAULT_SCHEDULE: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];
/// The most retry delays of a schedule.
pub const MAX_SCHEDULE: usize = 20;
/// The longest single retry delay.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(24 * 3_600);
/// The most jitter that is added to a retry delay.
pub const MAX_JITTER: Duration = Duration::from_secs(1);
/// The longest `Retry-After` that is honoured.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// How long an operation's call may take when it states nothing.
pub const DEFAULT_OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that an operation's call may take: it must fit into the worker's invocation.
pub const MAX_OPERATION_TIMEOUT: Duration = Duration::from_secs(45);
/// The worker's Lambda timeout in `template.yaml`.
pub const WORKER_TIMEOUT: Duration = Duration::from_secs(60);
/// The work queue's visibility timeout in `template.yaml`.
pub const WORK_QUEUE_VISIBILITY: Duration = Duration::from_secs(360);
/// Time that must remain beyond an operation's timeout for a job to be claimed.
pub const CLAIM_MARGIN: Duration = Duration::from_secs(2);
/// How long after the invocation's deadline a lease ends: by then Lambda has ended the process.
pub const LEASE_MARGIN: Duration = Duration::from_secs(15);

/// How long a destination remembers our key when the operation states nothing.
pub const DEFAULT_KEY_RETENTION: Duration = Duration::from_secs(24 * 3_600);

/// How long a pending job may wait for the stream before the sweeper looks.
pub const PENDING_OVERDUE: Duration = Duration::from_secs(5 * 60);
/// How long after its time a retry may be before the sweeper looks.
pub const RETRY_OVERDUE: Duration = Duration::from_secs(60);
/// The longest pause between two of the sweeper's wake-ups of one job.
pub const MAX_WAKE_INTERVAL: Duration = Duration::from_secs(3_600);
/// Wake-ups without a claim before a job goes to a person.
pub const MAX_WAKES: u32 = 10;
/// How long a backlog may keep the sweeper from waking a pending job: after that its own message is taken for lost.
pub const BACKLOG_PATIENCE: Duration = Duration::from_secs(24 * 3_600);
/// When the notice of a job in review is posted for the first time.
pub const REVIEW_FIRST_NOTICE: Duration = Duration::from_secs(15 * 60);
/// How often it is posted again: SQS keeps a message for 14 days.
pub const REVIEW_NOTICE_INTERVAL: Duration = Duration::from_secs(10 * 24 * 3_600);

/// How long a payload is kept when the integration states nothing.
pub const DEFAULT_PAYLOAD_RETENTION: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The shortest payload retention, before the schedule is added.
pub const MIN_PAYLOAD_RETENTION: Duration = Duration::from_secs(3 * 24 * 3_600);
/// How long receipts and jobs are kept when the integration states nothing.
pub const DEFAULT_RECEIPT_RETENTION: Duration = Duration::from_secs(90 * 24 * 3_600);
/// How long receipt and payload are kept at least after the last open job has ended: time to look once more.
pub const KEEP_AFTER_END: Duration = Duration::from_secs(3 * 24 * 3_600);

const _: () = {
    // A receipt, its jobs and the chunks of the largest body, stored uncompressed, fit into one transaction.
    let chunks = MAX_TRANSACTION_BYTES / PAYLOAD_CHUNK_BYTES + 1;
    assert!(1 + MAX_OPERATIONS + chunks <= MAX_TRANSACTION_ITEMS);
    // And so do a receipt, all its jobs and chunks, a pause and a record, with room for earlier records.
    assert!(1 + MAX_JOBS + chunks + 2 + 30 <= MAX_TRANSACTION_ITEMS);
    assert!(MAX_JOBS > MAX_OPERATIONS);
    assert!(PAYLOAD_CHUNK_BYTES + 40 * 1024 <= MAX_ITEM_BYTES);
    // AWS advises a visibility timeout of six times the function's timeout.
    assert!(WORK_QUEUE_VISIBILITY.as_secs() >= 6 * WORKER_TIMEOUT.as_secs());
    assert!(MAX_OPERATION_TIMEOUT.as_secs() + CLAIM_MARGIN.as_secs() < WORKER_TIMEOUT.as_secs());
    // A lease outlives the process that holds it, and ends before the message of a crashed worker is seen again.
    assert!(WORKER_TIMEOUT.as_secs() + LEASE_MARGIN.as_secs() < WORK_QUEUE_VISIBILITY.as_secs());
    assert!(REVIEW_NOTICE_INTERVAL.as_secs() < 14 * 24 * 3_600);
    assert!(DEFAULT_PAYLOAD_RETENTION.as_secs() >= MIN_PAYLOAD_RETENTION.as_secs());
    assert!(DEFAULT_RECEIPT_RETENTION.as_secs() > DEFAULT_PAYLOAD_RETENTION.as_secs());
    assert!(MAX_SHARDS.is_power_of_two() && DEFAULT_SHARDS.is_power_of_two() && DEFAULT_SHARDS <= MAX_SHARDS);
    assert!(RETRY_OVERDUE.as_secs() <= PENDING_OVERDUE.as_secs());
};
