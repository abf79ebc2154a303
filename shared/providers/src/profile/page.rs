//! `docs/providers.md`: what the profiles say, for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::file::{EventFile, HandshakeFile, OneOrMany};
use super::{Profile, Profiles};

const HEAD: &str = "# Providers

Written from the profiles in `shared/providers/profiles`; a test keeps it so. How a profile is made:
[adding-a-provider.md](adding-a-provider.md). How one is used: [configuration.md](configuration.md).

*Identity* is what makes two deliveries the same event, in the words of the profile; *weak* is one that may take two
events for one, and is believed only for a while.
";

impl Profiles {
    /// The page about all profiles, in Markdown.
    pub fn page(&self) -> String {
        let mut page = HEAD.to_owned();
        for name in self.names() {
            if let Some(Ok(Some(profile))) = name.parse().ok().map(|provider| self.get(&provider)) {
                profile.write(&mut page);
            }
        }
        page
    }
}

impl Profile {
    fn write(&self, page: &mut String) {
        let file = &self.file;
        let schemes = file.verify.iter().map(|scheme| match &scheme.variant {
            Some(variant) => format!("`{}` (variant `{variant}`)", scheme.scheme),
            None => format!("`{}`", scheme.scheme),
        });
        let schemes = schemes.collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "\n## {} (`{}`)\n", self.title(), self.name());
        let mut line = |label: &str, text: String| {
            if !text.is_empty() {
                // Writing to a text cannot fail.
                let _ = writeln!(page, "- {label}: {text}");
            }
        };
        line("To do at the provider", self.setup().join(" "));
        line("Verified by", schemes);
        line("Tenants", file.tenants.as_ref().map(|_| "the integration must list them".to_owned()).unwrap_or_default());
        line("Handshakes", unique(file.handshake.iter().map(handshake)).join("; "));
        line("Identity", unique(file.event.iter().map(identity)).join("; "));
        line("Answers within", self.response_budget().map(shown).unwrap_or_default());
        line("May deliver again for", self.retry_horizon().map(shown).unwrap_or_default());
        line("Retries", self.retries().to_owned());
        line("Documentation", self.documentation().iter().map(|url| format!("<{url}>")).collect::<Vec<_>>().join(", "));
    }
}

pub(super) fn handshake(file: &HandshakeFile) -> String {
    let trust = match (&file.token, file.unsigned) {
        (Some(_), _) => "with a token",
        (None, true) => "unsigned",
        (None, false) => "verified",
    };
    let does = match (&file.echo, &file.confirm) {
        (_, Some(_)) => ", confirmed by a fetch".to_owned(),
        (Some(echo), None) if file.answer.body.contains("{echo_hmac}") => {
            format!(", the HMAC of `{echo}` is sent back")
        }
        (Some(echo), None) => format!(", `{echo}` is sent back"),
        (None, None) => String::new(),
    };
    format!("{} {trust}{does}", file.method)
}

fn identity(rule: &EventFile) -> String {
    let by_id: &OneOrMany = if rule.identity.as_slice().is_empty() { &rule.id } else { &rule.identity };
    let mut ways: Vec<String> = by_id.as_slice().iter().map(|source| format!("`{source}`")).collect();
    ways.extend(rule.without_id.iter().map(|fallback| match fallback.method.as_str() {
        "digest" => format!("weak, by content for {}", fallback.window),
        _ => format!("weak, by resource and kind for {}", fallback.window),
    }));
    ways.join(" or ")
}

pub(super) fn unique(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

fn shown(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds % 86_400 == 0 => format!("{} d", seconds / 86_400),
        seconds if seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
