//! How signatures and keys are written as text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};

use crate::profile::error::Flaw;
use crate::secret::Secret;
use crate::verdict::Misconfiguration;

/// How a signature is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Hex,
    HexLower,
    Base64,
}

impl Encoding {
    pub(super) fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("hex") => Ok(Self::Hex),
            Some("hex-lower") => Ok(Self::HexLower),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(Flaw::new(format!("`{other}` is no encoding; there are hex, hex-lower and base64"))),
        }
    }

    /// The bytes of a signature; `None` for a text that is none, and for an empty one.
    pub(super) fn read(self, text: &str) -> Option<Vec<u8>> {
        let bytes = match self {
            Self::HexLower if text.bytes().any(|b| b.is_ascii_uppercase()) => None,
            Self::Hex | Self::HexLower => hex::decode(text).ok(),
            Self::Base64 => STANDARD.decode(text).ok(),
        };
        bytes.filter(|bytes| !bytes.is_empty())
    }

    pub(super) fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex | Self::HexLower => hex::encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
        }
    }
}

/// How a secret's text becomes the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEncoding {
    Text,
    Hex,
    Base64,
}

impl KeyEncoding {
    pub(super) fn compile(text: Option<&str>) -> Result<Self, Flaw> {
        match text {
            None | Some("text") => Ok(Self::Text),
            Some("hex") => Ok(Self::Hex),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(Flaw::new(format!("`{other}` is no key encoding; there are text, hex and base64"))),
        }
    }

    /// How a secret is written; none where any text will do.
    pub(super) fn form(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Hex => Some("hexadecimal digits, two for each byte"),
            Self::Base64 => Some("base64"),
        }
    }

    pub(super) fn key(self, secret: &Secret) -> Option<Vec<u8>> {
        let key = match self {
            Self::Text => Some(secret.text().as_bytes().to_vec()),
            Self::Hex => hex::decode(secret.text()).ok(),
            Self::Base64 => STANDARD_PAD_INDIFFERENT.decode(secret.text()).ok(),
        };
        key.filter(|key| !key.is_empty())
    }

    /// All keys, or the first secret that is none.
    pub(super) fn keys(self, secrets: &[Secret]) -> Result<Vec<Vec<u8>>, Misconfiguration> {
        let key = |(index, secret)| self.key(secret).ok_or(Misconfiguration::SecretEncoding { index });
        secrets.iter().enumerate().map(key).collect()
    }
}
