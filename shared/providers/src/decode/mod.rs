//! From a verified delivery to its events.
//!
//! The body is read strictly, a profile's rules choose the elements that are events, and each becomes an event with its
//! own identity and its own bytes. A bad element of a batch becomes evidence without work and never fails the others.

mod fault;
pub(crate) mod json;
mod canonical;
pub(crate) mod multipart;
pub(crate) mod form;
pub(crate) mod path;
pub(crate) mod source;
pub(crate) mod condition;
mod time;
mod rule;
mod select;
mod envelope;
mod event;

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use hookbox_core::digest::Digest;
use hookbox_core::event::{Event, IdentityWindow};
use hookbox_core::time::ExactTime;

use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{DocumentFile, ProfileFile, UnsupportedFile};
use crate::request::Request;

pub use fault::{DecodeError, Fault};
pub use json::{MAX_JSON_DEPTH, MAX_JSON_VALUES};

use form::Form;
use json::Json;
use rule::Rule;
use source::{Bound, Source, Sources, View};

/// How many bytes the payloads of one delivery may take together: each element of a batch carries the envelope again.
pub const MAX_DELIVERY_PAYLOAD_BYTES: usize = 64 * 1024 * 1024;

/// A verified delivery with its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Digest of the body's bytes.
    pub digest: Digest,
    /// In the order of the document; none where the provider sent an empty list.
    pub events: Vec<Event>,
    /// When each of them happened, exactly as the provider wrote it: the events themselves keep milliseconds.
    pub times: Vec<Option<ExactTime>>,
    /// Whether there are several: then a bad one is kept as evidence instead of failing the delivery.
    pub batch: bool,
}

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Form,
    /// By the content type, or by the first byte where there is none.
    Either,
    /// JSON where it is an object or an array; anything else is nobody's business but the operation's.
    JsonOrOpaque,
}

/// A document inside the body.
#[derive(Clone, Debug)]
struct Document {
    from: Source,
    parse: Parse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parse {
    Json,
    Base64Json,
}

/// What a profile says about its deliveries, ready to use.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    format: Format,
    form_json: Option<String>,
    /// Whether the query of a request without a body is its form.
    query_form: bool,
    documents: Vec<Document>,
    rules: Vec<Rule>,
    unsupported: Unsupported,
    keep_headers: Vec<String>,
    keep_query: bool,
    /// How long the identity of an element without a key is believed: as long as the provider may send it again.
    evidence_window: IdentityWindow,
}

#[derive(Clone, Debug)]
struct Unsupported {
    reject: bool,
    kind: Sources,
    tenant: Sources,
    resource: Sources,
}

impl Unsupported {
    /// `documents` are the names that every rule may use; here the element has one too, `element`.
    fn compile(file: &UnsupportedFile, documents: &[String]) -> Result<Self, Flaw> {
        let names: Vec<&str> = documents.iter().map(String::as_str).chain(["element"]).collect();
        let sources = |texts: &[String]| Sources::compile(texts, &names, false);
        Ok(Self {
            reject: match file.answer.as_deref() {
                None | Some("ignore") => false,
                Some("reject") => true,
                Some(other) => {
                    return Err(Flaw::new(format!("`{other}` is not `ignore` or `reject`"))).under("answer");
                }
            },
            kind: sources(file.kind.as_slice()).under("kind")?,
            tenant: sources(file.tenant.as_slice()).under("tenant")?,
            resource: sources(file.resource.as_slice()).under("resource")?,
        })
    }
}

/// A delivery while it is being read.
struct Reading<'a> {
    decoder: &'a Decoder,
    request: &'a Request<'a>,
    text: &'a str,
    form: Option<&'a Form>,
    json: &'a Json<'a>,
    /// What `body` and the documents inside it stand for.
    bound: &'a [Option<Bound<'a>>],
}

