//! The command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use hookbox_runtime::{Documents, Https, SystemClock, SystemRandom};

use crate::apply::{self, ApplyArgs};
use crate::decode::{self, DecodeArgs};
use crate::dlq::{self, DlqListArgs};
use crate::doctor::{self, DoctorArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::jobs::{self, DismissArgs, FailedArgs, JobsListArgs, JobsShowArgs, ReplayArgs, Surroundings};
use crate::local;
use crate::pauses::{self, PauseArgs, PausesListArgs, ResumeArgs};
use crate::providers::{self, ProvidersArgs};
use crate::receipts::{self, ListArgs, ShowArgs, TimelineArgs};
use crate::rehearse::{self, RehearseArgs};
use crate::sandbox::{self, SandboxArgs};
use crate::send::{self, SendArgs};
use crate::terminal::{Colour, Format, Terminal};
use crate::verify::{self, VerifyArgs};

/// Operates Hookbox, the durable webhook inbox in your own AWS account
#[derive(Debug, Parser)]
#[command(name = "hookbox", version, after_help = EXIT_CODES, max_term_width = 120, propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done or found, 1 a negative answer, 2 wrong usage or an invalid file,
3 could not look, or what is asked for is not allowed as things stand.

Credentials, profiles and SSO are those of the `aws` command.";

const FROM_THE_STACK: &str = "\
It is an output of the stack. All of them, as variables of this shell (here for a stack named `hookbox`):

  export $(aws cloudformation describe-stacks --stack-name hookbox --output text \\
    --query \"Stacks[0].Outputs[?OutputKey=='Environment'].OutputValue\")

For the local AWS, `make env` prints them.";

/// Whether an argument is missing that an output of the stack would have given.
fn names_an_output(error: &clap::Error) -> bool {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.clone(),
        Some(ContextValue::String(missing)) => vec![missing.clone()],
        _ => Vec::new(),
    };
    let outputs = ["--table ", "--url ", "--dead-letter-queue-url "];
    missing.iter().any(|argument| outputs.iter().any(|output| argument.starts_with(output)))
}

#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Global {
    /// How the answer is written: for people or for programs
    #[arg(
        long,
        value_enum,
        global = true,
        default_value_t,
        value_name = "table|json|jsonl",
        hide_possible_values = true
    )]
    output: Format,
    /// Show times in UTC instead of this machine's time zone
    #[arg(long, global = true)]
    utc: bool,
    /// When colours are used; `auto` is on a terminal, unless `NO_COLOR` is set
    #[arg(
        long,
        value_enum,
        global = true,
        default_value_t,
        value_name = "auto|always|never",
        hide_possible_values = true
    )]
    color: Colour,
    /// Work on the local AWS that `make dev` has started, whatever the environment says
    #[arg(long, global = true)]
    local: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Apply(ApplyArgs),
    Send(SendArgs),
    Verify(VerifyArgs),
    Decode(DecodeArgs),
    Providers(ProvidersArgs),
    /// Look at receipts
    #[command(subcommand)]
    Receipts(Receipts),
    /// Look at jobs
    #[command(subcommand)]
    Jobs(Jobs),
    Failed(FailedArgs),
    /// Look at what waits for a person
    #[command(subcommand)]
    Dlq(Dlq),
    Replay(ReplayArgs),
    Dismiss(DismissArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    /// Look at what is paused
    #[command(subcommand)]
    Pauses(PausesCommand),
    Doctor(DoctorArgs),
    Sandbox(SandboxArgs),
    Rehearse(RehearseArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example: hookbox completions zsh > ~/.zfunc/_hookbox")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
enum Receipts {
    List(ListArgs),
    Show(ShowArgs),
    Timeline(TimelineArgs),
}

#[derive(Debug, Subcommand)]
enum Jobs {
    List(JobsListArgs),
    Show(JobsShowArgs),
}

#[derive(Debug, Subcommand)]
enum Dlq {
    List(DlqListArgs),
}

#[derive(Debug, Subcommand)]
enum PausesCommand {
    List(PausesListArgs),
}

/// Runs the command that these arguments spell, and gives the process's exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    if local::is_asked_for(&arguments) {
        return run_locally(&arguments).unwrap_or_else(|failure| ended_by(&failure));
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help that nobody reads to its end is no failure.
            let _ = error.print();
            if error.kind() == ErrorKind::MissingRequiredArgument && names_an_output(&error) {
                let _ = writeln!(io::stderr(), "\n{FROM_THE_STACK}");
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime.map_err(Failure::Output).and_then(|runtime| runtime.block_on(run(cli))) {
        Ok(answer) => answer.into(),
        Err(failure) => ended_by(&failure),
    }
}

fn ended_by(failure: &Failure) -> ExitCode {
    if !failure.is_broken_pipe() {
        let _ = writeln!(io::stderr(), "{failure}");
    }
    ExitCode::from(failure.code())
}

/// Becomes the same command in the environment of the local AWS.
fn run_locally(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::CouldNotLook(Trouble::new("run the command on the local AWS", error));
    let names = std::env::vars_os().map(|(name, _)| name);
    let (program, directory) = (std::env::current_exe().map_err(failed)?, std::env::current_dir().map_err(failed)?);
    let mut command = local::command(&program, arguments.get(1..).unwrap_or_default(), &directory, names)?;
    // On Unix this process becomes the other one, so that signals and the terminal are its own.
    #[cfg(unix)]
    return Err(std::os::unix::process::CommandExt::exec(&mut command)).map_err(failed);
    #[cfg(not(unix))]
    {
        let code = command.status().map_err(failed)?.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(3)))
    }
}

