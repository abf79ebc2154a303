//! Profiles as people write them: the whole input is one.

use hookbox_providers::{Configured, Fetched, Profile, SampleValues, Secret, Verdict};

use super::ways::{Delivery, NOW, secret};

/// No panic; an error with its line inside of the text; and a profile that is taken works: its sample is decoded without
/// a panic and verified once it is signed.
pub fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let profile = match Profile::parse(text) {
        Ok(profile) => profile,
        Err(error) => {
            assert!(error.line.is_none_or(|line| (1..=text.split('\n').count()).contains(&line)), "{error}");
            return;
        }
    };
    let _ = (profile.identities(), profile.without_id(), profile.handshakes(), profile.acknowledgements());
    let variants = profile.variants().map(Some).chain([None]);
    for variant in variants {
        works(&profile.configure(variant, None).expect("what was checked"));
    }
}

fn works(configured: &Configured) {
    let sample = configured.sample(&SampleValues { occurred_at: NOW, ..SampleValues::default() }).expect("a sample");
    for text in ["00ff10aa", "a:b", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        let secret: Secret = secret(text);
        let mut delivery = Delivery { headers: sample.headers.clone(), ..Delivery::new(&sample.body) };
        let _ = configured.check(Some(super::ways::URL), std::slice::from_ref(&secret));
        let _ = configured.decode(&delivery.request());
        let _ = configured.acknowledgement(&delivery.request());
        let unsigned = delivery.verify(configured, std::slice::from_ref(&secret));
        // The secret of a URL or a header may stand in the profile itself; a signature cannot.
        let is_signature = !matches!(configured.scheme(), "basic" | "bearer" | "token" | "path-token");
        assert!(!(is_signature && matches!(unsigned, Verdict::Valid { .. })), "a sample is valid before it is signed");
        let _ = delivery.sign(configured, &sample.event_id, &secret);
        let _ = delivery.verify(configured, std::slice::from_ref(&secret));
        let _ = configured.handshake(&delivery.request(), &[secret], &Fetched::nothing(), NOW);
    }
}
