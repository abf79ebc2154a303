//! PayPal: RSA over ids, time and the body's CRC-32, with a certificate that the request names. The CRC binds the body by
//! 32 bits only; what else binds it is TLS. The integration's secret is the webhook's id.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::digest::Digest;
use hookbox_core::time::Timestamp;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rustls_pki_types::{CertificateDer, UnixTime};
use subtle::Choice;

use super::carrier::sole;
use super::compare::Search;
use super::der::{Certificate, certificates};
use super::fetched::{host_and_path, is_paypal_host};
use super::signed::{Tolerance, Unit};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::SchemeFile;
use crate::request::Request;
use crate::secret::Secret;
use crate::verdict::{Fetched, Match, Once, Reason, Refusal};

/// The scheme `paypal`.
#[derive(Clone, Debug)]
pub(crate) struct PayPal {
    tolerance: Option<Tolerance>,
    untimed: bool,
    /// Certificates that are trusted beside those of public authorities: the signing one itself, or who issued it.
    trusted: Vec<Vec<u8>>,
}

/// Whether a path is that of a certificate.
fn is_certificate(path: &str) -> bool {
    path.strip_prefix("/v1/notifications/certs/").is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

impl PayPal {
    pub(super) fn compile(file: &mut SchemeFile) -> Result<Self, Flaw> {
        let wrong = || Flaw::new("this is no certificate in PEM");
        let trusted = file.trusted.take().map(|pem| certificates(pem.as_bytes()).ok_or_else(wrong));
        Ok(Self {
            tolerance: Tolerance::take(file)?,
            untimed: file.untimed,
            trusted: trusted.transpose().under("trusted")?.unwrap_or_default(),
        })
    }

    pub(super) fn secret_headers() -> Vec<String> {
        vec!["paypal-transmission-sig".to_owned()]
    }

    pub(super) fn verify(
        &self,
        request: &Request<'_>,
        secrets: &[Secret],
        fetched: &Fetched,
        now: Timestamp,
    ) -> Result<Match, Refusal> {
        let signature = sole(request, "PAYPAL-TRANSMISSION-SIG", Reason::MissingSignature)?;
        let signature = STANDARD.decode(signature).map_err(|_| Reason::MalformedSignature)?;
        // The sender does not choose the algorithm; he says which one it was.
        if sole(request, "PAYPAL-AUTH-ALGO", Reason::MissingSignature)? != "SHA256withRSA" {
            return Err(Reason::NoUsableSignature.into());
        }
        let id = sole(request, "PAYPAL-TRANSMISSION-ID", Reason::MissingId)?;
        let time = sole(request, "PAYPAL-TRANSMISSION-TIME", Reason::MissingTimestamp)?;
        if id.contains('|') {
            return Err(Reason::MalformedId.into());
        }
        let signed_at = Unit::Rfc3339.read(time)?;

        let url = sole(request, "PAYPAL-CERT-URL", Reason::MissingSignature)?;
        let own = host_and_path(url).is_some_and(|(host, path)| is_paypal_host(host) && is_certificate(path));
        if !own {
            return Err(Reason::ForeignUrl.into());
        }
        let pem = fetched.get(url).ok_or_else(|| Refusal::NeedsFetch(url.to_owned()))?;
        let chain = certificates(pem).ok_or(Reason::BadCertificate)?;
        let leaf = self.leaf(&chain, now).ok_or(Reason::BadCertificate)?;

        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, leaf.rsa_key);
        let mut search = Search::new();
        for (index, webhook_id) in secrets.iter().enumerate() {
            let signed = text(id, time, webhook_id, request.body);
            let matches = key.verify(signed.as_bytes(), &signature).is_ok();
            search.note(index, Choice::from(u8::from(matches)));
        }
        let secret_index = search.matched()?;
        if let Some(tolerance) = self.tolerance {
            tolerance.check(signed_at, now)?;
        }
        // The CRC is no seal: with some letters to choose, any body has it.
        let ahead = signed_at.since(now);
        let remember_for = self.tolerance.map_or(Duration::MAX, |tolerance| tolerance.span() + ahead);
        let once = Some(Once { token: Digest::of(id.as_bytes()), remember_for });
        Ok(Match { secret_index, signed_at: Some(signed_at), once })
    }

    /// The certificate that signed, if it is PayPal's: by name, by date, and by a chain to a public authority.
    fn leaf<'c>(&self, chain: &'c [Vec<u8>], now: Timestamp) -> Option<Certificate<'c>> {
        let (first, intermediates) = chain.split_first()?;
        let leaf = Certificate::read(first)?;
        let named = leaf.common_name.is_some_and(is_paypal_host);
        if !named || !(self.untimed || leaf.is_valid_at(now)) {
            return None;
        }
        (self.trusted.contains(first) || self.is_vouched_for(first, intermediates, now)).then_some(leaf)
    }

    /// Whether an authority vouches for the certificate, by the chain that was fetched with it.
    fn is_vouched_for(&self, leaf: &[u8], intermediates: &[Vec<u8>], now: Timestamp) -> bool {
        let leaf = CertificateDer::from(leaf);
        let Ok(end_entity) = webpki::EndEntityCert::try_from(&leaf) else { return false };
        let certificate = |der: &'_ Vec<u8>| CertificateDer::from(der.clone());
        let intermediates: Vec<_> = intermediates.iter().map(certificate).collect();
        let trusted: Vec<_> = self.trusted.iter().map(certificate).collect();
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().chain(&trusted);
        let anchors: Vec<_> = roots.filter_map(|root| webpki::anchor_from_trusted_cert(root).ok()).collect();
        let seconds = u64::try_from(now.as_millis().div_euclid(1000)).unwrap_or(0);
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let usage = webpki::KeyUsage::server_auth();
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        end_entity.verify_for_usage(algorithms, &anchors, &intermediates, time, usage, None, None).is_ok()
    }
}

fn text(id: &str, time: &str, webhook_id: &Secret, body: &[u8]) -> String {
    format!("{id}|{time}|{}|{}", webhook_id.text(), crc32fast::hash(body))
}

/// What the request's signature covers.
pub(super) fn signed_text(request: &Request<'_>, webhook_id: &Secret) -> Option<String> {
    let header = |name: &str| request.header(name).ok().flatten();
    Some(text(header("PAYPAL-TRANSMISSION-ID")?, header("PAYPAL-TRANSMISSION-TIME")?, webhook_id, request.body))
}
