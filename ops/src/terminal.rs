//! Where a command writes: answers to standard output, notes and progress to standard error, questions to a person.

use std::fmt::{self, Display};
use std::io::{self, BufRead, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use hookbox_core::time::Timestamp;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;

use crate::layout::harmless_lines;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: one document.
    Json,
    /// For programs: a document a line, and of a list one for each of its entries.
    Jsonl,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Also into a file or pipe.
    Always,
    /// Nowhere.
    Never,
}

/// What a text means, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// A heading.
    Heading,
    /// Of little weight.
    Quiet,
    /// As it should be.
    Good,
    /// On its way, or worth a look.
    Busy,
    /// Needs a person.
    Bad,
}

/// The terminal, file or pipe that a command talks to.
pub struct Terminal {
    out: Box<dyn Write + Send>,
    notes: Box<dyn Write + Send>,
    answers: Option<Box<dyn BufRead + Send>>,
    format: Format,
    colour: bool,
    /// Whether notes are seen by somebody while they are written.
    watched: bool,
    zone: TimeZone,
}

impl Terminal {
    /// The process's own streams. `utc` shows times in UTC instead of the machine's time zone.
    pub fn standard(format: Format, colour: Colour, utc: bool) -> Self {
        let stdin = io::stdin();
        let answers: Option<Box<dyn BufRead + Send>> =
            if stdin.is_terminal() { Some(Box::new(io::BufReader::new(stdin))) } else { None };
        Self {
            out: Box::new(io::stdout()),
            notes: Box::new(io::stderr()),
            answers,
            format,
            colour: match colour {
                Colour::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
                Colour::Always => true,
                Colour::Never => false,
            },
            watched: io::stderr().is_terminal(),
            zone: if utc { TimeZone::UTC } else { TimeZone::system() },
        }
    }

    /// Other streams, for tests and for programs that embed a command: no colours, times in UTC. Without `answers`
    /// there is nobody to ask.
    pub fn of(
        out: Box<dyn Write + Send>,
        notes: Box<dyn Write + Send>,
        answers: Option<Box<dyn BufRead + Send>>,
        format: Format,
    ) -> Self {
        Self { out, notes, answers, format, colour: false, watched: false, zone: TimeZone::UTC }
    }

    /// How answers are wanted.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Writes a line of the answer.
    pub fn say(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// Writes the answer for programs.
    pub fn say_json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = match self.format {
            Format::Jsonl => serde_json::to_string(value),
            Format::Json | Format::Table => serde_json::to_string_pretty(value),
        };
        self.say(text.map_err(io::Error::other)?)
    }

    /// Writes a list for programs: its entries line by line, or else `whole`, the document that holds them.
    pub fn say_list<T: serde::Serialize>(&mut self, entries: &[T], whole: &impl serde::Serialize) -> io::Result<()> {
        if self.format != Format::Jsonl {
            return self.say_json(whole);
        }
        entries.iter().try_for_each(|entry| self.say_json(entry))
    }

    /// Writes a note that is not part of the answer.
    pub fn note(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.notes, "{}", harmless_lines(&line.to_string()))
    }

    /// Shows how far long work has come, where somebody watches: `done` names what is done to each of `total`.
    pub fn progress(&self, total: u64, done: &'static str) -> ProgressBar {
        if !self.watched {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(total).with_message(done);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}, {eta} left");
        style.map_or_else(|_| ProgressBar::hidden(), |style| bar.with_style(style))
    }

    /// Shows how far long work has come whose end nobody knows.
    pub fn counter(&self, done: &'static str) -> ProgressBar {
        if !self.watched {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} {pos} {msg}");
        let bar = ProgressBar::new_spinner().with_message(done);
        style.map_or_else(|_| ProgressBar::hidden(), |style| bar.with_style(style))
    }

    /// Asks a person; `None` when there is none. Only `y` and `yes` are a yes.
    pub fn confirm(&mut self, question: &str) -> io::Result<Option<bool>> {
        let Some(answers) = &mut self.answers else { return Ok(None) };
        write!(self.notes, "{question} [y/N] ")?;
        self.notes.flush()?;
        let mut line = String::new();
        answers.read_line(&mut line)?;
        Ok(Some(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
    }

    /// The text in the colour of its tone.
    pub fn paint(&self, tone: Tone, text: impl Display) -> String {
        let style = if self.colour { tone.style() } else { Style::new() };
        format!("{style}{text}{style:#}")
    }

    /// A point in time as people read it, with its offset from UTC.
    pub fn time(&self, at: Timestamp) -> String {
        let Ok(at) = jiff::Timestamp::from_millisecond(at.as_millis()) else { return at.to_string() };
        let local = at.to_zoned_datetime(self.zone.clone());
        let offset = match local.offset().seconds() {
            0 => "UTC".to_owned(),
            _ => local.strftime("%:z").to_string(),
        };
        format!("{} {offset}", local.strftime("%Y-%m-%d %H:%M:%S%.3f"))
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("format", &self.format).field("colour", &self.colour).finish_non_exhaustive()
    }
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Quiet => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Busy => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Captured, terminal};

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for (answer, expected) in [("y\n", true), ("YES\n", true), ("\n", false), ("nope\n", false), ("", false)] {
            let (mut terminal, captured) = Captured::answering(answer);
            assert_eq!(terminal.confirm("Apply?").unwrap(), Some(expected), "{answer:?}");
            assert_eq!(captured.notes(), "Apply? [y/N] ");
        }
        let (mut nobody, captured) = terminal(Format::Table);
        assert_eq!(nobody.confirm("Apply?").unwrap(), None);
        assert_eq!(captured.notes(), "", "nobody is asked who cannot answer");
    }

    #[test]
    fn times_carry_their_offset() {
        let (mut terminal, _) = terminal(Format::Table);
        let at = Timestamp::parse_rfc3339("2026-11-30T23:30:00.125Z").unwrap();
        assert_eq!(terminal.time(at), "2026-11-30 23:30:00.125 UTC");
        terminal.zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(terminal.time(at), "2026-12-01 01:30:00.125 +02:00");
    }

    #[test]
    fn colours_are_only_written_when_wanted() {
        let (mut terminal, _) = terminal(Format::Table);
        assert_eq!(terminal.paint(Tone::Bad, "review"), "review");
        terminal.colour = true;
        assert_eq!(terminal.paint(Tone::Plain, "review"), "review");
        let painted = terminal.paint(Tone::Bad, "review");
        assert!(painted.starts_with('\u{1b}') && painted.ends_with("\u{1b}[0m"), "{painted:?}");
    }
}
