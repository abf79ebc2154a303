//! The functions' settings: read once from the environment variables that `template.yaml` sets, and typed.

use hookbox_core::key::Shards;
use hookbox_core::limits::DEFAULT_SHARDS;

use crate::environment;

/// Where the variables come from; tests give a map.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A setting that is missing or cannot be what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The variable is not set, or empty.
    #[error("{name} is not set: it must be {must_be}")]
    Missing {
        /// The variable.
        name: &'static str,
        /// What it must be.
        must_be: &'static str,
    },
    /// The variable has a value that it cannot have.
    #[error("{name} is `{was}`: it must be {must_be}")]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it must be.
        must_be: &'static str,
        /// What it was.
        was: String,
    },
}

/// The settings of `ingest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestSettings {
    /// The ledger's table.
    pub table: String,
    /// Into how many partitions the table's indexes are spread.
    pub shards: Shards,
}

/// The settings of `dispatcher`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherSettings {
    /// Where pending jobs go.
    pub work_queue_url: String,
    /// Where the notices of jobs in review go.
    pub dead_letter_queue_url: String,
}

/// The settings of `worker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// The ledger's table.
    pub table: String,
    /// Into how many partitions the table's indexes are spread.
    pub shards: Shards,
    /// Where the wake-up of a retry goes.
    pub work_queue_url: String,
}

/// The settings of `sweeper`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweeperSettings {
    /// The ledger's table.
    pub table: String,
    /// Into how many partitions the table's indexes are spread.
    pub shards: Shards,
    /// Where wake-ups go.
    pub work_queue_url: String,
    /// Where the notices of jobs in review go.
    pub dead_letter_queue_url: String,
}

impl IngestSettings {
    /// From the process's environment.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(&environment::variable)
    }

    /// From these variables.
    pub fn read(variables: Variables<'_>) -> Result<Self, SettingsError> {
        Ok(Self { table: table(variables)?, shards: shards(variables)? })
    }
}

impl DispatcherSettings {
    /// From the process's environment.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(&environment::variable)
    }

    /// From these variables.
    pub fn read(variables: Variables<'_>) -> Result<Self, SettingsError> {
        Ok(Self { work_queue_url: work_queue(variables)?, dead_letter_queue_url: dead_letter_queue(variables)? })
    }
}

impl WorkerSettings {
    /// From the process's environment.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(&environment::variable)
    }

    /// From these variables.
    pub fn read(variables: Variables<'_>) -> Result<Self, SettingsError> {
        Ok(Self { table: table(variables)?, shards: shards(variables)?, work_queue_url: work_queue(variables)? })
    }
}

impl SweeperSettings {
    /// From the process's environment.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::read(&environment::variable)
    }

    /// From these variables.
    pub fn read(variables: Variables<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            table: table(variables)?,
            shards: shards(variables)?,
            work_queue_url: work_queue(variables)?,
            dead_letter_queue_url: dead_letter_queue(variables)?,
        })
    }
}

fn table(variables: Variables<'_>) -> Result<String, SettingsError> {
    // What DynamoDB allows as the name of a table, or as its ARN in the name's place.
    let allowed = |name: &str| {
        (3..=1024).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':' | b'/'))
    };
    required(variables, "HOOKBOX_TABLE", "the name of the ledger's DynamoDB table", allowed)
}

fn shards(variables: Variables<'_>) -> Result<Shards, SettingsError> {
    const NAME: &str = "HOOKBOX_SHARDS";
    const MUST_BE: &str = "a power of two from 1 to 64";
    let count = match non_empty(variables, NAME) {
        None => Some(DEFAULT_SHARDS),
        Some(text) => text.parse().ok(),
    };
    count.and_then(Shards::new).ok_or_else(|| SettingsError::Invalid {
        name: NAME,
        must_be: MUST_BE,
        was: variables(NAME).unwrap_or_default(),
    })
}

