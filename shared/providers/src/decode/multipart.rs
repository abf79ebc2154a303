//! `multipart/form-data` (RFC 7578), read strictly and without copying files.

use hookbox_core::digest::Digest;

use super::Fault;

/// The most parts of one body.
const MAX_PARTS: usize = 1_000;

/// One part: its name, and its text or, for a file, the digest of its bytes.
pub(super) type Part = (String, String);

/// The boundary that a content type names, if it is `multipart/form-data`.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (media_type, parameters) = content_type.split_once(';')?;
    if !media_type.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let value = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    (1..=70).contains(&value.len()).then_some(value)
}

/// All parts in their order.
pub(super) fn parse(body: &[u8], boundary: &str) -> Result<Vec<Part>, Fault> {
    let wrong = |rest: &[u8]| Fault::Syntax { at: body.len() - rest.len() };
    let opening = format!("--{boundary}");
    let delimiter = format!("\r\n--{boundary}");
    // What stands before the first boundary is nobody's (RFC 2046, 5.1.1).
    let after_preamble = || find(body, delimiter.as_bytes()).map(|at| &body[at + delimiter.len()..]);
    let mut rest = body.strip_prefix(opening.as_bytes()).or_else(after_preamble).ok_or_else(|| wrong(body))?;
    let mut parts = Vec::new();
    loop {
        if let Some(tail) = rest.strip_prefix(b"--") {
            return if tail.iter().all(|b| b" \t\r\n".contains(b)) {
                Ok(parts)
            } else {
                Err(Fault::TrailingBytes { at: body.len() - tail.len() })
            };
        }
        let inner = rest.strip_prefix(b"\r\n").ok_or_else(|| wrong(rest))?;
        let end = find(inner, delimiter.as_bytes()).ok_or_else(|| wrong(inner))?;
        if parts.len() == MAX_PARTS {
            return Err(Fault::TooManyValues);
        }
        parts.push(part(&inner[..end]).map_err(|fault| fault.unwrap_or_else(|| wrong(inner)))?);
        rest = &inner[end + delimiter.len()..];
    }
}

/// A part's head and body; without a fault of its own it is its syntax.
fn part(bytes: &[u8]) -> Result<Part, Option<Fault>> {
    let head_end = find(bytes, b"\r\n\r\n").ok_or(None)?;
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| Some(Fault::InvalidUtf8))?;
    let value = &bytes[head_end + 4..];
    let disposition = head
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))
        .map(|(_, value)| value)
        .ok_or(None)?;
    let name = parameter(disposition, "name").ok_or(None)?;
    if parameter(disposition, "filename").is_some() || parameter(disposition, "filename*").is_some() {
        return Ok((name, format!("sha256:{}", Digest::of(value))));
    }
    let text = std::str::from_utf8(value).map_err(|_| Some(Fault::InvalidUtf8))?;
    Ok((name, text.to_owned()))
}

/// A parameter of `Content-Disposition`, quoted or not.
fn parameter(disposition: &str, name: &str) -> Option<String> {
    let mut rest = disposition;
    while let Some((_, tail)) = rest.split_once(';') {
        let (key, value) = tail.split_once('=')?;
        let (text, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_at(value.find(';').unwrap_or(value.len())),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(text.to_owned());
        }
        rest = after;
    }
    None
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const BODY: &[u8] = b"--b1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--b1\r\ncontent-disposition: form-data; name=\"f;x\"; filename=\"x.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\xff\x00\r\n--b1--\r\n";

    #[test]
    fn fields_are_texts_and_files_are_digests() {
        assert_eq!(boundary("Multipart/Form-Data; charset=x; boundary=\"b1\""), Some("b1".into()));
        assert_eq!(boundary("multipart/mixed; boundary=b1"), None);
        let parts = parse(BODY, "b1").unwrap();
        assert_eq!(parts[0], ("a".into(), "1\r\n2".into()));
        assert_eq!(parts[1], ("f;x".into(), format!("sha256:{}", Digest::of(b"\xff\x00"))));
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn what_is_not_closed_or_goes_on_is_refused() {
        for cut in 1..BODY.len() - 4 {
            assert!(parse(&BODY[..cut], "b1").is_err(), "{cut}");
        }
        let before = [b"for old readers\r\n", BODY].concat();
        assert_eq!(parse(&before, "b1"), parse(BODY, "b1"), "a preamble is passed over");
        let more = [BODY, b"x"].concat();
        assert!(matches!(parse(&more, "b1"), Err(Fault::TrailingBytes { .. })));
        assert!(parse(BODY, "b2").is_err());
        let bad = BODY.iter().map(|b| if *b == b'1' { 0xff } else { *b }).collect::<Vec<_>>();
        assert!(parse(&bad, "b1").is_err());
    }
}
