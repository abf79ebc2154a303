//! `hookbox rebuild`: history is fed to a destination once more, in the order in which it happened.

mod place;
mod plan;
mod feed;
mod report;

use clap::builder::NonEmptyStringValueParser;
use hookbox_core::integration::SecretRef;

use crate::connection::{SecretReader, TableArgs};
use crate::deed::WriteArgs;
use crate::failure::{Answer, Failure};
use crate::jobs::Surroundings;
use crate::search::ConnectionArgs;
use crate::search::range::{RangeArgs, When};
use crate::search::receipts::ReceiptFilter;
use crate::terminal::Terminal;
pub use feed::{Destination, Rebuild};
pub use place::Place;

/// Feed history to a destination, to rebuild its state from events
///
/// POSTs the original bytes of every accepted event with the headers and the signature of an ordinary call, and with
/// `Hookbox-Rebuild: true`: one after the other, in the order in which the events happened (by the provider's clock, where
/// it says so, and by their arrival otherwise), so that the order of each resource holds. The idempotency key of an event
/// is `<receipt>:rebuild:v1`, in every rebuild: a destination that remembers keys must have forgotten them.
///
/// Nothing is changed in the table but the record of who did it and why. The first answer that is not 2xx ends it, with the
/// place to go on from. Events whose payload has expired cannot be sent: they are counted and named, and nothing begins
/// before somebody says --skip-expired. What was erased is left out.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RebuildArgs {
    /// The address of the destination
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// What calls are signed with (`ssm:/path` or `env:NAME`)
    #[arg(long, value_name = "REF")]
    pub signing_secret: SecretRef,
    /// Which connections.
    #[command(flatten)]
    pub connections: ConnectionArgs,
    /// Only events of this kind; may be given more than once
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Events that arrived at this time or later: how long ago (`90m`, `24h`, `7d`), or when (RFC 3339, or a day in UTC)
    #[arg(long, value_name = "TIME")]
    pub since: When,
    /// Events that arrived before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
    /// Go on behind this place, which a rebuild that ended early has told
    #[arg(long, value_name = "PLACE")]
    pub after: Option<Place>,
    /// Leave out events whose payload has expired
    #[arg(long)]
    pub skip_expired: bool,
    /// At most so many events a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rate: u32,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// How it is written.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Where the table is.
    #[command(flatten)]
    pub table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  hookbox rebuild --to https://crm.example.com/webhooks --signing-secret ssm:/hookbox/signing \\
    --provider stripe --since 2026-11-24 --reason \"the database was restored\" --dry-run
  hookbox rebuild --to http://127.0.0.1:9099/ok --signing-secret env:SIGNING --since 3d --rate 100 \\
    --reason \"a rehearsal\" --yes

Exit codes: 0 all was sent (with --dry-run: would be), 1 an event was not taken, not confirmed or stopped, 2 wrong usage,
3 payloads have expired, or could not look.";

/// Runs the command.
pub async fn run(
    args: &RebuildArgs,
    secrets: &SecretReader,
    around: Surroundings<'_>,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let destination = Destination::new(&args.to, secrets.read(&args.signing_secret).await?)?;
    let range = RangeArgs { since: args.since, until: args.until };
    let rebuild = Rebuild {
        filter: ReceiptFilter {
            connections: args.connections.clone(),
            range: range.at(around.clock.now()),
            kinds: args.kind.clone(),
            resource: None,
            state: Some("accepted"),
        },
        ends: args.until.is_some(),
        after: args.after,
        skip_expired: args.skip_expired,
        rate: args.rate,
        reason: &args.reason,
        intent: args.write.intent(),
        author: args.write.by.author(&args.table.aws).await,
    };
    rebuild.carry_out(&destination, &args.table.connect().await?, around, terminal).await
}

#[cfg(test)]
mod tests;
