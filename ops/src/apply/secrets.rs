//! Whether the secrets that a file names can be used. Their values are read and never shown.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use hookbox_core::integration::{Integration, SECRET_PREFIX, SecretRef, Target};
use hookbox_providers::{Profiles, Secret};
use hookbox_runtime::{SecretError, SecretText};

use super::Plan;
use crate::config::ConfigFile;
use crate::config::source::InvalidFile;
use crate::connection::SecretReader;
use crate::failure::{Failure, Trouble};

/// Parameters that are read at once.
const AT_ONCE: usize = 4;

/// What was found out about the secrets of a file.
#[derive(Debug, Default)]
pub struct Findings {
    /// What may be wrong, or could not be seen.
    pub warnings: Vec<String>,
    /// What is wrong.
    pub unusable: Option<Failure>,
}

impl Findings {
    /// Looks at every secret of the file; without a `reader` only at the references of what changes.
    pub async fn of(file: &ConfigFile, profiles: &Profiles, plan: &Plan, reader: Option<&SecretReader>) -> Self {
        let changed = distinct(plan.changes().map(|step| &step.integration));
        let mut found = Self { warnings: changed.iter().filter_map(doubt).collect(), unusable: None };
        let Some(reader) = reader else { return found };
        let all = distinct(file.declared.iter().map(|declared| &declared.integration));
        let parameters = all.iter().filter(|reference| matches!(reference, SecretRef::Ssm(_)));
        let reads: Vec<_> = stream::iter(parameters)
            .map(|one| async move { (one, reader.look(one).await) })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let (mut wrong, mut advice) = (Vec::new(), Vec::new());
        let mut known: HashMap<&SecretRef, SecretText> = HashMap::new();
        for (reference, read) in reads {
            let error = match read {
                Ok(text) => {
                    known.insert(reference, text);
                    continue;
                }
                Err(error) => error,
            };
            let (why, mend) = reader.explain(reference, &error);
            if matches!(error, SecretError::NotFound { .. } | SecretError::Empty { .. }) {
                wrong.push(format!("{reference}: {why}"));
                advice.extend(mend);
            } else {
                found.warnings.push(format!("{reference} could not be checked: {why}"));
            }
        }
        if !wrong.is_empty() {
            let trouble = Trouble::new("use every secret that the file names", wrong.join("\n"));
            let trouble = advice.into_iter().fold(trouble, Trouble::advise);
            found.unusable = Some(Failure::Refused(
                trouble
                    .advise("--skip-secret-check, where the secret follows later: until then deliveries are refused"),
            ));
        } else if let Err(invalid) = verifying(file, profiles, &known) {
            found.unusable = Some(invalid.into());
        }
        found
    }
}

/// Whether each integration could verify a delivery with what its parameters hold.
fn verifying(
    file: &ConfigFile,
    profiles: &Profiles,
    known: &HashMap<&SecretRef, SecretText>,
) -> Result<(), InvalidFile> {
    let mut problems = Vec::new();
    for declared in &file.declared {
        let Ok(Some(profile)) = profiles.get(&declared.integration.provider) else { continue };
        let mut secrets = Vec::new();
        for (place, reference) in declared.integration.secrets.iter().enumerate() {
            let Some(text) = known.get(reference) else { continue };
            match Secret::new(text.expose()) {
                Ok(secret) => secrets.push((place, secret)),
                Err(_) => problems.push(declared.empty_token(reference)),
            }
        }
        declared.check_secrets(profile, secrets, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(file.source.invalid(problems)) }
}

/// Everything that these integrations verify and sign with, each once.
fn distinct<'a>(integrations: impl Iterator<Item = &'a Integration>) -> Vec<SecretRef> {
    let mut all: Vec<SecretRef> = Vec::new();
    for integration in integrations {
        let signing = integration.operations.iter().filter_map(|operation| match &operation.target {
            Target::Http { signing_secret, .. } => Some(signing_secret),
            Target::Sqs { .. } | Target::Custom { .. } => None,
        });
        for reference in integration.secrets.iter().chain(signing) {
            if !all.contains(reference) {
                all.push(reference.clone());
            }
        }
    }
    all
}

/// What the reference alone says.
fn doubt(reference: &SecretRef) -> Option<String> {
    match reference {
        SecretRef::Ssm(path) if path.starts_with(SECRET_PREFIX) => None,
        SecretRef::Ssm(_) => Some(format!(
            "{reference} lies outside {SECRET_PREFIX}: the functions may read it only if the stack's parameter \
             SecretPrefix covers it"
        )),
        SecretRef::Env(_) => Some(format!(
            "{reference} is a variable of the functions, which template.yaml does not set and nobody can check from here"
        )),
    }
}
