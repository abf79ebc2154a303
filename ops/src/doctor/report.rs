//! All findings, and what they come to.

use std::io;

use serde::Serialize;

use super::finding::{Finding, Level};
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{Cell, Columns, count};
use crate::terminal::{Format, Terminal};

/// Every finding, in the order of an event's way.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The stack that was looked at.
    pub stack: String,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Shows it.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_list(&self.findings, self);
        }
        let mut columns = Columns::default().headed(["LEVEL", "CHECK", "FOUND", "RESOURCE"]);
        for finding in &self.findings {
            columns.row([
                Cell::new(finding.level.tone(), finding.level.as_str()),
                finding.check.into(),
                shortened(&finding.found).into(),
                finding.resource.as_str().into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        for level in [Level::Problem, Level::CouldNotLook, Level::Warning] {
            for finding in self.findings.iter().filter(|finding| finding.level == level) {
                explain(finding, terminal)?;
            }
        }
        terminal.say(format_args!("\n{}", self.summary()))
    }

    /// Whether all is well. What could not be looked at is never taken for healthy.
    pub fn answer(&self) -> Result<Answer, Failure> {
        match (self.of(Level::Problem), self.of(Level::CouldNotLook)) {
            (0, 0) => Ok(Answer::Yes),
            (0, unseen) => {
                let trouble = Trouble::new("look at everything", count(unseen, "check") + " could not look");
                Err(Failure::CouldNotLook(trouble.advise("what each of them says above")))
            }
            _ => Ok(Answer::No),
        }
    }

    fn of(&self, level: Level) -> u64 {
        self.findings.iter().filter(|finding| finding.level == level).count() as u64
    }

    fn summary(&self) -> String {
        let total = count(self.findings.len() as u64, "check");
        let levels = [Level::Problem, Level::CouldNotLook, Level::Warning, Level::Ok];
        let counts = levels.into_iter().filter(|level| self.of(*level) > 0);
        let counts: Vec<_> = counts.map(|level| format!("{} {level}", self.of(level))).collect();
        format!("{total} of the stack `{}`: {}", self.stack, counts.join(", "))
    }
}

/// All of one finding that is not as it should be.
fn explain(finding: &Finding, terminal: &mut Terminal) -> io::Result<()> {
    let Finding { check, level, resource, found, expected, advice } = finding;
    let mut columns = Columns::indented(2);
    let expected = expected.iter().map(|expected| ("expected", expected));
    let advice = advice.iter().map(|advice| ("do", advice));
    for (name, text) in [("found", found)].into_iter().chain(expected).chain(advice) {
        let name = format!("{name}:");
        for (i, line) in text.lines().enumerate() {
            columns.row([if i == 0 { name.as_str().into() } else { "".into() }, line.into()]);
        }
    }
    let head = terminal.paint(level.tone(), level.as_str());
    terminal.say(format_args!("\n{head}: {check} of {resource}"))?;
    columns.lines(terminal).into_iter().try_for_each(|line| terminal.say(line))
}

/// As much of what was found as fits beside the rest; all of it stands below the table.
fn shortened(text: &str) -> String {
    const ROOM: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= ROOM && line.len() == text.len() {
        return line.to_owned();
    }
    line.chars().take(ROOM - 1).chain(['…']).collect()
}
