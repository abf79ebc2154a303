//! `hookbox tail`: what arrives and how its attempts end, as it happens.

mod line;
mod endings;
mod pass;
mod window;
mod follow;

use std::collections::BTreeSet;
use std::time::Duration;

use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use futures_util::future::BoxFuture;
use hookbox_core::name::OperationName;
use hookbox_core::surroundings::Clock;

use crate::connection::{Aws, Table, TableArgs};
use crate::failure::{Answer, Failure, Trouble};
use crate::search::ConnectionArgs;
use crate::search::range::When;
use crate::terminal::{Format, Terminal};
use endings::Logs;
use follow::Follow;
pub use line::Outcome;
use line::TailFilter;
use pass::Sources;

/// Follow what arrives and how attempts end
///
/// A line for each event that was stored, from the index, and one for each attempt that ended or was held, from the
/// worker's log; without the name of the log group, which the stack's output `WorkerLogGroup` has, only what arrives is
/// shown. Lines are in the order of their times. With -f, what an index or a log shows late is printed when it is seen,
/// with its own time; nothing is left out and nothing comes twice.
///
/// A poll takes a read for each connection and shard, half a unit when nothing arrived. A throttle or an outage is told
/// on standard error, and it goes on by itself.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TailArgs {
    /// Go on with whatever happens, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
    /// How many lines of what has happened are printed first
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub limit: u32,
    /// How far back they are looked for: how long ago (`90m`, `24h`), or when (RFC 3339, or a day in UTC)
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub since: When,
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// Only events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Only this operation, and events that require it
    #[arg(long)]
    pub operation: Option<OperationName>,
    /// Only what came to this; may be given more than once
    #[arg(long, value_enum, value_delimiter = ',')]
    pub outcome: Vec<Outcome>,
    /// How long to wait between two polls
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = interval)]
    pub every: Duration,
    /// Log group of the worker (the stack's output `WorkerLogGroup`)
    #[arg(long, value_name = "NAME", env = "HOOKBOX_WORKER_LOG_GROUP", hide_env_values = true)]
    pub log_group: Option<String>,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox tail -f
  hookbox tail -f --provider stripe --outcome uncertain,permanent,held
  hookbox tail --limit 100 --since 6h --operation crm-upsert
  hookbox tail -f --output jsonl | jq -r 'select(.status == \"review\") | .job'

Exit codes: 0 printed, also when nothing happened, and after Ctrl-C; 2 wrong usage, 3 could not look.";

/// What surrounds it.
pub struct Surroundings<'a> {
    /// The time.
    pub clock: &'a dyn Clock,
    /// Waits between two polls.
    pub sleep: SharedAsyncSleep,
    /// Ends when a person wants it to stop.
    pub stop: BoxFuture<'a, ()>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).ok().filter(|every| *every >= Duration::from_secs(1));
    interval.ok_or_else(|| "expected a second or more, such as 2s or 1m".to_owned())
}

/// Runs the command.
pub async fn run(args: &TailArgs, around: Surroundings<'_>, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let table = args.table.connect().await?;
    let aws = args.table.aws.connect().await;
    tail(args, &table, &aws, around, terminal).await
}

/// Runs it on this table and this AWS.
pub async fn tail(
    args: &TailArgs,
    table: &Table,
    aws: &Aws,
    around: Surroundings<'_>,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    if args.follow && terminal.format() == Format::Json {
        let trouble = Trouble::new("follow what happens as JSON", "a document ends, and this does not");
        return Err(Failure::Usage(trouble.advise("--output jsonl: a document a line")));
    }
    let logs = args.log_group.as_ref().map(|group| Logs::new(aws, group));
    if logs.is_none() {
        terminal
            .note("how attempts end is not shown: --log-group or HOOKBOX_WORKER_LOG_GROUP names the worker's log")?;
    }
    let outcomes: BTreeSet<&str> = args.outcome.iter().map(|outcome| outcome.as_str()).collect();
    let filter = TailFilter {
        connections: args.connections.clone(),
        kinds: args.kind.clone(),
        operation: args.operation.clone(),
        outcomes,
    };
    let sources = Sources { table, logs: logs.as_ref(), filter: &filter };
    let mut follow = Follow::new(sources, around.clock.now());
    follow.run(args, around, terminal).await?;
    Ok(Answer::Yes)
}

#[cfg(test)]
mod tests;
