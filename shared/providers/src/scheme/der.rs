//! As much DER (X.690) as it takes to get a public key out of a key or a certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::time::Timestamp;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The version of a certificate.
const EXPLICIT_0: u8 = 0xa0;

const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const PRIME256V1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// What is left to read.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, whatever it is: its tag and its content.
    fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            let digits = usize::from(first & 0x7f);
            // No certificate is longer than four bytes can say, and DER has no indefinite length.
            let (number, after) = (1..=4).contains(&digits).then(|| rest.split_at_checked(digits))??;
            rest = after;
            number.iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte))
        };
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, content))
    }

    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (found, content) = ahead.any()?;
        (found == tag).then(|| {
            *self = ahead;
            content
        })
    }

    fn into(mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Reader)
    }

    fn enter(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Reader)
    }
}

/// What a `SubjectPublicKeyInfo` holds.
struct KeyInfo<'a> {
    algorithm: &'a [u8],
    /// Where it is an object identifier.
    parameter: Option<&'a [u8]>,
    key: &'a [u8],
}

fn key_info(mut info: Reader<'_>) -> Option<KeyInfo<'_>> {
    let mut identifier = info.enter(SEQUENCE)?;
    let algorithm = identifier.take(OBJECT_IDENTIFIER)?;
    let parameter = identifier.take(OBJECT_IDENTIFIER);
    match info.take(BIT_STRING)?.split_first()? {
        (0, key) => Some(KeyInfo { algorithm, parameter, key }),
        _ => None,
    }
}

/// The uncompressed point of a P-256 key.
pub(super) fn p256_point(spki: &[u8]) -> Option<&[u8]> {
    let info = key_info(Reader(spki).into(SEQUENCE)?)?;
    let is_p256 = info.algorithm == EC_PUBLIC_KEY && info.parameter == Some(PRIME256V1);
    (is_p256 && info.key.len() == 65 && info.key.first() == Some(&4)).then_some(info.key)
}

/// What counts of an X.509 certificate whose key is RSA.
pub(super) struct Certificate<'a> {
    /// As `RSAPublicKey` (PKCS #1).
    pub(super) rsa_key: &'a [u8],
    pub(super) common_name: Option<&'a str>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
}

impl<'a> Certificate<'a> {
    pub(super) fn read(der: &'a [u8]) -> Option<Self> {
        let mut body = Reader(der).into(SEQUENCE)?.into(SEQUENCE)?;
        body.take(EXPLICIT_0);
        body.take(INTEGER)?;
        let (_signature_algorithm, _issuer) = (body.take(SEQUENCE)?, body.take(SEQUENCE)?);
        let mut validity = body.enter(SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = body.enter(SEQUENCE)?;
        let info = key_info(body.enter(SEQUENCE)?)?;
        let common_name = common_name(subject);
        (info.algorithm == RSA_ENCRYPTION).then_some(Self { rsa_key: info.key, common_name, not_before, not_after })
    }

    pub(super) fn is_valid_at(&self, now: Timestamp) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }
}

/// The last common name, which is the most specific one.
fn common_name(mut subject: Reader<'_>) -> Option<&str> {
    let mut name = None;
    while let Some(mut set) = subject.enter(SET) {
        let mut attribute = set.enter(SEQUENCE)?;
        if attribute.take(OBJECT_IDENTIFIER)? == COMMON_NAME {
            name = std::str::from_utf8(attribute.any()?.1).ok();
        }
    }
    name
}

/// `YYMMDDHHMMSSZ` up to 2049, `YYYYMMDDHHMMSSZ` afterwards (RFC 5280).
fn time(reader: &mut Reader<'_>) -> Option<Timestamp> {
    let (tag, text) = reader.any()?;
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let text = match tag {
        UTC_TIME if text < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |from, to| text.get(from..to);
    let (date, clock) = ([part(0, 4)?, part(4, 6)?, part(6, 8)?], [part(8, 10)?, part(10, 12)?, part(12, 14)?]);
    (text.get(14..)? == "Z").then(|| Timestamp::parse_rfc3339(&format!("{}T{}Z", date.join("-"), clock.join(":"))))?
}

/// The certificates of a PEM file, in their order.
pub(super) fn certificates(pem: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = std::str::from_utf8(pem).ok()?;
    let mut found = Vec::new();
    while let Some((_, after)) = rest.split_once("-----BEGIN CERTIFICATE-----") {
        let (text, tail) = after.split_once("-----END CERTIFICATE-----")?;
        let text: String = text.split_ascii_whitespace().collect();
        found.push(STANDARD.decode(text).ok()?);
        rest = tail;
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn certificate() -> Vec<u8> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/paypal.json");
        let vectors: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let pem = vectors[0]["cert_pem"].as_str().unwrap().as_bytes();
        certificates(pem).unwrap().remove(0)
    }

    #[test]
    fn a_certificate_is_taken_apart() {
        let der = certificate();
        let read = Certificate::read(&der).unwrap();
        assert_eq!(read.common_name, Some("messageverificationcerts.test.paypal.com"));
        assert_eq!(Some(read.not_before), Timestamp::parse_rfc3339("2025-01-01T00:00:00Z"));
        assert_eq!(Some(read.not_after), Timestamp::parse_rfc3339("2035-01-01T00:00:00Z"));
        assert!(read.is_valid_at(read.not_before) && read.is_valid_at(read.not_after));
        assert!(!read.is_valid_at(Timestamp::from_millis(read.not_after.as_millis() + 1)));
    }

    #[test]
    fn what_is_cut_off_or_changed_never_panics() {
        let der = certificate();
        for cut in 0..der.len() {
            assert!(Certificate::read(&der[..cut]).is_none(), "{cut}");
            let mut changed = der.clone();
            for byte in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                changed[cut] = byte;
                let _ = Certificate::read(&changed);
                let _ = p256_point(&changed);
            }
        }
        assert!(certificates(b"").is_none() && certificates(b"-----BEGIN CERTIFICATE-----").is_none());
    }

    #[test]
    fn the_two_forms_of_time_are_read() {
        let of = |tag: u8, text: &str| {
            let der = [&[tag, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
            time(&mut Reader(&der)).map(|at| at.to_string())
        };
        assert_eq!(of(UTC_TIME, "491231235959Z").as_deref(), Some("2049-12-31T23:59:59.000Z"));
        assert_eq!(of(UTC_TIME, "500101000000Z").as_deref(), Some("1950-01-01T00:00:00.000Z"));
        assert_eq!(of(GENERALIZED_TIME, "20500101000000Z").as_deref(), Some("2050-01-01T00:00:00.000Z"));
        for (tag, bad) in
            [(UTC_TIME, "4912312359Z"), (UTC_TIME, "491331235959Z"), (GENERALIZED_TIME, "20500101000000"), (4, "x")]
        {
            assert_eq!(of(tag, bad), None, "{bad}");
        }
    }
}
