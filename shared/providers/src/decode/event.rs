//! From an element to an event.

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, IdentityWindow, Payload};
use hookbox_core::limits::MAX_FIELD_BYTES;
use hookbox_core::time::ExactTime;

use super::envelope::Envelopes;
use super::json::NodeId;
use super::rule::{Fallback, Rule};
use super::select::Found;
use super::source::{Bound, Sources, View};
use super::{DecodeError, Fault, MAX_DELIVERY_PAYLOAD_BYTES, Reading, form};

/// The kind of an element that does not say what it is.
const UNKNOWN_KIND: &str = "unknown";
const NO_RULE: &str = "no rule of the profile takes this element";
const KIND_NOT_LISTED: &str = "the kind is not among those that the profile supports";

/// Everything about an event but its bytes.
struct Head {
    identity: Identity,
    weak: Option<IdentityWindow>,
    event_id: Option<String>,
    kind: String,
    resource: Option<String>,
    tenant: Option<String>,
    occurred_at: Option<ExactTime>,
    version: Option<String>,
    disposition: Disposition,
}

impl Reading<'_> {
    /// The events, and when each happened to the last digit.
    pub(super) fn events(&self, found: &[Found<'_, '_>]) -> Result<(Vec<Event>, Vec<Option<ExactTime>>), DecodeError> {
        let ids: Vec<NodeId> = found.iter().map(|found| found.place.0).collect();
        let envelopes = (ids.len() > 1).then(|| Envelopes::new(self.json, &ids));
        let (mut events, mut times) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
        let mut room = MAX_DELIVERY_PAYLOAD_BYTES;
        for element in found {
            let (head, digest) = self.head(element, found.len() > 1)?;
            let body = self.bytes(element.place.0, envelopes.as_ref());
            room = room.checked_sub(body.len()).ok_or(DecodeError::TooLarge { limit: MAX_DELIVERY_PAYLOAD_BYTES })?;
            times.push(head.occurred_at);
            events.push(self.event(head, digest, body));
        }
        Ok((events, times))
    }

    fn event(&self, head: Head, digest: Digest, body: Vec<u8>) -> Event {
        let Head { identity, weak, event_id, kind, resource, tenant, occurred_at, version, disposition } = head;
        let occurred_at = occurred_at.map(ExactTime::to_timestamp);
        let kept = |name: &String| Some((name.clone(), self.request.header(name).ok().flatten()?.to_owned()));
        let payload = Payload {
            body,
            content_type: self.request.content_type().map(str::to_owned),
            headers: self.decoder.keep_headers.iter().filter_map(kept).collect(),
            query: self.request.query.filter(|_| self.decoder.keep_query).map(str::to_owned),
        };
        Event { identity, weak, event_id, kind, resource, tenant, occurred_at, version, disposition, digest, payload }
    }

    /// The event's own bytes: the body as it is, or for an element of a batch the envelope around it.
    fn bytes(&self, id: NodeId, envelopes: Option<&Envelopes<'_>>) -> Vec<u8> {
        let Some(envelopes) = envelopes else {
            return self.request.body.to_vec();
        };
        let envelope = envelopes.of(id);
        let place = match (self.form, &self.decoder.form_json) {
            (Some(form), Some(name)) => form.place(name),
            _ => None,
        };
        match place {
            Some(place) => [&self.text[..place.start], &form::escape(&envelope), &self.text[place.end..]].concat(),
            None => envelope,
        }
        .into_bytes()
    }

    fn head(&self, element: &Found<'_, '_>, batch: bool) -> Result<(Head, Digest), DecodeError> {
        let volatile = element.rule.map_or(&[] as &[String], |rule| &rule.volatile);
        let mut bound = self.bound.to_vec();
        match element.rule {
            Some(_) => bound.extend(element.steps.iter().map(|place| Some(Bound { json: self.json, place: *place }))),
            // Here the element itself has a name: `element`.
            None => bound.push(Some(Bound { json: self.json, place: element.place })),
        }
        let view = View { request: self.request, form: self.form, bound: &bound, volatile };
        let digest = view.digest(element.place.1);
        let head = match element.rule {
            Some(rule) => self.taken(rule, &view, digest, batch)?,
            None => self.untaken(&view, digest, batch)?,
        };
        Ok((head, digest))
    }

    fn taken(&self, rule: &Rule, view: &View<'_>, digest: Digest, batch: bool) -> Result<Head, DecodeError> {
        let fields = &rule.fields;
        let kind = || required(&fields.kind, "kind", view).unwrap_or_else(|_| UNKNOWN_KIND.to_owned());
        let lenient = |sources: &Sources| optional(sources, "", view).ok().flatten();
        match read(rule, view, digest, self.decoder.evidence_window) {
            Err(DecodeError::Unsupported { reason }) if batch || !self.decoder.unsupported.reject => {
                let mut head = self.evidence(digest, kind(), Disposition::Ignored(reason.to_owned()));
                // It is known by its own id if it has one: once its kind is supported, that is still its receipt.
                if let Ok((identity, weak)) = identity(rule, view, digest, &head.kind) {
                    (head.identity, head.weak) = (identity, weak);
                }
                head.event_id = lenient(&fields.id);
                head.resource = lenient(&fields.resource);
                head.tenant = lenient(&fields.tenant);
                Ok(head)
            }
            Err(error) if batch => {
                let head = self.evidence(digest, kind(), Disposition::Rejected(error.to_string()));
                Ok(Head { tenant: lenient(&fields.tenant), ..head })
            }
            other => other,
        }
    }

    /// An element that no rule takes: of an unsupported kind, or, where it does not even say its kind, of no documented
    /// shape.
    fn untaken(&self, view: &View<'_>, digest: Digest, batch: bool) -> Result<Head, DecodeError> {
        let sources = &self.decoder.unsupported.kind;
        let ignored = Disposition::Ignored(NO_RULE.to_owned());
        match required(sources, "kind", view) {
            Ok(_) if !batch && self.decoder.unsupported.reject => Err(DecodeError::Unsupported { reason: NO_RULE }),
            Ok(kind) => Ok(self.evidence(digest, kind, ignored)),
            Err(_) if sources.is_empty() => Ok(self.evidence(digest, UNKNOWN_KIND.to_owned(), ignored)),
            Err(error) if batch => {
                Ok(self.evidence(digest, UNKNOWN_KIND.to_owned(), Disposition::Rejected(error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    /// An event that nothing is done about, known by its content for as long as the provider may send it again.
    fn evidence(&self, digest: Digest, kind: String, disposition: Disposition) -> Head {
        Head {
            identity: Identity::Content { digest },
            weak: Some(self.decoder.evidence_window),
            event_id: None,
            kind,
            resource: None,
            tenant: None,
            occurred_at: None,
            version: None,
            disposition,
        }
    }
}

fn read(rule: &Rule, view: &View<'_>, digest: Digest, evidence: IdentityWindow) -> Result<Head, DecodeError> {
    let fields = &rule.fields;
    let kind = required(&fields.kind, "kind", view)?;
    if !rule.kinds.is_empty() && !rule.kinds.contains(&kind) {
        return Err(DecodeError::Unsupported { reason: KIND_NOT_LISTED });
    }
    let (identity, weak) = match (identity(rule, view, digest, &kind), &rule.ignore) {
        (Err(DecodeError::NoStableKey), Some(_)) => (Identity::Content { digest }, Some(evidence)),
        (identity, _) => identity?,
    };
    Ok(Head {
        identity,
        weak,
        // Facts beside the identity: what cannot be read of them is left out, and the event is kept.
        event_id: match optional(&fields.id, "id", view) {
            Err(_) if !fields.identity.is_empty() => None,
            id => id?,
        },
        resource: optional(&fields.resource, "resource", view).ok().flatten(),
        tenant: optional(&fields.tenant, "tenant", view).ok().flatten(),
        version: optional(&fields.version, "version", view).ok().flatten(),
        occurred_at: fields.occurred_at.text(view).ok().flatten().and_then(|text| fields.time_unit.read(&text)),
        disposition: rule.ignore.clone().map_or(Disposition::Accepted, Disposition::Ignored),
        kind,
    })
}

fn identity(
    rule: &Rule,
    view: &View<'_>,
    digest: Digest,
    kind: &str,
) -> Result<(Identity, Option<IdentityWindow>), DecodeError> {
    let fields = &rule.fields;
    let own =
        if fields.identity.is_empty() { optional(&fields.id, "id", view)? } else { whole(&fields.identity, view)? };
    if let Some(event_id) = own {
        return Ok((Identity::ProviderEvent { event_id }, None));
    }
    for fallback in &rule.without_id {
        match fallback {
            Fallback::LeadEvent(window) => {
                let Some(resource) = optional(&fields.resource, "resource", view)? else {
                    continue;
                };
                let version = optional(&fields.version, "version", view)?;
                // With a version of its own the event is told apart from the next one of its kind.
                let weak = version.is_none().then_some(*window);
                return Ok((Identity::LeadEvent { resource, kind: kind.to_owned(), version }, weak));
            }
            Fallback::Digest(window) => return Ok((Identity::Content { digest }, Some(*window))),
        }
    }
    Err(DecodeError::NoStableKey)
}

fn required(sources: &Sources, name: &str, view: &View<'_>) -> Result<String, DecodeError> {
    optional(sources, name, view)?.ok_or_else(|| shape(sources, name, Fault::Missing))
}

/// A field that becomes part of a key or is shown to people: short, and without control characters.
fn optional(sources: &Sources, name: &str, view: &View<'_>) -> Result<Option<String>, DecodeError> {
    let text = sources.text(view).map_err(|fault| shape(sources, name, fault))?;
    match &text {
        Some(text) if text.len() > MAX_FIELD_BYTES => Err(shape(sources, name, Fault::TooLong)),
        Some(text) if text.chars().any(char::is_control) => Err(shape(sources, name, Fault::ControlCharacter)),
        _ => Ok(text),
    }
}

/// An identity that is no short text, such as one with an address that was clicked, counts by its digest.
fn whole(sources: &Sources, view: &View<'_>) -> Result<Option<String>, DecodeError> {
    let text = sources.text(view).map_err(|fault| shape(sources, "identity", fault))?;
    let is_short = |text: &String| text.len() <= MAX_FIELD_BYTES && !text.chars().any(char::is_control);
    Ok(text.map(|text| if is_short(&text) { text } else { format!("sha256:{}", Digest::of(text.as_bytes())) }))
}

fn shape(sources: &Sources, name: &str, fault: Fault) -> DecodeError {
    DecodeError::Shape { path: format!("{name} ({})", sources.shown()), fault }
}
