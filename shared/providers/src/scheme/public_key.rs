//! Signatures that are verified with a public key: Ed25519 and ECDSA over P-256. The integration's secret is that key.

use std::borrow::Cow;

use hookbox_core::time::Timestamp;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use subtle::Choice;

use super::carrier::Carrier;
use super::compare::Search;
use super::encoding::KeyEncoding;
use super::{SignError, Signed, der, ed25519};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Misconfiguration, Refusal};

/// The kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Ed25519,
    /// With SHA-256; signatures in DER, keys as `SubjectPublicKeyInfo`.
    EcdsaP256,
}

/// The schemes `ed25519` and `ecdsa-p256` with their parameters.
#[derive(Clone, Debug)]
pub(crate) struct PublicKey {
    algorithm: Algorithm,
    key_encoding: KeyEncoding,
    carrier: Carrier,
}

/// A key that has been read.
enum Key {
    Ed25519(ed25519::PublicKey),
    EcdsaP256(Vec<u8>),
}

impl PublicKey {
    pub(super) fn compile(file: &mut SchemeFile, algorithm: Algorithm) -> Result<Self, Flaw> {
        let key_encoding = KeyEncoding::compile(file.key_encoding.take().as_deref()).under("key_encoding")?;
        if key_encoding == KeyEncoding::Text {
            return Err(Flaw::new("a public key is written in hex or base64")).under("key_encoding");
        }
        Ok(Self { algorithm, key_encoding, carrier: Carrier::compile(file)? })
    }

    pub(super) fn name(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Ed25519 => "ed25519",
            Algorithm::EcdsaP256 => "ecdsa-p256",
        }
    }

    pub(super) fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret], now: Timestamp) -> Result<Match, Refusal> {
        let key = |(index, secret)| self.key(secret).ok_or(Misconfiguration::SecretEncoding { index });
        let keys = secrets.iter().enumerate().map(key).collect::<Result<Vec<_>, _>>()?;
        let carried = self.carrier.read(request)?;
        let messages: Vec<Vec<u8>> = carried.texts.iter().map(|text| concatenated(text)).collect();
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            for (message, signature) in
                messages.iter().flat_map(|message| carried.signatures.iter().map(move |s| (message, s)))
            {
                search.note(index, Choice::from(u8::from(key.verifies(message, signature))));
            }
        }
        let secret_index = search.matched()?;
        Ok(Match::signed(secret_index, self.carrier.time(&carried, request, now)?))
    }

    fn key(&self, secret: &Secret) -> Option<Key> {
        let bytes = self.key_encoding.key(secret)?;
        match self.algorithm {
            Algorithm::Ed25519 => ed25519::PublicKey::from_bytes(&bytes).map(Key::Ed25519),
            Algorithm::EcdsaP256 => der::p256_point(&bytes).map(|point| Key::EcdsaP256(point.to_vec())),
        }
    }

    /// Signs with a private key in the place of the public one: only an Ed25519 key in the scheme's own encoding is that.
    pub(super) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        if self.algorithm == Algorithm::EcdsaP256 {
            return Err(SignError::PrivateKey);
        }
        let key = self.key_encoding.key(secret).ok_or(SignError::SecretEncoding)?;
        self.carrier.write(request, id, now, |pieces| {
            let signature = ed25519::sign(&key, &concatenated(pieces)).ok_or(SignError::SecretEncoding)?;
            Ok(signature.to_vec())
        })
    }

    /// Signs with whatever has the private key.
    pub(super) fn sign_by(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        now: Timestamp,
        sign: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Signed, SignError> {
        let signature = |pieces: &[Cow<'_, [u8]>]| sign(&concatenated(pieces)).ok_or(SignError::SecretEncoding);
        self.carrier.write(request, id, now, signature)
    }
}

impl Key {
    /// Nothing here is secret: the key, the message and the signature are all known to the sender.
    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => key.verifies(message, signature),
            Self::EcdsaP256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature).is_ok()
            }
        }
    }
}

fn concatenated(pieces: &[Cow<'_, [u8]>]) -> Vec<u8> {
    pieces.concat()
}