impl Decoder {
    pub(crate) fn compile(file: &ProfileFile) -> Result<Self, Flaw> {
        let format = match file.body.format.as_str() {
            "json" => Format::Json,
            "form" => Format::Form,
            "json-or-form" => Format::Either,
            "json-or-opaque" => Format::JsonOrOpaque,
            other => {
                let flaw =
                    Flaw::new(format!("`{other}` is no format; there are json, form, json-or-form and json-or-opaque"));
                return Err(flaw).under("format").under("body");
            }
        };
        if file.body.form_json.is_some() && matches!(format, Format::Json | Format::JsonOrOpaque) {
            return Err(Flaw::new("a JSON body has no fields")).under("form_json").under("body");
        }
        if file.body.query_form && matches!(format, Format::Json | Format::JsonOrOpaque) {
            return Err(Flaw::new("a JSON body has no fields")).under("query_form").under("body");
        }
        let mut names = vec!["body".to_owned()];
        let mut documents = Vec::new();
        for (index, document) in file.document.iter().enumerate() {
            documents.push(Document::compile(document, &names).at(index).under("document")?);
            names.push(document.name.clone());
        }
        if file.event.is_empty() {
            return Err(Flaw::new("no rule says what an event is")).under("event");
        }
        let rules = file.event.iter().enumerate();
        let retry_horizon = match &file.delivery.retry_horizon {
            Some(text) => crate::profile::duration::parse(text).under("retry_horizon").under("delivery")?,
            None => Duration::ZERO,
        };
        Ok(Self {
            format,
            form_json: file.body.form_json.clone(),
            query_form: file.body.query_form,
            documents,
            rules: rules
                .map(|(index, rule)| Rule::compile(rule, &names).at(index).under("event"))
                .collect::<Result<_, _>>()?,
            unsupported: Unsupported::compile(&file.unsupported, &names).under("unsupported")?,
            keep_headers: keep_headers(&file.keep.headers).under("headers").under("keep")?,
            keep_query: file.keep.query,
            evidence_window: IdentityWindow(retry_horizon.max(Duration::from_hours(24))),
        })
    }

    /// What vouches for a request is not handed on.
    pub(crate) fn keeps_none_of(&self, secret_headers: &[String]) -> Result<(), Flaw> {
        match self.keep_headers.iter().position(|name| secret_headers.contains(name)) {
            None => Ok(()),
            Some(index) => Err(Flaw::new("this header verifies the delivery and is not kept"))
                .at(index)
                .under("headers")
                .under("keep"),
        }
    }

    /// The events of a delivery.
    pub(crate) fn decode(&self, request: &Request<'_>) -> Result<Delivery, DecodeError> {
        let digest = Digest::of(request.body);
        let opened = self.open(request).map_err(DecodeError::body)?;
        let json = self.primary(&opened)?;
        let (text, form) = (opened.text, opened.form.as_ref());

        let mut inner: Vec<Option<Json<'_>>> = Vec::new();
        for document in &self.documents {
            let mut bound = vec![Some(whole(&json))];
            bound.extend(inner.iter().map(|json| json.as_ref().map(whole)));
            let view = View { request, form, bound: &bound, volatile: &[] };
            let parsed = document.read(&view);
            inner.push(parsed);
        }
        let mut bound = vec![Some(whole(&json))];
        bound.extend(inner.iter().map(|json| json.as_ref().map(whole)));

        let reading = Reading { decoder: self, request, text, form, json: &json, bound: &bound };
        let view = View { request, form, bound: &bound, volatile: &[] };
        let found = select::select(&self.rules, &json, &view)?;
        let batch = found.len() > 1;
        let (events, times) = reading.events(&found)?;
        Ok(Delivery { digest, events, times, batch })
    }

