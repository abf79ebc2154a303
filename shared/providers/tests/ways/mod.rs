//! Signed samples of every way to verify that there is.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, unreachable_pub)]

use std::sync::LazyLock;

use hookbox_core::time::Timestamp;
use hookbox_providers::{
    Configured, Fetched, Profiles, Reason, Request, SampleValues, Secret, SignError, Signed, Verdict,
};
use serde_json::json;

pub const NOW: Timestamp = Timestamp::from_seconds(1_760_000_000);
pub const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub const URL: &str = "https://hooks.example.test/hooks/x/y";

/// The seed of an Ed25519 key, its public half, and the public half of another.
const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const PUBLIC: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
const OTHER_PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

/// A signed request that can be changed.
#[derive(Clone)]
pub struct Delivery {
    pub headers: Vec<(String, String)>,
    pub path_token: Option<String>,
    pub query: Option<String>,
    pub body: Vec<u8>,
}

impl Delivery {
    pub fn new(body: &[u8]) -> Self {
        Self { headers: Vec::new(), path_token: None, query: None, body: body.to_vec() }
    }

    pub fn request(&self) -> Request<'_> {
        Request {
            method: "POST",
            path_token: self.path_token.as_deref(),
            url: Some(URL),
            query: self.query.as_deref(),
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// Adds the signature.
    pub fn sign(&mut self, configured: &Configured, id: &str, secret: &Secret) -> Result<(), SignError> {
        let Signed { headers, path_token, query, body } = configured.sign(&self.request(), Some(id), secret, NOW)?;
        self.headers.extend(headers);
        (self.path_token, self.query) = (path_token, query);
        self.body = body.unwrap_or_else(|| self.body.clone());
        Ok(())
    }

    pub fn verify(&self, configured: &Configured, secrets: &[Secret]) -> Verdict {
        configured.verify(&self.request(), secrets, &Fetched::nothing(), NOW)
    }

    pub fn reason(&self, configured: &Configured, secrets: &[Secret]) -> Option<Reason> {
        match self.verify(configured, secrets) {
            Verdict::Invalid(reason) => Some(reason),
            _ => None,
        }
    }

    pub fn header(&mut self, name: &str) -> &mut String {
        &mut self.headers.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)).expect("the header").1
    }
}

/// An empty request, to be filled.
pub fn empty() -> Request<'static> {
    Request { method: "POST", path_token: None, url: Some(URL), query: None, headers: &[], body: b"" }
}

pub fn configured(provider: &str, variant: Option<&str>) -> Configured {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&provider.parse().unwrap()).unwrap().expect("a profile");
    profile.configure(variant, None).unwrap()
}

pub fn generic(verify: &serde_json::Value) -> Configured {
    let profiles = Profiles::built_in();
    let profile = profiles.get(&"generic".parse().unwrap()).unwrap().expect("a profile");
    profile.configure(None, Some(verify)).unwrap()
}

pub fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

/// A way to verify, with its secrets.
#[derive(Clone)]
pub struct Way {
    pub name: String,
    pub configured: Configured,
    pub signing: Secret,
    pub verifying: Secret,
    /// A secret of the same form that verifies nothing of this.
    pub other: Secret,
}

impl Way {
    fn new(name: &str, variant: Option<&str>, configured: Configured) -> Self {
        let name = format!("{name}/{}", variant.unwrap_or("-"));
        let (signing, verifying, other) = match (name.as_str(), configured.scheme()) {
            (_, "standard-webhooks") => (STANDARD_SECRET, STANDARD_SECRET, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"),
            (_, "basic") => ("hello:world", "hello:world", "an:other"),
            (_, "ed25519") => (SEED, PUBLIC, OTHER_PUBLIC),
            ("adyen/payments" | "adyen/banking" | "generic/everything", _) => ("00ff10", "00ff10", "0101"),
            _ => ("generic-secret", "generic-secret", "another"),
        };
        let (signing, verifying, other) = (secret(signing), secret(verifying), secret(other));
        Self { name, configured, signing, verifying, other }
    }

    pub fn provider(&self) -> &str {
        self.name.split('/').next().unwrap()
    }

    pub fn secrets(&self) -> [Secret; 1] {
        [self.verifying.clone()]
    }

    /// A sample, signed where anybody but the provider can.
    pub fn signed(&self, values: &SampleValues<'_>) -> Delivery {
        let sample = self.configured.sample(values).unwrap();
        let mut delivery = Delivery { headers: sample.headers, ..Delivery::new(&sample.body) };
        match delivery.sign(&self.configured, &sample.event_id, &self.signing) {
            Ok(()) => {}
            Err(error) => {
                let others = [SignError::OnlyTheProvider, SignError::PrivateKey];
                assert!(others.contains(&error) && !self.is_signable(), "{}: {error}", self.name);
            }
        }
        delivery
    }

    pub fn sample(&self) -> Delivery {
        self.signed(&SampleValues { occurred_at: NOW, ..SampleValues::default() })
    }

    pub fn is_signable(&self) -> bool {
        !["sendgrid", "aws-sns", "paypal", "google-pubsub"].contains(&self.provider())
    }

    /// The headers that the signature adds.
    pub fn own_headers(&self, delivery: &Delivery) -> Vec<(String, String)> {
        match self.configured.sign(&delivery.request(), Some("id"), &self.signing, NOW) {
            Ok(signed) => signed.headers,
            // The signature stands in the body already.
            Err(_) => Vec::new(),
        }
    }
}

/// Every way to verify that a built-in profile has, and two that only `generic` can be given.
pub static WAYS: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let profiles = Profiles::built_in();
    let mut ways = Vec::new();
    for name in profiles.names() {
        let profile = profiles.get(&name.parse().unwrap()).unwrap().unwrap();
        let mut variants: Vec<_> = profile.variants().map(Some).collect();
        if variants.is_empty() {
            variants.push(None);
        }
        for variant in variants {
            ways.push(Way::new(name, variant, profile.configure(variant, None).unwrap()));
        }
    }
    let everything = json!({
        "header": "X-Sig", "algorithm": "sha512", "encoding": "base64", "prefix": "v0=", "key_encoding": "hex",
        "signed": "v0:{method}|{url}|{id}|{timestamp}:{body}", "id": "header:X-Id",
        "timestamp": "header:X-Time", "timestamp_unit": "ms", "tolerance": "5m",
    });
    ways.push(Way::new("generic", Some("everything"), generic(&everything)));
    ways.push(Way::new("generic", Some("bearer"), generic(&json!({"scheme": "bearer"}))));
    ways
});
