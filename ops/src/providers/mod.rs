//! `hookbox providers`: which providers there are, and what each needs.

mod show;

use std::io;
use std::time::Duration;

use hookbox_core::name::Provider;
use hookbox_providers::{Profile, Profiles};
use serde::Serialize;

use crate::config::text::period;
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::Columns;
use crate::own_profiles::{ProfilesArgs, find};
use crate::terminal::{Format, Terminal};
pub use show::Sheet;

/// List the providers, or show what one needs
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct ProvidersArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where further profiles are.
    #[command(flatten)]
    profiles: ProfilesArgs,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    Show(ProvidersShowArgs),
}

/// Show what a provider needs: what to do there, its secrets, and what to write into hookbox.toml
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ProvidersShowArgs {
    /// The provider's profile
    pub provider: Provider,
    /// Where further profiles are.
    #[command(flatten)]
    pub profiles: ProfilesArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox providers
  hookbox providers show stripe
  hookbox providers --profiles profiles/ --output json

ANSWER IN is how long the provider waits, REPEATS FOR how long it may deliver an event again.
IDENTITY is what makes two deliveries the same event; WITHOUT ONE says what becomes of an event that
has none: it is refused, or known by its content or its resource for a while.

Exit codes: 0 shown, 2 wrong usage or an invalid profile.";

const SHOW_EXAMPLES: &str = "\
Examples:
  hookbox providers show stripe
  hookbox providers show acme --profiles profiles/

Exit codes: 0 shown, 2 no such provider or an invalid profile.";

/// The longest text of a column; `providers show` has all of it.
const WIDE: usize = 32;

/// A provider in a line.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    provider: String,
    title: String,
    /// The schemes of its ways to verify, the default first.
    schemes: Vec<&'static str>,
    identity: Vec<String>,
    handshakes: Vec<String>,
    response_budget_seconds: Option<u64>,
    retry_horizon_seconds: Option<u64>,
    without_id: Vec<String>,
}

/// Runs the command.
pub fn run(args: &ProvidersArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    match &args.command {
        Some(Command::Show(args)) => show(args, terminal),
        None => list(&args.profiles.load()?, terminal),
    }
}

fn show(args: &ProvidersShowArgs, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let profiles = args.profiles.load()?;
    let attempted = format!("show {}", args.provider);
    let sheet = Sheet::of(find(&profiles, &args.provider, &attempted)?)
        .map_err(|error| Failure::Usage(Trouble::new(&attempted, error)))?;
    match terminal.format() {
        Format::Json | Format::Jsonl => terminal.say_json(&sheet)?,
        Format::Table => sheet.show(terminal)?,
    }
    Ok(Answer::Yes)
}

fn list(profiles: &Profiles, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let mut lines = Vec::new();
    for name in profiles.names() {
        let unusable = |why: String| Failure::Usage(Trouble::new(format!("list {name}"), why));
        let provider: Provider = name.parse().map_err(|error| unusable(format!("{error}")))?;
        lines.push(
            Line::of(find(profiles, &provider, "list the providers")?).map_err(|error| unusable(error.to_string()))?,
        );
    }
    match terminal.format() {
        Format::Json | Format::Jsonl => terminal.say_json(&lines)?,
        Format::Table => show_lines(&lines, terminal)?,
    }
    Ok(Answer::Yes)
}

fn show_lines(lines: &[Line], terminal: &mut Terminal) -> io::Result<()> {
    let headings = ["PROVIDER", "SCHEME", "ANSWER IN", "REPEATS FOR", "HANDSHAKE", "WITHOUT ONE", "IDENTITY"];
    let mut columns = Columns::default().headed(headings);
    let span = |seconds: Option<u64>| seconds.map_or_else(|| "-".to_owned(), |s| period(Duration::from_secs(s)));
    for line in lines {
        columns.row([
            line.provider.clone().into(),
            line.schemes.join(", ").into(),
            span(line.response_budget_seconds).into(),
            span(line.retry_horizon_seconds).into(),
            short(&line.handshakes).into(),
            short(&line.without_id).into(),
            short(&line.identity).into(),
        ]);
    }
    for line in columns.lines(terminal) {
        terminal.say(line)?;
    }
    terminal.say("\nhookbox providers show <provider> says what to do there")
}

/// The beginning, where there is more than fits.
fn short(texts: &[String]) -> String {
    let all = texts.join("; ").replace('`', "");
    if all.is_empty() {
        return "-".to_owned();
    }
    if all.chars().count() <= WIDE { all } else { all.chars().take(WIDE - 1).chain(['…']).collect() }
}

impl Line {
    fn of(profile: &Profile) -> Result<Self, hookbox_providers::ProfileError> {
        let mut schemes = Vec::new();
        for way in show::ways(profile)? {
            if !schemes.contains(&way.scheme) {
                schemes.push(way.scheme);
            }
        }
        Ok(Self {
            provider: profile.name().to_string(),
            title: profile.title().to_owned(),
            schemes,
            identity: profile.identities(),
            handshakes: profile.handshakes(),
            response_budget_seconds: profile.response_budget().map(|span| span.as_secs()),
            retry_horizon_seconds: profile.retry_horizon().map(|span| span.as_secs()),
            without_id: profile.without_id(),
        })
    }
}

#[cfg(test)]
mod tests;
