//! Signed requests of the providers' vectors, as API Gateway hands them over.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::integration::{Integration, SecretRef};
use hookbox_core::time::Timestamp;
use serde_json::Value;

use super::stage::{NOW, delivery, integration};

/// Begins the names of variables that hold the secret of a vector.
const VARIABLE: &str = "VECTOR__";

/// A signed request.
pub(super) struct Signed {
    provider: &'static str,
    pub(super) name: String,
    pub(super) scheme: String,
    method: String,
    /// The address that was signed, with its query. What follows a `#` is never sent, nor signed.
    pub(super) url: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) secret: String,
    pub(super) email: Option<String>,
    pub(super) now: Timestamp,
    pub(super) valid: bool,
}

fn file(provider: &str) -> &'static str {
    match provider {
        "aws-sns" => include_str!("../../../../tests/vectors/aws-sns.json"),
        "google-pubsub" => include_str!("../../../../tests/vectors/google-pubsub.json"),
        "hubspot" => include_str!("../../../../tests/vectors/hubspot.json"),
        "mailgun" => include_str!("../../../../tests/vectors/mailgun.json"),
        "mandrill" => include_str!("../../../../tests/vectors/mandrill.json"),
        "square" => include_str!("../../../../tests/vectors/square.json"),
        "twilio" => include_str!("../../../../tests/vectors/twilio.json"),
        other => panic!("no vectors of {other}"),
    }
}

impl Signed {
    pub(super) fn all(provider: &'static str) -> Vec<Self> {
        let vectors: Vec<Value> = serde_json::from_str(file(provider)).unwrap();
        vectors.iter().map(|vector| Self::read(provider, vector)).collect()
    }

    pub(super) fn of(provider: &'static str, name: &str) -> Self {
        Self::all(provider).into_iter().find(|signed| signed.name == name).expect("a vector of this name")
    }

    fn read(provider: &'static str, vector: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let maybe = |name: &str| vector[name].as_str().map(str::to_owned);
        let headers = vector["headers"].as_object().unwrap();
        Self {
            provider,
            name: text(&vector["name"]),
            scheme: text(&vector["scheme"]),
            method: text(&vector["method"]),
            url: maybe("url").map(|url| url.split('#').next().unwrap_or_default().to_owned()),
            headers: headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body: STANDARD.decode(text(&vector["body_b64"])).unwrap(),
            secret: text(&vector["secret"]),
            email: maybe("expected_email"),
            now: vector["now"].as_i64().map_or(NOW, Timestamp::from_seconds),
            valid: vector["expect"] == "valid",
        }
    }

    pub(super) fn json(&self, field: &str) -> String {
        serde_json::from_slice::<Value>(&self.body).unwrap()[field].as_str().unwrap().to_owned()
    }

    /// The integration that knows its secret and its address.
    pub(super) fn integration(&self) -> Integration {
        let variable = format!("{VARIABLE}{}__{}", self.provider.replace('-', "_"), self.name);
        let address = self.url.as_deref().map(|url| url.split('?').next().unwrap_or_default().to_owned());
        Integration { url: address, secrets: vec![SecretRef::Env(variable)], ..integration(self.provider) }
    }

    /// The request, sent to our own path with the query that was signed.
    pub(super) fn event(&self) -> Value {
        let mut event = delivery(&format!("/hooks/{}/demo", self.provider), &self.headers, &self.body);
        event["requestContext"]["http"]["method"] = self.method.as_str().into();
        if let Some((_, query)) = self.url.as_deref().and_then(|url| url.split_once('?')) {
            event["rawQueryString"] = query.into();
        }
        event
    }
}

/// The secret that a variable of such a name holds.
pub(super) fn variable(name: &str) -> Option<String> {
    let (provider, name) = name.strip_prefix(VARIABLE)?.split_once("__")?;
    let provider =
        ["hubspot", "mailgun", "mandrill", "square", "twilio"].into_iter().find(|known| *known == provider)?;
    Some(Signed::of(provider, name).secret)
}
