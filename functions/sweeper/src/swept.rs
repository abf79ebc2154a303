//! What a run did, and what it left.

use std::ops::AddAssign;

use serde::Serialize;

use crate::survey::Gauges;

/// The report of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// What was done.
    #[serde(flatten)]
    pub tally: Tally,
    /// The lists that were not gone through to their end.
    pub unfinished: Vec<String>,
    /// How things stood when the run began.
    pub gauges: Gauges,
}

/// What was done with entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Jobs whose key was sent to the work queue.
    pub woken: u64,
    /// Notices posted to the dead-letter queue.
    pub notices: u64,
    /// Entries that were moved without sending anything.
    pub moved: u64,
    /// Jobs that were given to a person because nobody claimed them.
    pub reviewed: u64,
    /// Held jobs that were released.
    pub released: u64,
    /// Folders whose expiry was removed because a job of theirs has been open for long.
    pub kept: u64,
    /// Jobs that somebody else changed first.
    pub lost: u64,
    /// Entries whose job was no longer there.
    pub gone: u64,
    /// Entries and jobs that this version cannot read.
    pub unreadable: u64,
    /// Entries, lists and messages that failed.
    pub errors: u64,
    /// Entries that were read and not looked at, because the time was over.
    pub left: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        // Destructured, so that a new count cannot be forgotten.
        let Self { woken, notices, moved, reviewed, released, kept, lost, gone, unreadable, errors, left } = other;
        self.woken += woken;
        self.notices += notices;
        self.moved += moved;
        self.reviewed += reviewed;
        self.released += released;
        self.kept += kept;
        self.lost += lost;
        self.gone += gone;
        self.unreadable += unreadable;
        self.errors += errors;
        self.left += left;
    }
}
