//! A rule of a profile: which elements of a delivery it takes, and what their fields are.

use std::collections::HashSet;
use std::time::Duration;

use hookbox_core::event::IdentityWindow;
use serde_json::Value;

use super::condition::Condition;
use super::json::Json;
use super::path::{Path, Place, list, widened};
use super::source::Sources;
use super::time::Unit;
use crate::profile::duration;
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{EventFile, StepFile};

/// One rule, ready to use.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) steps: Vec<Step>,
    /// Conditions on the delivery: where one fails, the rule is not looked at.
    pub(crate) delivery: Vec<Condition>,
    /// Conditions on the element.
    pub(crate) when: Vec<Condition>,
    pub(crate) kinds: HashSet<String>,
    pub(crate) ignore: Option<String>,
    pub(crate) fields: Fields,
    pub(crate) without_id: Vec<Fallback>,
    pub(crate) volatile: Vec<String>,
}

/// One step of the way to an element.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) path: Path,
    /// The same without its filter.
    pub(crate) all: Option<Path>,
    /// The list whose elements it chooses from.
    list: Option<Path>,
}

/// Where the fields of an event come from.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) id: Sources,
    pub(crate) identity: Sources,
    pub(crate) kind: Sources,
    pub(crate) resource: Sources,
    pub(crate) tenant: Sources,
    pub(crate) version: Sources,
    pub(crate) occurred_at: Sources,
    pub(crate) time_unit: Unit,
}

/// What an event without an id of its own is known by, and for how long that is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    LeadEvent(IdentityWindow),
    Digest(IdentityWindow),
}

impl Rule {
    /// `documents` are the names that every rule may use: `body` and the documents inside it.
    pub(crate) fn compile(file: &EventFile, documents: &[String]) -> Result<Self, Flaw> {
        let mut names: Vec<&str> = documents.iter().map(String::as_str).collect();
        let mut steps = Vec::new();
        for (index, step) in file.each.iter().enumerate() {
            steps.push(Step::compile(step, &names).at(index).under("each")?);
            names.push(&step.name);
        }
        let sources = |texts: &[String], joined_key| Sources::compile(texts, &names, joined_key);
        let fields = Fields {
            id: sources(file.id.as_slice(), false).under("id")?,
            identity: sources(file.identity.as_slice(), true).under("identity")?,
            kind: sources(file.kind.as_slice(), false).under("kind")?,
            resource: sources(file.resource.as_slice(), false).under("resource")?,
            tenant: sources(file.tenant.as_slice(), false).under("tenant")?,
            version: sources(file.version.as_slice(), false).under("version")?,
            occurred_at: sources(file.occurred_at.as_slice(), false).under("occurred_at")?,
            time_unit: Unit::compile(file.time_unit.as_deref()).under("time_unit")?,
        };
        if fields.kind.is_empty() {
            return Err(Flaw::new("an event has a kind: say where it stands")).under("kind");
        }
        if fields.id.is_empty() && fields.identity.is_empty() && file.without_id.is_empty() && file.ignore.is_none() {
            return Err(Flaw::new("nothing says what makes two deliveries the same event")).under("id");
        }
        let mut without_id = Vec::new();
        for (index, fallback) in file.without_id.iter().enumerate() {
            let compiled = Fallback::compile(&fallback.method, &fallback.window);
            without_id.push(compiled.at(index).under("without_id")?);
        }
        if without_id.iter().any(|fallback| matches!(fallback, Fallback::LeadEvent(_))) && fields.resource.is_empty() {
            return Err(Flaw::new("an event is known by its resource, and nothing says where that stands"))
                .under("without_id");
        }
        for (index, pointer) in file.volatile.iter().enumerate() {
            if !pointer.starts_with('/') {
                let flaw = Flaw::new(format!("`{pointer}` is not a JSON pointer: it begins with a /"));
                return Err(flaw).at(index).under("volatile");
            }
        }
        let when = file.when.iter().enumerate();
        let (delivery, when) = when
            .map(|(index, file)| Condition::compile(file, &names).at(index).under("when"))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .partition(|condition: &Condition| condition.is_about_delivery(documents.len()));
        Ok(Self {
            steps,
            delivery,
            when,
            kinds: file.kinds.iter().cloned().collect(),
            ignore: file.ignore.clone(),
            fields,
            without_id,
            volatile: file.volatile.clone(),
        })
    }
}

impl Step {
    fn compile(file: &StepFile, names: &[&str]) -> Result<Self, Flaw> {
        let reserved = ["body", "header", "query", "form", "const", "digest", "member", "after"];
        if names.contains(&file.name.as_str()) || reserved.contains(&file.name.as_str()) {
            return Err(Flaw::new(format!("`{}` already means something", file.name))).under("as");
        }
        let path = Path::compile(&file.path).under("path")?;
        Ok(Self { path, all: widened(&file.path).under("path")?, list: list(&file.path).under("path")? })
    }

    /// How many elements the list has that it chooses from, if there is one.
    pub(crate) fn length_at(&self, json: &Json<'_>, place: Place<'_>) -> Option<usize> {
        match self.list.as_ref()?.places(json, place).as_slice() {
            [(_, Value::Array(items))] => Some(items.len()),
            _ => None,
        }
    }

    pub(crate) fn all(&self) -> &Path {
        self.all.as_ref().unwrap_or(&self.path)
    }
}

impl Fallback {
    fn compile(method: &str, window: &str) -> Result<Self, Flaw> {
        let window = duration::parse(window).under("window")?;
        if window == Duration::ZERO {
            return Err(Flaw::new("a window of no length would make every retry a new event")).under("window");
        }
        match method {
            "lead-event" => Ok(Self::LeadEvent(IdentityWindow(window))),
            "digest" => Ok(Self::Digest(IdentityWindow(window))),
            other => Err(Flaw::new(format!("`{other}` is no way to know an event; there are lead-event and digest")))
                .under("use"),
        }
    }
}
