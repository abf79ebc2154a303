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

/// Algorithm, its parameter where that is an object identifier, and the key, of a `SubjectPublicKeyInfo`'s content.
fn public_key<'a>(mut info: Reader<'a>) -> Option<(&'a [u8], Option<&'a [u8]>, &'a [u8])> {
    let mut algorithm = info.enter(SEQUENCE)?;
    let name = algorithm.take(OBJECT_IDENTIFIER)?;
    let parameter = algorithm.take(OBJECT_IDENTIFIER);
    match info.take(BIT_STRING)?.split_first()? {
        (0, key) => Some((name, parameter, key)),
        _ => None,
    }
}

/// The uncompressed point of a P-256 key.
pub(super) fn p256_point(spki: &[u8]) -> Option<&[u8]> {
    match public_key(Reader(spki).into(SEQUENCE)?)? {
        (EC_PUBLIC_KEY, Some(PRIME256V1), point) if point.len() == 65 && point.first() == Some(&4) => Some(point),
        _ => None,
    }
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
        let (algorithm, _, rsa_key) = public_key(body.enter(SEQUENCE)?)?;
        (algorithm == RSA_ENCRYPTION).then(|| Self {
            rsa_key,
            common_name: common_name(subject),
            not_before,
            not_after,
        })
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
