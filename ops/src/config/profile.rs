//! Checks that need the provider's profile.

use std::time::Duration;

use hookbox_core::address::path_of;
use hookbox_core::integration::{Integration, SecretRef};
use hookbox_core::name::Provider;
use hookbox_providers::{Configured, Misconfiguration, Profile, ProfileError, Profiles, Secret};

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
    let integration = &declared.integration;
    match profile.configure(integration.variant.as_deref(), integration.verify.as_ref()) {
        Ok(configured) => check_trust(declared, profile, &configured, problems),
        Err(error) => problems.push(unusable(declared, profile, &error)),
    }
    if let Some(horizon) = declared.outlived_by(profile).filter(|_| short == ShortRetention::Refuse) {
        let says = format!(
            "{} may deliver an event again for {}, and a receipt that is gone by then makes it a new event",
            profile.title(),
            period(horizon)
        );
        let write =
            format!("receipt_retention = \"{}\" or more, or apply with --accept-short-retention", period(horizon));
        problems.push(Problem::new(declared.places.receipt_retention.clone(), says).write(write));
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
    if let Err(missing) = configured.check_settings(integration.url.as_deref()) {
        problems.push(missing_setting(declared, profile, missing));
    }
}

/// Without it the function would refuse every delivery.
fn missing_setting(declared: &Declared, profile: &Profile, missing: Misconfiguration) -> Problem {
    let (places, title) = (&declared.places, profile.title());
    match missing {
        Misconfiguration::NoUrl => {
            let what = format!("{title} signs the address that it was given, and the file does not say which that is");
            let says = declared.says("url", &what);
            let own = path_of(&declared.integration.provider, &declared.integration.account);
            let write = format!(
                "base_url = \"https://hooks.example.com\" at the top of the file, or here:\n\
                 url = \"https://hooks.example.com{own}\", to the last slash as {title} has it"
            );
            Problem::new(places.url.clone(), says).write(write)
        }
        Misconfiguration::NoEmail => {
            let what = format!("{title} signs for anybody, and nothing says which account its tokens are made out to");
            let says = declared.says("verify", &what);
            let write = "verify = { email = \"…\" }, the service account of the subscription";
            Problem::new(places.verify.clone(), says).write(write)
        }
        other => Problem::new(places.provider.clone(), declared.says("verify", &other.to_string())),
    }
}

impl Declared {
    /// How long its provider may repeat an event, where its receipts are kept for less.
    pub fn outlived_by(&self, profile: &Profile) -> Option<Duration> {
        profile.retry_horizon().filter(|horizon| self.integration.retention.receipt < *horizon)
    }

    /// The problem of a parameter that holds `verify_token:` and no token.
    pub fn empty_token(&self, reference: &SecretRef) -> Problem {
        let says = self.says("secrets", &format!("{reference} holds the token of a handshake, and that is empty"));
        let write = "into that parameter `verify_token:` followed by the token that the provider was given";
        Problem::new(self.places.secrets.clone(), says).write(write)
    }

    /// A sentence about a key of this integration.
    fn says(&self, key: &str, what: &str) -> String {
        let Integration { provider, account, .. } = &self.integration;
        format!("{provider}/{account}, `{key}`: {what}")
    }

    /// What would keep every delivery from being verified with these secrets, each with its place in the integration's
    /// list. Those that could not be read are not among them, and then nothing is said of what may be missing.
    pub fn check_secrets(&self, profile: &Profile, mut known: Vec<(usize, Secret)>, problems: &mut Vec<Problem>) {
        let integration = &self.integration;
        let configured = profile.configure(integration.variant.as_deref(), integration.verify.as_ref());
        let Ok(configured) = configured else { return };
        let all = known.len() == integration.secrets.len();
        let problem = |what: String, write: String| {
            Problem::new(self.places.secrets.clone(), self.says("secrets", &what)).write(write)
        };
        loop {
            let secrets: Vec<Secret> = known.iter().map(|(_, secret)| secret.clone()).collect();
            match configured.check(integration.url.as_deref(), &secrets) {
                Err(Misconfiguration::SecretEncoding { index }) if index < known.len() => {
                    let (place, _) = known.remove(index);
                    let Some(reference) = integration.secrets.get(place) else { return };
                    let form = configured.secret_form().unwrap_or("of another form");
                    let title = profile.title();
                    let says = format!("{reference} holds nothing that deliveries of {title} could be verified with");
                    problems.push(problem(says, format!("into that parameter what it has to be: {form}")));
                }
                Err(Misconfiguration::NoVerifyToken) if all => {
                    let says = format!("{} sends a token with its handshake, and no secret is one", profile.title());
                    let write = "one more secret, whose value is `verify_token:` followed by that token".to_owned();
                    return problems.push(problem(says, write));
                }
                Err(Misconfiguration::NoSecret) if all && !known.is_empty() => {
                    let says = "a token of a handshake verifies no delivery, and there is no other secret".to_owned();
                    let write = format!("one more secret: the one that {} signs with", profile.title());
                    return problems.push(problem(says, write));
                }
                // What no secret is needed for was said before anything was read.
                _ => return,
            }
        }
    }
}
