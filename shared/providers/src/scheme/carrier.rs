//! Where a request carries its signature, the time and the id that the signature covers, and what text that is.

use std::borrow::Cow;

use hookbox_core::time::Timestamp;

use super::encoding::Encoding;
use super::signed::{Part, SignedText, Tolerance, Unit};
use super::{MAX_SIGNATURES, SignError, Signed, header_name};
use crate::decode::json::Json;
use crate::decode::source::{Bound, Source, View};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{ListFile, OneOrMany, SchemeFile};
use crate::request::Request;
use crate::verdict::{Misconfiguration, Reason, Refusal};

/// Where a sample says when it is signed.
pub(super) const TIMESTAMP_PLACE: &str = "{signature.timestamp}";

/// Where the signed timestamp stands.
#[derive(Clone, Debug)]
enum TimestampFrom {
    Header(String),
    Element(String),
    /// In the body, which the signature covers.
    Body(Source),
}

/// The parameters that all schemes with a signature in a header share.
#[derive(Clone, Debug)]
pub(super) struct Carrier {
    /// Names under which the signature comes; the first that is there counts.
    headers: Vec<String>,
    encoding: Encoding,
    prefix: String,
    list: Option<ListFile>,
    /// Texts that may be signed; the first is the documented one.
    signed: Vec<SignedText>,
    id_header: Option<String>,
    timestamp: Option<(TimestampFrom, Unit)>,
    tolerance: Option<Tolerance>,
}

/// What a request carries.
pub(super) struct Carried<'a> {
    pub(super) signatures: Vec<Vec<u8>>,
    /// The texts that may be signed, in pieces, so that the body is not copied.
    pub(super) texts: Vec<Vec<Cow<'a, [u8]>>>,
    signed_at: Option<Timestamp>,
}

