//! `hookbox decode`: the events of a body, as ingest would see them.

use std::collections::HashSet;
use std::path::PathBuf;

use hookbox_core::event::{Disposition, Event, Identity};
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::{ExactTime, Timestamp};
use hookbox_providers::{Configured, DecodeError, Fetched, Request};
use serde::Serialize;

use crate::failure::{Answer, Failure, Trouble};
use crate::own_profiles::{ProfilesArgs, find};
use crate::terminal::Terminal;
use crate::verify::header::{self, Headers};

/// Show the events of a delivery's body
///
/// Prints one JSON array in the order of the document. An event that a batch holds twice is one, and a handshake holds
/// none. Nothing is verified and nothing is stored. What ingest would keep without doing anything about it is named on
/// standard error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DecodeArgs {
    /// The provider's profile
    #[arg(long, short)]
    pub provider: Provider,
    /// The body, byte for byte as it came
    #[arg(long, value_name = "FILE")]
    pub body: PathBuf,
    /// A header of the delivery; some providers name the event or its kind there
    #[arg(long = "header", value_name = "'K: V'")]
    pub headers: Vec<String>,
    /// Where further profiles are.
    #[command(flatten)]
    pub profiles: ProfilesArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox decode --provider stripe --body event.json
  hookbox decode --provider github --body push.json --header 'X-GitHub-Event: push' \\
    --header 'X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958'
  hookbox decode --provider acme --profiles profiles/ --body event.json

Each event: provider, event_id (the provider's own id), kind, resource_id, occurred_at (to the last
digit that the provider wrote; a receipt keeps milliseconds), account_id
(the provider's tenant), identity (what makes two deliveries the same event), key (the receipt's id
in a connection named `test`), weak (whether the identity may take two events for one, and is
believed only for a while).

Exit codes: 0 decoded, 1 the body cannot be decoded, 2 wrong usage.";

/// The connection under whose name keys are derived.
const ACCOUNT: &str = "test";

/// One event of a delivery.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    provider: Provider,
    event_id: Option<String>,
    kind: String,
    resource_id: Option<String>,
    occurred_at: Option<String>,
    account_id: Option<String>,
    identity: String,
    key: ReceiptId,
    weak: bool,
}

/// Runs the command.
pub fn run(args: &DecodeArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let attempted = format!("decode {}", args.body.display());
    let usage = |why: String| Failure::Usage(Trouble::new(&attempted, why));
    let profiles = args.profiles.load()?;
    let profile = find(&profiles, &args.provider, &attempted)?;
    let configured = profile.configure(None, None).map_err(|error| usage(error.to_string()))?;
    let body = std::fs::read(&args.body).map_err(|error| usage(error.to_string()))?;
    let headers: Headers =
        args.headers.iter().map(|text| header::one(text)).collect::<Result<_, _>>().map_err(usage)?;
    let account: Account = ACCOUNT.parse().map_err(|_| usage(format!("`{ACCOUNT}` names no connection")))?;

    let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &headers, body: &body };
    let events = events(&configured, &request).map_err(|error| {
        let trouble = Trouble::new(&attempted, &error);
        Failure::Refused(trouble.advise("the exact bytes of the body, and with --header the headers that it came with"))
    })?;
    let mut keys = HashSet::new();
    let mut lines = Vec::new();
    for (event, occurred_at) in events {
        let key = ReceiptId::derive(&args.provider, &account, &event.identity, None);
        if !keys.insert(key) {
            continue;
        }
        let kept = match &event.disposition {
            Disposition::Accepted => None,
            Disposition::Ignored(why) => Some(format!("ignored: {why}")),
            Disposition::Rejected(why) => Some(format!("rejected: {why}")),
        };
        if let Some(kept) = kept {
            terminal.note(format_args!("event {} ({}) is kept and {kept}", lines.len() + 1, event.kind))?;
        }
        lines.push(Line::of(&args.provider, event, occurred_at, key));
    }
    terminal.say_json(&lines)?;
    Ok(Answer::Yes)
}

/// The events, and when each happened to the last digit.
fn events(configured: &Configured, request: &Request<'_>) -> Result<Vec<(Event, Option<ExactTime>)>, DecodeError> {
    // Nobody vouches for it here, which a handshake is one without.
    if configured.handshake(request, &[], &Fetched::nothing(), Timestamp::from_millis(0)).is_some() {
        return Ok(Vec::new());
    }
    configured.decode(request).map(|delivery| delivery.events.into_iter().zip(delivery.times).collect())
}

impl Line {
    fn of(provider: &Provider, event: Event, occurred_at: Option<ExactTime>, key: ReceiptId) -> Self {
        Self {
            provider: provider.clone(),
            identity: readable(&event.identity),
            weak: event.weak.is_some(),
            event_id: event.event_id,
            kind: event.kind,
            resource_id: event.resource,
            occurred_at: occurred_at.map(|at| at.to_string()),
            account_id: event.tenant,
            key,
        }
    }
}

fn readable(identity: &Identity) -> String {
    match identity {
        Identity::ProviderEvent { event_id } => event_id.clone(),
        Identity::LeadEvent { tenant, resource, kind, version } => {
            let parts = [tenant.as_deref(), Some(resource), Some(kind), version.as_deref()];
            parts.into_iter().flatten().collect::<Vec<_>>().join(":")
        }
        Identity::Content { tenant, kind, version, digest } => {
            let digest = digest.to_string();
            let parts = [Some("content"), tenant.as_deref(), Some(kind), version.as_deref(), Some(&digest)];
            parts.into_iter().flatten().collect::<Vec<_>>().join(":")
        }
    }
}

#[cfg(test)]
mod tests;
