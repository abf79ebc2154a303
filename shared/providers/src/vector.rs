//! Signed requests with their verdicts, in the format of `tests/vectors/README.md`: a test kit for profiles.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::name::Provider;
use hookbox_core::time::Timestamp;
use serde_json::{Map, Value};

use crate::handshake::{Answer, Handshake};
use crate::profile::{Configured, Profiles};
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Reason, Verdict};

/// One signed request with the verdict that it should get.
#[derive(Clone, Debug)]
pub struct Vector {
    value: Value,
}

/// A vector that cannot be judged, which is a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Something of the format is missing or wrong.
    #[error("`{0}` is missing or not of the documented form")]
    Format(&'static str),
    /// There is no such profile.
    #[error("there is no profile `{0}`")]
    Provider(String),
    /// The profile has no way to verify of this name.
    #[error("the profile knows no scheme `{0}`")]
    Scheme(String),
    /// The vector's parameters do not fit the profile.
    #[error("{0}")]
    Profile(String),
}

impl Vector {
    /// Takes one element of a file of vectors.
    pub fn new(value: Value) -> Self {
        Self { value }
    }

    /// The vector's name, or nothing.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// Whether the request should be valid.
    pub fn expects_valid(&self) -> Result<bool, VectorError> {
        match self.text("expect") {
            Some("valid") => Ok(true),
            Some("invalid") => Ok(false),
            _ => Err(VectorError::Format("expect")),
        }
    }

    /// The verdict that the request gets from the provider's profile. The vector's own parameters count before the
    /// profile's; where it names no time, none is looked at.
    pub fn judge(&self, profiles: &Profiles) -> Result<Verdict, VectorError> {
        let case = self.case(profiles)?;
        if case.by_token {
            return Ok(match self.answered(&case)? {
                Some(Handshake::Refused(verdict)) => verdict,
                Some(_) => Verdict::Valid { secret_index: 0, signed_at: None, once: None },
                None => Verdict::Invalid(Reason::MissingCredential),
            });
        }
        let mut fetched = Fetched::nothing();
        match case.configured.verify(&case.request(), &case.secrets, &fetched, case.now) {
            Verdict::NeedsFetch { .. } if self.is_without_certificate() => Ok(self.judge_text(&case)),
            Verdict::NeedsFetch { url } => {
                fetched.insert(url, self.document()?.as_bytes().to_vec());
                Ok(case.configured.verify(&case.request(), &case.secrets, &fetched, case.now))
            }
            verdict => Ok(verdict),
        }
    }

    /// What is wrong with the answer that the request would get, where the vector says how a handshake is answered.
    pub fn judge_answer(&self, profiles: &Profiles) -> Result<Option<String>, VectorError> {
        let Some(expected) = self.value.get("expected_response").filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        Ok(match self.answered(&self.case(profiles)?)? {
            Some(Handshake::Answer(answer) | Handshake::Confirm { answer, .. }) => differs(&answer, expected),
            Some(Handshake::Refused(_)) => Some("the handshake is refused".to_owned()),
            None => Some("it is no handshake".to_owned()),
        })
    }

