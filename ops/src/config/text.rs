//! An integration in the words of `hookbox.toml`, with every default written out: what the differences are shown in.

use std::time::Duration;

use hookbox_core::integration::{Idempotency, Integration, Operation, Target};
use serde_json::Value;

/// The integration as it could stand in a file. Secrets are references, so nothing secret is in it.
pub fn of(integration: &Integration) -> String {
    let mut lines = Lines::default();
    lines.0.push("[[integration]]".to_owned());
    lines.text("provider", integration.provider.as_str());
    lines.text("account", integration.account.as_str());
    if let Some(url) = &integration.url {
        lines.text("url", url);
    }
    let secrets: Vec<_> = integration.secrets.iter().map(ToString::to_string).collect();
    lines.list("secrets", secrets.iter().map(|secret| quoted(secret)));
    if let Some(variant) = &integration.variant {
        lines.text("variant", variant);
    }
    if let Some(verify) = &integration.verify {
        lines.set("verify", &value(verify));
    }
    if !integration.tenants.is_empty() {
        lines.list("tenants", integration.tenants.iter().map(|tenant| quoted(tenant)));
    }
    lines.duration("payload_retention", integration.retention.payload);
    lines.duration("receipt_retention", integration.retention.receipt);
    for operation in &integration.operations {
        lines.operation(operation);
    }
    lines.0.push(String::new());
    lines.0.join("\n")
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn set(&mut self, key: &str, value: &str) {
        self.0.push(format!("{key} = {value}"));
    }

    fn text(&mut self, key: &str, text: &str) {
        self.set(key, &quoted(text));
    }

    fn list(&mut self, key: &str, items: impl Iterator<Item = String>) {
        let items: Vec<_> = items.collect();
        self.set(key, &format!("[{}]", items.join(", ")));
    }

    fn duration(&mut self, key: &str, duration: Duration) {
        self.text(key, &period(duration));
    }

    fn operation(&mut self, operation: &Operation) {
        self.0.push(String::new());
        self.0.push("[[integration.operation]]".to_owned());
        self.text("name", operation.name.as_str());
        match &operation.target {
            Target::Http { url, signing_secret, not_done_statuses } => {
                self.text("type", "http");
                self.text("url", url);
                self.text("signing_secret", &signing_secret.to_string());
                if !not_done_statuses.is_empty() {
                    self.list("not_done_statuses", not_done_statuses.iter().map(ToString::to_string));
                }
            }
            Target::Sqs { queue_url } => {
                self.text("type", "sqs");
                self.text("queue_url", queue_url);
            }
            Target::Custom { name, settings } => {
                self.text("type", name);
                if !settings.is_null() {
                    self.set("settings", &value(settings));
                }
            }
        }
        match &operation.idempotency {
            Idempotency::Key { retention } => {
                self.text("idempotency", "key");
                self.duration("key_retention", *retention);
            }
            Idempotency::Reconcile { url } => {
                self.text("idempotency", "reconcile");
                self.text("reconcile_url", url);
            }
            Idempotency::None => self.text("idempotency", "none"),
        }
        self.duration("timeout", operation.timeout);
        self.list("schedule", operation.schedule.delays().iter().map(|delay| quoted(&period(*delay))));
        if !operation.kinds.is_empty() {
            self.list("kinds", operation.kinds.iter().map(|kind| quoted(kind)));
        }
    }
}

/// A duration as people write it: `24h` rather than `1day`.
pub fn period(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() != 0 || seconds == 0 {
        return format!("{}ms", duration.as_millis());
    }
    match seconds {
        // Up to two days in hours, as the documents speak of them.
        s if s % 86_400 == 0 && s > 2 * 86_400 => format!("{}d", s / 86_400),
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s % 60 == 0 && s > 120 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A JSON value as inline TOML, keys in order, so that equal values read equally.
fn value(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<_> =
                entries.into_iter().map(|(key, inner)| format!("{} = {}", bare(key), self::value(inner))).collect();
            if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(self::value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn bare(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain { key.to_owned() } else { quoted(key) }
}
