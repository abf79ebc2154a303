//! Ed25519 signatures, verified strictly: no weak keys, no second spelling of a signature.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

/// A key that signatures are verified with.
pub(super) struct PublicKey(VerifyingKey);

impl PublicKey {
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes.try_into().ok()?).ok().map(Self)
    }

    /// Nothing here is secret: the key, the message and the signature are all known to the sender.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

/// Signs with a private key given as its 32-byte seed, or as seed and public key in 64 bytes.
pub(super) fn sign(key: &[u8], message: &[u8]) -> Option<[u8; 64]> {
    let key = match key.len() {
        32 => SigningKey::from_bytes(key.try_into().ok()?),
        64 => SigningKey::from_keypair_bytes(key.try_into().ok()?).ok()?,
        _ => return None,
    };
    Some(key.sign(message).to_bytes())
}

#[cfg(test)]
pub(super) fn public_key(seed: [u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(&seed).verifying_key().to_bytes()
}