    /// What a request holds, for whoever only wants to know what kind of request it is. Where its body cannot be read,
    /// what is looked for in it is missing.
    pub(crate) fn glance<T>(&self, request: &Request<'_>, look: impl FnOnce(&View<'_>) -> T) -> T {
        let opened = self.open(request).ok();
        let json = opened.as_ref().and_then(|opened| self.primary(opened).ok());
        let form = opened.as_ref().and_then(|opened| opened.form.as_ref());
        look(&View { request, form, bound: &[json.as_ref().map(whole)], volatile: &[] })
    }

    fn open<'t>(&self, request: &Request<'t>) -> Result<Opened<'t>, Fault> {
        if matches!(self.format, Format::Form | Format::Either)
            && let Some(boundary) = request.content_type().and_then(multipart::boundary)
        {
            return Ok(Opened { text: "", form: Some(Form::parse_multipart(request.body, &boundary)?) });
        }
        if let Some(query) = request.query.filter(|_| self.query_form && request.body.is_empty()) {
            return Ok(Opened { text: "", form: Some(Form::parse(query)?) });
        }
        if self.format == Format::JsonOrOpaque && !looks_like_json(request.body) {
            return Ok(Opened { text: "null", form: None });
        }
        let text = text(request.body)?;
        let form = match self.format {
            Format::Form => true,
            Format::Json | Format::JsonOrOpaque => false,
            Format::Either => looks_like_a_form(request, text),
        };
        Ok(Opened { text, form: form.then(|| Form::parse(text)).transpose()? })
    }

    /// The document that rules look at: the JSON body, the JSON in a field of the form, or the form's fields.
    fn primary<'t>(&self, opened: &'t Opened<'_>) -> Result<Json<'t>, DecodeError> {
        let Some(form) = &opened.form else {
            return Json::parse(Cow::Borrowed(opened.text)).map_err(DecodeError::body);
        };
        let Some(name) = &self.form_json else {
            return Json::parse(Cow::Owned(form.to_json().to_string())).map_err(DecodeError::body);
        };
        let fault = |fault| DecodeError::Shape { path: format!("form:{name}"), fault };
        match form.get(name) {
            Ok(Some(text)) => Json::parse(Cow::Borrowed(text)).map_err(fault),
            Ok(None) => Err(fault(Fault::Missing)),
            Err(_) => Err(fault(Fault::Duplicate)),
        }
    }
}

/// A body that has been taken apart as far as its format goes.
struct Opened<'t> {
    /// Nothing for a multipart body, which is no text.
    text: &'t str,
    form: Option<Form>,
}

impl Document {
    fn compile(file: &DocumentFile, names: &[String]) -> Result<Self, Flaw> {
        let reserved = ["header", "query", "form", "const", "digest", "member", "after", "element"];
        if names.contains(&file.name) || reserved.contains(&file.name.as_str()) {
            return Err(Flaw::new(format!("`{}` already means something", file.name))).under("name");
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let parse = match file.parse.as_str() {
            "json" => Parse::Json,
            "base64-json" => Parse::Base64Json,
            other => {
                let flaw = Flaw::new(format!("`{other}` cannot be parsed; there are json and base64-json"));
                return Err(flaw).under("parse");
            }
        };
        Ok(Self { from: Source::compile(&file.from, &names).under("from")?, parse })
    }

    /// The document, or nothing: then what is looked for in it is missing.
    fn read<'t>(&self, view: &View<'_>) -> Option<Json<'t>> {
        let text = self.from.text(view).ok()??;
        let text = match self.parse {
            Parse::Json => text,
            Parse::Base64Json => String::from_utf8(STANDARD_PAD_INDIFFERENT.decode(text).ok()?).ok()?,
        };
        Json::parse(Cow::Owned(text)).ok()
    }
}

fn whole<'a>(json: &'a Json<'a>) -> Bound<'a> {
    Bound { json, place: (0, json.root()) }
}

/// The body as text. A byte order mark is refused and not passed over: JSON must not begin with one, and what reads the
/// payload later would stumble over it.
fn text(body: &[u8]) -> Result<&str, Fault> {
    if body.is_empty() {
        return Err(Fault::Empty);
    }
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(Fault::ByteOrderMark);
    }
    std::str::from_utf8(body).map_err(|_| Fault::InvalidUtf8)
}

/// Whether an object or an array begins here. A byte order mark before it is JSON too, and refused as such.
fn looks_like_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    matches!(body.iter().find(|b| !b.is_ascii_whitespace()), Some(b'{' | b'['))
}

fn looks_like_a_form(request: &Request<'_>, text: &str) -> bool {
    match request.content_type().map(|value| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()) {
        Some(media_type) => media_type == "application/x-www-form-urlencoded",
        None => !text.trim_start().starts_with(['{', '[']),
    }
}

/// The names in lower case. What vouches for a request is for us alone: whoever has it could send such requests.
fn keep_headers(names: &[String]) -> Result<Vec<String>, Flaw> {
    let words = ["signature", "authorization", "cookie", "token", "secret", "password"];
    let mut kept = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = name.to_ascii_lowercase();
        if words.iter().any(|word| name.contains(word)) {
            return Err(Flaw::new(format!("`{name}` is a credential and is not kept"))).at(index);
        }
        kept.push(name);
    }
    Ok(kept)
}
