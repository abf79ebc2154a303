//! HMAC over a text made of timestamp, id, URL, method and body.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use hmac::{KeyInit, Mac};
use hookbox_core::time::Timestamp;

use super::compare::{Search, same_mac};
use super::signed::{Part, SignedText, Tolerance, Unit};
use super::{MAX_SIGNATURES, SignError, Signed, header_name, signature_header};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{ListFile, SchemeFile};
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Misconfiguration, Reason, Refusal};

/// The hash under an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("sha256") => Ok(Self::Sha256),
            Some("sha1") => Ok(Self::Sha1),
            Some("sha512") => Ok(Self::Sha512),
            Some(other) => Err(Flaw::new(format!("`{other}` is no algorithm; there are sha1, sha256 and sha512"))),
        }
    }

    /// The MAC of the pieces under a key.
    pub(super) fn mac(self, key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
        fn run<M: KeyInit + Mac>(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
            // HMAC takes a key of any length; this never is an error.
            let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
                return Vec::new();
            };
            for piece in pieces {
                mac.update(piece);
            }
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Self::Sha1 => run::<hmac::Hmac<sha1::Sha1>>(key, pieces),
            Self::Sha256 => run::<hmac::Hmac<sha2::Sha256>>(key, pieces),
            Self::Sha512 => run::<hmac::Hmac<sha2::Sha512>>(key, pieces),
        }
    }
}

/// How a signature is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Hex,
    HexLower,
    Base64,
}

impl Encoding {
    fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("hex") => Ok(Self::Hex),
            Some("hex-lower") => Ok(Self::HexLower),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(Flaw::new(format!("`{other}` is no encoding; there are hex, hex-lower and base64"))),
        }
    }

    fn read(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::HexLower if text.bytes().any(|b| b.is_ascii_uppercase()) => None,
            Self::Hex | Self::HexLower => hex::decode(text).ok(),
            Self::Base64 => STANDARD.decode(text).ok(),
        }
    }

    fn write(self, mac: &[u8]) -> String {
        match self {
            Self::Hex | Self::HexLower => hex::encode(mac),
            Self::Base64 => STANDARD.encode(mac),
        }
    }
}

/// How a secret's text becomes the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyEncoding {
    Text,
    Hex,
    Base64,
}

impl KeyEncoding {
    fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("text") => Ok(Self::Text),
            Some("hex") => Ok(Self::Hex),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(Flaw::new(format!("`{other}` is no key encoding; there are text, hex and base64"))),
        }
    }

    fn key(self, secret: &Secret) -> Option<Vec<u8>> {
        let key = match self {
            Self::Text => Some(secret.text().as_bytes().to_vec()),
            Self::Hex => hex::decode(secret.text()).ok(),
            Self::Base64 => STANDARD_PAD_INDIFFERENT.decode(secret.text()).ok(),
        };
        key.filter(|key| !key.is_empty())
    }
}

/// Where the signed timestamp stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TimestampFrom {
    Header(String),
    Element(String),
}

/// The scheme `hmac` with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Hmac {
    algorithm: Algorithm,
    encoding: Encoding,
    key_encoding: KeyEncoding,
    header: String,
    prefix: String,
    list: Option<ListFile>,
    signed: SignedText,
    id_header: Option<String>,
    timestamp: Option<(TimestampFrom, Unit)>,
    tolerance: Option<Tolerance>,
}

/// What a signature header holds.
struct Parsed<'a> {
    timestamp: Option<&'a str>,
    signatures: Vec<Vec<u8>>,
}

