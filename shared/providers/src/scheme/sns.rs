//! Amazon SNS: RSA over some members of the message, with the certificate that the message names. AWS serves it over
//! https from its own host, which is what makes it AWS's. Anybody can have AWS sign a message of a topic of their own, so
//! the integration says whose topics it takes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::time::Timestamp;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, RsaParameters, UnparsedPublicKey,
};

use super::der::{Certificate, certificates};
use super::fetched::{host_and_path, is_sns_host};
use crate::decode::json::Json;
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::verdict::{Fetched, Match, Reason, Refusal};

const NOTIFICATION: [&str; 6] = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION: [&str; 7] = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

/// The scheme `aws-sns`.
#[derive(Clone, Debug)]
pub(crate) struct Sns {
    untimed: bool,
}

impl Sns {
    pub(super) fn compile(file: &SchemeFile) -> Self {
        Self { untimed: file.untimed }
    }

    /// Whether a confirmation may be fetched from there.
    pub(super) fn allows(url: &str) -> bool {
        // A confirmation's parameters stand in its query.
        let (before, query) = url.split_once('?').unwrap_or((url, ""));
        query.bytes().all(|b| b.is_ascii_graphic()) && host_and_path(before).is_some_and(|(host, _)| is_sns_host(host))
    }

    pub(super) fn verify(&self, request: &Request<'_>, fetched: &Fetched, now: Timestamp) -> Result<Match, Refusal> {
        // With raw message delivery there is no such document, and no signature.
        let text = std::str::from_utf8(request.body).map_err(|_| Reason::MissingSignature)?;
        let json = Json::parse(text.into()).map_err(|_| Reason::MissingSignature)?;
        let member = |name: &str| json.root().get(name).and_then(serde_json::Value::as_str);
        let signature = member("Signature").ok_or(Reason::MissingSignature)?;
        let signature = STANDARD.decode(signature).map_err(|_| Reason::MalformedSignature)?;
        let algorithm: &RsaParameters = match member("SignatureVersion") {
            Some("1") => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            Some("2") => &RSA_PKCS1_2048_8192_SHA256,
            _ => return Err(Reason::NoUsableSignature.into()),
        };
        let names: &[&str] = match member("Type") {
            Some("Notification") => &NOTIFICATION,
            Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => &CONFIRMATION,
            _ => return Err(Reason::MalformedSignature.into()),
        };
        let mut signed = String::new();
        for name in names {
            match member(name) {
                // Lines keep the members apart, and only the message may hold some of its own: one that is quoted in it
                // would be another member otherwise.
                Some(value) if *name != "Message" && value.contains(char::is_control) => {
                    return Err(Reason::MalformedSignature.into());
                }
                Some(value) => signed.extend([name, "\n", value, "\n"]),
                None if *name == "Subject" => {}
                None => return Err(Reason::MalformedSignature.into()),
            }
        }
        let signed_at = member("Timestamp").and_then(Timestamp::parse_rfc3339).ok_or(Reason::MalformedTimestamp)?;

        // Lambda's own spelling of the name is another one.
        let url = member("SigningCertURL").or_else(|| member("SigningCertUrl")).ok_or(Reason::MissingSignature)?;
        let is_certificate = |path: &str| path.rsplit_once('.').is_some_and(|(_, ending)| ending == "pem");
        if !host_and_path(url).is_some_and(|(host, path)| is_sns_host(host) && is_certificate(path)) {
            return Err(Reason::ForeignUrl.into());
        }
        let pem = fetched.get(url).ok_or_else(|| Refusal::NeedsFetch(url.to_owned()))?;
        let chain = certificates(pem).ok_or(Reason::BadCertificate)?;
        let leaf = chain.first().and_then(|der| Certificate::read(der)).ok_or(Reason::BadCertificate)?;
        if !self.untimed && !leaf.is_valid_at(now) {
            return Err(Reason::BadCertificate.into());
        }
        let key = UnparsedPublicKey::new(algorithm, leaf.rsa_key);
        key.verify(signed.as_bytes(), &signature).map_err(|_| Reason::SignatureMismatch)?;
        Ok(Match::signed(0, Some(signed_at)))
    }
}
