//! What is said about a delivery, and what to check where it is not valid.

use std::io;

use hookbox_core::time::Timestamp;
use hookbox_providers::{Configured, Misconfiguration, Reason, Verdict};
use serde::Serialize;

use super::secret::SecretFrom;
use crate::terminal::{Terminal, Tone};

/// What a delivery turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The provider's.
    Valid { secret_index: usize, signed_at: Option<Timestamp> },
    /// A handshake that is believed; ingest answers it with this status.
    Handshake { status: u16 },
    /// A handshake that is believed; ingest answers it after it has visited the address that it names.
    Confirmation,
    /// Nobody's.
    Invalid(Reason),
    /// Nothing could be valid with these settings.
    Misconfigured(Misconfiguration),
}

/// How it was judged.
pub(super) struct Circumstances<'a> {
    pub(super) configured: &'a Configured,
    pub(super) secrets: &'a [SecretFrom],
    /// Whether the address is known that the provider called.
    pub(super) url: bool,
    /// Whether it is known when it arrived.
    pub(super) arrived: bool,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) valid: bool,
    /// Why not, in a word for programs.
    reason: Option<&'static str>,
    says: String,
    /// The secret that it is valid with, by the place that it was read from.
    secret: Option<String>,
    signed_at: Option<String>,
    #[serde(skip)]
    signed: Option<Timestamp>,
    check: Vec<String>,
}

/// A verdict in words.
pub(super) fn says(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Valid { .. } => "it is valid".to_owned(),
        Verdict::Invalid(reason) => format!("{reason} ({})", reason.code()),
        Verdict::Misconfigured(reason) => reason.to_string(),
        Verdict::NeedsFetch { .. } => "it needs a document that is not given".to_owned(),
    }
}

impl Report {
    /// `remedies` are small changes with which it would be valid.
    pub(super) fn of(finding: &Finding, circumstances: &Circumstances<'_>, remedies: Vec<String>) -> Self {
        let valid = |says: String| Self {
            valid: true,
            reason: None,
            says,
            secret: None,
            signed_at: None,
            signed: None,
            check: Vec::new(),
        };
        match finding {
            Finding::Valid { secret_index, signed_at } => {
                let secret = circumstances.secret(*secret_index);
                let with = secret.as_ref().map_or_else(
                    || "vouched for by the certificate or key that the provider publishes".to_owned(),
                    |secret| format!("with {secret}{}", circumstances.place(*secret_index)),
                );
                let tenants = if circumstances.configured.requires_tenants() {
                    "; ingest takes it for the integration's `tenants` only"
                } else {
                    ""
                };
                let signed = *signed_at;
                Self { secret, signed, signed_at: signed.map(|at| at.to_string()), ..valid(format!("{with}{tenants}")) }
            }
            Finding::Handshake { status } => valid(format!("a handshake, which ingest answers with {status}")),
            Finding::Confirmation => {
                valid("a handshake, which ingest answers after it has visited the address that it names".to_owned())
            }
            Finding::Invalid(reason) => Self {
                valid: false,
                reason: Some(reason.code()),
                says: reason.to_string(),
                secret: None,
                signed_at: None,
                signed: None,
                check: [remedies, circumstances.checks(*reason)].concat(),
            },
            Finding::Misconfigured(reason) => Self { valid: false, ..valid(reason.to_string()) },
        }
    }

    pub(super) fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if self.valid {
            let signed = self.signed.map(|at| format!(", signed at {}", terminal.time(at))).unwrap_or_default();
            let word = terminal.paint(Tone::Good, "valid");
            return terminal.say(format_args!("{word}: {}{signed}", self.says));
        }
        let word = terminal.paint(Tone::Bad, "not valid");
        let code = self.reason.map(|code| format!(" ({code})")).unwrap_or_default();
        terminal.say(format_args!("{word}: {}{code}", self.says))?;
        for check in &self.check {
            terminal.say(format_args!("  check: {check}"))?;
        }
        Ok(())
    }
}

