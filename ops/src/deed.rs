//! A change that a person makes: shown, asked for, made, and recorded with who made it and why.

use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Audit, Subject};

use crate::connection::{Aws, ByArgs, Table};
use crate::failure::{Failure, Trouble};
use crate::terminal::Terminal;

/// Whether it is asked before something is changed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct AskArgs {
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Show what would be done and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
}

/// How a change is written.
#[derive(Clone, Debug, clap::Args)]
pub struct WriteArgs {
    /// Whether it is asked before.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Who does it.
    #[command(flatten)]
    pub by: ByArgs,
}

impl AskArgs {
    /// What the flags mean.
    pub fn intent(self) -> Intent {
        match (self.dry_run, self.yes) {
            (true, _) => Intent::DryRun,
            (false, true) => Intent::Write,
            (false, false) => Intent::Ask,
        }
    }
}

impl WriteArgs {
    /// What the flags mean.
    pub fn intent(&self) -> Intent {
        self.ask.intent()
    }
}

/// Whether a change is made at once, asked for, or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Ask, then write.
    Ask,
    /// Write.
    Write,
    /// Only show.
    DryRun,
}

impl Intent {
    /// Whether to go on and write: asks where there is somebody to ask. Refused when the answer is no.
    pub fn allows(self, question: &str, attempted: &str, terminal: &mut Terminal) -> Result<bool, Failure> {
        match self {
            Self::DryRun => return Ok(false),
            Self::Write => return Ok(true),
            Self::Ask => {}
        }
        match terminal.confirm(question)? {
            Some(true) => Ok(true),
            Some(false) => Err(Failure::Refused(Trouble::new(attempted, "not confirmed, nothing was written"))),
            None => {
                let why = "nobody can be asked: standard input is no terminal";
                Err(Failure::Usage(Trouble::new(attempted, why).advise("--yes to write, --dry-run to look")))
            }
        }
    }
}

/// Who makes the change.
#[derive(Clone, Debug)]
pub enum Author {
    /// Somebody who says so.
    Named(String),
    /// Whoever the credentials belong to.
    Caller(Box<Aws>),
}

impl Author {
    /// The name for the audit.
    pub async fn name(&self) -> Result<String, Failure> {
        match self {
            Self::Named(name) => Ok(name.clone()),
            Self::Caller(aws) => aws.caller().await,
        }
    }
}

/// What was done, for the audit.
#[derive(Clone, Debug)]
pub struct Deed {
    /// To what.
    pub subject: Subject,
    /// What was done, such as `pause`.
    pub what: &'static str,
    /// The operation or job within it.
    pub on: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// What was there before.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
}

impl Deed {
    /// The entry of the audit, to be written together with the change.
    pub fn audit(self, who: &str, at: Timestamp) -> Audit {
        Audit {
            subject: self.subject,
            at,
            who: who.to_owned(),
            what: self.what.to_owned(),
            on: self.on,
            why: self.why,
            bulk: None,
            before: self.before,
            after: self.after,
            expires_at: None,
        }
    }

    /// Records the change after it was made. `made` says so, should recording it fail.
    pub async fn record(self, who: &str, made: &str, table: &Table, clock: &dyn Clock) -> Result<(), Failure> {
        let audit = self.audit(who, clock.now());
        let attempted = format!("record it in the audit, but {made}");
        table.ledger.put_audit(&audit).await.map_err(|error| table.failure(&attempted, &error))
    }
}
