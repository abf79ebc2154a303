//! From an element to an event.

use hookbox_core::digest::Digest;
use hookbox_core::event::{Disposition, Event, Identity, IdentityWindow, Payload};
use hookbox_core::limits::MAX_FIELD_BYTES;
use hookbox_core::time::ExactTime;

use super::envelope::Envelopes;
use super::json::NodeId;
use super::rule::{Fallback, Fields, Rule};
use super::select::Found;
use super::source::{Bound, Sources, View};
use super::{DecodeError, Fault, MAX_DELIVERY_PAYLOAD_BYTES, Reading, Unsupported, form};

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
        let beside = self.beside();
        for element in found {
            let (head, digest) = self.head(element, found.len() > 1)?;
            let body = self.bytes(element.place.0, envelopes.as_ref());
            let taken = body.len() + size(&beside);
            room = room.checked_sub(taken).ok_or(DecodeError::TooLarge { limit: MAX_DELIVERY_PAYLOAD_BYTES })?;
            times.push(head.occurred_at);
            events.push(event(head, digest, Payload { body, ..beside.clone() }));
        }
        Ok((events, times))
    }

    /// What is kept of the request beside the body: the same for each of its events.
    fn beside(&self) -> Payload {
        let kept = |name: &String| Some((name.clone(), self.request.header(name).ok().flatten()?.to_owned()));
        Payload {
            body: Vec::new(),
            content_type: self.request.content_type().map(str::to_owned),
            headers: self.decoder.keep_headers.iter().filter_map(kept).collect(),
            query: self.request.query.filter(|_| self.decoder.keep_query).map(str::to_owned),
        }
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
        let digest = view.digest(Bound { json: self.json, place: element.place });
        let head = match element.rule {
            Some(rule) => self.taken(rule, &view, digest, batch)?,
            None => self.untaken(&view, digest, batch)?,
        };
        Ok((head, digest))
    }

    fn taken(&self, rule: &Rule, view: &View<'_>, digest: Digest, batch: bool) -> Result<Head, DecodeError> {
        let fields = &rule.fields;
        let kind = || required(&fields.kind, "kind", view).unwrap_or_else(|_| UNKNOWN_KIND.to_owned());
        let lenient = |sources: &Sources| lenient(sources, view);
        match read(rule, view, digest, self.decoder.evidence_window) {
            Err(DecodeError::Unsupported { reason }) if batch || !self.decoder.unsupported.reject => {
                let disposition = Disposition::Ignored(reason.to_owned());
                let mut head = self.evidence(digest, kind(), lenient(&fields.tenant), disposition);
                // It is known by its own id if it has one: once its kind is supported, that is still its receipt.
                if let Ok((identity, weak)) = identity(rule, view, digest, &head.kind) {
                    (head.identity, head.weak) = (identity, weak);
                }
                head.event_id = lenient(&fields.id);
                head.resource = lenient(&fields.resource);
                Ok(head)
            }
            Err(error) if batch => {
                let disposition = Disposition::Rejected(error.to_string());
                Ok(self.evidence(digest, kind(), lenient(&fields.tenant), disposition))
            }
            other => other,
        }
    }

    /// An element that no rule takes: of an unsupported kind, or, where it does not even say its kind, of no documented
    /// shape.
    fn untaken(&self, view: &View<'_>, digest: Digest, batch: bool) -> Result<Head, DecodeError> {
        let Unsupported { reject, kind: sources, tenant, resource } = &self.decoder.unsupported;
        let evidence = |kind: &str, disposition| Head {
            resource: lenient(resource, view),
            ..self.evidence(digest, kind.to_owned(), lenient(tenant, view), disposition)
        };
        let ignored = Disposition::Ignored(NO_RULE.to_owned());
        match required(sources, "kind", view) {
            Ok(_) if !batch && *reject => Err(DecodeError::Unsupported { reason: NO_RULE }),
            Ok(kind) => Ok(evidence(&kind, ignored)),
            Err(_) if sources.is_empty() => Ok(evidence(UNKNOWN_KIND, ignored)),
            Err(error) if batch => Ok(evidence(UNKNOWN_KIND, Disposition::Rejected(error.to_string()))),
            Err(error) => Err(error),
        }
    }

    /// An event that nothing is done about, known by its content for as long as the provider may send it again.
    fn evidence(&self, digest: Digest, kind: String, tenant: Option<String>, disposition: Disposition) -> Head {
        Head {
            identity: Identity::Content { tenant: tenant.clone(), kind: kind.clone(), version: None, digest },
            weak: Some(self.decoder.evidence_window),
            event_id: None,
            kind,
            resource: None,
            tenant,
            occurred_at: None,
            version: None,
            disposition,
        }
    }
}

fn event(head: Head, digest: Digest, payload: Payload) -> Event {
    let Head { identity, weak, event_id, kind, resource, tenant, occurred_at, version, disposition } = head;
    let occurred_at = occurred_at.map(ExactTime::to_timestamp);
    Event { identity, weak, event_id, kind, resource, tenant, occurred_at, version, disposition, digest, payload }
}

/// How many bytes there are in a payload.
fn size(payload: &Payload) -> usize {
    let Payload { body, content_type, headers, query } = payload;
    let texts = [content_type, query].into_iter().flatten().map(String::len);
    body.len() + texts.chain(headers.iter().map(|(name, value)| name.len() + value.len())).sum::<usize>()
}

fn read(rule: &Rule, view: &View<'_>, digest: Digest, evidence: IdentityWindow) -> Result<Head, DecodeError> {
    let fields = &rule.fields;
    let kind = required(&fields.kind, "kind", view)?;
    if !rule.kinds.is_empty() && !rule.kinds.contains(&kind) {
        return Err(DecodeError::Unsupported { reason: KIND_NOT_LISTED });
    }
    let (identity, weak) = match (identity(rule, view, digest, &kind), &rule.ignore) {
        (Err(DecodeError::NoStableKey), Some(_)) => (content(rule, view, digest, &kind), Some(evidence)),
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
        resource: lenient(&fields.resource, view),
        tenant: lenient(&fields.tenant, view),
        version: lenient(&fields.version, view),
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
                let tenant = lenient(&fields.tenant, view);
                return Ok((Identity::LeadEvent { tenant, resource, kind: kind.to_owned(), version }, weak));
            }
            Fallback::Digest(window) => return Ok((content(rule, view, digest, kind), Some(*window))),
        }
    }
    Err(DecodeError::NoStableKey)
}

/// What an event is known by that has nothing else: all of it, and whose it is.
fn content(rule: &Rule, view: &View<'_>, digest: Digest, kind: &str) -> Identity {
    let Fields { tenant, version, .. } = &rule.fields;
    let (tenant, version) = (lenient(tenant, view), lenient(version, view));
    Identity::Content { tenant, kind: kind.to_owned(), version, digest }
}

fn required(sources: &Sources, name: &str, view: &View<'_>) -> Result<String, DecodeError> {
    optional(sources, name, view)?.ok_or_else(|| shape(sources, name, Fault::Missing))
}

/// A field that is left out where it cannot be read.
fn lenient(sources: &Sources, view: &View<'_>) -> Option<String> {
    optional(sources, "", view).ok().flatten()
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
