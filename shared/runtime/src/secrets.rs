//! Secrets by their references: from the environment, or from the Parameter Store with a short cache.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_ssm::Client;
use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ssm::operation::get_parameter::{GetParameterError, GetParameterOutput};
use aws_types::SdkConfig;
use hookbox_core::integration::SecretRef;
use hookbox_core::surroundings::Clock;
use hookbox_core::time::Timestamp;

use crate::causes::chain;
use crate::environment;

/// How long a parameter is believed before it is read again.
pub const SECRET_CACHE: Duration = Duration::from_secs(5 * 60);

/// A secret. It shows itself to nobody but the caller of [`SecretText::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Arc<str>);

impl SecretText {
    /// The secret itself. Never log what it gives.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// For tests and for tools that take a secret from elsewhere. Not checked as [`Secrets::get`] checks.
impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Why a secret cannot be had. None of these shows anything of the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing is stored under the reference.
    #[error("`{reference}` does not exist")]
    NotFound {
        /// The reference.
        reference: SecretRef,
    },
    /// The value is empty or blank, which would verify whatever is signed with nothing.
    #[error("`{reference}` is empty")]
    Empty {
        /// The reference.
        reference: SecretRef,
    },
    /// We may not read it.
    #[error("`{reference}` may not be read: the function's role needs ssm:GetParameter and kms:Decrypt for it")]
    Denied {
        /// The reference.
        reference: SecretRef,
    },
    /// The Parameter Store did not answer.
    #[error("`{reference}` cannot be read now: {detail}")]
    Unavailable {
        /// The reference.
        reference: SecretRef,
        /// What went wrong, in words that hold nothing of an answer.
        detail: String,
    },
}

type Slot = Arc<tokio::sync::Mutex<Option<(SecretText, Timestamp)>>>;

/// Reads secrets and remembers parameters for [`SECRET_CACHE`].
#[derive(Clone)]
pub struct Secrets {
    ssm: Client,
    clock: Arc<dyn Clock>,
    environment: fn(&str) -> Option<String>,
    cache: Arc<Mutex<HashMap<SecretRef, Slot>>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Secrets of the account that `config` leads to.
    pub fn new(config: &SdkConfig, clock: Arc<dyn Clock>) -> Self {
        Self { ssm: Client::new(config), clock, environment: environment::variable, cache: Arc::default() }
    }

    /// The same, with `env:` references looked up by `environment` instead of in the process's own.
    #[must_use]
    pub fn with_environment(self, environment: fn(&str) -> Option<String>) -> Self {
        Self { environment, ..self }
    }

    /// The secret that `reference` names. Callers that ask for one parameter at the same time share one read.
    pub async fn get(&self, reference: &SecretRef) -> Result<SecretText, SecretError> {
        let path = match reference {
            SecretRef::Env(name) => {
                let value = (self.environment)(name);
                return checked(reference, value.ok_or(SecretError::NotFound { reference: reference.clone() })?);
            }
            SecretRef::Ssm(path) => path,
        };
        let slot = self.slot(reference);
        let mut cached = slot.lock().await;
        if let Some((secret, read_at)) = cached.as_ref()
            && read_at.is_fresh(SECRET_CACHE, self.clock.now())
        {
            return Ok(secret.clone());
        }
        let secret = checked(reference, self.parameter(reference, path).await?)?;
        *cached = Some((secret.clone(), self.clock.now()));
        Ok(secret)
    }

    fn slot(&self, reference: &SecretRef) -> Slot {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(cache.entry(reference.clone()).or_default())
    }

    async fn parameter(&self, reference: &SecretRef, path: &str) -> Result<String, SecretError> {
        let answer = self.ssm.get_parameter().name(path).with_decryption(true).send().await;
        let value = answer.map_err(|error| read_error(reference, &error))?;
        let GetParameterOutput { parameter, .. } = value;
        parameter
            .and_then(|parameter| parameter.value)
            .ok_or_else(|| unavailable(reference, "the answer holds no value".to_owned()))
    }
}

/// Says what went wrong without the error itself: its debug text may hold the answer's body, and so the secret.
fn read_error<R>(reference: &SecretRef, error: &SdkError<GetParameterError, R>) -> SecretError {
    match error {
        SdkError::ServiceError(service) => {
            let error = service.err();
            if error.is_parameter_not_found() || error.is_parameter_version_not_found() {
                return SecretError::NotFound { reference: reference.clone() };
            }
            match error.code() {
                Some("AccessDeniedException" | "AccessDenied") => SecretError::Denied { reference: reference.clone() },
                code => unavailable(reference, format!("the Parameter Store answered {}", code.unwrap_or("an error"))),
            }
        }
        SdkError::TimeoutError(_) => unavailable(reference, "no answer in time".to_owned()),
        SdkError::DispatchFailure(failure) => {
            let cause = failure.as_connector_error().map(|error| chain(error));
            unavailable(reference, cause.unwrap_or_else(|| "the request was not sent".to_owned()))
        }
        SdkError::ResponseError(_) => unavailable(reference, "the answer was not understood".to_owned()),
        _ => unavailable(reference, "the request could not be made".to_owned()),
    }
}

fn unavailable(reference: &SecretRef, detail: String) -> SecretError {
    SecretError::Unavailable { reference: reference.clone(), detail }
}

/// A line break at the end is an accident of `echo`; an empty secret is never meant.
fn checked(reference: &SecretRef, mut value: String) -> Result<SecretText, SecretError> {
    let length = value.trim_end_matches(['\n', '\r']).len();
    if length < value.len() {
        tracing::warn!(%reference, "the secret ends with a line break, which is ignored");
        value.truncate(length);
    }
    if value.trim().is_empty() {
        return Err(SecretError::Empty { reference: reference.clone() });
    }
    Ok(SecretText(value.into()))
}
