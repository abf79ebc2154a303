//! Conditions on sources.

use super::source::{Names, Source, View};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::ConditionFile;

/// A condition that a rule or a handshake states.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    source: Source,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Is(Vec<String>),
    StartsWith(Vec<String>),
    Present(bool),
}

impl Condition {
    pub(crate) fn compile(file: &ConditionFile, names: &Names<'_>) -> Result<Self, Flaw> {
        let source = Source::compile(&file.source, names).under("source")?;
        let test = match (&file.is, &file.starts_with, file.present) {
            (Some(is), None, None) => Test::Is(is.as_slice().to_vec()),
            (None, Some(starts), None) => Test::StartsWith(starts.as_slice().to_vec()),
            (None, None, Some(present)) => Test::Present(present),
            _ => return Err(Flaw::new("a condition has one of `is`, `starts_with` and `present`")),
        };
        Ok(Self { source, test })
    }

    /// Whether it is about the delivery as a whole: about nothing that is named later than the first `documents` names.
    pub(crate) fn is_about_delivery(&self, documents: usize) -> bool {
        self.source.name().is_none_or(|name| name < documents)
    }

    pub(crate) fn holds(&self, view: &View<'_>) -> bool {
        // An object is there, even though it is no text.
        let (text, present) = match self.source.text(view) {
            Ok(text) => (text.clone(), text.is_some()),
            Err(_) => (None, true),
        };
        match &self.test {
            Test::Present(expected) => present == *expected,
            Test::Is(texts) => text.is_some_and(|text| texts.contains(&text)),
            Test::StartsWith(starts) => text.is_some_and(|text| starts.iter().any(|start| text.starts_with(start))),
        }
    }
}
