//! Where a secret is read from.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use hookbox_core::integration::SecretRef;
use hookbox_core::surroundings::Clock;

use crate::connection::AwsArgs;
use crate::failure::{Failure, Trouble};

/// A place that holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SecretFrom {
    /// The environment or the parameter store.
    Reference(SecretRef),
    /// A file; the line end at its end is not part of the secret.
    File(PathBuf),
}

impl SecretFrom {
    /// The secret's text.
    pub(super) async fn read(&self, aws: &AwsArgs, clock: Arc<dyn Clock>) -> Result<String, Failure> {
        match self {
            Self::Reference(reference) => {
                let text = aws.secrets(clock).await.read(reference).await?;
                Ok(text.expose().to_owned())
            }
            Self::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failure::CouldNotLook(Trouble::new(format!("read the secret {self}"), error)))?;
                let text = text.strip_suffix('\n').unwrap_or(&text);
                Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
            }
        }
    }
}

impl FromStr for SecretFrom {
    type Err = &'static str;

    /// The text may be a secret, put here by mistake, so the error does not repeat it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("file:").filter(|path| !path.is_empty()) {
            Some(path) => Ok(Self::File(path.into())),
            None => text.parse().map(Self::Reference).map_err(|_| {
                "--secret-from names a place: env:NAME, ssm:/path/of/parameter or file:PATH, never the secret itself"
            }),
        }
    }
}

impl fmt::Display for SecretFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference(reference) => reference.fmt(f),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}