impl Circumstances<'_> {
    fn secret(&self, index: usize) -> Option<String> {
        if !self.configured.needs_secret() {
            return None;
        }
        self.secrets.get(index).map(ToString::to_string)
    }

    fn place(&self, index: usize) -> String {
        if self.secrets.len() > 1 { format!(" ({} of {})", index + 1, self.secrets.len()) } else { String::new() }
    }

    /// What makes the settings usable.
    pub(super) fn advice(&self, reason: Misconfiguration) -> String {
        match reason {
            Misconfiguration::NoSecret => {
                "--secret-from env:NAME, ssm:/path or file:PATH, or --account for those of hookbox.toml".to_owned()
            }
            Misconfiguration::SecretEncoding { index } => {
                let secret = self.secrets.get(index).map_or_else(|| "the secret".to_owned(), ToString::to_string);
                format!("whether {secret} holds it exactly as the provider shows it, without blanks or quotes")
            }
            Misconfiguration::NoUrl => "--url with the address that the provider was given".to_owned(),
            Misconfiguration::NoVerifyToken => {
                "--secret-from with a secret that is `verify_token:` and the token of the handshake".to_owned()
            }
            Misconfiguration::NoEmail => {
                "--account, with `verify = { email = \"…\" }` in that connection of hookbox.toml".to_owned()
            }
        }
    }

    fn checks(&self, reason: Reason) -> Vec<String> {
        let mut checks: Vec<&str> = Vec::new();
        match reason {
            Reason::MissingSignature | Reason::MissingId | Reason::MissingTimestamp => {
                checks.push(
                    "--headers with all headers of the delivery; a proxy before the endpoint may have taken some away",
                );
                checks.push("whether the provider signs at all: some do only after a secret was set there");
            }
            Reason::DuplicateHeader => checks.push("which proxy before the endpoint adds a header a second time"),
            Reason::MalformedSignature | Reason::MalformedId | Reason::MalformedTimestamp => {
                checks.push("whether the headers are whole, as they came, without quotes or line breaks");
                checks.push("whether they are this provider's, and of the variant that is configured (--variant)");
            }
            Reason::NoUsableSignature => {
                checks.push("which version or algorithm the provider is set to, and --variant");
            }
            Reason::TooManySignatures => checks.push("who sends it: no provider does"),
            Reason::SignatureMismatch | Reason::CredentialMismatch => self.mismatch(&mut checks),
            Reason::TooOld => {
                if !self.arrived {
                    checks.push("--at with the time at which it arrived: without it, it is judged as of now");
                }
                checks.push("whether it was sent again from a record: providers sign each repetition anew");
                checks.push("`tolerance` in the integration's `verify` table");
            }
            Reason::TooNew => {
                checks.push("--at, and the clock of whoever signed it");
            }
            Reason::MissingCredential | Reason::MalformedCredential => {
                if self.configured.has_secret_path() {
                    checks.push("--url with the secret as the last segment of its path");
                } else {
                    checks
                        .push("--headers with all headers of the delivery; a proxy may have taken the credential away");
                }
            }
            Reason::NoSuchDocument => {
                checks.push("who sends it, or how old it is: the provider has no such certificate or key set now");
            }
            Reason::ForeignUrl => checks.push("who sends it: the certificate is not at the provider's own address"),
            Reason::UnusableChallenge => {
                checks
                    .push("what the provider sends as its challenge: it is sent back only where it is short and plain");
            }
            Reason::BodyNotSigned => checks.push("the content type: the signature covers other bodies only"),
            Reason::BadCertificate => {
                checks.push("--at with the time at which it arrived, when the certificate was valid");
                checks.push("`trusted` in the integration's `verify` table, if somebody else issues the certificate");
            }
            Reason::UnknownKey => {
                checks.push("how old the delivery is: only the keys that the provider publishes today are fetched");
            }
        }
        checks.into_iter().map(str::to_owned).collect()
    }

    fn mismatch(&self, checks: &mut Vec<&str>) {
        if self.configured.needs_secret() {
            checks.push("whether the secret is that of this very endpoint, of live or test mode as the delivery is");
            checks.push("whether the secret was copied whole, without blanks or quotes around it");
        }
        if !matches!(self.configured.scheme(), "basic" | "bearer" | "token" | "path-token" | "oidc") {
            checks.push("whether the body is byte for byte what came: not formatted, not decoded, nothing added");
        }
        if self.configured.signs_url() {
            checks.push(if self.url {
                "--url: scheme, host, port, path and query are signed exactly as the provider was given them"
            } else {
                "--url with the address that the provider was given: it is part of what is signed"
            });
        }
        if self.configured.scheme() == "oidc" {
            checks.push("`email` and `audience` in the integration's `verify` table are those of the subscription");
        }
    }
}
