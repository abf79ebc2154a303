//! Poison for people: enough of it to find who sent it, and nothing that looks like a secret.
//!
//! Nobody knows what it is, so it is read as text, and what is in doubt is hidden.

use crate::layout::harmless;

/// The most characters that are shown.
const ROOM: usize = 2_000;
/// From this length on a word with digits in it is taken for a secret, and one of any letters from twice this length.
const OPAQUE: usize = 20;
/// What stands in the place of a secret.
const HIDDEN: &str = "[hidden]";
/// What the names of secrets hold, without their dashes.
const NAMES: [&str; 15] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "signature",
    "apikey",
    "accesskey",
    "privatekey",
    "hmac",
    "credential",
    "session",
    "jwt",
];
/// Names of secrets that are parts of harmless words.
const WHOLE_NAMES: [&str; 4] = ["auth", "key", "pwd", "sig"];
/// What stands before a credential, with a space between.
const SCHEMES: [&str; 4] = ["bearer", "basic", "digest", "negotiate"];
/// How secrets begin that say so themselves.
const PREFIXES: [&str; 16] = [
    "sk_",
    "rk_",
    "pk_",
    "sk-",
    "whsec_",
    "whsk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "eyJ",
];

/// The text with its secrets hidden, its control characters spelt out, and not more than there is room for.
pub(super) fn redacted(text: &str) -> String {
    let text = without_keys(text);
    let (mut shown, mut rest) = (String::new(), text.as_str());
    while let Some(first) = rest.chars().next() {
        if let Some(Secret { before, length }) = secret_at(rest) {
            shown.push_str(rest.get(..before).unwrap_or_default());
            shown.push_str(HIDDEN);
            rest = rest.get(before + length..).unwrap_or_default();
            continue;
        }
        // A job key is no secret, and says the most of all.
        let taken = job_key(rest).unwrap_or(name(rest).len()).max(first.len_utf8());
        shown.push_str(rest.get(..taken).unwrap_or_default());
        rest = rest.get(taken..).unwrap_or_default();
    }
    let shown = harmless(shown);
    let more = shown.chars().count().saturating_sub(ROOM);
    if more == 0 {
        return shown;
    }
    format!("{}… and {more} characters more", shown.chars().take(ROOM).collect::<String>())
}

/// The text without private keys and certificates, which are of many words and lines.
fn without_keys(text: &str) -> String {
    const BEGIN: &str = "-----BEGIN";
    const END: &str = "-----END";
    const DASHES: &str = "-----";
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, key)) = rest.split_once(BEGIN) {
        shown.push_str(before);
        shown.push_str(HIDDEN);
        // One without its end goes on to the end of the text.
        let after = key.split_once(END).and_then(|(_, end)| end.split_once(DASHES));
        rest = after.map_or("", |(_, after)| after);
    }
    shown + rest
}

/// Where something that looks like a secret begins and how long it is, in bytes.
struct Secret {
    before: usize,
    length: usize,
}

/// The secret that this text begins with, or names at its beginning.
fn secret_at(text: &str) -> Option<Secret> {
    if let Some(address) = text.strip_prefix("://") {
        let host = address.find(['/', '?', '#', '"', '\'', ' ', '\n', '\\']).unwrap_or(address.len());
        let user = address.get(..host)?.rfind('@')?;
        return Some(Secret { before: 3, length: user });
    }
    let name = name(text);
    if !name.is_empty() {
        let after = text.get(name.len()..).unwrap_or_default();
        let value = if names_a_secret(name) { value(after) } else { None };
        if let Some(Secret { before, length }) = value.or_else(|| credential(name, after)) {
            return Some(Secret { before: name.len() + before, length });
        }
    }
    if job_key(text).is_some() {
        return None;
    }
    let word = leading(text, |c| c.is_ascii_alphanumeric() || "_-+/=.~%".contains(c));
    is_opaque(word).then_some(Secret { before: 0, length: word.len() })
}

fn leading(text: &str, takes: impl Fn(char) -> bool) -> &str {
    text.get(..text.find(|c| !takes(c)).unwrap_or(text.len())).unwrap_or_default()
}

/// The name that the text begins with; empty when it begins with none.
fn name(text: &str) -> &str {
    leading(text, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn names_a_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    NAMES.iter().any(|part| plain.contains(part)) || WHOLE_NAMES.contains(&plain.as_str())
}

/// What belongs to the name of a secret before this text: the rest of its line, or of its quotes.
fn value(after: &str) -> Option<Secret> {
    let gap = |text: &str| leading(text, |c| c == ' ' || c == '\t').len();
    let quote = leading(after, |c| c == '\\' || c == '"' || c == '\'').len();
    let mut before = quote + gap(after.get(quote..)?);
    let separator =
        after.get(before..)?.chars().next().filter(|c| *c == ':' || *c == '=' || (*c == ',' && quote > 0))?;
    before += separator.len_utf8();
    before += gap(after.get(before..)?);
    let value = after.get(before..)?;
    let opening = leading(value, |c| c == '\\');
    let escaped = opening.len();
    let length = match (separator, value.get(escaped..)?.chars().next()?) {
        // A header as a pair: its value may stand behind a name of its own.
        (',', _) => value.find([']', '}', '\n']).unwrap_or(value.len()),
        (_, quote @ ('"' | '\'')) => {
            let closing = format!("{opening}{quote}");
            let within = value.get(escaped + 1..)?;
            escaped + 1 + closed(within, &closing).unwrap_or(within.len())
        }
        (_, '[' | '{') => value.len(),
        ('=', _) => value.find(['&', '\n', '"', '\'', '\\']).unwrap_or(value.len()),
        _ => value.find('\n').unwrap_or(value.len()),
    };
    Some(Secret { before, length })
}

/// Behind the first closing quote that is not escaped itself.
fn closed(text: &str, closing: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(closing)?;
        if !text.get(..at)?.ends_with('\\') {
            return Some(at + closing.len());
        }
        from = at + closing.len();
    }
}

