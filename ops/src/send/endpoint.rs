//! Whose deliveries are sent, and with which secret.

use hookbox_core::integration::SecretRef;
use hookbox_core::name::{Account, Provider};
use hookbox_providers::Profiles;
use serde_json::Value;

use super::{SendArgs, only_the_provider};
use crate::config::ConfigFile;
use crate::failure::{Failure, Trouble};
use crate::own_profiles::find;

/// A connection as its provider knows it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's profile.
    pub provider: Provider,
    /// The connection.
    pub account: Account,
    /// How the integration verifies.
    pub variant: Option<String>,
    /// What it changes about that.
    pub verify: Option<Value>,
    /// Where the secret is.
    pub secret: SecretRef,
    /// The address of the API.
    pub url: String,
}

impl Endpoint {
    /// From the arguments and the file that they name. With a secret of its own no file is needed.
    pub fn find(args: &SendArgs, profiles: &Profiles) -> Result<Self, Failure> {
        let (provider, account) = (&args.provider, &args.account);
        let attempted = format!("send as {provider}/{account}");
        let scheme = find(profiles, provider, &attempted)?.configure(None, None).map(|configured| configured.scheme());
        if let Some((why, instead)) = scheme.ok().and_then(only_the_provider) {
            return Err(Failure::Usage(Trouble::new(attempted, why).advise(instead)));
        }
        let url = args.url.trim_end_matches('/').to_owned();
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            let why = format!("`{url}` is no address");
            return Err(Failure::Usage(Trouble::new(attempted, why).advise("--url https://… or HOOKBOX_URL")));
        }
        if let Some(base) = before_hooks(&url) {
            let why = format!("`{}` holds a part of the path already, which is added to it", args.url);
            return Err(Failure::Usage(Trouble::new(attempted, why).advise(format!("--url {base}"))));
        }
        let endpoint = |variant, verify, secret| Self {
            provider: provider.clone(),
            account: account.clone(),
            variant,
            verify,
            secret,
            url,
        };
        if let (Some(secret), false) = (&args.secret, args.config.exists()) {
            return Ok(endpoint(None, None, secret.clone()));
        }
        let file = ConfigFile::read(&args.config)?;
        match (file.find(provider, account), &args.secret) {
            (Some(declared), secret) => {
                let integration = &declared.integration;
                // The first is the one that new deliveries are signed with while an old one is rotated out.
                let first = integration.secrets.first().cloned();
                let Some(secret) = secret.clone().or(first) else {
                    return Err(Failure::Usage(Trouble::new(attempted, "the integration has no secret")));
                };
                Ok(endpoint(integration.variant.clone(), integration.verify.clone(), secret))
            }
            (None, Some(secret)) => Ok(endpoint(None, None, secret.clone())),
            (None, None) => {
                let why = format!("{} does not declare it", args.config.display());
                let known: Vec<_> = file
                    .declared
                    .iter()
                    .map(|declared| format!("{}/{}", declared.integration.provider, declared.integration.account))
                    .collect();
                let trouble = Trouble::new(attempted, why).advise(format!("one of {}", known.join(", ")));
                Err(Failure::Usage(trouble.advise("--secret env:NAME, or --config with another file")))
            }
        }
    }
}

/// What stands before a path that is already the one of deliveries.
fn before_hooks(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let path = authority + url.get(authority..)?.find('/')?;
    let with_end = format!("{}/", url.get(path..)?);
    url.get(..path + with_end.find("/hooks/")?)
}
