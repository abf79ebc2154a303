//! The secrets that integrations refer to: whether they can be had. Their values are read and never shown.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use hookbox_core::integration::{Integration, SecretRef, Target};
use hookbox_runtime::SecretError;

use super::deployment::Function;
use super::finding::{Finding, Seen, Unseen};
use super::functions::FunctionSeen;
use super::standing::Applied;
use crate::connection::SecretReader;

/// Parameters that are read at once.
const AT_ONCE: usize = 4;

/// A secret, by its reference.
#[derive(Clone, Debug)]
pub struct SecretSeen {
    /// What is referred to.
    pub reference: SecretRef,
    /// Who refers to it: connections and functions.
    pub used_by: Vec<(String, Function)>,
    /// Whether it can be had.
    pub read: SecretRead,
}

/// What came of reading a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRead {
    /// It is there.
    There,
    /// It is not, or empty.
    Missing(Unseen),
    /// Nobody knows.
    Unseen(Unseen),
    /// A variable of the functions: nothing was read.
    Variable,
}

/// Reads each secret once.
pub(super) async fn read(applied: &Seen<Applied>, reader: &SecretReader) -> Seen<Vec<SecretSeen>> {
    let applied = applied.as_ref().map_err(Unseen::clone)?;
    let look = |(reference, used_by): (SecretRef, Vec<(String, Function)>)| async move {
        let read = match &reference {
            SecretRef::Env(_) => SecretRead::Variable,
            SecretRef::Ssm(_) => match reader.look(&reference).await {
                Ok(_) => SecretRead::There,
                Err(error) => {
                    let (why, advice) = reader.explain(&reference, &error);
                    let unseen = Unseen { why, advice };
                    match error {
                        SecretError::NotFound { .. } | SecretError::Empty { .. } => SecretRead::Missing(unseen),
                        SecretError::Denied { .. } | SecretError::Unavailable { .. } => SecretRead::Unseen(unseen),
                    }
                }
            },
        };
        SecretSeen { reference, used_by, read }
    };
    Ok(stream::iter(references(&applied.integrations)).map(look).buffered(AT_ONCE).collect().await)
}

/// Each reference once, with who uses it.
fn references(integrations: &[Integration]) -> Vec<(SecretRef, Vec<(String, Function)>)> {
    let mut all: BTreeMap<String, (SecretRef, Vec<(String, Function)>)> = BTreeMap::new();
    let mut add = |reference: &SecretRef, user: (String, Function)| {
        let (_, users) = all.entry(reference.to_string()).or_insert_with(|| (reference.clone(), Vec::new()));
        if !users.contains(&user) {
            users.push(user);
        }
    };
    for integration in integrations {
        let name = format!("{}/{}", integration.provider, integration.account);
        for reference in &integration.secrets {
            add(reference, (name.clone(), Function::Ingest));
        }
        for operation in &integration.operations {
            if let Target::Http { signing_secret, .. } = &operation.target {
                add(signing_secret, (format!("{name} {}", operation.name), Function::Worker));
            }
        }
    }
    all.into_values().collect()
}

/// Whether deliveries can be verified and calls be signed.
pub(super) fn judge(secrets: &Seen<Vec<SecretSeen>>, functions: &[FunctionSeen], prefix: Option<&str>) -> Vec<Finding> {
    let secrets = match secrets {
        Ok(secrets) => secrets,
        Err(unseen) => return vec![Finding::unseen("secrets", "those of all integrations", unseen)],
    };
    secrets.iter().map(|secret| judge_one(secret, functions, prefix)).collect()
}

fn judge_one(secret: &SecretSeen, functions: &[FunctionSeen], prefix: Option<&str>) -> Finding {
    let name = secret.reference.to_string();
    let users: Vec<_> = secret.used_by.iter().map(|(user, _)| user.as_str()).collect();
    let users = users.join(", ");
    if let (SecretRef::Ssm(path), Some(prefix)) = (&secret.reference, prefix)
        && !path.starts_with(&format!("/{prefix}/"))
    {
        return Finding::problem("secrets", &name, format!("the functions may not read it; used by {users}"))
            .expected(format!("a parameter below /{prefix}/, the stack's parameter SecretPrefix"))
            .advise("put the secret there and apply the new reference");
    }
    match &secret.read {
        SecretRead::There => Finding::ok("secrets", &name, format!("there, used by {users}")),
        SecretRead::Missing(unseen) => {
            let finding = Finding::problem("secrets", &name, format!("{}; used by {users}", unseen.why));
            unseen.advice.iter().fold(finding.expected("a secret"), Finding::advise)
        }
        SecretRead::Unseen(unseen) => {
            let unseen = Unseen { why: format!("{}; used by {users}", unseen.why), advice: unseen.advice.clone() };
            let skip = "--skip-secret-check, where it is not yours to read";
            Finding::unseen("secrets", &name, &unseen.advise(skip))
        }
        SecretRead::Variable => variable(secret, &name, &users, functions),
    }
}

/// A variable has to be set in each function that uses it.
fn variable(secret: &SecretSeen, name: &str, users: &str, functions: &[FunctionSeen]) -> Finding {
    let SecretRef::Env(variable) = &secret.reference else {
        return Finding::unseen("secrets", name, &Unseen::because("no variable"));
    };
    let mut without = Vec::new();
    for (_, function) in &secret.used_by {
        let seen = functions.iter().find(|seen| seen.function == *function);
        match seen.and_then(FunctionSeen::variables) {
            Some(variables) if variables.contains_key(variable) => {}
            Some(_) if without.contains(&function.name()) => {}
            Some(_) => without.push(function.name()),
            None => {
                let why = format!("the variables of {} could not be read; used by {users}", function.name());
                return Finding::unseen("secrets", name, &Unseen::because(why));
            }
        }
    }
    if without.is_empty() {
        return Finding::ok("secrets", name, format!("set, used by {users}"));
    }
    Finding::problem("secrets", name, format!("not set in {}; used by {users}", without.join(" and ")))
        .expected("a variable of each function that uses it")
        .advise("ssm:/path instead, or Environment in a template of your own")
}