impl Carrier {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let headers = file.header.take().ok_or_else(|| Flaw::new("the header of the signature is not named"))?;
        let headers = headers.as_slice().iter().map(|name| header_name(name)).collect::<Result<Vec<_>, _>>();
        let signed = match file.signed.take() {
            None => vec![SignedText::compile("{body}")?],
            Some(OneOrMany::One(text)) => vec![SignedText::compile(&text).under("signed")?],
            Some(OneOrMany::Many(texts)) => {
                let texts = texts.iter().enumerate();
                let texts = texts.map(|(index, text)| SignedText::compile(text).at(index).under("signed"));
                texts.collect::<Result<_, _>>()?
            }
        };
        let unit = Unit::compile(file.timestamp_unit.take().as_deref()).under("timestamp_unit")?;
        let list = file.list.take();
        let timestamp = file.timestamp.take().map(|text| timestamp_from(&text, list.is_some()));
        let id = file.id.take().map(|text| match text.strip_prefix("header:") {
            Some(name) => header_name(name),
            None => Err(Flaw::new("write `header:` and the name of the header that holds the signed id")),
        });
        let carrier = Self {
            headers: headers.under("header")?,
            encoding: Encoding::compile(file.encoding.take().as_deref()).under("encoding")?,
            prefix: file.prefix.take().unwrap_or_default(),
            list,
            id_header: id.transpose().under("id")?,
            timestamp: timestamp.transpose().under("timestamp")?.map(|from| (from, unit)),
            tolerance: Tolerance::take(file)?,
            signed,
        };
        if carrier.headers.is_empty() {
            return Err(Flaw::new("the header of the signature is not named")).under("header");
        }
        if carrier.signed.is_empty() {
            return Err(Flaw::new("nothing is signed")).under("signed");
        }
        let outside_the_body = matches!(&carrier.timestamp, Some((from, _)) if !matches!(from, TimestampFrom::Body(_)));
        let has = |part: &Part, is: bool| carrier.signed.iter().all(|text| text.has(part) == is);
        if !has(&Part::Timestamp, outside_the_body) {
            let message = "a timestamp counts only where it is signed: name it in both `timestamp` and `signed`";
            return Err(Flaw::new(message)).under("timestamp");
        }
        if carrier.tolerance.is_some() && carrier.timestamp.is_none() {
            return Err(Flaw::new("there is no signed timestamp to compare with")).under("tolerance");
        }
        if !has(&Part::Id, carrier.id_header.is_some()) {
            return Err(Flaw::new("an id counts only where it is signed: name it in both `id` and `signed`"))
                .under("id");
        }
        Ok(carrier)
    }

    pub(super) fn secret_headers(&self) -> Vec<String> {
        self.headers.iter().map(|name| name.to_ascii_lowercase()).collect()
    }

    pub(super) fn signs_url(&self) -> bool {
        self.signed.iter().any(SignedText::has_url)
    }

    /// Reads everything but a timestamp in the body, which nobody looks at before the signature has been verified.
    pub(super) fn read<'a>(&'a self, request: &Request<'a>) -> Result<Carried<'a>, Refusal> {
        // First what is ours to get right: then a broken configuration shows with the first request, whatever that is.
        if self.signs_url() && request.url.is_none() {
            return Err(Misconfiguration::NoUrl.into());
        }
        let (signatures, element) = self.parse(signature_header(request, &self.headers)?)?;
        let id = match &self.id_header {
            None => None,
            Some(name) => Some(sole(request, name, Reason::MissingId)?),
        };
        let timestamp = match &self.timestamp {
            None | Some((TimestampFrom::Body(_), _)) => None,
            Some((TimestampFrom::Element(_), _)) => Some(element.ok_or(Reason::MissingTimestamp)?),
            Some((TimestampFrom::Header(name), _)) => Some(sole(request, name, Reason::MissingTimestamp)?),
        };
        let signed_at = match (&self.timestamp, timestamp) {
            (Some((_, unit)), Some(text)) => Some(unit.read(text)?),
            _ => None,
        };
        let (timestamp, id) = (timestamp.unwrap_or_default(), id.unwrap_or_default());
        let texts = self.signed.iter().map(|text| text.pieces(request, timestamp, id)).collect::<Result<_, _>>()?;
        Ok(Carried { signatures, texts, signed_at })
    }

    /// When a request whose signature is right was signed, if that is recent enough.
    pub(super) fn time(
        &self,
        carried: &Carried<'_>,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Refusal> {
        let signed_at = match &self.timestamp {
            Some((TimestampFrom::Body(source), unit)) => Some(unit.read(&body_text(source, request)?)?),
            _ => carried.signed_at,
        };
        if let (Some(tolerance), Some(at)) = (self.tolerance, signed_at) {
            tolerance.check(at, now)?;
        }
        Ok(signed_at)
    }

    /// The signatures of a header, and the timestamp where it is an element beside them.
    fn parse<'a>(&self, header: &'a str) -> Result<(Vec<Vec<u8>>, Option<&'a str>), Reason> {
        let Some(list) = &self.list else {
            let signature = self.signature(header).ok_or(Reason::MalformedSignature)?;
            return Ok((vec![signature], None));
        };
        let (mut signatures, mut timestamp) = (Vec::new(), None);
        let mut usable = false;
        let elements = header.split(list.separator).map(|element| element.trim_matches([' ', '\t']));
        for element in elements.filter(|element| !element.is_empty()) {
            // Whatever else a provider adds to its header is passed over, as its own libraries do.
            let Some((key, value)) = element.split_once('=') else { continue };
            if key == list.signature {
                usable = true;
                if signatures.len() == MAX_SIGNATURES {
                    return Err(Reason::TooManySignatures);
                }
                signatures.extend(self.signature(value));
            } else if matches!(&self.timestamp, Some((TimestampFrom::Element(name), _)) if name == key) {
                // Two timestamps are what an HTTP stack makes of two headers: which one counts would be a guess.
                if timestamp.replace(value).is_some() {
                    return Err(Reason::DuplicateHeader);
                }
            }
        }
        match (usable, signatures.is_empty()) {
            (false, _) => Err(Reason::NoUsableSignature),
            (true, true) => Err(Reason::MalformedSignature),
            (true, false) => Ok((signatures, timestamp)),
        }
    }

    fn signature(&self, text: &str) -> Option<Vec<u8>> {
        self.encoding.read(text.strip_prefix(self.prefix.as_str())?)
    }

    /// The headers of a request that `sign` signs: it is given the pieces of the text.
    pub(super) fn write(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        now: Timestamp,
        sign: impl FnOnce(&[Cow<'_, [u8]>]) -> Result<Vec<u8>, SignError>,
    ) -> Result<Signed, SignError> {
        let mut headers = Vec::new();
        let id = match &self.id_header {
            Some(name) => {
                let id = id.ok_or(SignError::NoId)?;
                headers.push((name.clone(), id.to_owned()));
                id
            }
            None => "",
        };
        let timestamp = self.timestamp.as_ref().map(|(_, unit)| unit.write(now)).unwrap_or_default();
        let body = match &self.timestamp {
            Some((TimestampFrom::Body(_), _)) => Some(with_timestamp(request.body, &timestamp)?),
            _ => None,
        };
        let request = Request { body: body.as_deref().unwrap_or(request.body), ..*request };
        let text = self.signed.first().ok_or(SignError::NoPlace)?;
        let pieces = text.pieces(&request, &timestamp, id).map_err(|_| SignError::NoUrl)?;
        let mut value = format!("{}{}", self.prefix, self.encoding.write(&sign(&pieces)?));
        drop(pieces);
        if let Some(list) = &self.list {
            value = format!("{}={value}", list.signature);
        }
        match (&self.timestamp, &self.list) {
            (Some((TimestampFrom::Header(name), _)), _) => headers.push((name.clone(), timestamp)),
            (Some((TimestampFrom::Element(name), _)), Some(list)) => {
                value = format!("{name}={timestamp}{}{value}", list.separator);
            }
            _ => {}
        }
        headers.push((self.headers.first().cloned().unwrap_or_default(), value));
        Ok(Signed { headers, body, ..Signed::default() })
    }
}

/// A sample's body with the time at which it is signed. One that has a time already stays as it is.
fn with_timestamp(body: &[u8], timestamp: &str) -> Result<Vec<u8>, SignError> {
    let text = std::str::from_utf8(body).map_err(|_| SignError::NoPlace)?;
    Ok(text.replace(TIMESTAMP_PLACE, timestamp).into_bytes())
}

/// The first of the headers that is there: once, and not empty.
fn signature_header<'a>(request: &Request<'a>, names: &[String]) -> Result<&'a str, Reason> {
    let name = names.iter().find(|name| request.has_header(name)).ok_or(Reason::MissingSignature)?;
    sole(request, name, Reason::MissingSignature)
}

