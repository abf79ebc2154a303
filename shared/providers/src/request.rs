//! A delivery as it arrived, before anything about it is believed.

use std::borrow::Cow;

/// A raw request: what a profile verifies and decodes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The HTTP method in upper case.
    pub method: &'a str,
    /// The last segment of a secret path, where the request has one.
    pub path_token: Option<&'a str>,
    /// The public URL of this endpoint *as configured*, without a query, never rebuilt from headers: some providers
    /// sign it.
    pub url: Option<&'a str>,
    /// The raw query, without its `?`.
    pub query: Option<&'a str>,
    /// Names in any case; duplicates kept.
    pub headers: &'a [(String, String)],
    /// The body exactly as it was sent.
    pub body: &'a [u8],
}

/// The header or field occurs more than once, and which one counts would be a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate;

impl<'a> Request<'a> {
    /// The URL that a provider signs: the configured one with the query as it was sent. The sender may choose the query
    /// because the signature covers it; scheme, host and path are ours.
    pub(crate) fn signed_url(&self) -> Option<String> {
        let url = self.url?;
        Some(match self.query {
            Some(query) if !query.is_empty() => format!("{url}?{query}"),
            _ => url.to_owned(),
        })
    }

    /// The value of a header that may occur once, without the blanks around it.
    pub(crate) fn header(&self, name: &str) -> Result<Option<&'a str>, Duplicate> {
        let mut values = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let first = values.next().map(|(_, value)| value.trim_matches([' ', '\t']));
        if values.next().is_some() { Err(Duplicate) } else { Ok(first) }
    }

    /// Whether a header is there at all.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    /// The decoded value of a query parameter that may occur once.
    pub(crate) fn query_parameter(&self, name: &str) -> Result<Option<Cow<'a, str>>, Duplicate> {
        let query = self.query.unwrap_or_default();
        let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value);
        if values.next().is_some() { Err(Duplicate) } else { Ok(first) }
    }

    /// The delivery's content type.
    pub(crate) fn content_type(&self) -> Option<&'a str> {
        self.header("content-type").ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_in_any_case_and_a_second_one_is_refused() {
        let headers = vec![("X-Sig".to_owned(), " a ".to_owned()), ("x-two".to_owned(), "1".to_owned())];
        let twice = [headers.clone(), vec![("X-TWO".to_owned(), "1".to_owned())]].concat();
        let request = Request {
            method: "POST",
            path_token: None,
            url: None,
            query: Some("a=1&b=%41&a=2"),
            headers: &headers,
            body: b"",
        };
        assert_eq!(request.header("x-sig"), Ok(Some("a")));
        assert_eq!(request.header("x-none"), Ok(None));
        assert_eq!(Request { headers: &twice, ..request }.header("X-Two"), Err(Duplicate));
        assert_eq!(request.query_parameter("b"), Ok(Some("A".into())));
        assert_eq!(request.query_parameter("a"), Err(Duplicate));
    }
}
