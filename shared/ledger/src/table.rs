//! The table as data: one source for tests, and for the test that compares it with `template.yaml`.

/// The definition of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The attribute that holds the partition key, a string.
    pub hash: &'static str,
    /// The attribute that holds the sort key, a string.
    pub range: &'static str,
    /// The attribute that holds the time to live, a number of epoch seconds.
    pub time_to_live: &'static str,
    /// What the stream carries.
    pub stream_view: &'static str,
    /// The secondary indexes, all of them sparse.
    pub indexes: &'static [Index],
}

/// A global secondary index: a string as partition key, a number as sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The attribute that holds the partition key, a string.
    pub hash: &'static str,
    /// The attribute that holds the sort key, a number.
    pub range: &'static str,
    /// Which attributes it holds besides the keys.
    pub include: &'static [&'static str],
}

/// Open jobs by the time at which they are to be looked at.
pub const OPEN: Index =
    Index { name: "open", hash: "open_pk", range: "open_at", include: &["received_at", "provider", "account", "kind"] };

/// Receipts by connection and day.
pub const HISTORY: Index = Index {
    name: "history",
    hash: "history_pk",
    range: "received_at",
    include: &["provider", "account", "event_id", "kind", "resource", "state", "operations"],
};

/// Receipts by what they happened to.
pub const RESOURCE: Index = Index {
    name: "resource",
    hash: "resource_pk",
    range: "resource_at",
    include: &["provider", "account", "event_id", "kind", "state", "received_at", "operations"],
};

/// The table.
pub const TABLE: Table = Table {
    hash: "pk",
    range: "sk",
    time_to_live: "expires_at",
    stream_view: "NEW_AND_OLD_IMAGES",
    indexes: &[OPEN, HISTORY, RESOURCE],
};
