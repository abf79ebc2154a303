//! The profiles that are compiled in, and those that a user adds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hookbox_core::name::Provider;

use super::{Profile, ProfileError};

/// Name and text of every built-in profile.
const BUILT_IN: &[(&str, &str)] = &[
    ("adyen", include_str!("../../profiles/adyen.toml")),
    ("aws-sns", include_str!("../../profiles/aws-sns.toml")),
    ("calendly", include_str!("../../profiles/calendly.toml")),
    ("clerk", include_str!("../../profiles/clerk.toml")),
    ("discord", include_str!("../../profiles/discord.toml")),
    ("facebook", include_str!("../../profiles/facebook.toml")),
    ("generic", include_str!("../../profiles/generic.toml")),
    ("github", include_str!("../../profiles/github.toml")),
    ("gitlab", include_str!("../../profiles/gitlab.toml")),
    ("google-pubsub", include_str!("../../profiles/google-pubsub.toml")),
    ("hubspot", include_str!("../../profiles/hubspot.toml")),
    ("instagram", include_str!("../../profiles/instagram.toml")),
    ("intercom", include_str!("../../profiles/intercom.toml")),
    ("linear", include_str!("../../profiles/linear.toml")),
    ("mailgun", include_str!("../../profiles/mailgun.toml")),
    ("mandrill", include_str!("../../profiles/mandrill.toml")),
    ("openai", include_str!("../../profiles/openai.toml")),
    ("paddle", include_str!("../../profiles/paddle.toml")),
    ("paypal", include_str!("../../profiles/paypal.toml")),
    ("resend", include_str!("../../profiles/resend.toml")),
    ("sendgrid", include_str!("../../profiles/sendgrid.toml")),
    ("sentry", include_str!("../../profiles/sentry.toml")),
    ("shopify", include_str!("../../profiles/shopify.toml")),
    ("slack", include_str!("../../profiles/slack.toml")),
    ("square", include_str!("../../profiles/square.toml")),
    ("standard-webhooks", include_str!("../../profiles/standard-webhooks.toml")),
    ("stripe", include_str!("../../profiles/stripe.toml")),
    ("svix", include_str!("../../profiles/svix.toml")),
    ("thumbtack", include_str!("../../profiles/thumbtack.toml")),
    ("twilio", include_str!("../../profiles/twilio.toml")),
    ("typeform", include_str!("../../profiles/typeform.toml")),
    ("whatsapp", include_str!("../../profiles/whatsapp.toml")),
    ("yelp", include_str!("../../profiles/yelp.toml")),
    ("zendesk", include_str!("../../profiles/zendesk.toml")),
    ("zoom", include_str!("../../profiles/zoom.toml")),
];

/// All profiles by name. A built-in one is parsed when it is first asked for: a cold start pays for one, not for all.
#[derive(Debug)]
pub struct Profiles {
    built_in: BTreeMap<&'static str, Lazy>,
    added: BTreeMap<String, Profile>,
}

#[derive(Debug)]
struct Lazy {
    text: &'static str,
    parsed: OnceLock<Result<Profile, ProfileError>>,
}

impl Profiles {
    /// Every profile that Hookbox brings along.
    pub fn built_in() -> Self {
        let lazy = |text| Lazy { text, parsed: OnceLock::new() };
        Self { built_in: BUILT_IN.iter().map(|(name, text)| (*name, lazy(*text))).collect(), added: BTreeMap::new() }
    }

    /// Adds a user's own profile, in the place of a built-in one of the same name.
    pub fn add(&mut self, text: &str) -> Result<&Profile, ProfileError> {
        let profile = Profile::parse(text)?;
        let name = profile.name().as_str().to_owned();
        Ok(self.added.entry(name).insert_entry(profile).into_mut())
    }

    /// The profile of a provider, or `None` if there is none. A test holds that no built-in profile is in error.
    pub fn get(&self, provider: &Provider) -> Result<Option<&Profile>, ProfileError> {
        let name = provider.as_str();
        if let Some(profile) = self.added.get(name) {
            return Ok(Some(profile));
        }
        match self.built_in.get(name) {
            None => Ok(None),
            Some(lazy) => match lazy.parsed.get_or_init(|| Profile::parse(lazy.text)) {
                Ok(profile) => Ok(Some(profile)),
                Err(error) => Err(error.clone()),
            },
        }
    }

    /// The names of all profiles, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.built_in.keys().copied().chain(self.added.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The parameters of the first way to verify that files of signed requests call by this name: of the provider that it
    /// is called after, or whosever it is.
    pub(crate) fn scheme_for_vectors(&self, name: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
        let (own, others): (Vec<_>, Vec<_>) = self.names().into_iter().partition(|provider| name.starts_with(provider));
        let mut providers = own.into_iter().chain(others).filter_map(|provider| provider.parse::<Provider>().ok());
        let of = |provider: &Provider| self.get(provider).ok()??.parameters_for_vectors(name);
        providers.find_map(|provider| of(&provider))
    }

    /// The text of a built-in profile, to start one's own from.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        self.built_in.get(name).map(|lazy| lazy.text)
    }
}
