//! Verification that needs a document from elsewhere, confirmations, and tokens that are good once.

use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_core::integration::{Integration, SecretRef};
use hookbox_core::time::Timestamp;
use serde_json::Value;

use super::stage::{Stage, delivery, integration};
use super::stored_nothing;

const SNS: &str = include_str!("../../../../tests/vectors/aws-sns.json");
const MAILGUN: &str = include_str!("../../../../tests/vectors/mailgun.json");

/// A signed request of a provider's vectors, by its name.
struct Signed {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    certificate: Vec<u8>,
    now: Timestamp,
}

impl Signed {
    fn of(vectors: &str, name: &str) -> Self {
        let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
        let vector = vectors.into_iter().find(|vector| vector["name"] == name).expect("a vector of this name");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let headers = vector["headers"].as_object().unwrap();
        Self {
            headers: headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body: STANDARD.decode(text(&vector["body_b64"])).unwrap(),
            certificate: text(&vector["secret"]).into_bytes(),
            now: Timestamp::from_seconds(vector["now"].as_i64().unwrap_or(1_764_500_000)),
        }
    }

    fn json(&self, field: &str) -> String {
        serde_json::from_slice::<Value>(&self.body).unwrap()[field].as_str().unwrap().to_owned()
    }

    fn event(&self, provider: &str) -> Value {
        delivery(&format!("/hooks/{provider}/demo"), &self.headers, &self.body)
    }
}

/// A stage that takes the messages of these topics.
async fn sns(tenants: &[&str], signed: &Signed) -> Stage {
    let stage = Stage::new().await;
    stage.clock.set(signed.now);
    let tenants = tenants.iter().map(|&tenant| tenant.to_owned()).collect();
    stage.configure(&Integration { secrets: Vec::new(), tenants, ..integration("aws-sns") }).await;
    stage
}

fn serve(stage: &Stage, url: &str, document: &[u8]) {
    stage.elsewhere.documents.lock().unwrap().insert(url.to_owned(), document.to_vec());
}

fn fetched(stage: &Stage) -> Vec<String> {
    stage.elsewhere.fetched.lock().unwrap().clone()
}

#[tokio::test]
async fn a_certificate_is_fetched_once_and_the_message_accepted() {
    let signed = Signed::of(SNS, "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    let url = signed.json("SigningCertURL");
    serve(&stage, &url, &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 200);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 200);
    assert_eq!(fetched(&stage), [url]);
    assert_eq!((stage.counted("EventsCreated"), stage.counted("EventsDuplicate")), (1, 1));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_fetched_is_503_and_nothing_is_stored() {
    let signed = Signed::of(SNS, "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    let answer = stage.answer(signed.event("aws-sns")).await;
    assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("5")));
    assert!(stored_nothing(&stage).await);
    assert_eq!(stage.counted("VerifierBroken"), 1);

    // A host that is busy says nothing of the certificate, and its next answer counts: AWS repeats three times only.
    stage.elsewhere.missing_is.store(429, Ordering::SeqCst);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 503);
    serve(&stage, &signed.json("SigningCertURL"), &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 200);
}

#[tokio::test]
async fn an_address_that_is_not_the_provider_s_is_never_fetched() {
    for name in ["cert_url_foreign_host", "cert_url_http", "cert_url_not_pem", "cert_url_userinfo"] {
        let signed = Signed::of(SNS, name);
        let stage = sns(&["any"], &signed).await;
        assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 401, "{name}");
        assert_eq!(fetched(&stage), [""; 0], "{name}");
    }
}

/// Whoever names a certificate that does not exist neither rings an alarm nor makes us ask for it each time.
#[tokio::test]
async fn a_certificate_that_its_host_does_not_have_is_a_bad_signature() {
    let signed = Signed::of(SNS, "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    stage.elsewhere.missing_is.store(404, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 401);
    }
    assert_eq!(fetched(&stage).len(), 1);
    assert_eq!((stage.counted("VerificationFailed"), stage.counted("VerifierBroken")), (3, 0));
}

/// Anybody can have AWS sign the messages of a topic of their own.
#[tokio::test]
async fn a_validly_signed_message_of_a_foreign_topic_is_refused_and_stored_nowhere() {
    let signed = Signed::of(SNS, "official_v2_plain");
    let stage = sns(&["arn:aws:sns:us-east-2:123456789012:ours"], &signed).await;
    serve(&stage, &signed.json("SigningCertURL"), &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 403);
    assert!(stored_nothing(&stage).await);
    assert_eq!(stage.counted("VerificationFailed"), 1);
}

#[tokio::test]
async fn without_a_list_of_tenants_nothing_that_anybody_can_sign_is_taken() {
    let signed = Signed::of(SNS, "official_v2_plain");
    let stage = sns(&[], &signed).await;
    serve(&stage, &signed.json("SigningCertURL"), &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 503);
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn a_subscription_is_confirmed_by_visiting_its_address_and_leaves_no_receipt() {
    let signed = Signed::of(SNS, "own_subscription_confirmation");
    let (certificate, subscribe) = (signed.json("SigningCertURL"), signed.json("SubscribeURL"));
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    serve(&stage, &certificate, &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 503, "the address does not answer yet");
    serve(&stage, &subscribe, b"<ConfirmSubscriptionResponse/>");
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 200);
    assert_eq!(fetched(&stage), [certificate.clone(), subscribe.clone(), subscribe]);
    assert!(stored_nothing(&stage).await);

    let stage = sns(&["arn:aws:sns:us-east-2:123456789012:ours"], &signed).await;
    serve(&stage, &certificate, &signed.certificate);
    assert_eq!(stage.answer(signed.event("aws-sns")).await.status, 403, "a foreign topic is not confirmed");
    assert_eq!(fetched(&stage), [certificate]);
}

/// Mailgun signs a token and not the event: whoever has seen one delivery could send another event under it.
#[tokio::test]
async fn a_signed_token_is_good_for_its_own_event_only() {
    let signed = Signed::of(MAILGUN, "official_inbound_form");
    let stage = Stage::new().await;
    stage.clock.set(signed.now);
    let secrets = vec![SecretRef::Env("MAILGUN".into())];
    stage.configure(&Integration { secrets, ..integration("mailgun") }).await;
    let mail = |message: &str| {
        let body = String::from_utf8(signed.body.clone()).unwrap().replace("20130517195142.13789.72211", message);
        delivery("/hooks/mailgun/demo", &signed.headers, body.as_bytes())
    };
    assert_eq!(stage.answer(mail("first")).await.status, 200);
    assert_eq!(stage.answer(mail("first")).await.status, 200, "Mailgun tries again");
    assert_eq!(stage.answer(mail("second")).await.status, 401);
    assert_eq!((stage.counted("EventsCreated"), stage.counted("EventsDuplicate")), (1, 1));
    assert_eq!(stage.counted("VerificationFailed"), 1);
}
