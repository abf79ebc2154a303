//! How a command ends: what it tells the shell, and what it tells a person when it could not do its work.

use std::fmt;
use std::io;
use std::process::ExitCode;

pub use hookbox_runtime::chain;

use crate::layout::harmless_lines;

/// What a command that did its work has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, found, nothing to do: exit code 0.
    Yes,
    /// Not found, refused, different: exit code 1.
    No,
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was understood and is not done: exit code 1.
    #[error("{0}")]
    Refused(Trouble),
    /// The command line or a file is wrong: exit code 2.
    #[error("{0}")]
    Usage(Trouble),
    /// The state of things does not allow it: exit code 3.
    #[error("{0}")]
    Forbidden(Trouble),
    /// The state of things could not be seen, so nothing can be said of it: exit code 3.
    #[error("{0}")]
    CouldNotLook(Trouble),
    /// A configuration file is not valid: exit code 2.
    #[error(transparent)]
    InvalidFile(#[from] crate::config::source::InvalidFile),
    /// The answer could not be written.
    #[error("could not write the output: {0}")]
    Output(#[from] io::Error),
}

/// What was attempted, why it failed and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    attempted: String,
    why: String,
    advice: Vec<String>,
}

impl Trouble {
    /// Could not do `attempted`, because of `why`.
    pub fn new(attempted: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { attempted: attempted.into(), why: why.to_string(), advice: Vec::new() }
    }

    /// Adds something that a person can do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// Why it failed.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// What a person can do about it.
    pub fn advice(&self) -> &[String] {
        &self.advice
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names, reasons and answers in it may come from other people and from afar.
        write!(f, "could not {}", harmless_lines(&self.attempted))?;
        write!(f, "\n  why: {}", harmless_lines(&self.why).replace('\n', "\n       "))?;
        for advice in &self.advice {
            write!(f, "\n  try: {}", harmless_lines(advice).replace('\n', "\n       "))?;
        }
        Ok(())
    }
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            // Whoever read our output had enough of it.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Refused(_) => 1,
            Self::Usage(_) | Self::InvalidFile(_) => 2,
            Self::Forbidden(_) | Self::CouldNotLook(_) | Self::Output(_) => 3,
        }
    }

    /// Adds something that a person can do, or should know.
    #[must_use]
    pub fn advise(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Refused(trouble) => Self::Refused(trouble.advise(advice)),
            Self::Usage(trouble) => Self::Usage(trouble.advise(advice)),
            Self::Forbidden(trouble) => Self::Forbidden(trouble.advise(advice)),
            Self::CouldNotLook(trouble) => Self::CouldNotLook(trouble.advise(advice)),
            Self::InvalidFile(_) | Self::Output(_) => self,
        }
    }

    /// Whether there is anybody to tell.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::from(0),
            Answer::No => Self::from(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_says_what_why_and_what_to_do() {
        let trouble = Trouble::new("read the table `hookbox`", "no such table\nin eu-west-1")
            .advise("name the table of your stack with --table")
            .advise("check --region");
        insta::assert_snapshot!(trouble, @r"
        could not read the table `hookbox`
          why: no such table
               in eu-west-1
          try: name the table of your stack with --table
          try: check --region
        ");
    }

    #[test]
    fn nothing_in_trouble_moves_the_cursor() {
        let trouble = Trouble::new("find evt_\u{1b}[2J", "two\nlines\r").advise("\u{202e}x");
        let text = trouble.to_string();
        assert_eq!(text, "could not find evt_\\u{1b}[2J\n  why: two\n       lines\\u{d}\n  try: \\u{202e}x");
    }

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let left = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(left.is_broken_pipe());
        assert_eq!(left.code(), 0);
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::StorageFull)).code(), 3);
        assert_eq!(Failure::Refused(Trouble::new("x", "y")).code(), 1);
        assert_eq!(Failure::Usage(Trouble::new("x", "y")).code(), 2);
        assert_eq!(Failure::Forbidden(Trouble::new("x", "y")).code(), 3);
        assert_eq!(Failure::CouldNotLook(Trouble::new("x", "y")).code(), 3);
    }
}
