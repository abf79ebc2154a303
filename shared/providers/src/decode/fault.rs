//! What is wrong with a delivery, without a byte of it.

/// What is wrong with a body or with one of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// There is no body.
    #[error("the body is empty")]
    Empty,
    /// The body begins with a byte order mark.
    #[error("the body begins with a byte order mark")]
    ByteOrderMark,
    /// The text is not UTF-8.
    #[error("not valid UTF-8")]
    InvalidUtf8,
    /// Not JSON.
    #[error("not valid JSON at byte {at}")]
    Syntax {
        /// Counted from the beginning of the document.
        at: usize,
    },
    /// An object holds a key twice.
    #[error("a key occurs twice in one object, the second time at byte {at}")]
    DuplicateKey {
        /// Counted from the beginning of the document.
        at: usize,
    },
    /// Nested deeper than [`MAX_JSON_DEPTH`](super::MAX_JSON_DEPTH).
    #[error("nested too deep at byte {at}")]
    TooDeep {
        /// Counted from the beginning of the document.
        at: usize,
    },
    /// Something follows the end of the document.
    #[error("something follows the end of the document at byte {at}")]
    TrailingBytes {
        /// Counted from the beginning of the document.
        at: usize,
    },
    /// More values than [`MAX_JSON_VALUES`](super::MAX_JSON_VALUES), or more fields of a form than anybody sends.
    #[error("too many values")]
    TooManyValues,
    /// A field that every event of this provider has.
    #[error("missing")]
    Missing,
    /// A field that should be one text or number.
    #[error("not a text or a number")]
    NotText,
    /// A header, parameter or form field that counts occurs more than once.
    #[error("occurs more than once")]
    Duplicate,
    /// A field is longer than a key may be.
    #[error("too long")]
    TooLong,
    /// A field holds a control character.
    #[error("holds a control character")]
    ControlCharacter,
}

/// A verified delivery cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not the documented shape: 400.
    #[error("{path}: {fault}")]
    Shape {
        /// The part of the delivery, in the profile's words: `body`, or the field and where it is looked for.
        path: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// Its only event is of a kind that the profile refuses: 422.
    #[error("unsupported: {reason}")]
    Unsupported {
        /// Why.
        reason: &'static str,
    },
    /// Its only event has nothing stable to be known by, and the profile refuses to guess: 422.
    #[error("the event has no id and nothing else that is stable")]
    NoStableKey,
    /// More events than one delivery may hold: 400.
    #[error("more than {limit} events in one delivery")]
    TooManyEvents {
        /// How many there may be.
        limit: usize,
    },
    /// The payloads of the batch, each with the provider's envelope, are too large together: 413.
    #[error("the events of the batch, each with its envelope, take more than {limit} bytes")]
    TooLarge {
        /// How many bytes there may be.
        limit: usize,
    },
}

impl DecodeError {
    pub(crate) fn body(fault: Fault) -> Self {
        Self::Shape { path: "body".to_owned(), fault }
    }
}
