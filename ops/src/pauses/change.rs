//! Pausing and resuming: shown, asked for, done, recorded.

use hookbox_core::outcome::ErrorText;
use hookbox_core::surroundings::Clock;
use hookbox_ledger::{LedgerError, Pause, Subject};
use serde::Serialize;

use super::standing::{HeldJobs, PauseLine, Standing};
use super::{OperationArgs, resume_command};
use crate::connection::Table;
use crate::deed::{Author, Deed, Intent};
use crate::failure::{Answer, Failure, Trouble};
use crate::terminal::{Format, Terminal, Tone};

/// What is to be done to one operation.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// The operation.
    pub operation: &'a OperationArgs,
    /// Why.
    pub reason: Option<&'a str>,
    /// Whether to ask.
    pub intent: Intent,
    /// Who does it.
    pub author: Author,
}

/// The answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    /// The pause that the command is about.
    pause: PauseLine<'a>,
    /// Whether something was written.
    written: bool,
}

impl Change<'_> {
    fn name(&self) -> String {
        let OperationArgs { provider, account, operation } = self.operation;
        format!("{provider}/{account} {operation}")
    }

    fn deed(&self, what: &'static str, before: &str, after: &str) -> Deed {
        let OperationArgs { provider, account, operation } = self.operation;
        Deed {
            subject: Subject::Integration(provider.clone(), account.clone()),
            what,
            on: Some(operation.to_string()),
            why: self.reason.map(str::to_owned),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
        }
    }

    /// Pauses an operation. One that is paused already stays as it is, which is a negative answer.
    pub async fn pause(&self, table: &Table, clock: &dyn Clock, terminal: &mut Terminal) -> Result<Answer, Failure> {
        let OperationArgs { provider, account, operation } = self.operation;
        let name = self.name();
        let attempted = format!("pause {name}");
        let configured = table.ledger.integration_with_pauses(provider, account).await;
        let configured = configured.map_err(|error| table.failure(&attempted, &error))?;
        let Some(configured) = configured else {
            let why = format!("{provider}/{account} is not configured");
            return Err(Failure::Refused(Trouble::new(attempted, why).advise("hookbox apply writes a configuration")));
        };
        if configured.integration.operation(operation).is_none() {
            let known: Vec<_> = configured.integration.operations.iter().map(|one| one.name.to_string()).collect();
            let why = format!("{provider}/{account} has no operation `{operation}`");
            let trouble = Trouble::new(attempted, why);
            let trouble =
                if known.is_empty() { trouble } else { trouble.advise(format!("one of {}", known.join(", "))) };
            return Err(Failure::Refused(trouble));
        }
        let standing = configured.pause(operation).map_err(|error| table.failure(&attempted, &error.into()))?;
        if let Some(pause) = standing {
            return Err(paused_already(&attempted, pause, terminal));
        }
        let question = format!("Pause {name}? Its jobs will be held.");
        let write = self.intent.allows(&question, &attempted, terminal)?;
        let reason = ErrorText::new(self.reason.unwrap_or_default());
        let mut pause = Pause {
            provider: provider.clone(),
            account: account.clone(),
            operation: operation.clone(),
            rev: 0,
            reason,
            at: clock.now(),
        };
        let held = HeldJobs::count(table, &pause).await?;
        if write {
            let who = self.author.name().await?;
            let audit = self.deed("pause", "not paused", "paused").audit(&who, pause.at);
            let put = table.ledger.put_pause_audited(provider, account, operation, &pause.reason, &audit).await;
            let stands = put.map_err(|error| table.failure(&attempted, &error))?;
            if (stands.at, &stands.reason) != (pause.at, &pause.reason) {
                return Err(paused_already(&attempted, &stands, terminal));
            }
            pause = stands;
        }
        let standing = Standing { pause, held };
        if terminal.format() != Format::Table {
            terminal.say_json(&Report { pause: PauseLine::from(&standing), written: write })?;
        } else if write {
            terminal.say(format_args!("paused {name}: its jobs are held until it is resumed"))?;
            terminal.say(resume_command(&standing.pause))?;
        } else {
            terminal.say(format_args!("would pause {name}: its jobs would be held until it is resumed"))?;
        }
        Ok(Answer::Yes)
    }

    /// Ends the pause that stands. An operation that is not paused is a negative answer.
    pub async fn resume(&self, table: &Table, clock: &dyn Clock, terminal: &mut Terminal) -> Result<Answer, Failure> {
        let OperationArgs { provider, account, operation } = self.operation;
        let name = self.name();
        let attempted = format!("resume {name}");
        let pauses = table.ledger.pauses(provider, account).await;
        let pauses = pauses.map_err(|error| table.failure(&attempted, &error))?;
        let pause = pauses.of_operation(operation).map_err(|error| table.failure(&attempted, &error.into()))?;
        let Some(pause) = pause.cloned() else {
            let trouble = Trouble::new(attempted, "it is not paused");
            return Err(Failure::Refused(trouble.advise("hookbox pauses list names the operations that are")));
        };
        let standing = Standing { held: HeldJobs::count(table, &pause).await?, pause };
        let Standing { pause, held } = &standing;
        if terminal.format() == Format::Table {
            let shown = format!("{name} is paused since {}: {}", terminal.time(pause.at), pause.reason);
            let shown = terminal.paint(Tone::Heading, shown);
            terminal.say(shown)?;
            terminal.say(format_args!("  {}", held.in_words()))?;
        }
        let write = self.intent.allows(&format!("Resume {name}?"), &attempted, terminal)?;
        if write {
            let who = self.author.name().await?;
            let before = format!("paused since {}: {}", pause.at, pause.reason);
            let audit = self.deed("resume", &before, "not paused").audit(&who, clock.now());
            table.ledger.delete_pause_audited(pause, &audit).await.map_err(|error| match error {
                LedgerError::ConditionFailed { .. } => {
                    let why = "it was resumed and paused again in the meantime";
                    Failure::Refused(Trouble::new(&attempted, why).advise("look at the new pause: hookbox pauses list"))
                }
                error => table.failure(&attempted, &error),
            })?;
        }
        if terminal.format() != Format::Table {
            terminal.say_json(&Report { pause: PauseLine::from(&standing), written: write })?;
        } else if write {
            terminal
                .say(format_args!("resumed {name}: the sweeper releases what is held, beginning within a minute"))?;
        }
        Ok(Answer::Yes)
    }
}

fn paused_already(attempted: &str, pause: &Pause, terminal: &Terminal) -> Failure {
    let why = format!("it is paused already, since {}: {}", terminal.time(pause.at), pause.reason);
    Failure::Refused(Trouble::new(attempted, why).advise(format!("{} ends it", resume_command(pause))))
}
