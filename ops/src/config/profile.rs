//! Checks that need the provider's profile.

use std::time::Duration;

use hookbox_core::name::Provider;
use hookbox_providers::{Configured, Profile, ProfileError, Profiles};

use super::source::{InvalidFile, Problem};
use super::{ConfigFile, Declared, text::period};

/// Whether receipts may be kept for less time than the provider may repeat an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortRetention {
    /// No: a late repetition would be taken for a new event.
    Refuse,
    /// Whoever applies has accepted it.
    Accept,
}

impl ConfigFile {
    /// The providers of the file that none of these profiles is of, each once.
    pub fn unknown_to(&self, profiles: &Profiles) -> Vec<Provider> {
        let known = profiles.names();
        let mut unknown = Vec::new();
        for declared in &self.declared {
            let provider = &declared.integration.provider;
            if !known.contains(&provider.as_str()) && !unknown.contains(provider) {
                unknown.push(provider.clone());
            }
        }
        unknown
    }

    /// Checks every integration against its provider's profile.
    pub fn check(&self, profiles: &Profiles, short: ShortRetention) -> Result<(), InvalidFile> {
        let mut problems = Vec::new();
        for declared in &self.declared {
            let integration = &declared.integration;
            match profiles.get(&integration.provider) {
                Ok(Some(profile)) => check(declared, profile, short, &mut problems),
                Ok(None) => {
                    let says = format!("there is no profile `{}`", integration.provider);
                    let known = format!("one of {}", profiles.names().join(", "));
                    problems.push(Problem::new(declared.places.provider.clone(), says).write(known));
                }
                Err(error) => problems.push(Problem::new(declared.places.provider.clone(), error.to_string())),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(self.source.invalid(problems)) }
    }
}

fn check(declared: &Declared, profile: &Profile, short: ShortRetention, problems: &mut Vec<Problem>) {
    let (integration, places) = (&declared.integration, &declared.places);
    match profile.configure(integration.variant.as_deref(), integration.verify.as_ref()) {
        Ok(configured) => check_trust(declared, profile, &configured, problems),
        Err(error) => problems.push(unusable(declared, profile, &error)),
    }
    let horizon = profile.retry_horizon().unwrap_or(Duration::ZERO);
    if integration.retention.receipt < horizon && short == ShortRetention::Refuse {
        let says = format!(
            "{} may deliver an event again for {}, and a receipt that is gone by then makes it a new event",
            profile.title(),
            period(horizon)
        );
        let write =
            format!("receipt_retention = \"{}\" or more, or apply with --accept-short-retention", period(horizon));
        problems.push(Problem::new(places.receipt_retention.clone(), says).write(write));
    }
}

fn unusable(declared: &Declared, profile: &Profile, error: &ProfileError) -> Problem {
    let (integration, places) = (&declared.integration, &declared.places);
    if integration.variant.is_none() || error.key != "variant" {
        return Problem::new(places.verify.clone(), error.to_string());
    }
    let known: Vec<_> = profile.variants().map(|name| format!("variant = \"{name}\"")).collect();
    let write = if known.is_empty() { "it without `variant`".to_owned() } else { known.join(" or ") };
    let says = format!("{} is not verified in a way of this name", profile.title());
    Problem::new(places.variant.clone(), says).write(write)
}

/// Whether a delivery can be told from anybody else's.
fn check_trust(declared: &Declared, profile: &Profile, configured: &Configured, problems: &mut Vec<Problem>) {
    let (integration, places) = (&declared.integration, &declared.places);
    if configured.needs_secret() && integration.secrets.is_empty() {
        let says = "no secrets: no delivery could ever be verified";
        problems.push(Problem::new(places.secrets.clone(), says).write("secrets = [\"ssm:/hookbox/…\"]"));
    }
    if configured.requires_tenants() && integration.tenants.is_empty() {
        let says = format!("no tenants: anybody can have {} sign for a tenant of their own", profile.title());
        problems
            .push(Problem::new(places.provider.clone(), says).write("tenants = [\"…\"], those whose events you want"));
    }
}
