//! What a provider tells us: one event, already verified and decoded, with the bytes that a job will need.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::time::Timestamp;

/// One provider event of a verified delivery. A delivery may hold several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What makes two deliveries the same event.
    pub identity: Identity,
    /// Whether the identity may mistake two events for one; then the window within which it is believed.
    pub weak: Option<IdentityWindow>,
    /// The provider's own id of the event, as people look for it.
    pub event_id: Option<String>,
    /// What happened, in the provider's words, such as `payment_intent.succeeded`.
    pub kind: String,
    /// The lead, order, payment … that it happened to.
    pub resource: Option<String>,
    /// Whose event it is where one connection serves many (a page, a shop, a portal).
    pub tenant: Option<String>,
    /// When it happened, by the provider's clock.
    pub occurred_at: Option<Timestamp>,
    /// The provider's version of the resource, for ordering.
    pub version: Option<String>,
    /// What is to be done about it.
    pub disposition: Disposition,
    /// Digest of the canonical event without its volatile fields: differs only when the event's content does.
    pub digest: Digest,
    /// What an operation is given.
    pub payload: Payload,
}

/// The stable part of an event's identity, before it is scoped by provider and account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The provider's own event id.
    ProviderEvent {
        /// Unique within the account.
        event_id: String,
    },
    /// No event id: the documented stable fields of the event.
    LeadEvent {
        /// Whose it is, where one connection serves many.
        tenant: Option<String>,
        /// The lead, order … that it happened to.
        resource: String,
        /// What happened to it.
        kind: String,
        /// A field that tells two such events of one resource apart, where the provider has one.
        version: Option<String>,
    },
    /// Nothing stable at all: the event's own content.
    Content {
        /// Whose it is, where one connection serves many.
        tenant: Option<String>,
        /// What happened, which need not be part of the content.
        kind: String,
        /// A field beside the content that tells two such events apart, where the provider has one.
        version: Option<String>,
        /// Digest of the event without its volatile fields.
        digest: Digest,
    },
}

/// How long a weak identity is believed: a delivery later than that after the stored receipt is a new event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentityWindow(pub Duration);

/// What is to be done about an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum Disposition {
    /// Its operations are required.
    Accepted,
    /// A kind that the profile does not support: evidence without jobs.
    Ignored(String),
    /// An element of a batch that is not of the documented shape or has no stable key: evidence without jobs.
    Rejected(String),
}

/// The bytes of one event as an operation will send them on, with what is needed to read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The event's own bytes; for an element of a batch the provider's envelope holding only this element.
    pub body: Vec<u8>,
    /// The delivery's content type.
    pub content_type: Option<String>,
    /// The headers that the profile keeps, names in lower case; never authorization or signatures.
    pub headers: Vec<(String, String)>,
    /// The query of the delivery, where the profile keeps it.
    pub query: Option<String>,
}