impl Hmac {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let header = file.header.take().ok_or_else(|| Flaw::new("the header of the signature is not named"))?;
        let signed = SignedText::compile(file.signed.take().as_deref().unwrap_or("{body}")).under("signed")?;
        let unit = Unit::compile(file.timestamp_unit.take().as_deref()).under("timestamp_unit")?;
        let list = file.list.take();
        let timestamp = file.timestamp.take().map(|text| timestamp_from(&text, list.is_some()));
        let id = file.id.take().map(|text| match text.strip_prefix("header:") {
            Some(name) => header_name(name),
            None => Err(Flaw::new("write `header:` and the name of the header that holds the signed id")),
        });
        let scheme = Self {
            algorithm: Algorithm::compile(file.algorithm.take().as_deref()).under("algorithm")?,
            encoding: Encoding::compile(file.encoding.take().as_deref()).under("encoding")?,
            key_encoding: KeyEncoding::compile(file.key_encoding.take().as_deref()).under("key_encoding")?,
            header: header_name(&header).under("header")?,
            prefix: file.prefix.take().unwrap_or_default(),
            list,
            id_header: id.transpose().under("id")?,
            timestamp: timestamp.transpose().under("timestamp")?.map(|from| (from, unit)),
            tolerance: Tolerance::take(file)?,
            signed,
        };
        if scheme.signed.has(&Part::Timestamp) != scheme.timestamp.is_some() {
            let message = "a timestamp counts only where it is signed: name it in both `timestamp` and `signed`";
            return Err(Flaw::new(message)).under("timestamp");
        }
        if scheme.tolerance.is_some() && scheme.timestamp.is_none() {
            return Err(Flaw::new("there is no signed timestamp to compare with")).under("tolerance");
        }
        if scheme.signed.has(&Part::Id) != scheme.id_header.is_some() {
            return Err(Flaw::new("an id counts only where it is signed: name it in both `id` and `signed`"))
                .under("id");
        }
        Ok(scheme)
    }

    pub(super) fn header(&self) -> String {
        self.header.to_ascii_lowercase()
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret], now: Timestamp) -> Result<Match, Refusal> {
        // First what is ours to get right: then a broken configuration shows with the first request, whatever that is.
        let keys = self.keys(secrets)?;
        if self.signed.has(&Part::Url) && request.url.is_none() {
            return Err(Misconfiguration::NoUrl.into());
        }
        let parsed = self.parse(signature_header(request, &self.header)?)?;
        let id = self.id(request)?;
        let timestamp = match &self.timestamp {
            None => None,
            Some((TimestampFrom::Element(_), _)) => Some(parsed.timestamp.ok_or(Reason::MissingTimestamp)?),
            Some((TimestampFrom::Header(name), _)) => match request.header(name) {
                Ok(Some(value)) if !value.is_empty() => Some(value),
                Ok(_) => return Err(Reason::MissingTimestamp.into()),
                Err(_) => return Err(Reason::DuplicateHeader.into()),
            },
        };
        let signed_at = match (&self.timestamp, timestamp) {
            (Some((_, unit)), Some(text)) => Some(unit.read(text)?),
            _ => None,
        };
        let pieces = self.signed.pieces(request, timestamp.unwrap_or_default(), id.unwrap_or_default())?;
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            let mac = self.algorithm.mac(key, &pieces);
            for signature in &parsed.signatures {
                search.note(index, same_mac(&mac, signature));
            }
        }
        let secret_index = search.result().ok_or(Reason::SignatureMismatch)?;
        if let (Some(tolerance), Some(at)) = (self.tolerance, signed_at) {
            tolerance.check(at, now)?;
        }
        Ok(Match { secret_index, signed_at })
    }

    fn keys(&self, secrets: &[Secret]) -> Result<Vec<Vec<u8>>, Misconfiguration> {
        let key = |(index, secret)| self.key_encoding.key(secret).ok_or(Misconfiguration::SecretEncoding { index });
        secrets.iter().enumerate().map(key).collect()
    }

    fn id<'a>(&self, request: &Request<'a>) -> Result<Option<&'a str>, Reason> {
        let Some(name) = &self.id_header else { return Ok(None) };
        match request.header(name) {
            Ok(Some(value)) if !value.is_empty() => Ok(Some(value)),
            Ok(_) => Err(Reason::MissingId),
            Err(_) => Err(Reason::DuplicateHeader),
        }
    }

    fn parse<'a>(&self, header: &'a str) -> Result<Parsed<'a>, Reason> {
        let Some(list) = &self.list else {
            let signature = self.signature(header).ok_or(Reason::MalformedSignature)?;
            return Ok(Parsed { timestamp: None, signatures: vec![signature] });
        };
        let mut parsed = Parsed { timestamp: None, signatures: Vec::new() };
        let mut usable = false;
        for element in header.split(list.separator) {
            let (key, value) = element.trim_matches([' ', '\t']).split_once('=').ok_or(Reason::MalformedSignature)?;
            if key == list.signature {
                usable = true;
                if parsed.signatures.len() == MAX_SIGNATURES {
                    return Err(Reason::TooManySignatures);
                }
                parsed.signatures.extend(self.signature(value));
            } else if matches!(&self.timestamp, Some((TimestampFrom::Element(name), _)) if name == key) {
                // Two timestamps are what an HTTP stack makes of two headers: which one counts would be a guess.
                if parsed.timestamp.replace(value).is_some() {
                    return Err(Reason::DuplicateHeader);
                }
            }
        }
        match (usable, parsed.signatures.is_empty()) {
            (false, _) => Err(Reason::NoUsableSignature),
            (true, true) => Err(Reason::MalformedSignature),
            (true, false) => Ok(parsed),
        }
    }

    fn signature(&self, text: &str) -> Option<Vec<u8>> {
        self.encoding.read(text.strip_prefix(self.prefix.as_str())?).filter(|mac| !mac.is_empty())
    }

    pub(super) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        let key = self.key_encoding.key(secret).ok_or(SignError::SecretEncoding)?;
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
        let pieces = self.signed.pieces(request, &timestamp, id).map_err(|_| SignError::NoUrl)?;
        let mac = self.algorithm.mac(&key, &pieces);
        let mut value = format!("{}{}", self.prefix, self.encoding.write(&mac));
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
        headers.push((self.header.clone(), value));
        Ok(Signed { headers, path_token: None })
    }
}

fn timestamp_from(text: &str, has_list: bool) -> Result<TimestampFrom, Flaw> {
    match text.split_once(':') {
        Some(("header", name)) => header_name(name).map(TimestampFrom::Header),
        Some(("element", name)) if has_list && !name.is_empty() => Ok(TimestampFrom::Element(name.to_owned())),
        Some(("element", _)) => Err(Flaw::new("`element:` needs a `list` to be an element of")),
        _ => Err(Flaw::new("write `header:` and a header, or `element:` and an element of the list")),
    }
}
