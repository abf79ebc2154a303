//! The names of all metrics and of what they are divided by, in one place.

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident: $unit:ident,)*) => {
        /// Every metric that Hookbox publishes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric {
            $($(#[$doc])* $name,)*
        }

        impl Metric {
            /// Every metric, in the order of the functions that publish them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in CloudWatch.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Its unit in CloudWatch.
            pub const fn unit(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($unit),)*
                }
            }
        }
    };
}

metrics! {
    // ingest
    /// Deliveries that were answered, by provider and outcome.
    Deliveries: Count,
    /// Milliseconds from request to answer.
    DeliveryDuration: Milliseconds,
    /// Events that were stored for the first time, by provider.
    EventsCreated: Count,
    /// Events that were stored already, by provider.
    EventsDuplicate: Count,
    /// Events with the key of another content, by provider.
    EventsConflict: Count,
    /// Events that became evidence without jobs, by provider.
    EventsWithoutJobs: Count,
    /// Events with a weak identity, stored or found stored, by provider: two that are alike within its window are one.
    EventsWeak: Count,
    /// Deliveries that a secret verified, by provider and the secret's place in the integration's list: a rotation is
    /// finished when the place of the old one has been silent.
    DeliveriesVerified: Count,
    /// Deliveries whose signature was refused, by provider and reason.
    VerificationFailed: Count,
    /// Deliveries to a provider or account that is not configured.
    UnknownIntegration: Count,
    /// Deliveries that could not be verified because our own configuration is broken, by provider.
    VerifierBroken: Count,
    /// Deliveries that could not be committed, by provider.
    CommitFailed: Count,
    // dispatcher
    /// Job keys sent from the stream, by queue.
    RecordsDispatched: Count,
    /// Stream records that can never be dispatched and were passed, by reason.
    RecordsPassed: Count,
    /// Stream records that could not be sent and come again.
    RecordsReturned: Count,
    // worker
    /// Attempts that ended, by operation and outcome.
    Attempts: Count,
    /// Milliseconds that a destination took, by operation.
    AttemptDuration: Milliseconds,
    /// Milliseconds from the arrival of an event to the completion of a job of it, by provider and account. Each is a
    /// completion, so that the number of values counts them.
    CompletionDuration: Milliseconds,
    /// Jobs given to a person, by reason.
    JobsToReview: Count,
    /// Jobs that wait for their operation to be resumed.
    JobsHeld: Count,
    /// Operations that were paused because their credential was refused, by operation.
    OperationPaused: Count,
    /// Outcomes that came too late: another worker had taken over.
    LateOutcomes: Count,
    /// Queue messages that nobody can read, or whose job a consistent read does not find, by reason.
    MessagesUnusable: Count,
    // every reader
    /// Items that are corrupt or of a newer schema and were left alone.
    ItemsUnreadable: Count,
    // sweeper
    /// Jobs that the sweeper woke: nobody had taken them in their time.
    JobsRecovered: Count,
    /// Held jobs whose pause was gone.
    JobsReleased: Count,
    /// Notices of jobs in review that were posted again.
    NoticesPosted: Count,
    /// Entries that the sweeper could not deal with.
    SweepErrors: Count,
    /// Lists with entries that were due when the sweeper's time was over.
    SweepLeft: Count,
    /// Jobs that are overdue or wait for an attempt.
    OpenJobs: Count,
    /// Jobs that wait for their operation to be resumed.
    HeldJobs: Count,
    /// Jobs that wait for a person.
    ReviewJobs: Count,
    /// Seconds since the arrival of the oldest event with an open job.
    OldestOpenAge: Seconds,
    /// Seconds since the arrival of the oldest event with a job in review.
    OldestReviewAge: Seconds,
}

/// By what a metric is divided. Values must come from a bounded set: configured names and our own words, never from a
/// request that has not been verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// The provider's profile.
    Provider,
    /// The connection, together with its provider.
    Account,
    /// What came of it.
    Outcome,
    /// The place of a secret in its list, up to a bound.
    Secret,
    /// The configured operation.
    Operation,
    /// Why.
    Reason,
    /// `work` or `dead-letter`.
    Queue,
}

impl Dimension {
    /// Its name in CloudWatch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider => "Provider",
            Self::Account => "Account",
            Self::Outcome => "Outcome",
            Self::Secret => "Secret",
            Self::Operation => "Operation",
            Self::Reason => "Reason",
            Self::Queue => "Queue",
        }
    }
}
