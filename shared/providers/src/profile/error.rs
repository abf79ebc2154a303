//! What is wrong with a profile, and on which line of it.

use std::fmt;

use toml::de::{DeTable, DeValue};

/// A profile, or an integration's own settings for it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// The profile's name, once it is known.
    pub profile: Option<String>,
    /// The line of the profile's text, from 1. Settings that come from an integration have none.
    pub line: Option<usize>,
    /// Where in the profile, such as `event[0].id`; empty for the whole.
    pub key: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile `{}`", self.profile.as_deref().unwrap_or("?"))?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ", `{}`", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// One step from a table or list to what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(&'static str),
    Index(usize),
}

/// Something wrong at a place that is still being found, from the inside out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// Innermost first.
    steps: Vec<Step>,
    message: String,
}

impl Flaw {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { steps: Vec::new(), message: message.into() }
    }

    pub(crate) fn under(mut self, key: &'static str) -> Self {
        self.steps.push(Step::Key(key));
        self
    }

    pub(crate) fn at(mut self, index: usize) -> Self {
        self.steps.push(Step::Index(index));
        self
    }

    /// The finished error; `text` is the profile in which its line is looked up.
    pub(crate) fn locate(self, profile: Option<&str>, text: Option<&str>) -> ProfileError {
        let mut key = String::new();
        for step in self.steps.iter().rev() {
            match step {
                Step::Key(name) if key.is_empty() => key.push_str(name),
                Step::Key(name) => key.extend([".", name]),
                Step::Index(index) => key.extend(["[", &index.to_string(), "]"]),
            }
        }
        let line = text.and_then(|text| line_of(text, &self.steps));
        ProfileError { profile: profile.map(str::to_owned), line, key, message: self.message }
    }
}

/// Adds the place to whatever goes wrong inside.
pub(crate) trait Placed<T> {
    fn under(self, key: &'static str) -> Result<T, Flaw>;
    fn at(self, index: usize) -> Result<T, Flaw>;
}

impl<T> Placed<T> for Result<T, Flaw> {
    fn under(self, key: &'static str) -> Self {
        self.map_err(|flaw| flaw.under(key))
    }

    fn at(self, index: usize) -> Self {
        self.map_err(|flaw| flaw.at(index))
    }
}

/// An error of the TOML reader, with its line.
pub(crate) fn from_toml(profile: Option<&str>, text: &str, error: &toml::de::Error) -> ProfileError {
    let line = error.span().map(|span| line_at(text, span.start));
    ProfileError { profile: profile.map(str::to_owned), line, key: String::new(), message: error.message().to_owned() }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The line of the deepest part of the path that the text has.
fn line_of(text: &str, steps: &[Step]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut offset = table.span().start;
    let mut here = &DeValue::Table(table.into_inner());
    for step in steps.iter().rev() {
        let inner = match (step, here) {
            (Step::Key(name), DeValue::Table(table)) => {
                table.iter().find(|(key, _)| key.get_ref().as_ref() == *name).map(|(key, value)| {
                    offset = key.span().start;
                    value
                })
            }
            (Step::Index(index), DeValue::Array(array)) => array.get(*index).inspect(|value| {
                offset = value.span().start;
            }),
            _ => None,
        };
        match inner {
            Some(value) => here = value.get_ref(),
            None => break,
        }
    }
    Some(line_at(text, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_is_shown_with_its_place_and_line() {
        let text = "a = 1\n[[event]]\nid = [\n  'x',\n  'y',\n]\n";
        let flaw = Flaw::new("no").at(1).under("id").at(0).under("event");
        let error = flaw.locate(Some("p"), Some(text));
        assert_eq!(error.to_string(), "profile `p`, line 5, `event[0].id[1]`: no");
        let missing = Flaw::new("no").under("kind").at(0).under("event").locate(None, Some(text));
        assert_eq!(missing.to_string(), "profile `?`, line 2, `event[0].kind`: no");
    }
}
