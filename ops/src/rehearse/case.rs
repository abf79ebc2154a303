//! The cases: what is delivered, what happens at the destination, and what must come of it.

/// One case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The same delivery many times at once.
    Storm,
    /// Two events about one resource.
    TwoEvents,
    /// The later one is delivered before the earlier one.
    Reordered,
    /// Another content under the id of an earlier event.
    Conflict,
    /// A body that was not signed.
    Forged,
    /// A body over the limit.
    Oversize,
    /// The destination fails twice.
    FailsTwice,
    /// The destination never works.
    Down,
    /// The effect happens, its answer is lost, and the destination remembers the key.
    LostKey,
    /// The effect happens, its answer is lost, and the destination can be asked.
    LostAsked,
    /// The effect happens, its answer is lost, and nobody can know.
    LostUnsafe,
    /// A worker dies before its call.
    DiesBefore,
    /// A worker dies after its call.
    DiesAfter,
}

/// Deliveries of [`Case::Storm`].
pub(super) const STORM: u32 = 20;

impl Case {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 13] = [
        Self::Storm,
        Self::TwoEvents,
        Self::Reordered,
        Self::Conflict,
        Self::Forged,
        Self::Oversize,
        Self::FailsTwice,
        Self::Down,
        Self::LostKey,
        Self::LostAsked,
        Self::LostUnsafe,
        Self::DiesBefore,
        Self::DiesAfter,
    ];

    /// What happens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Storm => "the same delivery 20 times at once",
            Self::TwoEvents => "two events about one resource",
            Self::Reordered => "the later event is delivered first",
            Self::Conflict => "another content under the same event id",
            Self::Forged => "a signature of another body",
            Self::Oversize => "a body over 4.5 MB",
            Self::FailsTwice => "the destination fails twice",
            Self::Down => "the destination is down",
            Self::LostKey => "effect, answer lost; the key is remembered",
            Self::LostAsked => "effect, answer lost; it can be asked",
            Self::LostUnsafe => "effect, answer lost; nobody can know",
            Self::DiesBefore => "a worker dies before its call",
            Self::DiesAfter => "a worker dies after its call",
        }
    }

    /// A short name of it, which is part of its events' ids.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Storm => "storm",
            Self::TwoEvents => "two",
            Self::Reordered => "reordered",
            Self::Conflict => "conflict",
            Self::Forged => "forged",
            Self::Oversize => "oversize",
            Self::FailsTwice => "fails",
            Self::Down => "down",
            Self::LostKey => "lost-key",
            Self::LostAsked => "lost-asked",
            Self::LostUnsafe => "lost-unsafe",
            Self::DiesBefore => "dies-before",
            Self::DiesAfter => "dies-after",
        }
    }

    /// What must come of it.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Storm => "1 receipt, 19 duplicates; completed, 1 attempt, 1 effect",
            Self::TwoEvents => "2 receipts of 1 resource; 2 completed, 2 effects",
            Self::Reordered => "2 receipts, listed as they happened; 2 completed",
            Self::Conflict => "1 conflict, 1 job; completed, 1 attempt, 1 effect",
            Self::Forged => "401, no receipt",
            Self::Oversize => "413, no receipt",
            Self::FailsTwice => "completed, 3 attempts, 1 effect",
            // What answers 503 may have done its work.
            Self::Down => "review (uncertain), 3 attempts, 0 effects",
            Self::LostKey | Self::DiesAfter => "completed, 2 calls, 1 effect",
            Self::LostAsked | Self::DiesBefore => "completed, 1 call, 1 effect",
            Self::LostUnsafe => "review (uncertain), 1 call, 1 effect",
        }
    }

    /// How many deliveries it makes.
    pub(super) fn deliveries(self) -> u32 {
        match self {
            Self::Storm => STORM,
            Self::TwoEvents | Self::Reordered | Self::Conflict => 2,
            _ => 1,
        }
    }
}
