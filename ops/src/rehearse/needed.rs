//! The integration that a rehearsal needs: one operation for each way in which a destination behaves, each required by
//! events of a kind of its own.

use std::fmt::Write as _;

use hookbox_core::integration::{Integration, Operation, SecretRef, Target};
use hookbox_core::name::{Account, Provider};

use crate::config::ConfigFile;
use crate::config::source::Source;
use crate::failure::{Failure, Trouble};

/// How a destination behaves, and what makes a repetition safe there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It works.
    Works,
    /// It fails twice, then works.
    FailsTwice,
    /// It never works.
    Down,
    /// It works, its answer is lost, and it remembers the key.
    LostKey,
    /// It works, its answer is lost, and it can be asked.
    LostAsked,
    /// It works, its answer is lost, and nothing makes a repetition safe.
    LostUnsafe,
    /// It works, and the worker dies before its call.
    DiesBefore,
    /// It works, and the worker dies after its call.
    DiesAfter,
}

impl Part {
    const ALL: [Self; 8] = [
        Self::Works,
        Self::FailsTwice,
        Self::Down,
        Self::LostKey,
        Self::LostAsked,
        Self::LostUnsafe,
        Self::DiesBefore,
        Self::DiesAfter,
    ];

    /// The operation's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::FailsTwice => "fails-twice",
            Self::Down => "down",
            Self::LostKey => "lost-key",
            Self::LostAsked => "lost-asked",
            Self::LostUnsafe => "lost-unsafe",
            Self::DiesBefore => "dies-before",
            Self::DiesAfter => "dies-after",
        }
    }

    /// The kind of event that requires it.
    pub(super) fn kind(self) -> String {
        format!("rehearsal.{}", self.name())
    }

    fn path(self) -> &'static str {
        match self {
            Self::Works | Self::DiesBefore | Self::DiesAfter => "/ok",
            Self::FailsTwice => "/fail/2",
            Self::Down => "/down",
            Self::LostKey | Self::LostAsked | Self::LostUnsafe => "/drop",
        }
    }

    fn idempotency(self) -> &'static str {
        match self {
            Self::LostAsked => "reconcile",
            Self::LostUnsafe => "none",
            _ => "key",
        }
    }
}

/// The part of a hookbox.toml that declares the integration, with a sandbox at `base`.
pub(super) fn configuration(
    provider: &Provider,
    account: &Account,
    base: &str,
    secrets: &[SecretRef],
    signing: &SecretRef,
) -> String {
    let secrets: Vec<_> = secrets.iter().map(|secret| format!("\"{secret}\"")).collect();
    let mut text = format!(
        "[[integration]]\nprovider = \"{provider}\"\naccount = \"{account}\"\nsecrets = [{}]\n",
        secrets.join(", ")
    );
    for part in Part::ALL {
        let (name, kind, path, idempotency) = (part.name(), part.kind(), part.path(), part.idempotency());
        // Writing to a text never fails.
        let _ = write!(
            text,
            "\n[[integration.operation]]\nname = \"{name}\"\nkinds = [\"{kind}\"]\ntype = \"http\"\n\
             url = \"{base}{path}\"\nsigning_secret = \"{signing}\"\nidempotency = \"{idempotency}\"\n\
             timeout = \"10s\"\nschedule = [\"1s\", \"1s\"]\n"
        );
        if part == Part::LostAsked {
            let _ = writeln!(text, "reconcile_url = \"{base}/effects/{{job_key}}\"");
        }
    }
    text
}

/// Where the sandbox of an applied integration is. Refused where the integration was not applied for rehearsals.
pub(super) fn sandbox_of(applied: &Integration) -> Result<String, Failure> {
    let name = format!("{}/{}", applied.provider, applied.account);
    let refuse = |why: String| {
        let config = format!(
            "hookbox rehearse config http://SANDBOX --provider {} --account {} prints what it needs; apply that",
            applied.provider, applied.account
        );
        Failure::Refused(Trouble::new(format!("rehearse with {name}"), why).advise(config))
    };
    if !is_marked(&applied.account) {
        return Err(refuse(
            "it is not marked for rehearsals: its account is neither `rehearsal` nor begins with `rehearsal-`, and a \
             rehearsal has effects and pauses operations"
                .to_owned(),
        ));
    }
    let first = applied.operations.iter().find(|operation| operation.name.as_str() == Part::Works.name());
    let target = first.and_then(http);
    let base = target.and_then(|(url, signing)| Some((url.strip_suffix(Part::Works.path())?, signing)));
    let Some((base, signing)) = base else {
        return Err(refuse(format!(
            "it has no operation `{}` that leads to {} of a sandbox",
            Part::Works.name(),
            Part::Works.path()
        )));
    };
    let text = configuration(&applied.provider, &applied.account, base, &applied.secrets, signing);
    let needed = ConfigFile::parse(Source::new("the rehearsal's own configuration", text))?;
    let needed = needed.declared.first().map_or(&[][..], |declared| &declared.integration.operations);
    if let Some(different) = needed.iter().find(|operation| !applied.operations.contains(operation)) {
        return Err(refuse(format!("its operation `{}` is not the one that a rehearsal needs", different.name)));
    }
    if let Some(extra) = applied.operations.iter().find(|operation| !needed.contains(operation)) {
        return Err(refuse(format!("its operation `{}` is none of a rehearsal", extra.name)));
    }
    Ok(base.to_owned())
}

/// Whether an account is there for rehearsals alone.
fn is_marked(account: &Account) -> bool {
    account.as_str() == "rehearsal" || account.as_str().starts_with("rehearsal-")
}

fn http(operation: &Operation) -> Option<(&str, &SecretRef)> {
    match &operation.target {
        Target::Http { url, signing_secret, .. } => Some((url, signing_secret)),
        Target::Sqs { .. } | Target::Custom { .. } => None,
    }
}

/// The secret that calls of the applied integration are signed with.
pub(super) fn signing_secret(applied: &Integration) -> Option<&SecretRef> {
    applied.operations.first().and_then(http).map(|(_, signing)| signing)
}
