//! `hookbox send`: sample deliveries, signed as the provider signs them.

mod endpoint;
mod key;
mod delivery;
mod preview;
mod summary;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use hookbox_core::integration::SecretRef;
use hookbox_core::name::{Account, Provider};
use hookbox_core::surroundings::{Clock, Random};
use hookbox_core::time::Timestamp;
use hookbox_runtime::SystemRandom;
use serde_json::Value;

use crate::connection::AwsArgs;
use crate::failure::{Answer, Failure, Trouble, chain};
use crate::own_profiles::ProfilesArgs;
use crate::terminal::{Format, Terminal};
pub use delivery::{Draft, Signer};
pub use endpoint::Endpoint;
pub(crate) use key::{how_to_make_a_pair, only_the_provider};
pub use preview::Preview;
pub use summary::{Outcome, Summary};

/// Send signed sample deliveries, as a provider would
///
/// Secrets and settings are those of the integration in hookbox.toml; the secret is read with your own environment or
/// credentials. With --times the same delivery is sent again and again, which is what providers do.
///
/// Where the provider signs with a private key and the integration's secret is the public one (discord, sendgrid), make a
/// pair of your own: the integration names its public half, and --secret a private key in PEM (PKCS #8). For discord it may
/// also be the 32 bytes of the seed in hexadecimal digits, for Standard Webhooks `whsk_` and base64. What is signed
/// with a key that the endpoint fetches from the provider (aws-sns, paypal, google-pubsub) only the provider can send:
/// then the command says how to have it send something.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SendArgs {
    /// The provider's profile
    pub provider: Provider,
    /// The connection
    #[arg(long, short)]
    pub account: Account,
    /// The provider's id of the event; without it every command sends a new event
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,
    /// What happened, in the provider's words
    #[arg(long)]
    pub kind: Option<String>,
    /// What it happened to
    #[arg(long, value_name = "ID")]
    pub resource: Option<String>,
    /// When it happened (RFC 3339); without it now, or with --event-id a fixed time, so that the same command repeats the
    /// same event
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub occurred_at: Option<Timestamp>,
    /// Fields for the event's free part, so that two events of one id differ
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub set: Option<Value>,
    /// Send this file instead of the profile's sample
    #[arg(long, value_name = "FILE", conflicts_with_all = ["set", "kind", "resource", "occurred_at"])]
    pub body: Option<PathBuf>,
    /// How often
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub times: u32,
    /// All at once instead of one after the other
    #[arg(long)]
    pub concurrent: bool,
    /// Show what would be sent and send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The file with the integration's settings
    #[arg(long, value_name = "FILE", default_value = "hookbox.toml")]
    pub config: PathBuf,
    /// Sign with this secret (`ssm:/path` or `env:NAME`) instead of the integration's first
    #[arg(long, value_name = "REF")]
    pub secret: Option<SecretRef>,
    /// Address of the API (the stack's output `ApiUrl`)
    #[arg(long, value_name = "URL", env = "HOOKBOX_URL", hide_env_values = true)]
    pub url: String,
    /// Where further profiles are.
    #[command(flatten)]
    pub profiles: ProfilesArgs,
    /// How to reach AWS.
    #[command(flatten)]
    pub aws: AwsArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox send stripe --account demo
  hookbox send stripe --account demo --event-id evt_1 --times 20 --concurrent
  hookbox send stripe --account demo --event-id evt_1 --set '{\"changed\": true}'
  hookbox send github --account main --secret env:GITHUB_SECRET --body push.json --output json

  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
  openssl pkey -in key.pem -pubout -outform DER | openssl base64 -A     # its secret
  KEY=$(cat key.pem) hookbox send sendgrid --account test --secret env:KEY

Exit codes: 0 every answer was 2xx (with --dry-run: it could be sent), 1 one was not, 2 wrong usage, 3 nothing could be sent.";

/// Calls under way at once.
const MAX_AT_ONCE: usize = 500;
/// How long an answer may take: longer than any provider waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// When an event of a given id happened, if nobody says otherwise (2026-01-01T00:00:00Z).
const FIXED_TIME: Timestamp = Timestamp::from_seconds(1_767_225_600);

fn parse_time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).ok_or_else(|| "write it as 2026-11-30T08:00:00Z".to_owned())
}

fn parse_object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("a JSON object is needed, such as '{\"amount\": 5}'".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs the command.
pub async fn run(args: &SendArgs, clock: Arc<dyn Clock>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let profiles = args.profiles.load()?;
    let endpoint = Endpoint::find(args, &profiles)?;
    let secret = args.aws.secrets(Arc::clone(&clock)).await.read(&endpoint.secret).await?;
    let signer = Signer::new(&endpoint, &secret, &profiles, Arc::clone(&clock))?;
    let draft = draft(args, &signer, clock.now())?;
    if args.dry_run {
        Preview::of(&signer, &draft, args.times)?.show(terminal)?;
        return Ok(Answer::Yes);
    }
    let summary = deliver(&signer, &draft, args.times, args.concurrent, terminal).await?;
    match terminal.format() {
        Format::Json | Format::Jsonl => terminal.say_json(&summary)?,
        Format::Table => summary.show(&signer.shown_url(), terminal)?,
    }
    for hint in signer.hints(&summary) {
        terminal.note(hint)?;
    }
    summary.answer(&signer.shown_url())
}

fn draft(args: &SendArgs, signer: &Signer, now: Timestamp) -> Result<Draft, Failure> {
    let (event_id, default_time) = match &args.event_id {
        Some(id) => (id.clone(), FIXED_TIME),
        None => (format!("sample-{:016x}", SystemRandom.next_u64()), now),
    };
    let body = match &args.body {
        None => None,
        Some(path) => Some(
            std::fs::read(path)
                .map_err(|error| Failure::Usage(Trouble::new(format!("read {}", path.display()), error)))?,
        ),
    };
    let mut draft = signer.draft(&hookbox_providers::SampleValues {
        event_id: Some(&event_id),
        kind: args.kind.as_deref(),
        resource: args.resource.as_deref(),
        occurred_at: args.occurred_at.unwrap_or(default_time),
        set: args.set.as_ref(),
    })?;
    if let Some(body) = body {
        draft.body = body;
    }
    Ok(draft)
}

/// What calls are made with.
pub(crate) fn client() -> Result<reqwest::Client, Failure> {
    // Another part of the process may have chosen already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(ANSWER_TIMEOUT).build();
    client.map_err(|error| Failure::CouldNotLook(Trouble::new("prepare the connection", chain(&error))))
}

/// Sends the draft `times` times, each freshly signed, and collects the answers in the order of sending.
pub async fn deliver(
    signer: &Signer,
    draft: &Draft,
    times: u32,
    concurrent: bool,
    terminal: &mut Terminal,
) -> Result<Summary, Failure> {
    let client = client()?;
    let at_once = if concurrent { MAX_AT_ONCE } else { 1 };
    let mut answers = stream::iter(0..times).map(|_| signer.send(draft, &client)).buffered(at_once);
    let mut outcomes = Vec::new();
    let step = (times / 10).max(10);
    while let Some(outcome) = answers.next().await {
        outcomes.push(outcome?);
        let done = u32::try_from(outcomes.len()).unwrap_or(u32::MAX);
        if done.is_multiple_of(step) && done < times {
            terminal.note(format_args!("{done} of {times} answered"))?;
        }
    }
    Ok(Summary::new(outcomes, &signer.expected(draft)))
}

#[cfg(test)]
mod tests;