fn work_queue(variables: Variables<'_>) -> Result<String, SettingsError> {
    required(variables, "HOOKBOX_WORK_QUEUE_URL", "the URL of the SQS work queue", is_url)
}

fn dead_letter_queue(variables: Variables<'_>) -> Result<String, SettingsError> {
    required(variables, "HOOKBOX_DEAD_LETTER_QUEUE_URL", "the URL of the SQS dead-letter queue", is_url)
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty()) && !text.contains(char::is_whitespace)
}

fn required(
    variables: Variables<'_>,
    name: &'static str,
    must_be: &'static str,
    allowed: impl Fn(&str) -> bool,
) -> Result<String, SettingsError> {
    let text = non_empty(variables, name).ok_or(SettingsError::Missing { name, must_be })?;
    if allowed(&text) { Ok(text) } else { Err(SettingsError::Invalid { name, must_be, was: text }) }
}

fn non_empty(variables: Variables<'_>, name: &str) -> Option<String> {
    variables(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(name: &str) -> Option<String> {
        let value = match name {
            "HOOKBOX_TABLE" => "hookbox-Table-1A",
            "HOOKBOX_WORK_QUEUE_URL" => "https://sqs.eu-west-1.amazonaws.com/1/work",
            "HOOKBOX_DEAD_LETTER_QUEUE_URL" => "http://127.0.0.1:4566/1/dead",
            "HOOKBOX_SHARDS" => "8",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn complete_settings_are_typed() {
        let settings = SweeperSettings::read(&complete).unwrap();
        assert_eq!(settings.table, "hookbox-Table-1A");
        assert_eq!(settings.shards.count(), 8);
        assert_eq!(settings.work_queue_url, "https://sqs.eu-west-1.amazonaws.com/1/work");
        assert_eq!(settings.dead_letter_queue_url, "http://127.0.0.1:4566/1/dead");
        assert_eq!(IngestSettings::read(&complete).unwrap().table, settings.table);
        assert_eq!(WorkerSettings::read(&complete).unwrap().work_queue_url, settings.work_queue_url);
        let dispatcher = DispatcherSettings::read(&complete).unwrap();
        assert_eq!(dispatcher.dead_letter_queue_url, settings.dead_letter_queue_url);
    }

    #[test]
    fn shards_have_a_default() {
        let without = |name: &str| complete(name).filter(|_| name != "HOOKBOX_SHARDS");
        assert_eq!(IngestSettings::read(&without).unwrap().shards.count(), 4);
        let empty = |name: &str| if name == "HOOKBOX_SHARDS" { Some(String::new()) } else { complete(name) };
        assert_eq!(IngestSettings::read(&empty).unwrap().shards.count(), 4);
    }

    #[test]
    fn an_error_names_the_variable_what_it_must_be_and_what_it_was() {
        let without = |name: &str| complete(name).filter(|_| name != "HOOKBOX_TABLE");
        let error = WorkerSettings::read(&without).unwrap_err().to_string();
        assert_eq!(error, "HOOKBOX_TABLE is not set: it must be the name of the ledger's DynamoDB table");

        for bad in ["3", "0", "-4", "four", "128", "4 "] {
            let with = |name: &str| if name == "HOOKBOX_SHARDS" { Some(bad.to_owned()) } else { complete(name) };
            let error = WorkerSettings::read(&with).unwrap_err().to_string();
            assert_eq!(error, format!("HOOKBOX_SHARDS is `{bad}`: it must be a power of two from 1 to 64"));
        }

        let with =
            |name: &str| if name == "HOOKBOX_WORK_QUEUE_URL" { Some("work queue".to_owned()) } else { complete(name) };
        let error = DispatcherSettings::read(&with).unwrap_err().to_string();
        assert_eq!(error, "HOOKBOX_WORK_QUEUE_URL is `work queue`: it must be the URL of the SQS work queue");
    }
}
