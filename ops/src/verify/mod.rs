//! `hookbox verify`: whether a delivery is a provider's, or why not.

pub mod header;
mod finding;
mod judge;
mod secret;
mod vectors;

use std::path::PathBuf;
use std::sync::Arc;

use hookbox_core::name::{Account, Provider};
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Profile, Profiles, Secret};
use hookbox_runtime::Documents;
use serde_json::Value;

use crate::config::ConfigFile;
use crate::connection::AwsArgs;
use crate::failure::{Answer, Failure, Trouble};
use crate::own_profiles::{ProfilesArgs, find};
use crate::terminal::{Format, Terminal};
use finding::{Circumstances, Finding, Report};
use judge::{Delivery, Judge};
use secret::SecretFrom;

/// Say whether a delivery is valid, or exactly why not
///
/// Judges one delivery as ingest would, from its headers and the bytes of its body: the first thing to look at when a
/// provider's deliveries are refused. Says which secret it is valid with, or the reason and what to check. No secret and
/// no signature is ever shown. Certificates and key sets are fetched from the provider where it signs with such.
///
/// With --vectors it judges every signed request in a folder instead, offline: a test kit for profiles. The format is
/// described in tests/vectors/README.md.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArgs {
    /// The provider's profile
    #[arg(long, short, required_unless_present = "vectors")]
    pub provider: Option<Provider>,
    /// A secret that it may be signed with: `env:NAME`, `ssm:/path` or `file:PATH`; may come several times
    #[arg(long, value_name = "REF")]
    pub secret_from: Vec<String>,
    /// The delivery's headers, one by one or in files (one a line, or a JSON object)
    #[arg(long, value_name = "FILE|'K: V'", num_args = 1..)]
    pub headers: Vec<String>,
    /// The body, byte for byte as it came
    #[arg(long, value_name = "FILE", required_unless_present = "vectors")]
    pub body: Option<PathBuf>,
    /// Which of the profile's ways to verify; without it the first
    #[arg(long)]
    pub variant: Option<String>,
    /// The address that the provider called, with its query
    #[arg(long)]
    pub url: Option<String>,
    /// How it called
    #[arg(long, default_value = "POST")]
    pub method: String,
    /// When it arrived (RFC 3339); without it now
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub at: Option<Timestamp>,
    /// Take settings, and secrets if none are given, from this connection of hookbox.toml
    #[arg(long, short)]
    pub account: Option<Account>,
    /// The file with the connection's settings
    #[arg(long, value_name = "FILE", default_value = "hookbox.toml")]
    pub config: PathBuf,
    /// Judge every signed request of every `*.json` in this folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["provider", "secret_from", "headers", "body", "variant", "url", "method", "at", "account"]
    )]
    pub vectors: Option<PathBuf>,
    /// Where further profiles are.
    #[command(flatten)]
    pub profiles: ProfilesArgs,
    /// How to reach AWS.
    #[command(flatten)]
    pub aws: AwsArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox verify --provider stripe --secret-from env:STRIPE_SECRET --body event.json \\
    --headers 'Stripe-Signature: t=1760000000,v1=…' --at 2025-10-09T08:53:20Z
  hookbox verify --provider twilio --account main --body body.form --headers headers.txt \\
    --url https://hooks.example.com/hooks/twilio/main
  hookbox verify --vectors tests/vectors
  hookbox verify --vectors vectors/ --profiles profiles/

Exit codes: 0 valid (with --vectors: every request got its verdict), 1 not valid, 2 wrong usage, or
nothing could be valid with these settings, 3 a secret or a document could not be read.";

fn parse_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).ok_or_else(|| "write it as 2026-11-30T08:00:00Z".to_owned())
}

/// What the integration says, if it is asked.
#[derive(Debug, Default)]
struct Settings {
    variant: Option<String>,
    verify: Option<Value>,
    secrets: Vec<SecretFrom>,
}

/// Runs the command.
pub async fn run(
    args: &VerifyArgs,
    clock: Arc<dyn Clock>,
    documents: &Documents,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let profiles = args.profiles.load()?;
    match (&args.vectors, &args.provider, &args.body) {
        (Some(folder), ..) => vectors::run(folder, &profiles, terminal),
        (None, Some(provider), Some(body)) => {
            let one = One { args, provider, attempted: format!("verify {}", body.display()) };
            one.judge(&profiles, body, clock, documents, terminal).await
        }
        // The command line does not let this through.
        _ => Err(Failure::Usage(Trouble::new("verify nothing", "--provider and --body, or --vectors"))),
    }
}

/// One delivery that is to be judged.
struct One<'a> {
    args: &'a VerifyArgs,
    provider: &'a Provider,
    attempted: String,
}