/// What stands behind the name of a scheme.
fn credential(name: &str, after: &str) -> Option<Secret> {
    if !SCHEMES.contains(&name.to_ascii_lowercase().as_str()) {
        return None;
    }
    let before = leading(after, |c| c == ' ').len();
    let length = leading(after.get(before..)?, |c| !c.is_whitespace() && c != '"' && c != '\'' && c != '\\').len();
    (before > 0 && length > 0).then_some(Secret { before, length })
}

fn is_opaque(word: &str) -> bool {
    let digits = word.bytes().any(|b| b.is_ascii_digit());
    (word.len() >= OPAQUE && digits)
        || word.len() >= 2 * OPAQUE
        || (word.len() >= OPAQUE / 2 && PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
}

/// The length of what is written like a job's key at the beginning of the text.
fn job_key(text: &str) -> Option<usize> {
    let receipt = leading(text, |c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    let operation = name(text.get(receipt.len()..)?.strip_prefix(':')?);
    let version = text.get(receipt.len() + 1 + operation.len()..)?.strip_prefix(":v")?;
    let digits = leading(version, |c| c.is_ascii_digit());
    let key = receipt.len() == 64 && (1..=40).contains(&operation.len()) && (1..=5).contains(&digits.len());
    key.then_some(receipt.len() + 1 + operation.len() + 2 + digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden_and_the_rest_is_shown() {
        let hex = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            (r#"{"kind":"order.paid","n":17}"#, r#"{"kind":"order.paid","n":17}"#),
            ("Authorization: Bearer abc def\r\nHost: a.example", r"Authorization: [hidden]\u{a}Host: a.example"),
            (r#"{"authorization":"Basic \"YQ==\" ","n":1}"#, r#"{"authorization":[hidden],"n":1}"#),
            (r#"{"headers":{"X-Api-Key": 17,"n":1}}"#, r#"{"headers":{"X-Api-Key": [hidden]"#),
            (r#"{"headers":[["Cookie","a=b"],["N","1"]]}"#, r#"{"headers":[["Cookie",[hidden]],["N","1"]]}"#),
            (r#"{"name":"Client-Secret","value":"x"}"#, r#"{"name":"Client-Secret",[hidden]}"#),
            (r#"{"body":"{\"token\":\"a\\\"b\",\"n\":1}"}"#, r#"{"body":"{\"token\":[hidden],\"n\":1}"}"#),
            (r#"{"secrets":["a]","b"],"n":1}"#, r#"{"secrets":[hidden]"#),
            ("a=1&access_token=xyz&b=2", "a=1&access_token=[hidden]&b=2"),
            ("password = hunter2 and more\nn", r"password = [hidden]\u{a}n"),
            ("it says Bearer abc.def and goes on", "it says Bearer [hidden] and goes on"),
            ("the token expired, the author knows", "the token expired, the author knows"),
            ("call sk_live_abcdef now", "call [hidden] now"),
            ("https://jane:pw@a.example/x?sig=1", "https://[hidden]@a.example/x?sig=[hidden]"),
            ("an 8a7c61f2b3d4e5f60718 id", "an [hidden] id"),
            ("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\nn", r"[hidden]\u{a}n"),
            ("-----BEGIN PRIVATE KEY-----\nMC4C", "[hidden]"),
            (
                r#"{"pem":"x-----BEGIN EC PRIVATE KEY-----\nMC4C\n-----END EC PRIVATE KEY-----\n","n":1}"#,
                r#"{"pem":"x[hidden]\n","n":1}"#,
            ),
            (&format!("{{\"job\":\"{hex}:mail:v01\"}}"), &format!("{{\"job\":\"{hex}:mail:v01\"}}")),
            (&format!("{{\"job\":\"{hex}\"}}"), "{\"job\":\"[hidden]\"}"),
            ("schön\u{1b}[2J\u{202e}", "schön\\u{1b}[2J\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_long_is_cut_after_its_secrets_are_hidden() {
        let text = format!("{} Bearer {}", "ab ".repeat(660), "x".repeat(100));
        let shown = redacted(&text);
        assert!(shown.ends_with("ab  Bearer [hidden]") && shown.len() < 2_000, "{shown}");
        let shown = redacted(&"ab ".repeat(1_000));
        assert!(shown.ends_with("… and 1000 characters more"), "{shown}");
        assert_eq!(shown.chars().filter(|c| *c == 'a').count(), 667 + 3);
    }

    /// Wherever a text is cut or spoilt, no part of a secret that is long or named is shown.
    #[test]
    fn no_cut_shows_a_secret() {
        let secret = "s3cr3tS3CR3Ts3cr3tS3CR3T";
        let text = format!(
            "ü{{\"auth\":\"{secret}\",\"h\":[\"Authorization: Bearer {secret}\"],\"q\":\"?token={secret}&x=1\"}}"
        );
        for (at, _) in text.char_indices() {
            let (head, tail) = text.split_at(at);
            for cut in
                [head.to_owned(), format!("{head}\n{tail}"), format!("{head}\"{tail}"), format!("{head}\\{tail}")]
            {
                let shown = redacted(&cut);
                assert!(!shown.contains(&secret[..20]), "{cut}: {shown}");
            }
        }
    }
}
