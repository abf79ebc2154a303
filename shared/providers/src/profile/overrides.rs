//! What an integration may change about a profile.

use serde_json::{Map, Value};

use super::error::{Flaw, Placed};
use super::file::{BodyFile, EventFile, KeepFile, OneOrMany, ProfileFile, SchemeFile, UnsupportedFile};

/// What a profile may list under `overridable`: parameters of its scheme, or `*` for everything.
const PARAMETERS: [&str; 13] = [
    "algorithm",
    "encoding",
    "key_encoding",
    "header",
    "header_prefixes",
    "prefix",
    "list",
    "signed",
    "id",
    "timestamp",
    "timestamp_unit",
    "tolerance",
    "tolerance_sides",
];
pub(super) fn check(overridable: &[String]) -> Result<(), Flaw> {
    for (index, key) in overridable.iter().enumerate() {
        if key != "*" && !PARAMETERS.contains(&key.as_str()) {
            let flaw = Flaw::new(format!("`{key}` is no parameter of a scheme, and not `*`"));
            return Err(flaw).at(index).under("overridable");
        }
    }
    Ok(())
}

/// The profile and the scheme as the integration changes them.
pub(super) fn apply(
    file: &ProfileFile,
    scheme: &SchemeFile,
    overrides: &Value,
) -> Result<(ProfileFile, SchemeFile), Flaw> {
    let overrides = overrides
        .as_object()
        .ok_or_else(|| Flaw::new("the integration's `verify` is not a table"))?;
    let everything = file.overridable.iter().any(|key| key == "*");
    for key in overrides.keys() {
        // How old a signature may be is the one thing that every integration may decide.
        if !everything && key != "tolerance" && !file.overridable.contains(key) {
            return Err(Flaw::new(format!("`{key}` is fixed for this provider")));
        }
    }
    let mut file = file.clone();
    let mut parameters = Map::new();
    for (key, value) in overrides {
        match key.as_str() {
            "body" => file.body = read::<BodyFile>("body", value)?,
            "event" => file.event = events(value)?,
            "unsupported" => file.unsupported = read::<UnsupportedFile>("unsupported", value)?,
            "keep" => file.keep = read::<KeepFile>("keep", value)?,
            "kinds" => {
                let kinds = read::<OneOrMany>("kinds", value)?;
                for event in &mut file.event {
                    event.kinds = kinds.as_slice().to_vec();
                }
            }
            _ => {
                parameters.insert(key.clone(), value.clone());
            }
        }
    }
    Ok((file, merged(scheme, parameters)?))
}

/// One rule or a list of them, instead of the profile's.
fn events(value: &Value) -> Result<Vec<EventFile>, Flaw> {
    if value.is_array() {
        read("event", value)
    } else {
        Ok(vec![read("event", value)?])
    }
}

fn read<T: serde::de::DeserializeOwned>(key: &'static str, value: &Value) -> Result<T, Flaw> {
    serde_json::from_value(value.clone())
        .map_err(|error| Flaw::new(error.to_string()))
        .under(key)
}

/// The scheme with the parameters put over its own. Another scheme starts with none.
fn merged(scheme: &SchemeFile, parameters: Map<String, Value>) -> Result<SchemeFile, Flaw> {
    let wrong = |error: serde_json::Error| Flaw::new(error.to_string());
    let another = parameters
        .get("scheme")
        .is_some_and(|name| name != scheme.scheme.as_str());
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
