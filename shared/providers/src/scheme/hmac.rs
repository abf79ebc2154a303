//! HMAC over a text made of timestamp, id, URL, method and body, and its poor relative: a hash of secret and text.

use hmac::{KeyInit, Mac};
use hookbox_core::time::Timestamp;

use super::carrier::Carrier;
use super::compare::{Search, same_mac};
use super::encoding::KeyEncoding;
use super::{SignError, Signed};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Match, Refusal};

/// The hash under an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Algorithm {
    pub(super) fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("sha256") => Ok(Self::Sha256),
            Some("sha1") => Ok(Self::Sha1),
            Some("sha512") => Ok(Self::Sha512),
            Some(other) => Err(Flaw::new(format!("`{other}` is no algorithm; there are sha1, sha256 and sha512"))),
        }
    }

    /// The MAC of the pieces under a key.
    pub(super) fn mac(self, key: &[u8], pieces: &[impl AsRef<[u8]>]) -> Vec<u8> {
        fn run<M: KeyInit + Mac>(key: &[u8], pieces: &[impl AsRef<[u8]>]) -> Vec<u8> {
            // HMAC takes a key of any length; this never is an error.
            let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
                return Vec::new();
            };
            for piece in pieces {
                mac.update(piece.as_ref());
            }
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Self::Sha1 => run::<hmac::Hmac<sha1::Sha1>>(key, pieces),
            Self::Sha256 => run::<hmac::Hmac<sha2::Sha256>>(key, pieces),
            Self::Sha512 => run::<hmac::Hmac<sha2::Sha512>>(key, pieces),
        }
    }

    /// The hash of the key followed by the pieces.
    fn prefixed(self, key: &[u8], pieces: &[impl AsRef<[u8]>]) -> Vec<u8> {
        fn run<D: sha2::Digest>(key: &[u8], pieces: &[impl AsRef<[u8]>]) -> Vec<u8> {
            let mut hash = D::new();
            hash.update(key);
            for piece in pieces {
                hash.update(piece.as_ref());
            }
            hash.finalize().to_vec()
        }
        match self {
            Self::Sha1 => run::<sha1::Sha1>(key, pieces),
            Self::Sha256 => run::<sha2::Sha256>(key, pieces),
            Self::Sha512 => run::<sha2::Sha512>(key, pieces),
        }
    }
}

/// How key and text become a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Construction {
    Hmac,
    /// A hash of the secret followed by the text: whoever has one such signature can append to the text and sign that.
    SecretPrefix,
}

/// The schemes `hmac` and `secret-prefix-hash` with their parameters.
#[derive(Clone, Debug)]
pub(crate) struct Hmac {
    construction: Construction,
    algorithm: Algorithm,
    key_encoding: KeyEncoding,
    carrier: Carrier,
}

impl Hmac {
    pub(super) fn compile(file: &mut SchemeFile, construction: Construction) -> Result<Self, Flaw> {
        Ok(Self {
            construction,
            algorithm: Algorithm::compile(file.algorithm.take().as_deref()).under("algorithm")?,
            key_encoding: KeyEncoding::compile(file.key_encoding.take().as_deref()).under("key_encoding")?,
            carrier: Carrier::compile(file)?,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        match self.construction {
            Construction::Hmac => "hmac",
            Construction::SecretPrefix => "secret-prefix-hash",
        }
    }

    pub(super) fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    pub(super) fn verify(&self, request: &Request<'_>, secrets: &[Secret], now: Timestamp) -> Result<Match, Refusal> {
        let keys = self.key_encoding.keys(secrets)?;
        let carried = self.carrier.read(request)?;
        let mut search = Search::new();
        for (index, key) in keys.iter().enumerate() {
            for text in &carried.texts {
                let mac = self.mac(key, text);
                for signature in &carried.signatures {
                    search.note(index, same_mac(&mac, signature));
                }
            }
        }
        let secret_index = search.matched()?;
        Ok(Match::signed(secret_index, self.carrier.time(&carried, request, now)?))
    }

    fn mac(&self, key: &[u8], pieces: &[impl AsRef<[u8]>]) -> Vec<u8> {
        match self.construction {
            Construction::Hmac => self.algorithm.mac(key, pieces),
            Construction::SecretPrefix => self.algorithm.prefixed(key, pieces),
        }
    }

    pub(super) fn sign(
        &self,
        request: &Request<'_>,
        id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        let key = self.key_encoding.key(secret).ok_or(SignError::SecretEncoding)?;
        self.carrier.write(request, id, now, |pieces| Ok(self.mac(&key, pieces)))
    }
}
