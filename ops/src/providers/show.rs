//! Everything about one provider.

use std::io;

use hookbox_providers::{Configured, Profile, ProfileError};
use serde::Serialize;

use crate::config::text::period;
use crate::send::{how_to_make_a_pair, only_the_provider};
use crate::terminal::{Terminal, Tone};

/// A provider in full.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    provider: String,
    title: String,
    documentation: Vec<String>,
    /// What to do at the provider.
    setup: Vec<String>,
    ways: Vec<Way>,
    /// Whether a handshake needs a secret of its own.
    verify_token: bool,
    /// Whether an integration has to list whose events it takes.
    tenants_required: bool,
    /// Parameters that an integration may set in its `verify` table, beside `tolerance` and `url`.
    settings: Vec<String>,
    handshakes: Vec<String>,
    acknowledgements: Vec<String>,
    refusal: Option<String>,
    identity: Vec<String>,
    without_id: Vec<String>,
    response_budget: Option<String>,
    retry_horizon: Option<String>,
    retries: String,
    /// What to write into hookbox.toml.
    example: String,
}

/// A way to verify.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Way {
    variant: Option<String>,
    pub(super) scheme: &'static str,
    /// What the integration's secret is; none where the provider publishes the key.
    secret: Option<&'static str>,
    signs_url: bool,
}

/// The ways to verify, the default first.
pub(super) fn ways(profile: &Profile) -> Result<Vec<Way>, ProfileError> {
    let variants: Vec<&str> = profile.variants().collect();
    if variants.is_empty() {
        return Ok(vec![way(None, &profile.configure(None, None)?)]);
    }
    variants.into_iter().map(|variant| Ok(way(Some(variant), &profile.configure(Some(variant), None)?))).collect()
}

fn way(variant: Option<&str>, configured: &Configured) -> Way {
    Way {
        variant: variant.map(str::to_owned),
        scheme: configured.scheme(),
        secret: configured.needs_secret().then(|| secret(configured.scheme())),
        signs_url: configured.signs_url(),
    }
}

fn secret(scheme: &str) -> &'static str {
    match scheme {
        "ed25519" | "ecdsa-p256" => "the provider's public key",
        "paypal" => "the webhook's id",
        "basic" => "`user:password`",
        "bearer" => "the token after `Bearer`",
        "token" => "the whole value of the header",
        "path-token" => "the last segment of the address",
        _ => "the signing key",
    }
}

impl Sheet {
    /// What the profile says.
    pub fn of(profile: &Profile) -> Result<Self, ProfileError> {
        let ways = ways(profile)?;
        let configured = profile.configure(None, None)?;
        let refusal = configured.refusal().map(|refusal| {
            let status = refusal.status.map(|status| status.to_string());
            let headers = refusal.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            status.into_iter().chain(headers).collect::<Vec<_>>().join(", ")
        });
        let mut sheet = Self {
            provider: profile.name().to_string(),
            title: profile.title().to_owned(),
            documentation: profile.documentation().to_vec(),
            setup: profile.setup().to_vec(),
            ways,
            verify_token: profile.wants_token(),
            tenants_required: configured.requires_tenants(),
            settings: profile.overridable().to_vec(),
            handshakes: profile.handshakes(),
            acknowledgements: profile.acknowledgements(),
            refusal,
            identity: profile.identities(),
            without_id: profile.without_id(),
            response_budget: profile.response_budget().map(period),
            retry_horizon: profile.retry_horizon().map(period),
            retries: profile.retries().to_owned(),
            example: String::new(),
        };
        sheet.example = sheet.toml();
        Ok(sheet)
    }

    /// An integration as it may stand in hookbox.toml.
    fn toml(&self) -> String {
        let provider = &self.provider;
        let mut lines =
            vec!["[[integration]]".to_owned(), format!("provider = \"{provider}\""), "account = \"main\"".to_owned()];
        let variants: Vec<&str> = self.ways.iter().filter_map(|way| way.variant.as_deref()).collect();
        if let Some((first, others)) = variants.split_first() {
            lines.push(format!("variant = \"{first}\"  # or {}", others.join(", ")));
        }
        let mut secrets = Vec::new();
        if self.ways.iter().any(|way| way.secret.is_some()) {
            secrets.push(format!("\"ssm:/hookbox/{provider}/main\""));
        }
        if self.verify_token {
            secrets.push(format!("\"ssm:/hookbox/{provider}/main-verify-token\""));
        }
        if !secrets.is_empty() {
            lines.push(format!("secrets = [{}]", secrets.join(", ")));
        }
        if self.tenants_required {
            lines.push("tenants = [\"…\"]".to_owned());
        }
        if self.settings.iter().any(|key| key == "email") {
            lines.push("verify = { email = \"…\" }".to_owned());
        }
        lines.join("\n")
    }

