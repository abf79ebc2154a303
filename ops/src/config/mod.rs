//! `hookbox.toml`: read, understood and checked.

pub mod source;
pub mod wire;
pub mod border;
pub mod operation;
pub mod profile;
pub mod text;
pub mod spelling;

use std::path::Path;

use hookbox_core::integration::Integration;
use hookbox_core::name::{Account, Provider};

use crate::failure::{Failure, Trouble};
use border::Places;
use source::{InvalidFile, Problem, Source};

/// A file that says which integrations there are.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its text.
    pub source: Source,
    /// What it declares, in its order.
    pub declared: Vec<Declared>,
}

/// One integration and where its parts stand in the file.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The integration, its `rev` still 0: only the table knows it.
    pub integration: Integration,
    /// Where its parts stand.
    pub places: Places,
    /// What is allowed and probably not meant, or was not stated.
    pub warnings: Vec<String>,
}

impl ConfigFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Usage(Trouble::new(format!("read {}", path.display()), error).advise(
                "name the file that holds your integrations, or write one like the hookbox.toml of the repository",
            ))
        })?;
        Ok(Self::parse(Source::new(path.display().to_string(), text))?)
    }

    /// Understands a text, and checks everything that a profile is not needed for.
    pub fn parse(source: Source) -> Result<Self, InvalidFile> {
        let file: wire::File = match toml::from_str(source.text()) {
            Ok(file) => file,
            Err(error) => return Err(source.invalid(vec![Problem::of_toml(&error)])),
        };
        let mut problems = Vec::new();
        let declared = border::integrations(&file, &mut problems);
        if problems.is_empty() { Ok(Self { source, declared }) } else { Err(source.invalid(problems)) }
    }

    /// The integration of this name.
    pub fn find(&self, provider: &Provider, account: &Account) -> Option<&Declared> {
        self.declared
            .iter()
            .find(|declared| declared.integration.provider == *provider && declared.integration.account == *account)
    }
}

#[cfg(test)]
mod tests;
