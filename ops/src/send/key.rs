//! Keys that are the provider's own: a pair of one's own in their place, or why that cannot be.

use std::fmt;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;

/// A private key whose public half the integration names as its secret.
pub(super) enum PrivateKey {
    Ed25519(Ed25519KeyPair),
    EcdsaP256(EcdsaKeyPair),
}

impl PrivateKey {
    /// Reads a key in PEM (PKCS #8) for a scheme; `None` for a scheme that has no such keys, or a text that is no PEM.
    pub(super) fn read(scheme: &str, text: &str) -> Option<Result<Self, String>> {
        if !["ed25519", "ecdsa-p256"].contains(&scheme) || !text.contains("-----BEGIN") {
            return None;
        }
        let Ok(der) = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()) else {
            return Some(Err("the PEM holds no private key (`BEGIN PRIVATE KEY`)".to_owned()));
        };
        let der = der.secret_pkcs8_der();
        let key = if scheme == "ed25519" {
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Self::Ed25519)
        } else {
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new()).map(Self::EcdsaP256)
        };
        Some(key.map_err(|error| format!("the PEM holds no key of {}: {error}", algorithm(scheme))))
    }

    /// The signature of a message; `None` where the system has no randomness to give.
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Ed25519(key) => Some(key.sign(message).as_ref().to_vec()),
            Self::EcdsaP256(key) => Some(key.sign(&SystemRandom::new(), message).ok()?.as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

fn algorithm(scheme: &str) -> &'static str {
    if scheme == "ed25519" { "Ed25519" } else { "ECDSA over P-256" }
}

/// How to make a pair of keys for a scheme that verifies with a public one.
pub(crate) fn how_to_make_a_pair(scheme: &str) -> Option<String> {
    let (options, public) = match scheme {
        "ed25519" => ("-algorithm ED25519", "tail -c 32 | od -An -vtx1 | tr -d ' \\n'"),
        "ecdsa-p256" => ("-algorithm EC -pkeyopt ec_paramgen_curve:P-256", "openssl base64 -A"),
        _ => return None,
    };
    Some(format!(
        "openssl genpkey {options} -out key.pem; the connection's secret is \
         `openssl pkey -in key.pem -pubout -outform DER | {public}`, and `send` signs with \
         --secret env:KEY, KEY=$(cat key.pem)"
    ))
}

/// Why nobody but the provider can send what a scheme takes, and what to do instead.
pub(crate) fn only_the_provider(scheme: &str) -> Option<(&'static str, &'static str)> {
    match scheme {
        "aws-sns" => Some((
            "the endpoint fetches the certificate from Amazon's own hosts, so that no other key can sign",
            "aws sns publish --topic-arn … --message '{}'",
        )),
        "paypal" => Some((
            "the endpoint fetches the certificate from PayPal's own hosts, so that no other key can sign",
            "send a test event from the Webhooks Simulator of the developer dashboard, or simulate one with its API",
        )),
        "oidc" => Some((
            "the endpoint fetches the keys of tokens from their issuer, so that no other key can sign",
            "gcloud pubsub topics publish … --message '{}'",
        )),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Pairs made with openssl 3, as it writes them (DER in base64), and their public halves as sendgrid and discord show them.
    pub(in crate::send) const P256: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRJZpS5+K+x59AjdfLrMvGzb57euanv1mZBmMxW3oF0mhRANCAAQh0rhGnS8bKVOPcwQFaHlwlxpQJFDSlLRtP+RE+PKU9842A5r321aM0Ub924nRCEiW4t44NwO+mrIwUZzP5SrW";
    pub(in crate::send) const P256_PUBLIC: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIdK4Rp0vGylTj3MEBWh5cJcaUCRQ0pS0bT/kRPjylPfONgOa99tWjNFG/duJ0QhIluLeODcDvpqyMFGcz+Uq1g==";
    pub(in crate::send) const ED25519: &str = "MC4CAQAwBQYDK2VwBCIEIDyztIHIK8S83fCMTO70grA6QQCn+ey0OymNbCJRbCk5";
    pub(in crate::send) const ED25519_PUBLIC: &str = "f0db8b363672d83de38078700102668005efdef230bbeae75c5fcba3599ac351";
    /// Of the right kind, on the wrong curve.
    const P384: &str = "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBbMrlFsNIi4EKDaRdzzqJ0lMcM7QpCIbVLcr+HE08hq+TvtPHTwh5z/QO11TaGY3yhZANiAAQWAAdjPftQ/rACVXKh+wtnZHjb7e8Fizb4hjiPMlCtm9Cg5LXNX/UQosLnDcbPsHkorImKivCTwYfaTFKXz8j69nVF1nvzwieXOf2g6Po3V/B5zICCTjSgoeWKMhYOtCs=";

    pub(in crate::send) fn pem(der: &str) -> String {
        format!("-----BEGIN {0} KEY-----\n{der}\n-----END {0} KEY-----\n", "PRIVATE")
    }

    #[test]
    fn a_key_is_read_for_its_own_scheme_and_shows_nothing() {
        for (scheme, der) in [("ed25519", ED25519), ("ecdsa-p256", P256)] {
            let key = PrivateKey::read(scheme, &pem(der)).unwrap().unwrap();
            assert_eq!(format!("{key:?}"), "PrivateKey(…)");
        }
        for (scheme, der) in [("ed25519", P256), ("ecdsa-p256", ED25519), ("ecdsa-p256", P384)] {
            let why = PrivateKey::read(scheme, &pem(der)).unwrap().unwrap_err();
            assert!(why.contains(algorithm(scheme)), "{why}");
        }
        let public = pem(P256_PUBLIC).replace("PRIVATE", "PUBLIC");
        assert!(PrivateKey::read("ecdsa-p256", &public).unwrap().unwrap_err().contains("no private key"));
        assert!(PrivateKey::read("ed25519", ED25519_PUBLIC).is_none());
        assert!(PrivateKey::read("hmac", &pem(P256)).is_none(), "a shared secret may be any text");
    }

    #[test]
    fn a_signature_is_what_the_public_half_verifies() {
        use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519 as EDDSA, UnparsedPublicKey};
        let signed = |scheme, der: &str| PrivateKey::read(scheme, &pem(der)).unwrap().unwrap().sign(b"x").unwrap();
        let public = STANDARD.decode(P256_PUBLIC).unwrap();
        let point = &public[public.len() - 65..];
        let verified = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(b"x", &signed("ecdsa-p256", P256));
        assert!(verified.is_ok());
        let key: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&ED25519_PUBLIC[2 * at..2 * at + 2], 16).unwrap()).collect();
        assert!(UnparsedPublicKey::new(&EDDSA, key).verify(b"x", &signed("ed25519", ED25519)).is_ok());
    }
}
