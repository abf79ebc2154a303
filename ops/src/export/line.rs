//! One line: a folder as it is shown to programs, with its payload where that is asked for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::event::Payload;
use hookbox_ledger::{Listing, Loaded, Pause};
use serde::Serialize;

use crate::receipts::Folder;

#[derive(Serialize)]
pub(super) struct Line<'a> {
    #[serde(flatten)]
    folder: Folder<'a>,
    #[serde(skip_serializing_if = "PayloadLine::is_not_asked_for")]
    payload: PayloadLine<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PayloadLine<'a> {
    /// There is no such field.
    NotAskedFor,
    /// `null`.
    Gone,
    There(Parts<'a>),
}

/// What an operation is given of the event.
#[derive(Serialize)]
struct Parts<'a> {
    content_type: Option<&'a str>,
    headers: &'a [(String, String)],
    query: Option<&'a str>,
    /// The bytes where they are text in UTF-8, and then `body_base64` is `null`; or the other way round.
    body: Option<&'a str>,
    body_base64: Option<String>,
}

/// A folder that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) loaded: Loaded,
    pub(super) payload: ReadPayload,
}

/// Its payload.
#[derive(Debug)]
pub(super) enum ReadPayload {
    NotAskedFor,
    /// It was erased, has expired or cannot be read.
    Gone,
    There(Payload),
}

impl From<Option<Payload>> for ReadPayload {
    fn from(payload: Option<Payload>) -> Self {
        payload.map_or(Self::Gone, Self::There)
    }
}

impl<'a> Line<'a> {
    pub(super) fn of(read: &'a Read, pauses: &'a Listing<Pause>) -> Self {
        let payload = match &read.payload {
            ReadPayload::NotAskedFor => PayloadLine::NotAskedFor,
            ReadPayload::Gone => PayloadLine::Gone,
            ReadPayload::There(payload) => PayloadLine::There(Parts::of(payload)),
        };
        Self { folder: Folder::of(&read.loaded, pauses), payload }
    }
}

impl PayloadLine<'_> {
    fn is_not_asked_for(&self) -> bool {
        matches!(self, Self::NotAskedFor)
    }
}

impl<'a> Parts<'a> {
    fn of(payload: &'a Payload) -> Self {
        let body = std::str::from_utf8(&payload.body).ok();
        Self {
            content_type: payload.content_type.as_deref(),
            headers: &payload.headers,
            query: payload.query.as_deref(),
            body,
            body_base64: body.is_none().then(|| STANDARD.encode(&payload.body)),
        }
    }
}