async fn run(cli: Cli) -> Result<Answer, Failure> {
    let Global { output, utc, color, local: _ } = cli.global;
    let mut terminal = Terminal::standard(output, color, utc);
    let clock = Arc::new(SystemClock);
    match cli.command {
        Command::Apply(args) => apply::run(&args, clock, &mut terminal).await,
        Command::Send(args) => send::run(&args, clock, &mut terminal).await,
        Command::Verify(args) => {
            let documents = Documents::new(Arc::new(Https::default()), clock.clone());
            verify::run(&args, clock, &documents, &mut terminal).await
        }
        Command::Decode(args) => decode::run(&args, &mut terminal),
        Command::Providers(args) => providers::run(&args, &mut terminal),
        Command::Receipts(Receipts::List(args)) => receipts::list(&args, clock, &mut terminal).await,
        Command::Receipts(Receipts::Show(args)) => receipts::run(&args, &mut terminal).await,
        Command::Receipts(Receipts::Timeline(args)) => receipts::timeline(&args, clock, &mut terminal).await,
        Command::Jobs(Jobs::List(args)) => jobs::list(&args, clock, &mut terminal).await,
        Command::Jobs(Jobs::Show(args)) => jobs::show(&args, &mut terminal).await,
        Command::Failed(args) => jobs::failed(&args, clock, &mut terminal).await,
        Command::Dlq(Dlq::List(args)) => dlq::run(&args, &mut terminal).await,
        Command::Replay(args) => jobs::replay(&args, surroundings(&clock), &mut terminal).await,
        Command::Dismiss(args) => jobs::dismiss(&args, surroundings(&clock), &mut terminal).await,
        Command::Pause(args) => pauses::pause(&args, clock, &mut terminal).await,
        Command::Resume(args) => pauses::resume(&args, clock, &mut terminal).await,
        Command::Pauses(PausesCommand::List(args)) => pauses::list(&args, &mut terminal).await,
        Command::Doctor(args) => doctor::run(&args, clock, &mut terminal).await,
        Command::Rehearse(args) => {
            let sleep = SharedAsyncSleep::new(TokioSleep::new());
            rehearse::run(&args, clock, &SystemRandom, sleep, &mut terminal).await
        }
        Command::Sandbox(args) => sandbox::run(args, clock, SharedAsyncSleep::new(TokioSleep::new()), terminal).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hookbox", &mut script);
            io::stdout().lock().write_all(&script)?;
            Ok(Answer::Yes)
        }
    }
}

/// What surrounds a bulk operation of this process.
fn surroundings(clock: &SystemClock) -> Surroundings<'_> {
    let stop = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Nobody can stop it then.
            std::future::pending::<()>().await;
        }
    };
    Surroundings { clock, random: &SystemRandom, sleep: SharedAsyncSleep::new(TokioSleep::new()), stop: Box::pin(stop) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_explains_every_command() {
        let mut command = Cli::command().term_width(100);
        command.build();
        let mut help = command.render_long_help().to_string();
        for path in [
            &["apply"][..],
            &["send"],
            &["verify"],
            &["decode"],
            &["providers"],
            &["providers", "show"],
            &["receipts", "list"],
            &["receipts", "show"],
            &["receipts", "timeline"],
            &["jobs", "list"],
            &["jobs", "show"],
            &["failed"],
            &["dlq", "list"],
            &["replay"],
            &["dismiss"],
            &["pause"],
            &["resume"],
            &["pauses", "list"],
            &["doctor"],
            &["sandbox"],
            &["rehearse"],
        ] {
            let found = path.iter().fold(&mut command, |command, name| command.find_subcommand_mut(name).unwrap());
            help = format!("{help}\n--- {}\n{}", path.join(" "), found.render_long_help());
        }
        insta::assert_snapshot!(help);
    }
}
