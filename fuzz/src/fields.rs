//! How fields are found in a document: the first line is a path to elements, the second a source of an id, the third a
//! time, and the rest is the document.

use std::sync::LazyLock;

use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, ProfileError, Profiles};
use serde_json::{Value, json};

use super::decode::holds_of;
use super::ways::{Delivery, configured};

/// No panic, the same events each time, and bytes cut out of the body, whatever a profile looks for.
pub fn holds(data: &[u8]) {
    let mut parts = data.splitn(4, |byte| *byte == b'\n');
    let mut line = || std::str::from_utf8(parts.next()?).ok();
    let (Some(path), Some(source), Some(time)) = (line(), line(), line()) else { return };
    let document = parts.next().unwrap_or_default();
    holds_of_time(time);

    let rule = json!({
        "each": [{"as": "item", "path": path}],
        "id": [source, "item:$.id"],
        "identity": ["p:{item:$.id}:{item:$.name}", source],
        "kind": ["item:$.kind", "const:some"],
        "occurred_at": "item:$.at",
        "without_id": [{"use": "digest", "window": "1d"}],
    });
    let Ok(configured) = configure(&json!({"event": rule})) else { return };
    let delivery = Delivery::new(document);
    let decoded = configured.decode(&delivery.request());
    assert_eq!(decoded, configured.decode(&delivery.request()), "another time it is another delivery");
    if let Ok(decoded) = decoded {
        holds_of(&decoded, document);
    }
}

static PROFILES: LazyLock<Profiles> = LazyLock::new(Profiles::built_in);
static STRIPE: LazyLock<Configured> = LazyLock::new(|| configured("stripe", None));

fn configure(overrides: &Value) -> Result<Configured, ProfileError> {
    let generic = "generic".parse().expect("a name");
    PROFILES.get(&generic)?.expect("a profile").configure(None, Some(overrides))
}

/// A time that is read is written as the same time, and an odd one loses no event.
fn holds_of_time(text: &str) {
    if let Some(at) = Timestamp::parse_rfc3339(text) {
        assert_eq!(Timestamp::parse_rfc3339(&at.to_string()), Some(at), "{text}");
    }
    let body = json!({"id": "evt_1", "object": "event", "type": "t", "created": text}).to_string();
    let decoded = STRIPE.decode(&Delivery::new(body.as_bytes()).request()).expect("an event");
    assert_eq!(decoded.events[0].event_id.as_deref(), Some("evt_1"));
}
