//! What a profile says beside its rules, in words for people.

use super::Profile;
use super::file::{EventFile, OneOrMany};
use super::page::{handshake, unique};

impl Profile {
    /// What a user does at the provider, in sentences.
    pub fn setup(&self) -> &[String] {
        &self.file.setup
    }

    /// What makes two deliveries the same event, for each kind of event: where it is found, in the profile's terms.
    pub fn identities(&self) -> Vec<String> {
        unique(self.file.event.iter().map(by_id).filter(|text| !text.is_empty()))
    }

    /// What an event without an id is known by, for each kind of event that may lack one; `refused` where a delivery
    /// without one is answered with 422.
    pub fn without_id(&self) -> Vec<String> {
        let rules = self.file.event.iter().filter(|rule| rule.ignore.is_none());
        unique(rules.flat_map(policies))
    }

    /// The requests that are answered without a receipt.
    pub fn handshakes(&self) -> Vec<String> {
        unique(self.file.handshake.iter().map(handshake))
    }

    /// Whether a handshake carries a token, which is a secret of its own that begins with `verify_token:`.
    pub fn wants_token(&self) -> bool {
        self.file.handshake.iter().any(|handshake| handshake.token.is_some())
    }

    /// The answers that the provider wants to a delivery; none where it is Hookbox's own.
    pub fn acknowledgements(&self) -> Vec<String> {
        unique(self.file.acknowledgement.iter().map(|answer| match answer.body.as_str() {
            "" => format!("{} without a body", answer.status),
            body => format!("{} with `{body}`", answer.status),
        }))
    }

    /// What an integration may change beside `tolerance` and `url`; `*` for everything.
    pub fn overridable(&self) -> &[String] {
        &self.file.overridable
    }
}

fn by_id(rule: &EventFile) -> String {
    let sources: &OneOrMany = if rule.identity.as_slice().is_empty() { &rule.id } else { &rule.identity };
    sources.as_slice().iter().map(|source| format!("`{source}`")).collect::<Vec<_>>().join(" or ")
}

fn policies(rule: &EventFile) -> Vec<String> {
    let fallbacks = rule.without_id.iter().map(|fallback| match fallback.method.as_str() {
        "digest" => format!("by content for {}", fallback.window),
        _ => format!("by resource and kind for {}", fallback.window),
    });
    let fallbacks: Vec<String> = fallbacks.collect();
    if fallbacks.is_empty() { vec!["refused".to_owned()] } else { fallbacks }
}
