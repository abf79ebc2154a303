//! Signatures that stand in the body, over some of its fields (Mailgun, Adyen). They vouch for these fields and nothing
//! else. The body has to be parsed before anything is verified: strictly, and nothing of it is acted on.

use std::time::Duration;

use hookbox_core::digest::Digest;
use hookbox_core::time::Timestamp;

use super::carrier::TIMESTAMP_PLACE;
use super::compare::{Search, same_mac};
use super::encoding::{Encoding, KeyEncoding};
use super::hmac::Algorithm;
use super::signed::{Tolerance, Unit};
use super::{SignError, Signed};
use crate::decode::form::Form;
use crate::decode::json::Json;
use crate::decode::multipart;
use crate::decode::path::Path;
use crate::decode::source::{Bound, Sources, View};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Once, Reason, Refusal};

/// More signed elements than this are no delivery.
const MAX_ELEMENTS: usize = 1_000;
/// Where a sample's signature is put.
const PLACE: &str = "{signature}";
const NAMES: [&str; 1] = ["element"];

/// The scheme `body-fields` with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct BodyFields {
    algorithm: Algorithm,
    encoding: Encoding,
    key_encoding: KeyEncoding,
    /// The elements that are signed, all of which must be; the whole body without it.
    each: Option<Path>,
    fields: Vec<Sources>,
    separator: String,
    signature: Sources,
    /// Where a signature by another key may stand beside it; either may match.
    second_signature: Option<Sources>,
    timestamp: Option<(Sources, Unit)>,
    tolerance: Option<Tolerance>,
    /// What a signature may be used with once.
    once: Option<Sources>,
}

