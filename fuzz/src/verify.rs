//! Verification of what nobody signed: the first byte chooses the profile and its variant, then follow the query, the
//! last segment of the path, headers, an empty line and the body.

use std::collections::BTreeMap;

use hookbox_providers::{Fetched, Handshake, Request, Secret, Verdict};

use super::decode::way;
use super::ways::{NOW, URL, secret};

/// A request as it is written in an input.
pub struct Written<'a> {
    pub query: Option<&'a str>,
    pub path_token: Option<&'a str>,
    pub headers: Vec<(String, String)>,
    pub body: &'a [u8],
}

impl<'a> Written<'a> {
    /// Reads the request; `None` where its head is no text.
    pub fn read(data: &'a [u8]) -> Option<Self> {
        let end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
        let mut lines = std::str::from_utf8(&data[..end]).ok()?.split('\n');
        let some = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        let (query, path_token) = (some(lines.next()?), lines.next().and_then(some));
        let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers = lines.filter_map(header).collect();
        Some(Self { query, path_token, headers, body: data.get(end + 2..).unwrap_or_default() })
    }

    pub fn request(&self, method: &'static str) -> Request<'_> {
        Request {
            method,
            path_token: self.path_token,
            url: Some(URL),
            query: self.query,
            headers: &self.headers,
            body: self.body,
        }
    }
}

/// Writes a request as [`Written`] reads it.
pub fn write(query: &str, path_token: &str, headers: &BTreeMap<String, String>, body: &[u8]) -> Vec<u8> {
    let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    [format!("{query}\n{path_token}\n{}\n", lines.concat()).as_bytes(), body].concat()
}

/// No panic, the same verdict each time, and never one that is valid: no input was signed with these secrets.
pub fn holds(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Some(written) = Written::read(rest) else { return };
    let way = way(*first);
    let secrets = [way.verifying.clone(), way.other.clone(), secret("verify_token:nobody-was-told-0c1f")];
    let secrets: &[Secret] = match way.provider() {
        "facebook" | "instagram" | "whatsapp" => &secrets,
        "sendgrid" => &[secret(super::documents::SENDGRID_KEY)],
        _ => &secrets[..2],
    };
    for method in ["POST", "GET", "HEAD"] {
        let request = written.request(method);
        let judge = || way.configured.verify(&request, secrets, &Fetched::nothing(), NOW);
        let verdict = judge();
        assert_eq!(verdict, judge());
        match &verdict {
            Verdict::Valid { .. } => panic!("{}: valid, and nobody signed it", way.name),
            Verdict::NeedsFetch { url } => assert!(is_providers_own(url), "{}: {url} is to be fetched", way.name),
            Verdict::Misconfigured(reason) => assert_eq!(way.provider(), "google-pubsub", "{}: {reason}", way.name),
            Verdict::Invalid(_) => {}
        }
        match way.configured.handshake(&request, secrets, &Fetched::nothing(), NOW) {
            Some(Handshake::Confirm { url, .. }) => panic!("{}: {url} would be confirmed for nobody", way.name),
            Some(Handshake::Refused(verdict)) => assert!(!matches!(verdict, Verdict::Valid { .. })),
            Some(Handshake::Answer(_)) | None => {}
        }
    }
}

fn is_providers_own(url: &str) -> bool {
    let host = url.strip_prefix("https://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    [".amazonaws.com", ".amazonaws.com.cn", ".paypal.com", "www.googleapis.com"].iter().any(|end| host.ends_with(end))
}
