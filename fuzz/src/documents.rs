//! What is fetched or configured for a signature: certificates (PEM and DER), key sets, public keys. The first byte
//! chooses the signed request, the rest takes the place of the document that it is verified with.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_providers::{Profiles, Vector, Verdict};
use serde_json::Value;

use super::seeds::vectors;

/// A public key in DER whose private half nobody here has.
pub const SENDGRID_KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F5g==";

/// Which request is verified, and how the input becomes its document.
pub struct Case {
    pub vector: Value,
    /// The member that holds the document.
    pub member: &'static str,
    pub form: Form,
    /// The bytes of the key that signed: without them no document makes the request valid.
    pub key: Vec<u8>,
    /// The document as it should be.
    pub document: Vec<u8>,
}

/// How the input is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Der,
    Pem,
    Text,
}

/// Every case; the first byte of an input is a place among them.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut cases = Vec::new();
    for (provider, member) in [("aws-sns", "secret"), ("paypal", "cert_pem")] {
        for form in [Form::Der, Form::Pem] {
            let vector = valid(provider);
            let pem = vector[member].as_str().expect("a certificate").to_owned();
            let der = first_certificate(&pem);
            let document = if form == Form::Der { der.clone() } else { pem.into_bytes() };
            cases.push(Case { vector, member, form, key: modulus(&der), document });
        }
    }
    let vector = valid("google-pubsub");
    let document = vector["secret"].as_str().expect("a key set").to_owned();
    let key: Value = serde_json::from_str(&document).expect("a key set");
    let key = key["keys"][0]["n"].as_str().expect("a modulus").as_bytes().to_vec();
    cases.push(Case { vector, member: "secret", form: Form::Text, key, document: document.into_bytes() });

    let vector = valid("sendgrid");
    let der = STANDARD.decode(vector["secret"].as_str().expect("a key")).expect("base64");
    let key = der[der.len() - 64..].to_vec();
    cases.push(Case { vector, member: "secret", form: Form::Der, key, document: der });
    cases
});

/// No panic, and valid only with a document that holds the key which signed.
pub fn holds(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let case = &CASES[usize::from(*first) % CASES.len()];
    let text = match (case.form, case.vector["provider"].as_str()) {
        (Form::Der, Some("sendgrid")) => STANDARD.encode(data),
        (Form::Der, _) => {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(data))
        }
        _ => match std::str::from_utf8(data) {
            Ok(text) => text.to_owned(),
            Err(_) => return,
        },
    };
    let mut vector = case.vector.clone();
    vector[case.member] = text.clone().into();
    let vector = Vector::new(vector);
    let judged = vector.judge(&PROFILES);
    assert_eq!(judged, vector.judge(&PROFILES));
    if matches!(judged, Ok(Verdict::Valid { .. })) {
        let document = if case.form == Form::Pem { first_certificate(&text) } else { data.to_vec() };
        let holds_key = document.windows(case.key.len()).any(|window| window == case.key);
        assert!(holds_key, "{}: valid without the key that signed", vector.name());
    }
}

static PROFILES: LazyLock<Profiles> = LazyLock::new(Profiles::built_in);

fn valid(provider: &str) -> Value {
    let mut all = vectors().into_iter();
    all.find(|vector| vector["provider"] == provider && vector["expect"] == "valid").expect("a valid request")
}

fn first_certificate(pem: &str) -> Vec<u8> {
    let text = pem.split("-----").nth(2).expect("a certificate");
    STANDARD.decode(text.split_ascii_whitespace().collect::<String>()).expect("base64")
}

/// The modulus of a key of 2,048 bits: the first integer of that length.
fn modulus(der: &[u8]) -> Vec<u8> {
    let head = [0x02, 0x82, 0x01, 0x01, 0x00];
    let at = der.windows(head.len()).position(|window| window == head).expect("a modulus") + head.len();
    der[at..at + 256].to_vec()
}
