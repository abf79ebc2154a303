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
use crate::cleanup::{self, CleanupArgs};
use crate::decode::{self, DecodeArgs};
use crate::dlq::{self, DlqDrainArgs, DlqListArgs, DlqShowArgs};
use crate::doctor::{self, DoctorArgs};
use crate::erase::{self, EraseArgs};
use crate::export::{self, ExportArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::jobs::{self, DismissArgs, FailedArgs, JobsListArgs, JobsShowArgs, ReplayArgs, Surroundings};
use crate::local;
use crate::pauses::{self, PauseArgs, PausesListArgs, ResumeArgs};
use crate::providers::{self, ProvidersArgs};
use crate::rebuild::{self, RebuildArgs};
use crate::receipts::{self, ListArgs, ShowArgs, TimelineArgs};
use crate::rehearse::{self, RehearseArgs};
use crate::sandbox::{self, SandboxArgs};
use crate::send::{self, SendArgs};
use crate::stats::{self, StatsArgs};
use crate::tail::{self, TailArgs};
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

/// What was given in the place of a reference to a secret may be the secret: it is not repeated.
fn hide_secret(error: &mut clap::Error) {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if argument.contains("secret") {
        error.insert(ContextKind::InvalidValue, ContextValue::String("…".to_owned()));
    }
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
    /// Look at what waits for a person, and clear away what does not any more
    #[command(subcommand)]
    Dlq(Dlq),
    Replay(ReplayArgs),
    Dismiss(DismissArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    /// Look at what is paused
    #[command(subcommand)]
    Pauses(PausesCommand),
    Stats(StatsArgs),
    Tail(TailArgs),
    Export(ExportArgs),
    Rebuild(RebuildArgs),
    Erase(EraseArgs),
    Cleanup(CleanupArgs),
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
    Show(DlqShowArgs),
    Drain(DlqDrainArgs),
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
        Err(mut error) => {
            hide_secret(&mut error);
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
    return Err(failed(std::os::unix::process::CommandExt::exec(&mut command)));
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
        Command::Dlq(Dlq::List(args)) => dlq::list(&args, surroundings(&clock), &mut terminal).await,
        Command::Dlq(Dlq::Show(args)) => dlq::show(&args, surroundings(&clock), &mut terminal).await,
        Command::Dlq(Dlq::Drain(args)) => dlq::drain(&args, surroundings(&clock), &mut terminal).await,
        Command::Replay(args) => jobs::replay(&args, surroundings(&clock), &mut terminal).await,
        Command::Dismiss(args) => jobs::dismiss(&args, surroundings(&clock), &mut terminal).await,
        Command::Pause(args) => pauses::pause(&args, clock, &mut terminal).await,
        Command::Resume(args) => pauses::resume(&args, clock, &mut terminal).await,
        Command::Pauses(PausesCommand::List(args)) => pauses::list(&args, &mut terminal).await,
        Command::Stats(args) => stats::run(&args, clock, &mut terminal).await,
        Command::Tail(args) => {
            let sleep = SharedAsyncSleep::new(TokioSleep::new());
            let around = tail::Surroundings { clock: clock.as_ref(), sleep, stop: Box::pin(interrupted()) };
            tail::run(&args, around, &mut terminal).await
        }
        Command::Export(args) => export::run(&args, surroundings(&clock), &mut terminal).await,
        Command::Rebuild(args) => {
            let secrets = args.table.aws.secrets(clock.clone()).await;
            rebuild::run(&args, &secrets, surroundings(&clock), &mut terminal).await
        }
        Command::Erase(args) => erase::run(&args, surroundings(&clock), &mut terminal).await,
        Command::Cleanup(args) => cleanup::run(&args, clock, &mut terminal).await,
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

/// What surrounds a longer operation of this process.
fn surroundings(clock: &SystemClock) -> Surroundings<'_> {
    let sleep = SharedAsyncSleep::new(TokioSleep::new());
    Surroundings { clock, random: &SystemRandom, sleep, stop: Box::pin(interrupted()) }
}

/// Ends at Ctrl-C.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Nobody can stop it then.
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The commands of a page: its indented lines, and those of fenced blocks, that begin with `hookbox`.
    fn commands(page: &str) -> Vec<String> {
        let page = page.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
        let lines = page.lines().map(str::trim).filter(|line| line.starts_with("hookbox "));
        // What follows two blanks says what the command does, and what follows a pipe is not ours.
        let own = |line: &str| line.split("  ").next().and_then(|line| line.split(" | ").next()).map(str::to_owned);
        lines.filter_map(own).collect()
    }

    /// The words of a command as a shell gives them, with something in the place of what a reader puts in.
    fn words(command: &str) -> Vec<String> {
        let (receipt, hidden) = ("ab".repeat(32), "\u{0}");
        let command = command
            .replace("<job|message>", "<job>")
            .replace("<job>", &format!("{receipt}:deliver:v1"))
            .replace("<receipt>", &receipt)
            .replace("<bulk>", "replay-20261130-0c0ffee0")
            .replace('…', "x")
            .replace('\'', "\"");
        let quoted = command.split('"').enumerate();
        let quoted = quoted.map(|(n, part)| if n % 2 == 1 { part.replace(' ', hidden) } else { part.to_owned() });
        let command = quoted.collect::<String>();
        command.split_whitespace().map(|word| word.replace(hidden, " ")).collect()
    }

    #[test]
    fn every_command_of_the_docs_is_one_that_exists() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let mut pages = vec![format!("{root}/README.md")];
        for entry in std::fs::read_dir(format!("{root}/docs")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.to_str().unwrap().to_owned());
            }
        }
        let mut count = 0;
        for page in pages {
            for command in commands(&std::fs::read_to_string(&page).unwrap()) {
                count += 1;
                let (command, goes_on) =
                    command.strip_suffix(" …").map_or((&*command, false), |command| (command, true));
                let Err(error) = Cli::try_parse_from(words(command)) else { continue };
                // What the environment gives is not said each time.
                let is_incomplete = error.kind() == ErrorKind::MissingRequiredArgument;
                let is_left_out = is_incomplete && (goes_on || names_an_output(&error));
                let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
                assert!(is_left_out || is_help, "{page}: {command}\n{error}");
            }
        }
        assert!(count > 20, "{count} commands were found");
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
            &["dlq", "show"],
            &["dlq", "drain"],
            &["replay"],
            &["dismiss"],
            &["pause"],
            &["resume"],
            &["pauses", "list"],
            &["stats"],
            &["tail"],
            &["export"],
            &["rebuild"],
            &["erase"],
            &["cleanup"],
            &["doctor"],
            &["sandbox"],
            &["rehearse"],
            &["rehearse", "config"],
        ] {
            let found = path.iter().fold(&mut command, |command, name| command.find_subcommand_mut(name).unwrap());
            help = format!("{help}\n--- {}\n{}", path.join(" "), found.render_long_help());
        }
        insta::assert_snapshot!(help);
    }
}