    /// The request and how it is judged.
    fn case(&self, profiles: &Profiles) -> Result<Case<'_>, VectorError> {
        let now = self.value["now"].as_i64().map(Timestamp::from_seconds);
        let configured = self.configured(profiles, now.is_some())?;
        let headers = self.value["headers"].as_object().ok_or(VectorError::Format("headers"))?;
        let several = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let headers =
            headers.iter().flat_map(|(name, value)| several(value).into_iter().map(move |value| (name, value)));
        let headers = headers.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let body = self.text("body_b64").and_then(|text| STANDARD.decode(text).ok());
        // A fragment is never sent.
        let url = self.text("url").map(|url| url.split('#').next().unwrap_or_default());
        let (url, query) = match url.and_then(|url| url.split_once('?')) {
            None => (url, None),
            Some((url, query)) => (Some(url), Some(query)),
        };
        let method = self.text("method").ok_or(VectorError::Format("method"))?;
        let by_token = method == "GET" && configured.wants_token() && self.value.get("expected_response").is_some();
        let secrets = several(&self.value["secret"]).into_iter().filter_map(|secret| {
            let text = secret.as_str().unwrap_or_default();
            let prefix = if by_token && !text.starts_with("verify_token:") { "verify_token:" } else { "" };
            // An empty secret is none at all.
            Secret::new(text).and_then(|_| Secret::new(format!("{prefix}{text}"))).ok()
        });
        Ok(Case {
            headers: headers.collect::<Option<_>>().ok_or(VectorError::Format("headers"))?,
            body: body.ok_or(VectorError::Format("body_b64"))?,
            secrets: secrets.collect(),
            now: now.unwrap_or(Timestamp::from_millis(0)),
            configured,
            method,
            url,
            query,
            by_token,
        })
    }

    fn configured(&self, profiles: &Profiles, at_a_time: bool) -> Result<Configured, VectorError> {
        let provider = self.text("provider").ok_or(VectorError::Format("provider"))?;
        let unknown = || VectorError::Provider(provider.to_owned());
        let name: Provider = provider.parse().map_err(|_| unknown())?;
        let profile = profiles.get(&name).map_err(|error| VectorError::Profile(error.to_string()))?;
        let profile = profile.ok_or_else(unknown)?;

        let scheme = self.text("scheme").ok_or(VectorError::Format("scheme"))?;
        let unknown = || VectorError::Scheme(scheme.to_owned());
        let (index, mut parameters) = match profile.index_for_vectors(scheme) {
            Some(index) => (index, Map::new()),
            // A profile that can be anything is what the scheme's name says, here or in another profile.
            None if profile.is_open() => {
                (0, without_a_provider(scheme).or_else(|| profiles.scheme_for_vectors(scheme)).ok_or_else(unknown)?)
            }
            None => return Err(unknown()),
        };
        let way = parameters.get("scheme").and_then(Value::as_str).unwrap_or(profile.scheme_at(index)).to_owned();
        self.put_over(&way, &mut parameters);
        // A scheme that signs no time has none to compare with.
        let timed = parameters.contains_key("tolerance") || profile.is_timed_at(index);
        if let Some(seconds) = self.value["tolerance_secs"].as_u64().filter(|_| timed) {
            parameters.insert("tolerance".into(), format!("{seconds}s").into());
        }
        let configured = profile.configure_for_vectors(index, parameters, at_a_time);
        configured.map_err(|error| VectorError::Profile(error.to_string()))
    }

    /// What the request is as a handshake, if it is one.
    fn answered(&self, case: &Case<'_>) -> Result<Option<Handshake>, VectorError> {
        let ask = |fetched: &Fetched| case.configured.handshake(&case.request(), &case.secrets, fetched, case.now);
        let mut fetched = Fetched::nothing();
        match ask(&fetched) {
            Some(Handshake::Refused(Verdict::NeedsFetch { url })) => {
                fetched.insert(url, self.document()?.as_bytes().to_vec());
                Ok(ask(&fetched))
            }
            handshake => Ok(handshake),
        }
    }

    /// Whether nobody has the certificate that the request was signed with, but the text that it signs is known.
    fn is_without_certificate(&self) -> bool {
        self.text("scheme") == Some("paypal-rsa")
            && self.text("cert_pem").is_none()
            && self.text("signed_string").is_some()
    }

    /// Judges what is signed instead of the signature.
    fn judge_text(&self, case: &Case<'_>) -> Verdict {
        let secret = case.secrets.first();
        let signed = secret.and_then(|secret| case.configured.signed_text(&case.request(), secret));
        if signed.is_some() && signed.as_deref() == self.text("signed_string") {
            Verdict::Valid { secret_index: 0, signed_at: None, once: None }
        } else {
            Verdict::Invalid(Reason::SignatureMismatch)
        }
    }

    /// The vector's own parameters, as far as the scheme has such.
    fn put_over(&self, scheme: &str, parameters: &mut Map<String, Value>) {
        let keyed = matches!(scheme, "hmac" | "secret-prefix-hash" | "body-fields");
        let key_encoding = match self.text("secret_encoding") {
            Some("utf8") if keyed => Some("text"),
            Some(encoding @ ("hex" | "base64")) if keyed => Some(encoding),
            _ => None,
        };
        let names_header =
            keyed && scheme != "body-fields" || ["url-form", "ed25519", "ecdsa-p256", "token"].contains(&scheme);
        let overridden = [
            ("key_encoding", key_encoding),
            ("header", self.text("signature_header").filter(|_| names_header)),
            ("audience", self.text("expected_audience").filter(|_| scheme == "oidc")),
            ("email", self.text("expected_email").filter(|_| scheme == "oidc")),
            ("trusted", self.text("cert_pem").filter(|_| scheme == "paypal")),
        ];
        let family = self.text("signature_header").and_then(|header| header.strip_suffix("signature"));
        if let Some(family) = family.filter(|_| scheme == "standard-webhooks") {
            parameters.insert("header_prefixes".into(), vec![family].into());
        }
        parameters.extend(overridden.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
    }

    /// What the scheme fetches: the certificate, or the document that stands in the place of a secret.
    fn document(&self) -> Result<&str, VectorError> {
        self.text("cert_pem").or_else(|| self.text("secret")).ok_or(VectorError::Format("cert_pem"))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key)?.as_str()
    }
}

