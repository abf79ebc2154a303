//! What an integration may change about a profile.

use serde_json::{Map, Value};

use super::error::{Flaw, Placed};
use super::file::{EventFile, OneOrMany, PARAMETERS, ProfileFile, SchemeFile};

/// A profile may list parameters of its scheme under `overridable`, or `*` for everything.
pub(super) fn check(overridable: &[String]) -> Result<(), Flaw> {
    for (index, key) in overridable.iter().enumerate() {
        if key != "*" && !PARAMETERS.contains(&key.as_str()) {
            let flaw = Flaw::new(format!("`{key}` is no parameter of a scheme, and not `*`"));
            return Err(flaw).at(index).under("overridable");
        }
    }
    Ok(())
}

/// The profile as an integration changes it.
pub(super) struct Changed {
    /// Everything but the scheme, if anything of that is changed.
    pub(super) file: Option<ProfileFile>,
    pub(super) scheme: SchemeFile,
}

/// Puts an integration's settings over the profile's.
pub(super) fn apply(file: &ProfileFile, scheme: &SchemeFile, overrides: &Value) -> Result<Changed, Flaw> {
    let overrides = overrides.as_object().ok_or_else(|| Flaw::new("the integration's `verify` is not a table"))?;
    let everything = file.overridable.iter().any(|key| key == "*");
    for key in overrides.keys() {
        // How old a signature may be, and where the endpoint is, every integration may say.
        if !everything && !matches!(key.as_str(), "tolerance" | "url") && !file.overridable.contains(key) {
            return Err(Flaw::new(format!("`{key}` is fixed for this provider")));
        }
    }
    let mut changed = file.clone();
    let mut parameters = overrides.clone();
    let mut take = |key: &str| parameters.remove(key);
    let mut any = false;
    let mut put = |value: Option<Value>, change: &mut dyn FnMut(Value) -> Result<(), Flaw>| {
        any |= value.is_some();
        value.map_or(Ok(()), change)
    };
    put(take("body"), &mut |value| read("body", value).map(|body| changed.body = body))?;
    put(take("unsupported"), &mut |value| read("unsupported", value).map(|answer| changed.unsupported = answer))?;
    put(take("keep"), &mut |value| read("keep", value).map(|keep| changed.keep = keep))?;
    put(take("event"), &mut |value| events(value).map(|events| changed.event = events))?;
    put(take("kinds"), &mut |value| {
        let kinds: OneOrMany = read("kinds", value)?;
        changed.event.iter_mut().for_each(|event| event.kinds = kinds.as_slice().to_vec());
        Ok(())
    })?;
    Ok(Changed { file: any.then_some(changed), scheme: merged(scheme, parameters)? })
}

/// One rule or a list of them, instead of the profile's.
fn events(value: Value) -> Result<Vec<EventFile>, Flaw> {
    if value.is_array() { read("event", value) } else { Ok(vec![read("event", value)?]) }
}

fn read<T: serde::de::DeserializeOwned>(key: &'static str, value: Value) -> Result<T, Flaw> {
    serde_json::from_value(value).map_err(|error| Flaw::new(error.to_string())).under(key)
}

/// The scheme with the parameters put over its own. Another scheme starts with none.
pub(super) fn merged(scheme: &SchemeFile, parameters: Map<String, Value>) -> Result<SchemeFile, Flaw> {
    let wrong = |error: serde_json::Error| Flaw::new(error.to_string());
    let another = parameters.get("scheme").is_some_and(|name| name != scheme.scheme.as_str());
    let mut merged = match serde_json::to_value(scheme).map_err(wrong)? {
        Value::Object(map) if !another => map,
        _ => Map::new(),
    };
    for (key, value) in parameters {
        if key == "variant" {
            return Err(Flaw::new("the variant is chosen by the integration's own `variant`"));
        }
        merged.insert(key, value);
    }
    serde_json::from_value(Value::Object(merged)).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parameters_can_be_listed() {
        assert!(check(&["tolerance".into(), "*".into()]).is_ok());
        assert!(check(&["event".into()]).is_err());
    }
}
