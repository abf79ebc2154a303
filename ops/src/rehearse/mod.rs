//! `hookbox rehearse`: the cases that a durable inbox is there for, played on a deployed stack with a sandbox as the
//! destination.

mod case;
mod needed;
mod stage;
mod crash;
mod play;
mod report;

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand as _};
use futures_util::{StreamExt as _, stream};
use hookbox_core::integration::{Integration, SecretRef};
use hookbox_core::job::Status;
use hookbox_core::name::{Account, Provider};
use hookbox_core::surroundings::{Clock, Random};
use hookbox_core::transition::dismiss::dismiss;
use hookbox_ledger::{Listing, Pause, Subject};

use crate::connection::{Table, TableArgs};
use crate::deed::{Deed, WriteArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::count;
use crate::own_profiles::ProfilesArgs;
use crate::sandbox::Verifier;
use crate::send::{self, Endpoint, Signer};
use crate::terminal::{Format, Terminal};
pub use case::Case;
pub use needed::Part;
pub use play::Played;
pub use report::{Line, Report};
use stage::Stage;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub enum RehearseArgs {
    /// The part of hookbox.toml that a rehearsal needs.
    Config(ConfigArgs),
    /// A rehearsal.
    Play(Box<PlayArgs>),
}

#[derive(Clone, Debug, clap::Subcommand)]
enum RehearseCommand {
    /// Print the part of hookbox.toml that a rehearsal needs
    Config(ConfigArgs),
}

// By hand, because what playing requires is not required by the subcommand.
impl Args for RehearseArgs {
    fn augment_args(command: Command) -> Command {
        let command = RehearseCommand::augment_subcommands(PlayArgs::augment_args(command));
        command.subcommand_required(false).arg_required_else_help(false).subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RehearseArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if matches.subcommand().is_some() {
            let RehearseCommand::Config(config) = RehearseCommand::from_arg_matches(matches)?;
            return Ok(Self::Config(config));
        }
        PlayArgs::from_arg_matches(matches).map(|play| Self::Play(Box::new(play)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What the configuration names.
#[derive(Clone, Debug, clap::Args)]
pub struct ConfigArgs {
    /// Address of the sandbox, where both the workers and this machine reach it
    #[arg(value_name = "URL")]
    pub sandbox: String,
    /// Whose deliveries are rehearsed
    #[arg(long, default_value = "generic")]
    pub provider: Provider,
    /// The connection: `rehearsal`, or beginning with `rehearsal-`
    #[arg(long, default_value = "rehearsal")]
    pub account: Account,
    /// The secret that deliveries are signed with
    #[arg(long, value_name = "REF", default_value = "ssm:/hookbox/rehearsal/provider")]
    pub secret: SecretRef,
    /// The secret that calls are signed with, which the sandbox takes as --secret
    #[arg(long, value_name = "REF", default_value = "ssm:/hookbox/rehearsal/signing")]
    pub signing_secret: SecretRef,
}

/// Rehearse what goes wrong, on a deployed stack with a sandbox as the destination
///
/// Delivers signed events to the API, as a provider does, and looks at the table and the sandbox for what came of them: a
/// storm of duplicates, conflicts, forgeries, a body that is too large, events out of order, destinations that fail, lose
/// their answers or cannot know, and workers that die before and after their call. One line for each case says what was
/// expected and what was seen.
///
/// It needs an integration that was applied for this alone: its account is `rehearsal`, or begins with `rehearsal-`, and its
/// operations lead to a `hookbox sandbox` that both the workers and this machine reach. `hookbox rehearse config` prints it.
/// Any other is refused before anything is sent.
///
/// What dies is played: while the operation is paused, the command takes the lease that a worker would take, calls the
/// sandbox or does not, and leaves. Jobs that end in review are dismissed again. Its receipts stay for their retention.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PlayArgs {
    /// Whose deliveries are rehearsed
    #[arg(long, default_value = "generic")]
    pub provider: Provider,
    /// The connection: `rehearsal`, or beginning with `rehearsal-`
    #[arg(long, default_value = "rehearsal")]
    pub account: Account,
    /// How long is waited for the stack; a lease that has run out is seen by the sweeper, which comes once a minute
    #[arg(long, value_name = "TIME", default_value = "6m", value_parser = humantime::parse_duration)]
    pub patience: Duration,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Address of the API (the stack's output `ApiUrl`)
    #[arg(long, value_name = "URL", env = "HOOKBOX_URL", hide_env_values = true)]
    pub url: String,
    /// Where further profiles are.
    #[command(flatten)]
    pub profiles: ProfilesArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox rehearse config http://127.0.0.1:9099 > rehearsal.toml
  hookbox apply rehearsal.toml
  hookbox sandbox --secret ssm:/hookbox/rehearsal/signing &
  hookbox rehearse --dry-run           the cases with what is expected; nothing is sent
  hookbox rehearse --yes

Exit codes: 0 everything came as expected, 1 something differed, was not confirmed or is not there for
rehearsals, 2 wrong usage, 3 could not look.";

/// Runs the command.
pub async fn run(
    args: &RehearseArgs,
    clock: Arc<dyn Clock>,
    random: &dyn Random,
    sleep: SharedAsyncSleep,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    match args {
        RehearseArgs::Config(config) => {
            terminal.say(config.text()?.trim_end())?;
            Ok(Answer::Yes)
        }
        RehearseArgs::Play(args) => play(args, clock, random, &sleep, terminal).await,
    }
}

impl ConfigArgs {
    /// The integration as hookbox.toml declares it.
    pub fn text(&self) -> Result<String, Failure> {
        let base = self.sandbox.trim_end_matches('/');
        if !(base.starts_with("http://") || base.starts_with("https://")) {
            let trouble = Trouble::new("print the configuration", format!("`{}` is no address", self.sandbox));
            return Err(Failure::Usage(trouble.advise("hookbox rehearse config http://127.0.0.1:9099")));
        }
        let secrets = std::slice::from_ref(&self.secret);
        Ok(needed::configuration(&self.provider, &self.account, base, secrets, &self.signing_secret))
    }
}

async fn play(
    args: &PlayArgs,
    clock: Arc<dyn Clock>,
    random: &dyn Random,
    sleep: &SharedAsyncSleep,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let (integration, sandbox) = fit(&args.provider, &args.account, &table).await?;
    let client = send::client()?;
    stage::book(&sandbox, &client).await?;
    let name = format!("{}/{}", args.provider, args.account);
    let planned = |run: &str, cases| Report { integration: name.clone(), run: run.to_owned(), cases };
    let deliveries: u32 = Case::ALL.iter().map(|case| case.deliveries()).sum();
    let what = format!(
        "{} in {} as {name}, to {}",
        count(u64::from(deliveries), "delivery").replace("deliverys", "deliveries"),
        count(Case::ALL.len() as u64, "case"),
        args.url
    );
    if !args.write.intent().allows(&format!("Play {what}?"), "rehearse", terminal)? {
        planned("-", Case::ALL.map(Line::planned).to_vec()).show(terminal)?;
        if terminal.format() == Format::Table {
            terminal.say(format_args!("would send {what}; the sandbox is at {sandbox}"))?;
        }
        return Ok(Answer::Yes);
    }
    let secrets = args.table.aws.secrets(Arc::clone(&clock)).await;
    let (Some(first), Some(signing)) = (integration.secrets.first(), needed::signing_secret(&integration)) else {
        return Err(Failure::Refused(Trouble::new(format!("rehearse with {name}"), "it has no secret to sign with")));
    };
    let profiles = args.profiles.load()?;
    let endpoint = endpoint(&integration, first, &args.url);
    let signer = Signer::new(&endpoint, &secrets.read(first).await?, &profiles, Arc::clone(&clock))?;
    let calls = Verifier::new(signing, &secrets.read(signing).await?)?;
    let run = format!("{:08x}", random.next_u64() >> 32);
    let stage = Stage {
        integration: &integration,
        signer: &signer,
        table: &table,
        client: &client,
        calls: &calls,
        sandbox: &sandbox,
        run: &run,
        who: &args.write.by.author(&args.table.aws).await.name().await?,
        clock: clock.as_ref(),
        sleep,
        deadline: clock.now().plus(args.patience),
    };
    let report = planned(&run, play_all(&stage, terminal).await?);
    report.show(terminal)?;
    report.answer()
}

/// The integration and the address of its sandbox; refused unless it is there for rehearsals and none of it is paused.
async fn fit(provider: &Provider, account: &Account, table: &Table) -> Result<(Integration, String), Failure> {
    let attempted = format!("rehearse with {provider}/{account}");
    let configured = table.ledger.integration_with_pauses(provider, account).await;
    let configured = configured.map_err(|error| table.failure(&attempted, &error))?;
    let Some(configured) = configured else {
        let trouble = Trouble::new(attempted, "it is not applied");
        let config = format!("hookbox rehearse config http://SANDBOX --provider {provider} --account {account}");
        return Err(Failure::Refused(trouble.advise(format!("{config} prints what it needs; apply that"))));
    };
    let sandbox = needed::sandbox_of(&configured.integration)?;
    let Listing { items, unreadable } = configured.pauses;
    if let Some(Pause { operation, .. }) = items.first() {
        let trouble = Trouble::new(attempted, format!("its operation `{operation}` is paused"));
        let resume = format!("hookbox resume --provider {provider} --account {account} --operation {operation}");
        return Err(Failure::Refused(trouble.advise(resume)));
    }
    if let Some(bad) = unreadable.into_iter().next() {
        return Err(table.failure(&attempted, &bad.error.into()));
    }
    Ok((configured.integration, sandbox))
}

fn endpoint(integration: &Integration, secret: &SecretRef, url: &str) -> Endpoint {
    Endpoint {
        provider: integration.provider.clone(),
        account: integration.account.clone(),
        variant: integration.variant.clone(),
        verify: integration.verify.clone(),
        secret: secret.clone(),
        url: url.trim_end_matches('/').to_owned(),
        public_url: integration.url.clone(),
    }
}

/// Plays all cases at once: most of their time is waiting. What they leave in review is dismissed.
async fn play_all(stage: &Stage<'_>, terminal: &mut Terminal) -> Result<Vec<Line>, Failure> {
    let plays = Case::ALL.into_iter().enumerate().map(|(place, case)| async move {
        let played = play::play(case, stage).await;
        if let Ok(played) = &played {
            dismiss_all(played, stage).await?;
        }
        Ok::<_, Failure>((place, Line::of(case, played)))
    });
    let mut plays = stream::iter(plays).buffer_unordered(Case::ALL.len());
    let mut lines = Vec::new();
    while let Some(played) = plays.next().await {
        let (place, line) = played?;
        terminal.note(format_args!("{} of {}: {}", lines.len() + 1, Case::ALL.len(), line.case))?;
        lines.push((place, line));
    }
    lines.sort_by_key(|(place, _)| *place);
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// A rehearsal gives nobody work.
async fn dismiss_all(played: &Played, stage: &Stage<'_>) -> Result<(), Failure> {
    for receipt in &played.receipts {
        let Some(folder) = stage.load(receipt).await? else { continue };
        for job in folder.jobs.iter().filter(|job| job.status() == Status::Review) {
            let Ok(dismissed) = dismiss(job, stage.clock.now()) else { continue };
            let deed = Deed {
                subject: Subject::Receipt(*receipt),
                what: "dismiss",
                on: Some(job.key.to_string()),
                why: Some("rehearsal: it was expected to end so".to_owned()),
                before: Some(stage::state(job)),
                after: Some("dismissed".to_owned()),
            };
            let audit = deed.audit(stage.who, stage.clock.now());
            let written = stage.table.ledger.write_job_audited(&folder, job, &dismissed, &audit).await;
            written.map_err(|error| stage.table.failure("dismiss a job of the rehearsal", &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