impl BodyFields {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let sources = |texts: &[String]| Sources::compile(texts, &NAMES, false);
        let fields = file.fields.take().ok_or_else(|| Flaw::new("nothing says which fields are signed"))?;
        let signature = file.signature.take().ok_or_else(|| Flaw::new("nothing says where the signature stands"))?;
        let second = file.second_signature.take().map(|texts| sources(texts.as_slice()).under("second_signature"));
        let unit = Unit::compile(file.timestamp_unit.take().as_deref()).under("timestamp_unit")?;
        let timestamp = file.timestamp_field.take().map(|texts| sources(texts.as_slice()).under("timestamp_field"));
        let fields =
            fields.iter().enumerate().map(|(index, texts)| sources(texts.as_slice()).at(index).under("fields"));
        let scheme = Self {
            algorithm: Algorithm::compile(file.algorithm.take().as_deref()).under("algorithm")?,
            encoding: Encoding::compile(file.encoding.take().as_deref()).under("encoding")?,
            key_encoding: KeyEncoding::compile(file.key_encoding.take().as_deref()).under("key_encoding")?,
            each: file.each.take().map(|path| Path::compile(&path).under("each")).transpose()?,
            fields: fields.collect::<Result<_, _>>()?,
            separator: file.separator.take().unwrap_or_default(),
            signature: sources(signature.as_slice()).under("signature")?,
            second_signature: second.transpose()?,
            timestamp: timestamp.transpose()?.map(|sources| (sources, unit)),
            tolerance: Tolerance::take(file)?,
            once: file.once.take().map(|texts| sources(texts.as_slice()).under("once")).transpose()?,
        };
        if scheme.fields.is_empty() {
            return Err(Flaw::new("nothing says which fields are signed")).under("fields");
        }
        if scheme.tolerance.is_some() && scheme.timestamp.is_none() {
            return Err(Flaw::new("there is no signed timestamp to compare with")).under("tolerance");
        }
        if scheme.once.is_some() && scheme.tolerance.is_some_and(|tolerance| !tolerance.looks_both_ways()) {
            // Digits of what follows it in the signed text would make it another time and leave another token.
            let message = "a time that lies ahead would be believed for longer than anything is remembered";
            return Err(Flaw::new(message)).under("tolerance_sides");
        }
        Ok(scheme)
    }

    pub(super) fn key_encoding(&self) -> KeyEncoding {
        self.key_encoding
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret], now: Timestamp) -> Result<Match, Refusal> {
        let keys = self.key_encoding.keys(secrets)?;
        let json = read(request).ok_or(Reason::MalformedSignature)?;
        let root = (0, json.root());
        let places = self.each.as_ref().map_or_else(|| vec![root], |path| path.places(&json, root));
        if places.len() > MAX_ELEMENTS {
            return Err(Reason::TooManySignatures.into());
        }
        let mut matched: Option<Match> = None;
        for place in places {
            let bound = [Some(Bound { json: &json, place })];
            let found = self.element(&View { request, form: None, bound: &bound, volatile: &[] }, &keys, now)?;
            // The secret that is oldest in use counts: the rotation is not finished before it is gone.
            matched = Some(match matched {
                Some(earlier) if earlier.secret_index >= found.secret_index => earlier,
                _ => found,
            });
        }
        Ok(matched.ok_or(Reason::MissingSignature)?)
    }

    fn element(&self, view: &View<'_>, keys: &[Vec<u8>], now: Timestamp) -> Result<Match, Refusal> {
        let text = |sources: &Sources| sources.text(view).map_err(|_| Reason::MalformedSignature);
        let signatures = self.signatures(view)?;
        let mut fields = Vec::with_capacity(self.fields.len());
        for sources in &self.fields {
            fields.push(text(sources)?.unwrap_or_default());
        }
        let signed = fields.join(&self.separator);
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            let mac = self.algorithm.mac(key, &[&signed]);
            for signature in &signatures {
                search.note(index, same_mac(&mac, signature));
            }
        }
        let secret_index = search.matched()?;
        let signed_at = match &self.timestamp {
            Some((sources, unit)) => Some(unit.read(&text(sources)?.ok_or(Reason::MissingTimestamp)?)?),
            None => None,
        };
        if let (Some(tolerance), Some(at)) = (self.tolerance, signed_at) {
            tolerance.check(at, now)?;
        }
        let once = match &self.once {
            Some(sources) => {
                let token = text(sources)?.ok_or(Reason::MissingId)?;
                // A time that lies ahead is believed for longer.
                let ahead = signed_at.map_or(Duration::ZERO, |at| at.since(now));
                let remember_for = self.tolerance.map_or(Duration::MAX, |tolerance| tolerance.span() + ahead);
                Some(Once { token: Digest::of(token.as_bytes()), remember_for })
            }
            None => None,
        };
        Ok(Match { secret_index, signed_at, once })
    }

    /// The signature, and the second one where there is one. One that cannot be read is as good as none beside one that can.
    fn signatures(&self, view: &View<'_>) -> Result<Vec<Vec<u8>>, Reason> {
        let all = [Some(&self.signature), self.second_signature.as_ref()].into_iter().flatten();
        let read = all.map(|sources| match sources.text(view) {
            Ok(Some(text)) => self.encoding.read(&text).ok_or(Reason::MalformedSignature),
            Ok(None) => Err(Reason::MissingSignature),
            Err(_) => Err(Reason::MalformedSignature),
        });
        let (read, unread): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
        if read.is_empty() { unread.into_iter().collect() } else { read.into_iter().collect() }
    }

    /// The signature would have to be written into the body, whose other fields it covers.
    pub(super) fn sign(&self, request: &Request<'_>, secret: &Secret, now: Timestamp) -> Result<Signed, SignError> {
        let key = self.key_encoding.key(secret).ok_or(SignError::SecretEncoding)?;
        let body = std::str::from_utf8(request.body).map_err(|_| SignError::NoPlace)?;
        let unit = self.timestamp.as_ref().map_or(Unit::Seconds, |(_, unit)| *unit);
        let body = body.replace(TIMESTAMP_PLACE, &unit.write(now));
        let draft = body.replace(PLACE, "");
        let request = Request { body: draft.as_bytes(), ..*request };
        let json = read(&request).ok_or(SignError::NoPlace)?;
        let root = (0, json.root());
        let places = self.each.as_ref().map_or_else(|| vec![root], |path| path.places(&json, root));
        let mut signed = body.clone();
        for place in places {
            let bound = [Some(Bound { json: &json, place })];
            let view = View { request: &request, form: None, bound: &bound, volatile: &[] };
            let fields = self.fields.iter().map(|sources| sources.text(&view).ok().flatten().unwrap_or_default());
            let mac = self.algorithm.mac(&key, &[fields.collect::<Vec<_>>().join(&self.separator)]);
            signed = signed.replacen(PLACE, &self.encoding.write(&mac), 1);
        }
        if signed == body {
            return Err(SignError::NoPlace);
        }
        Ok(Signed { body: Some(signed.into_bytes()), ..Signed::default() })
    }
}

/// The body as JSON: as it is, or the fields of a form.
fn read<'a>(request: &Request<'a>) -> Option<Json<'a>> {
    if let Some(boundary) = request.content_type().and_then(multipart::boundary) {
        let form = Form::parse_multipart(request.body, &boundary).ok()?;
        return Json::parse(form.to_json().to_string().into()).ok();
    }
    let text = std::str::from_utf8(request.body).ok()?;
    if text.trim_start().starts_with('{') {
        return Json::parse(text.into()).ok();
    }
    Json::parse(Form::parse(text).ok()?.to_json().to_string().into()).ok()
}
