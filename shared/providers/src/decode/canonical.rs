//! The canonical event: what has to differ for two deliveries of one id to be a conflict.

use hookbox_core::digest::Digest;
use serde_json::Value;

/// The digest of a value without what these JSON pointers name.
pub(crate) fn digest(value: &Value, volatile: &[String]) -> Digest {
    if volatile.iter().all(|pointer| value.pointer(pointer).is_none()) {
        return Digest::of_canonical_json(value);
    }
    let mut value = value.clone();
    for pointer in volatile {
        remove(&mut value, pointer);
    }
    Digest::of_canonical_json(&value)
}

/// Removes a member of an object; anything else stays as it is.
fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(map)) = value.pointer_mut(parent) {
        map.remove(&name.replace("~1", "/").replace("~0", "~"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn volatile_fields_do_not_count_and_everything_else_does() {
        let volatile = ["/n".to_owned(), "/a/x~1y".to_owned(), "/none".to_owned()];
        let one = digest(&json!({"id": 1, "n": 1, "a": {"x/y": 1, "z": 2}}), &volatile);
        assert_eq!(one, digest(&json!({"id": 1, "n": 2, "a": {"x/y": 9, "z": 2}}), &volatile));
        assert_eq!(one, digest(&json!({"a": {"z": 2}, "id": 1}), &volatile));
        assert_ne!(one, digest(&json!({"id": 1, "n": 1, "a": {"x/y": 1, "z": 3}}), &volatile));
    }
}
