//! What is signed, when it was signed, and how long ago that may be.

use std::borrow::Cow;
use std::time::Duration;

use hookbox_core::time::Timestamp;

use crate::profile::duration;
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::verdict::{Misconfiguration, Reason, Refusal};

/// One part of the text that a signature covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Timestamp,
    Id,
    Url,
    /// The URL in which some percent escapes are decoded, as HubSpot signs it.
    UnescapedUrl,
    Method,
    Body,
}

/// The text that a signature covers, such as `{timestamp}.{body}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignedText(Vec<Part>);

impl SignedText {
    pub(super) fn compile(template: &str) -> Result<Self, Flaw> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some(open) = rest.find('{') {
            let (text, tail) = rest.split_at(open);
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            let close = tail.find('}').ok_or_else(|| Flaw::new("a `{` is never closed"))?;
            parts.push(match &tail[1..close] {
                "timestamp" => Part::Timestamp,
                "id" => Part::Id,
                "url" => Part::Url,
                "unescaped-url" => Part::UnescapedUrl,
                "method" => Part::Method,
                "body" => Part::Body,
                other => {
                    let known = "{timestamp}, {id}, {url}, {unescaped-url}, {method} and {body}";
                    return Err(Flaw::new(format!("`{{{other}}}` is nothing that can be signed; there are {known}")));
                }
            });
            rest = &tail[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if !parts.contains(&Part::Body) {
            return Err(Flaw::new("the body is not signed: anybody could send another one"));
        }
        Ok(Self(parts))
    }

    pub(super) fn has(&self, part: &Part) -> bool {
        self.0.contains(part)
    }

    /// Whether the endpoint's URL is signed.
    pub(super) fn has_url(&self) -> bool {
        self.has(&Part::Url) || self.has(&Part::UnescapedUrl)
    }

    /// The text in pieces, so that the body is not copied.
    pub(super) fn pieces<'a>(
        &'a self,
        request: &Request<'a>,
        timestamp: &'a str,
        id: &'a str,
    ) -> Result<Vec<Cow<'a, [u8]>>, Misconfiguration> {
        let url = || request.signed_url().ok_or(Misconfiguration::NoUrl);
        self.0
            .iter()
            .map(|part| {
                Ok(match part {
                    Part::Text(text) => Cow::Borrowed(text.as_bytes()),
                    Part::Timestamp => Cow::Borrowed(timestamp.as_bytes()),
                    Part::Id => Cow::Borrowed(id.as_bytes()),
                    Part::Url => Cow::Owned(url()?.into_bytes()),
                    Part::UnescapedUrl => Cow::Owned(unescaped(&url()?).into_bytes()),
                    Part::Method => Cow::Borrowed(request.method.as_bytes()),
                    Part::Body => Cow::Borrowed(request.body),
                })
            })
            .collect()
    }
}

/// The URL with the escapes of `: / ? @ ! $ ' ( ) * , ;` decoded, and no others.
fn unescaped(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some(at) = rest.find('%') {
        let escape = rest.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push_str(&rest[..at]);
        match escape {
            Some(byte) if b":/?@!$'()*,;".contains(&byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            _ => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

/// How a signed timestamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Rfc3339,
}

impl Unit {
    pub(super) fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("s") => Ok(Self::Seconds),
            Some("ms") => Ok(Self::Millis),
            Some("rfc3339") => Ok(Self::Rfc3339),
            Some(other) => Err(Flaw::new(format!("`{other}` is no unit of time; there are s, ms and rfc3339"))),
        }
    }

    pub(super) fn read(self, text: &str) -> Result<Timestamp, Reason> {
        let number = || -> Option<i64> {
            // More digits than the year 9999 has in milliseconds are no time.
            (text.len() <= 15 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
        };
        match self {
            Self::Seconds => number().map(Timestamp::from_seconds),
            Self::Millis => number().map(Timestamp::from_millis),
            Self::Rfc3339 => Timestamp::parse_rfc3339(text),
        }
        .ok_or(Reason::MalformedTimestamp)
    }

    pub(super) fn write(self, at: Timestamp) -> String {
        match self {
            Self::Seconds => at.as_millis().div_euclid(1000).to_string(),
            Self::Millis => at.as_millis().to_string(),
            Self::Rfc3339 => at.to_string(),
        }
    }
}

/// How far a signed timestamp may be from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tolerance {
    span: Duration,
    both_sides: bool,
}

impl Tolerance {
    /// Takes `tolerance` and `tolerance_sides` out of the file.
    pub(super) fn take(file: &mut SchemeFile) -> Result<Option<Self>, Flaw> {
        let both_sides = match file.tolerance_sides.take().as_deref() {
            None | Some("both") => true,
            Some("past") => false,
            Some(other) => {
                return Err(Flaw::new(format!("`{other}` is not `past` or `both`"))).under("tolerance_sides");
            }
        };
        let Some(text) = file.tolerance.take() else {
            return Ok(None);
        };
        let span = duration::parse(&text).under("tolerance")?;
        Ok(Some(Self { span, both_sides }))
    }

    /// How long a signature is believed.
    pub(super) fn span(self) -> Duration {
        self.span
    }

    /// Whether a time that lies ahead may be too far as well.
    pub(super) fn looks_both_ways(self) -> bool {
        self.both_sides
    }

    /// The edge still counts.
    pub(super) fn check(self, signed_at: Timestamp, now: Timestamp) -> Result<(), Refusal> {
        if now.since(signed_at) > self.span {
            Err(Reason::TooOld.into())
        } else if self.both_sides && signed_at.since(now) > self.span {
            Err(Reason::TooNew.into())
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_escapes_of_a_url_are_decoded() {
        assert_eq!(unescaped("https://x/a%2Fb%3fc%20d%C3%A4%"), "https://x/a/b?c%20d%C3%A4%");
        assert_eq!(unescaped("https://x/%2"), "https://x/%2");
    }
}