    /// Shows it to people.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        let head = terminal.paint(Tone::Heading, format!("{} ({})", self.title, self.provider));
        terminal.say(head)?;
        let address =
            format!("The address is https://…/hooks/{}/<account>, of the stack's output `ApiUrl`.", self.provider);
        part("To do at the provider", &[&[address], &self.setup[..]].concat(), terminal)?;
        part("Verified by", &self.ways.iter().map(Way::line).collect::<Vec<_>>(), terminal)?;
        let mut needs = Vec::new();
        if self.verify_token {
            needs.push("a second secret: `verify_token:` and the token of the handshake".to_owned());
        }
        if self.tenants_required {
            needs.push("`tenants`: whose events are taken, for anybody can have deliveries signed".to_owned());
        }
        if !self.settings.is_empty() {
            let all = self.settings.iter().any(|key| key == "*");
            let settings = if all { "everything".to_owned() } else { self.settings.join(", ") };
            needs.push(format!("in its `verify` table it may set {settings}, and as always tolerance and url"));
        }
        if self.ways.iter().any(|way| way.signs_url) {
            needs.push(
                "`url` in its `verify` table where the provider has another address than the stack's own".to_owned(),
            );
        }
        if let Some(horizon) = &self.retry_horizon {
            needs.push(format!("`receipt_retention` of {horizon} or more"));
        }
        part("The integration needs", &needs, terminal)?;
        part("Handshakes, answered without a receipt", &self.handshakes, terminal)?;
        let own = vec!["200 with Hookbox's own JSON".to_owned()];
        let answers = if self.acknowledgements.is_empty() { &own } else { &self.acknowledgements };
        part("Acknowledgement, after everything is committed", answers, terminal)?;
        part("Refusal for good", self.refusal.as_slice(), terminal)?;
        part("What makes two deliveries the same event", &self.identity, terminal)?;
        part("An event without that", &self.without_id, terminal)?;
        let waits = self.response_budget.iter().map(|span| format!("it waits {span} for an answer"));
        let repeats = self.retry_horizon.iter().map(|span| format!("it may deliver an event again for {span}"));
        part("Deliveries", &waits.chain(repeats).chain([self.retries.clone()]).collect::<Vec<_>>(), terminal)?;
        part("Documentation", &self.documentation, terminal)?;
        part("In hookbox.toml", &self.example.lines().map(str::to_owned).collect::<Vec<_>>(), terminal)?;
        part("Then", &self.commands(), terminal)
    }

    /// What is left to do once hookbox.toml is written.
    fn commands(&self) -> Vec<String> {
        let provider = &self.provider;
        let put = |name: &str, value: &str| {
            format!("aws ssm put-parameter --type SecureString --name /hookbox/{provider}/{name} --value {value}")
        };
        let mut commands = Vec::new();
        if self.ways.iter().any(|way| way.secret.is_some()) {
            commands.push(put("main", "…"));
        }
        if self.verify_token {
            commands.push(put("main-verify-token", "verify_token:…"));
        }
        commands.push("hookbox apply".to_owned());
        let scheme = self.ways.first().map(|way| way.scheme).unwrap_or_default();
        if let Some((why, instead)) = only_the_provider(scheme) {
            commands.push(format!("{instead}: {why}"));
        } else if let Some(pair) = how_to_make_a_pair(scheme) {
            commands.push(format!("to try it without the provider, in a connection of its own: {pair}"));
            commands.push(format!("hookbox send {provider} --account test --secret env:KEY"));
        } else {
            commands.push(format!("hookbox send {provider} --account main"));
        }
        commands
    }
}

impl Way {
    fn line(&self) -> String {
        let variant = self.variant.as_ref().map(|name| format!("variant `{name}`: ")).unwrap_or_default();
        let secret = match self.secret {
            Some(secret) => format!("the secret is {secret}"),
            None => "no secret, the provider publishes the certificate or key".to_owned(),
        };
        let url = if self.signs_url { "; the address itself is part of what is signed" } else { "" };
        format!("{variant}{}; {secret}{url}", self.scheme)
    }
}

fn part(heading: &str, lines: &[String], terminal: &mut Terminal) -> io::Result<()> {
    if lines.iter().all(String::is_empty) {
        return Ok(());
    }
    let heading = terminal.paint(Tone::Quiet, heading);
    terminal.say(format_args!("\n{heading}"))?;
    for line in lines.iter().filter(|line| !line.is_empty()) {
        terminal.say(format_args!("  {line}"))?;
    }
    Ok(())
}
