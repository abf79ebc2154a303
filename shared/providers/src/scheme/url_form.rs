//! The URL followed by the fields of a form, sorted by name, under HMAC (Twilio, Mandrill). For a body that is no form,
//! the URL alone is signed and carries the body's hash.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::carrier::sole;
use super::compare::{Search, same_mac};
use super::encoding::{Encoding, KeyEncoding};
use super::hmac::Algorithm;
use super::{SignError, Signed, header_name};
use crate::decode::form::Form;
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Misconfiguration, Reason, Refusal};

/// The scheme `url-form` with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct UrlForm {
    header: String,
    algorithm: Algorithm,
    encoding: Encoding,
    /// The query parameter with the SHA-256 of a body that is no form.
    body_hash: Option<String>,
    /// Whether the port of the URL may be missing in what is signed, or stand there although it is the ordinary one.
    any_port: bool,
}

impl UrlForm {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let header = file.header.take().ok_or_else(|| Flaw::new("the header of the signature is not named"))?;
        let [header] = header.as_slice() else {
            return Err(Flaw::new("the signature stands in one header")).under("header");
        };
        Ok(Self {
            header: header_name(header).under("header")?,
            algorithm: Algorithm::compile(file.algorithm.take().as_deref()).under("algorithm")?,
            encoding: Encoding::compile(file.encoding.take().as_deref()).under("encoding")?,
            body_hash: file.body_hash.take(),
            any_port: file.any_port.take().unwrap_or(false),
        })
    }

    pub(super) fn secret_headers(&self) -> Vec<String> {
        vec![self.header.to_ascii_lowercase()]
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret]) -> Result<Match, Refusal> {
        let keys = KeyEncoding::Text.keys(secrets)?;
        let url = request.signed_url().ok_or(Misconfiguration::NoUrl)?;
        let signature = sole(request, &self.header, Reason::MissingSignature)?;
        let signature = self.encoding.read(signature).ok_or(Reason::MalformedSignature)?;
        let fields = self.fields(request)?;
        let urls = if self.any_port { with_and_without_port(&url) } else { vec![url] };
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            for url in &urls {
                let mac = self.algorithm.mac(key, &[url.as_bytes(), fields.as_bytes()]);
                search.note(index, same_mac(&mac, &signature));
            }
        }
        Ok(Match::signed(search.matched()?, None))
    }

    /// The signed text of the body: all fields of a form, or nothing for a body whose hash is in the signed URL.
    fn fields(&self, request: &Request<'_>) -> Result<String, Reason> {
        if let Some(name) = &self.body_hash {
            match request.query_parameter(name) {
                Err(_) => return Err(Reason::DuplicateHeader),
                Ok(Some(hash)) => {
                    let hash = Encoding::Hex.read(&hash).ok_or(Reason::MalformedSignature)?;
                    let same = Sha256::digest(request.body).as_slice().ct_eq(&hash);
                    return if bool::from(same) { Ok(String::new()) } else { Err(Reason::SignatureMismatch) };
                }
                Ok(None) => {}
            }
        }
        if request.body.is_empty() {
            // A callback by GET: its fields stand in the query, which is signed with the URL.
            return Ok(String::new());
        }
        let media_type = request.content_type().map(|value| value.split(';').next().unwrap_or_default().trim());
        if !media_type.is_none_or(|text| text.eq_ignore_ascii_case("application/x-www-form-urlencoded")) {
            return Err(Reason::BodyNotSigned);
        }
        sorted_fields(request.body).ok_or(Reason::BodyNotSigned)
    }

    pub(super) fn sign(&self, request: &Request<'_>, secret: &Secret) -> Result<Signed, SignError> {
        let key = KeyEncoding::Text.key(secret).ok_or(SignError::SecretEncoding)?;
        let mut url = request.signed_url().ok_or(SignError::NoUrl)?;
        let form = !request.body.trim_ascii_start().starts_with(b"{") && !request.body.starts_with(b"[");
        let (mut query, mut fields) = (None, String::new());
        match &self.body_hash {
            Some(name) if !form => {
                let pair = format!("{name}={}", hex::encode(Sha256::digest(request.body)));
                let all = request.query.filter(|query| !query.is_empty()).map(|query| format!("{query}&{pair}"));
                let all = all.unwrap_or(pair);
                url = format!("{}?{all}", url.split('?').next().unwrap_or_default());
                query = Some(all);
            }
            _ => fields = sorted_fields(request.body).unwrap_or_default(),
        }
        let mac = self.algorithm.mac(&key, &[url.as_bytes(), fields.as_bytes()]);
        let headers = vec![(self.header.clone(), self.encoding.write(&mac))];
        Ok(Signed { headers, query, ..Signed::default() })
    }
}

/// Name and value of every field, sorted by the bytes of the names; a name with the same value twice counts once.
fn sorted_fields(body: &[u8]) -> Option<String> {
    let form = Form::parse(std::str::from_utf8(body).ok()?).ok()?;
    let mut pairs: Vec<(&str, &str)> = form.pairs().collect();
    pairs.sort_unstable();
    pairs.dedup();
    Some(pairs.into_iter().flat_map(|(name, value)| [name, value]).collect())
}

/// The URL as it is, without its port, and with the ordinary one.
fn with_and_without_port(url: &str) -> Vec<String> {
    let mut urls = vec![url.to_owned()];
    let Some((scheme, rest)) = url.split_once("://") else { return urls };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => urls.push(format!("{scheme}://{host}{path}")),
        _ => {
            let port = if scheme == "https" { 443 } else { 80 };
            urls.push(format!("{scheme}://{authority}:{port}{path}"));
        }
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_tried_with_and_without_its_port() {
        assert_eq!(with_and_without_port("https://h/p?q=:1"), ["https://h/p?q=:1", "https://h:443/p?q=:1"]);
        assert_eq!(with_and_without_port("http://h:80/p"), ["http://h:80/p", "http://h/p"]);
        assert_eq!(with_and_without_port("https://[::1]/p"), ["https://[::1]/p", "https://[::1]:443/p"]);
    }

    #[test]
    fn fields_are_sorted_and_repeated_ones_count_once() {
        assert_eq!(sorted_fields(b"b=2&a=1&B=&b=2&b=1&c=%2B+").as_deref(), Some("Ba1b1b2c+ "));
    }
}