/// A vector's request, and what it is judged with.
struct Case<'a> {
    configured: Configured,
    method: &'a str,
    url: Option<&'a str>,
    query: Option<&'a str>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    secrets: Vec<Secret>,
    now: Timestamp,
    /// Whether it is a handshake that carries a token in the place of a signature.
    by_token: bool,
}

impl Case<'_> {
    fn request(&self) -> Request<'_> {
        let path_token = self.url.filter(|_| self.configured.has_secret_path()).and_then(|url| url.rsplit('/').next());
        let (method, url, query) = (self.method, self.url, self.query);
        Request { method, path_token, url, query, headers: &self.headers, body: &self.body }
    }
}

/// The parameters that names such as `base64-sha256` stand for, a MAC of the body alone, and those of a bearer token.
fn without_a_provider(scheme: &str) -> Option<Map<String, Value>> {
    if matches!(scheme, "bearer" | "bearer-token") {
        return Some(Map::from_iter([("scheme".to_owned(), "bearer".into())]));
    }
    let (encoding, algorithm) = scheme.split_once('-')?;
    let known = ["hex", "base64"].contains(&encoding) && ["sha1", "sha256", "sha512"].contains(&algorithm);
    let parameters = [("encoding", encoding), ("algorithm", algorithm)];
    known.then(|| parameters.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// Where an answer differs from what is expected: a status, a body as text or as JSON, or an object of `status`, `body`,
/// `content_type` and `headers`.
fn differs(answer: &Answer, expected: &Value) -> Option<String> {
    let parts = ["status", "body", "content_type", "headers"];
    let whole = expected.as_object().filter(|members| {
        (members.contains_key("status") || members.contains_key("body"))
            && members.keys().all(|name| parts.contains(&name.as_str()))
    });
    let Some(members) = whole else {
        return match expected.as_u64() {
            Some(status) if status == u64::from(answer.status) => None,
            Some(_) => Some(format!("the answer is {}, not {expected}", answer.status)),
            None => (!is_body(answer, expected)).then(|| format!("the answer is {:?}, not {expected}", answer.body)),
        };
    };
    let wrong = members.iter().find(|(name, value)| match name.as_str() {
        "status" => value.as_u64() != Some(u64::from(answer.status)),
        "body" => !is_body(answer, value),
        "content_type" => value.as_str() != answer.content_type.as_deref(),
        _ => !value.as_object().is_some_and(|headers| headers.iter().all(|(name, value)| has(answer, name, value))),
    });
    wrong.map(|(name, value)| format!("the answer's {name} is not {value}: {answer:?}"))
}

/// Whether the body is this text, or this JSON however it is written.
fn is_body(answer: &Answer, expected: &Value) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    match expected {
        Value::Null => answer.body.is_empty(),
        Value::String(text) => {
            *text == answer.body || json(text).is_some_and(|wanted| json(&answer.body) == Some(wanted))
        }
        other => json(&answer.body).as_ref() == Some(other),
    }
}

fn has(answer: &Answer, name: &str, value: &Value) -> bool {
    let content_type = answer.content_type.iter().map(|text| ("content-type", text.as_str()));
    let headers = answer.headers.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    content_type.chain(headers).any(|(known, text)| known.eq_ignore_ascii_case(name) && value.as_str() == Some(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_compared_with_whatever_says_how_it_should_be() {
        let answer = Answer {
            status: 200,
            content_type: Some("application/json".into()),
            headers: vec![("X-A".into(), "1".into())],
            body: r#"{"a":1,"b":"c"}"#.into(),
        };
        for same in [
            json!(200),
            json!({"b": "c", "a": 1}),
            json!(r#"{ "b": "c", "a": 1 }"#),
            json!({"status": 200}),
            json!({"status": 200, "body": {"a": 1, "b": "c"}, "headers": {"x-a": "1", "Content-Type": "application/json"}}),
        ] {
            assert_eq!(differs(&answer, &same), None, "{same}");
        }
        for other in [
            json!(204),
            json!({"a": 1}),
            json!("c"),
            json!(""),
            json!({"status": 204}),
            json!({"body": null}),
            json!({"status": 200, "headers": {"x-a": "2"}}),
            json!({"status": 200, "content_type": "text/plain"}),
        ] {
            assert!(differs(&answer, &other).is_some(), "{other}");
        }
        let text = Answer { body: "challenge".into(), ..answer.clone() };
        assert_eq!(differs(&text, &json!("challenge")), None);
        assert_eq!(differs(&Answer { body: String::new(), ..answer }, &json!({"status": 200, "body": null})), None);
    }
}