/// A header that is there once and is not empty.
pub(super) fn sole<'a>(request: &Request<'a>, name: &str, missing: Reason) -> Result<&'a str, Reason> {
    match request.header(name) {
        Ok(Some(value)) if !value.is_empty() => Ok(value),
        Ok(_) => Err(missing),
        Err(_) => Err(Reason::DuplicateHeader),
    }
}

/// A text of a JSON body whose signature has been verified.
fn body_text(source: &Source, request: &Request<'_>) -> Result<String, Reason> {
    let text = std::str::from_utf8(request.body).map_err(|_| Reason::MalformedTimestamp)?;
    let json = Json::parse(text.into()).map_err(|_| Reason::MalformedTimestamp)?;
    let bound = [Some(Bound { json: &json, place: (0, json.root()) })];
    let view = View { request, form: None, bound: &bound, volatile: &[] };
    match source.text(&view) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(Reason::MissingTimestamp),
        Err(_) => Err(Reason::MalformedTimestamp),
    }
}

fn timestamp_from(text: &str, has_list: bool) -> Result<TimestampFrom, Flaw> {
    match text.split_once(':') {
        Some(("header", name)) => header_name(name).map(TimestampFrom::Header),
        Some(("element", name)) if has_list && !name.is_empty() => Ok(TimestampFrom::Element(name.to_owned())),
        Some(("element", _)) => Err(Flaw::new("`element:` needs a `list` to be an element of")),
        Some(("body", _)) => Source::compile(text, &["body"]).map(TimestampFrom::Body),
        _ => {
            let message = "write `header:` and a header, `element:` and an element of the list, or `body:` and a path";
            Err(Flaw::new(message))
        }
    }
}
