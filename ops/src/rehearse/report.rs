//! Expected and seen, one line for each case.

use std::io;

use serde::Serialize;

use super::case::Case;
use super::play::Played;
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{Cell, Columns, count};
use crate::terminal::{Format, Terminal, Tone};

/// What came of a rehearsal.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The integration that it was played with.
    pub integration: String,
    /// Tells its events from those of others: the ids of all of them begin with `rehearsal-` and this.
    pub run: String,
    /// Each case.
    pub cases: Vec<Line>,
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What happened.
    pub case: &'static str,
    /// What was to come of it.
    pub expected: &'static str,
    /// What came of it; `None` while it has not been played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// `ok`, `differs`, `could-not-look` or `not-played`.
    pub result: &'static str,
    /// The receipts that were made.
    pub receipts: Vec<String>,
}

impl Line {
    /// A case that is only shown.
    pub fn planned(case: Case) -> Self {
        let (case, expected) = (case.name(), case.expected());
        Self { case, expected, seen: None, result: "not-played", receipts: Vec::new() }
    }

    /// A case that was played, or could not be.
    pub fn of(case: Case, played: Result<Played, Failure>) -> Self {
        let line = Self::planned(case);
        match played {
            Ok(Played { seen, receipts }) => {
                let result = if seen == line.expected { "ok" } else { "differs" };
                let receipts = receipts.iter().map(ToString::to_string).collect();
                Self { seen: Some(seen), result, receipts, ..line }
            }
            Err(failure) => Self { seen: Some(failure.to_string()), result: "could-not-look", ..line },
        }
    }
}

impl Report {
    /// Shows it.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_list(&self.cases, self);
        }
        let mut columns = Columns::default().headed(["CASE", "EXPECTED", "SEEN", ""]);
        for line in &self.cases {
            let tone = match line.result {
                "ok" => Tone::Good,
                "not-played" => Tone::Quiet,
                _ => Tone::Bad,
            };
            let seen = line.seen.as_deref().and_then(|seen| seen.lines().next()).unwrap_or("-");
            columns.row([line.case.into(), line.expected.into(), seen.into(), Cell::new(tone, line.result)]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        for line in self.cases.iter().filter(|line| line.result == "could-not-look") {
            terminal.say(format_args!("\n{}: {}", line.case, line.seen.as_deref().unwrap_or_default()))?;
        }
        for line in self.cases.iter().filter(|line| line.result == "differs") {
            terminal.say(format_args!("\n{}:", line.case))?;
            for receipt in &line.receipts {
                terminal.say(format_args!("  hookbox receipts show {receipt}"))?;
            }
        }
        if self.of("not-played") > 0 {
            return Ok(());
        }
        let ok = count(self.of("ok") as u64, "case");
        terminal.say(format_args!("\n{ok} of {} as expected, with {}", self.cases.len(), self.integration))
    }

    /// Whether all came as expected.
    pub fn answer(&self) -> Result<Answer, Failure> {
        match (self.of("differs"), self.of("could-not-look")) {
            (0, 0) => Ok(Answer::Yes),
            (0, unseen) => {
                let why = format!("{} could not be looked at", count(unseen as u64, "case"));
                let trouble = Trouble::new("rehearse everything", why);
                Err(Failure::CouldNotLook(trouble.advise("what each of them says above")))
            }
            _ => Ok(Answer::No),
        }
    }

    fn of(&self, result: &str) -> usize {
        self.cases.iter().filter(|line| line.result == result).count()
    }
}
