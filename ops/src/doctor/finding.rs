//! What a check found, what it expected and what to do.

use std::fmt;

use serde::Serialize;

use crate::failure::{Failure, chain};
use crate::terminal::Tone;

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it must be.
    Ok,
    /// It works, and somebody should know.
    Warning,
    /// Nothing is known: that is never taken for healthy.
    CouldNotLook,
    /// Something does not work, or a promise is not kept.
    Problem,
}

/// What one check found of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name.
    pub check: &'static str,
    /// How it is to be taken.
    pub level: Level,
    /// Of what.
    pub resource: String,
    /// What was found, or why nothing was.
    pub found: String,
    /// What was expected, where something else was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What to do, most of it commands.
    #[serde(rename = "do", skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
}

/// What was read, or why it could not be. What is known not to exist is `Ok(None)`.
pub type Seen<T> = Result<T, Unseen>;

/// Why something could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Why.
    pub why: String,
    /// What to do, such as the IAM action that is missing.
    pub advice: Vec<String>,
}

impl Level {
    /// The level as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::CouldNotLook => "could-not-look",
            Self::Problem => "problem",
        }
    }

    /// Its colour.
    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::Warning => Tone::Busy,
            Self::CouldNotLook | Self::Problem => Tone::Bad,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Finding {
    fn new(level: Level, check: &'static str, resource: &str, found: impl fmt::Display) -> Self {
        let (resource, found) = (resource.to_owned(), found.to_string());
        Self { check, level, resource, found, expected: None, advice: Vec::new() }
    }

    /// As it must be.
    pub(super) fn ok(check: &'static str, resource: &str, found: impl fmt::Display) -> Self {
        Self::new(Level::Ok, check, resource, found)
    }

    /// It works, and somebody should know.
    pub(super) fn warning(check: &'static str, resource: &str, found: impl fmt::Display) -> Self {
        Self::new(Level::Warning, check, resource, found)
    }

    /// Something does not work.
    pub(super) fn problem(check: &'static str, resource: &str, found: impl fmt::Display) -> Self {
        Self::new(Level::Problem, check, resource, found)
    }

    /// Nothing is known.
    pub(super) fn unseen(check: &'static str, resource: &str, unseen: &Unseen) -> Self {
        let finding = Self::new(Level::CouldNotLook, check, resource, &unseen.why);
        Self { advice: unseen.advice.clone(), ..finding }
    }

    /// What was expected instead.
    pub(super) fn expected(mut self, expected: impl fmt::Display) -> Self {
        self.expected = Some(expected.to_string());
        self
    }

    /// Adds something to do.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

impl Unseen {
    /// Because of this.
    pub(super) fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), advice: Vec::new() }
    }

    /// Adds something to do.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

impl From<Failure> for Unseen {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(trouble)
            | Failure::Usage(trouble)
            | Failure::Forbidden(trouble)
            | Failure::CouldNotLook(trouble) => {
                Self { why: trouble.why().to_owned(), advice: trouble.advice().to_vec() }
            }
            other @ (Failure::InvalidFile(_) | Failure::Output(_)) => Self::because(chain(&other)),
        }
    }
}
