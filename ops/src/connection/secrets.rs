//! Secrets by their references, and what to do when one cannot be had.

use hookbox_core::integration::SecretRef;
use hookbox_runtime::{SecretError, SecretText, Secrets};

use super::{no_region, reached};
use crate::failure::{Failure, Trouble};

/// Reads secrets with the caller's own environment and credentials.
#[derive(Clone, Debug)]
pub struct SecretReader {
    secrets: Secrets,
    place: Option<String>,
}

impl SecretReader {
    /// A reader of secrets under the place by which people know it.
    pub fn new(secrets: Secrets, place: &str) -> Self {
        Self { secrets, place: Some(place.to_owned()) }
    }

    /// A reader at a place that is only known with a region.
    pub(super) fn at(secrets: Secrets, place: Option<String>) -> Self {
        Self { secrets, place }
    }

    /// The secret that the reference leads to.
    pub async fn read(&self, reference: &SecretRef) -> Result<SecretText, Failure> {
        let attempted = format!("read the secret {reference}");
        if let (SecretRef::Ssm(_), None) = (reference, &self.place) {
            return Err(no_region(&attempted));
        }
        self.look(reference).await.map_err(|error| {
            let (why, advice) = self.explain(reference, &error);
            Failure::CouldNotLook(advice.into_iter().fold(Trouble::new(attempted, why), Trouble::advise))
        })
    }

    /// The secret, or why it cannot be had.
    pub async fn look(&self, reference: &SecretRef) -> Result<SecretText, SecretError> {
        self.secrets.get(reference).await
    }

    /// Why a secret cannot be had, and what to do.
    pub fn explain(&self, reference: &SecretRef, error: &SecretError) -> (String, Vec<String>) {
        let place = self.place.as_deref().unwrap_or("here");
        let why = |why: &str| why.to_owned();
        match (error, reference) {
            (SecretError::NotFound { .. }, SecretRef::Env(name)) => {
                (why("the variable is not set in this shell"), vec![format!("export {name}=…")])
            }
            (SecretError::NotFound { .. }, SecretRef::Ssm(path)) => {
                (format!("it does not exist {place}"), put_parameter(path, place, ""))
            }
            (SecretError::Empty { .. }, SecretRef::Ssm(path)) => (
                why("it is empty, and an empty secret verifies everything"),
                put_parameter(path, place, " --overwrite"),
            ),
            (SecretError::Empty { .. }, SecretRef::Env(_)) => {
                (why("it is empty, and an empty secret verifies everything"), Vec::new())
            }
            (SecretError::Denied { .. }, _) => {
                (why("access is denied"), vec![why("a role with ssm:GetParameter and kms:Decrypt on it")])
            }
            (SecretError::Unavailable { detail, .. }, _) => {
                let (why, advice) = reached(detail, place);
                (why, vec![advice])
            }
        }
    }
}

/// How a parameter is written, in the account or in the local AWS.
fn put_parameter(path: &str, place: &str, overwrite: &str) -> Vec<String> {
    let command = format!("aws ssm put-parameter --type SecureString --name {path} --value …{overwrite}");
    match place.strip_prefix("at ") {
        Some(endpoint) => vec![
            format!("{command} --endpoint-url {endpoint}"),
            "`make dev` prepares those of the sample hookbox.toml".to_owned(),
        ],
        None if path.starts_with("/hookbox/demo/") => vec![
            command,
            "the sample's secrets lie in the local AWS of `make dev`: AWS_ENDPOINT_URL leads there".to_owned(),
        ],
        None => vec![command],
    }
}
