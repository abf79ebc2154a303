//! From a raw request to verified events: provider profiles as data, signature schemes as code.
//!
//! Nothing here performs I/O or reads a clock. A request is verified over its raw bytes by the scheme that its profile
//! names, and only then decoded into events by the profile's rules:
//!
//! ```
//! use hookbox_core::time::Timestamp;
//! use hookbox_providers::{Fetched, Profiles, Request, SampleValues, Secret, Verdict};
//!
//! let profiles = Profiles::built_in();
//! let stripe = profiles.get(&"stripe".parse()?)?.ok_or("no such provider")?.configure(None, None)?;
//! let (secret, now) = (Secret::new("whsec_example")?, Timestamp::from_seconds(1_760_000_000));
//!
//! let sample = stripe.sample(&SampleValues { event_id: Some("evt_1"), ..SampleValues::default() })?;
//! let draft = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: &sample.body };
//! let headers = [sample.headers, stripe.sign(&draft, Some("evt_1"), &secret, now)?.headers].concat();
//!
//! let request = Request { headers: &headers, ..draft };
//! let verdict = stripe.verify(&request, &[secret], &Fetched::nothing(), now);
//! assert_eq!(verdict, Verdict::Valid { secret_index: 0, signed_at: Some(now), once: None });
//! assert_eq!(stripe.decode(&request)?.events[0].event_id.as_deref(), Some("evt_1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules stand in the order in which a request meets them.

mod request;
mod secret;
mod profile;
mod verdict;
mod scheme;
mod handshake;
mod decode;
mod sample;
mod vector;

pub use decode::{DecodeError, Delivery, Fault, MAX_DELIVERY_PAYLOAD_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES};
pub use handshake::{Answer, Handshake};
pub use profile::{Configured, Profile, ProfileError, Profiles, Refusal};
pub use request::Request;
pub use sample::{Sample, SampleValues};
pub use scheme::{SignError, Signed};
pub use secret::{EmptySecret, Secret};
pub use vector::{Vector, VectorError};
pub use verdict::{Fetched, Misconfiguration, Once, Reason, Verdict};