impl One<'_> {
    async fn judge(
        &self,
        profiles: &Profiles,
        body: &PathBuf,
        clock: Arc<dyn Clock>,
        documents: &Documents,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let args = self.args;
        let profile = find(profiles, self.provider, &self.attempted)?;
        let settings = self.settings()?;
        let configured = profile
            .configure(settings.variant.as_deref(), settings.verify.as_ref())
            .map_err(|error| self.usage(error.to_string()))?;
        let delivery = Delivery::new(
            args.method.to_ascii_uppercase(),
            args.url.as_deref(),
            header::all(&args.headers).map_err(|why| self.usage(why))?,
            std::fs::read(body).map_err(|error| self.usage(error.to_string()))?,
        );
        let mut secrets = Vec::new();
        for from in &settings.secrets {
            let text = from.read(&args.aws, Arc::clone(&clock)).await?;
            secrets.push(Secret::new(text).map_err(|error| self.usage(format!("{from}: {error}")))?);
        }
        let at = args.at.unwrap_or_else(|| clock.now());
        let judge = Judge { delivery: &delivery, documents, at };
        let finding =
            judge.find(&configured, &secrets, &delivery.body).await.map_err(|error| self.no_document(&error))?;
        let also_valid = match &finding {
            Finding::Invalid(_) => self.remedies(&judge, profile, &settings, &secrets).await,
            _ => Vec::new(),
        };
        let circumstances = Circumstances {
            configured: &configured,
            secrets: &settings.secrets,
            url: args.url.is_some(),
            arrived: args.at.is_some(),
        };
        if let Finding::Misconfigured(reason) = finding {
            let advice = circumstances.advice(reason);
            return Err(Failure::Usage(Trouble::new(&self.attempted, reason).advise(advice)));
        }
        let report = Report::of(&finding, &circumstances, also_valid);
        match terminal.format() {
            Format::Json | Format::Jsonl => terminal.say_json(&report)?,
            Format::Table => report.show(terminal)?,
        }
        Ok(if report.valid { Answer::Yes } else { Answer::No })
    }

    /// The command's own settings come before those of the file.
    fn settings(&self) -> Result<Settings, Failure> {
        let args = self.args;
        let mut settings = Settings::default();
        if let Some(account) = &args.account {
            let file = ConfigFile::read(&args.config)?;
            let declared = file.find(self.provider, account).ok_or_else(|| {
                self.usage(format!("{} does not declare {}/{account}", args.config.display(), self.provider))
            })?;
            let integration = &declared.integration;
            settings.variant.clone_from(&integration.variant);
            settings.verify.clone_from(&integration.verify);
            settings.secrets = integration.secrets.iter().cloned().map(SecretFrom::Reference).collect();
        }
        if args.variant.is_some() {
            settings.variant.clone_from(&args.variant);
        }
        if !args.secret_from.is_empty() {
            let given = args.secret_from.iter().map(|text| text.parse());
            settings.secrets = given.collect::<Result<_, &str>>().map_err(|why| self.usage(why.to_owned()))?;
        }
        Ok(settings)
    }

    /// Small changes that would make the delivery valid: the most common mistakes.
    async fn remedies(
        &self,
        judge: &Judge<'_>,
        profile: &Profile,
        settings: &Settings,
        secrets: &[Secret],
    ) -> Vec<String> {
        let mut remedies = Vec::new();
        let configure = |variant: Option<&str>| profile.configure(variant, settings.verify.as_ref()).ok();
        let body = &judge.delivery.body;
        let without_end = body.strip_suffix(b"\n").map(|body| body.strip_suffix(b"\r").unwrap_or(body));
        if let (Some(shorter), Some(configured)) = (without_end, configure(settings.variant.as_deref()))
            && judge.is_valid(&configured, secrets, shorter).await
        {
            remedies
                .push("without the line end at the end of the body it is valid: the file holds more than came".into());
        }
        for variant in profile.variants().filter(|variant| Some(*variant) != settings.variant.as_deref()) {
            if let Some(configured) = configure(Some(variant))
                && judge.is_valid(&configured, secrets, body).await
            {
                remedies.push(format!("with the variant `{variant}` it is valid"));
            }
        }
        remedies
    }

    fn usage(&self, why: String) -> Failure {
        Failure::Usage(Trouble::new(&self.attempted, why))
    }

    fn no_document(&self, error: &hookbox_runtime::FetchError) -> Failure {
        let trouble = Trouble::new(&self.attempted, format!("the provider's certificate or key set: {error}"));
        Failure::CouldNotLook(trouble.advise("whether this machine reaches the provider over https"))
    }
}

#[cfg(test)]
mod tests;
