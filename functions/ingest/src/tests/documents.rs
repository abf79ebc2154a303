//! Verification that needs a document from elsewhere, confirmations, and tokens that are good once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hookbox_core::integration::Integration;
use serde_json::{Value, json};

use super::stage::{NOW, Stage, delivery, integration};
use super::stored_nothing;
use super::vectors::Signed;

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
    let signed = Signed::of("aws-sns", "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    let url = signed.json("SigningCertURL");
    serve(&stage, &url, signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 200);
    assert_eq!(stage.answer(signed.event()).await.status, 200);
    assert_eq!(fetched(&stage), [url]);
    assert_eq!((stage.counted("EventsCreated"), stage.counted("EventsDuplicate")), (1, 1));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_fetched_is_503_and_nothing_is_stored() {
    let signed = Signed::of("aws-sns", "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    let answer = stage.answer(signed.event()).await;
    assert_eq!(answer.status, 503);
    assert!(stored_nothing(&stage).await);
    // Anybody can name a host that does not answer, and must not ring the alarm about our own configuration.
    assert_eq!((stage.counted("VerifierBroken"), stage.counted("VerificationFailed")), (0, 1));

    // A host that is busy says nothing of the certificate, and its next answer counts: AWS repeats three times only.
    stage.elsewhere.missing_is.store(429, Ordering::SeqCst);
    assert_eq!(stage.answer(signed.event()).await.status, 503);
    serve(&stage, &signed.json("SigningCertURL"), signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 200);
}

#[tokio::test]
async fn an_address_that_is_not_the_provider_s_is_never_fetched() {
    for name in ["cert_url_foreign_host", "cert_url_http", "cert_url_not_pem", "cert_url_userinfo"] {
        let signed = Signed::of("aws-sns", name);
        let stage = sns(&["any"], &signed).await;
        assert_eq!(stage.answer(signed.event()).await.status, 401, "{name}");
        assert_eq!(fetched(&stage), [""; 0], "{name}");
    }
}

/// Whoever names a certificate that does not exist neither rings an alarm nor makes us ask for it each time.
#[tokio::test]
async fn a_certificate_that_its_host_does_not_have_is_a_bad_signature() {
    let signed = Signed::of("aws-sns", "official_v2_plain");
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    stage.elsewhere.missing_is.store(404, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(stage.answer(signed.event()).await.status, 401);
    }
    assert_eq!(fetched(&stage).len(), 1);
    assert_eq!((stage.counted("VerificationFailed"), stage.counted("VerifierBroken")), (3, 0));
}

/// Anybody can have AWS sign the messages of a topic of their own.
#[tokio::test]
async fn a_validly_signed_message_of_a_foreign_topic_is_refused_and_stored_nowhere() {
    let signed = Signed::of("aws-sns", "official_v2_plain");
    let stage = sns(&["arn:aws:sns:us-east-2:123456789012:ours"], &signed).await;
    serve(&stage, &signed.json("SigningCertURL"), signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 403);
    assert!(stored_nothing(&stage).await);
    assert_eq!(stage.counted("VerificationFailed"), 1);
}

#[tokio::test]
async fn without_a_list_of_tenants_nothing_that_anybody_can_sign_is_taken() {
    let signed = Signed::of("aws-sns", "official_v2_plain");
    let stage = sns(&[], &signed).await;
    serve(&stage, &signed.json("SigningCertURL"), signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 503);
    assert!(stored_nothing(&stage).await);
}

#[tokio::test]
async fn a_subscription_is_confirmed_by_visiting_its_address_and_leaves_no_receipt() {
    let signed = Signed::of("aws-sns", "own_subscription_confirmation");
    let (certificate, subscribe) = (signed.json("SigningCertURL"), signed.json("SubscribeURL"));
    let stage = sns(&[&signed.json("TopicArn")], &signed).await;
    serve(&stage, &certificate, signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 503, "the address does not answer yet");
    serve(&stage, &subscribe, b"<ConfirmSubscriptionResponse/>");
    assert_eq!(stage.answer(signed.event()).await.status, 200);
    assert_eq!(fetched(&stage), [certificate.clone(), subscribe.clone(), subscribe]);
    assert!(stored_nothing(&stage).await);

    let stage = sns(&["arn:aws:sns:us-east-2:123456789012:ours"], &signed).await;
    serve(&stage, &certificate, signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 403, "a foreign topic is not confirmed");
    assert_eq!(fetched(&stage), [certificate]);
}

/// Mailgun signs a token and not the event: whoever has seen one delivery could send another event under it.
#[tokio::test]
async fn a_signed_token_is_good_for_its_own_event_only() {
    let signed = Signed::of("mailgun", "official_inbound_form");
    let stage = Stage::new().await;
    stage.clock.set(signed.now);
    stage.configure(&signed.integration()).await;
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

/// Where Google publishes its keys.
const KEYS: &str = "https://www.googleapis.com/oauth2/v3/certs";

/// A stage that takes this push of Pub/Sub's.
async fn pubsub(signed: &Signed) -> Stage {
    let stage = Stage::new().await;
    stage.clock.set(signed.now);
    let verify = Some(json!({"email": signed.email, "tolerance": "1h"}));
    let tenants = vec![signed.json("subscription")];
    let secrets = Vec::new();
    stage.configure(&Integration { secrets, verify, tenants, ..signed.integration() }).await;
    stage
}

#[tokio::test]
async fn a_key_that_is_published_later_is_looked_for_and_no_delivery_refused_for_it() {
    let signed = Signed::of("google-pubsub", "iss_without_scheme");
    let stage = pubsub(&signed).await;
    serve(&stage, KEYS, br#"{"keys":[]}"#);
    assert_eq!(stage.answer(signed.event()).await.status, 401, "the newest set does not have it");
    serve(&stage, KEYS, signed.secret.as_bytes());
    stage.clock.advance(Duration::from_secs(59));
    assert_eq!(stage.answer(signed.event()).await.status, 401, "the set is less than a minute old");
    assert_eq!(fetched(&stage).len(), 1);
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!(stage.answer(signed.event()).await.status, 204);
    assert_eq!(stage.answer(signed.event()).await.status, 204);
    assert_eq!(fetched(&stage).len(), 2, "once, and then it is known");

    // Whoever makes up keys has the set fetched once a minute, and is told the same each time.
    let forged = Signed::of("google-pubsub", "unknown_kid");
    for expected in [2, 2, 3, 3] {
        assert_eq!(stage.answer(forged.event()).await.status, 401);
        assert_eq!(fetched(&stage).len(), expected);
        if expected == 2 {
            stage.clock.advance(Duration::from_secs(30));
        }
    }
    assert_eq!((stage.counted("VerificationFailed"), stage.counted("VerifierBroken")), (6, 0));
}

#[tokio::test]
async fn a_key_set_that_cannot_be_looked_at_again_is_503_and_never_401() {
    let signed = Signed::of("google-pubsub", "iss_without_scheme");
    for outage in [500, 404] {
        let stage = pubsub(&signed).await;
        serve(&stage, KEYS, br#"{"keys":[]}"#);
        assert_eq!(stage.answer(signed.event()).await.status, 401);
        stage.clock.advance(Duration::from_secs(60));
        stage.elsewhere.documents.lock().unwrap().clear();
        stage.elsewhere.missing_is.store(outage, Ordering::SeqCst);
        for _ in 0..3 {
            let answer = stage.answer(signed.event()).await;
            assert_eq!(answer.status, 503, "{outage}");
        }
        assert_eq!(fetched(&stage).len(), 2, "{outage}: not asked for again within the minute");
        serve(&stage, KEYS, signed.secret.as_bytes());
        stage.clock.advance(Duration::from_secs(60));
        assert_eq!(stage.answer(signed.event()).await.status, 204);
        // An outage takes nothing from keys that are known.
        stage.clock.advance(Duration::from_secs(60));
        stage.elsewhere.documents.lock().unwrap().clear();
        assert_eq!(stage.answer(signed.event()).await.status, 204);
        assert_eq!(stage.answer(Signed::of("google-pubsub", "unknown_kid").event()).await.status, 503);
        assert_eq!(stage.answer(signed.event()).await.status, 204);
    }
}

/// A page of somebody's in the place of the keys, and keys that are not there from the beginning.
#[tokio::test]
async fn what_is_no_key_set_refuses_nobody() {
    let signed = Signed::of("google-pubsub", "iss_without_scheme");
    let stage = pubsub(&signed).await;
    stage.elsewhere.missing_is.store(404, Ordering::SeqCst);
    assert_eq!(stage.answer(signed.event()).await.status, 503, "the host says that there are no keys");
    stage.clock.advance(Duration::from_secs(60));
    serve(&stage, KEYS, b"<html>sorry</html>");
    assert_eq!(stage.answer(signed.event()).await.status, 503);
    serve(&stage, KEYS, signed.secret.as_bytes());
    assert_eq!(stage.answer(signed.event()).await.status, 503, "looked at less than a minute ago");
    stage.clock.advance(Duration::from_secs(60));
    assert_eq!(stage.answer(signed.event()).await.status, 204);
    assert_eq!((stage.counted("VerificationFailed"), stage.counted("VerifierBroken")), (0, 3));
}

/// A subscription without an audience of its own names its endpoint, query and all.
#[tokio::test]
async fn the_audience_is_the_configured_address_with_or_without_the_query_of_the_request() {
    let pushed: Value = serde_json::from_str(include_str!("pubsub.json")).unwrap();
    let address = "https://hooks.example.com/hooks/google-pubsub/demo";
    let body = br#"{"message":{"messageId":"1","data":"e30="},"subscription":"projects/p/subscriptions/s"}"#;
    let push = |query: &str| {
        let token = [("Authorization".to_owned(), format!("Bearer {}", pushed["token"].as_str().unwrap()))];
        let mut event = delivery("/hooks/google-pubsub/demo", &token, body);
        event["rawQueryString"] = query.into();
        event
    };
    let to = async |url: &str, audience: Option<&str>| {
        let stage = Stage::new().await;
        stage.clock.set(NOW);
        let mut verify = json!({"email": pushed["email"]});
        if let Some(audience) = audience {
            verify["audience"] = audience.into();
        }
        let tenants = vec!["projects/p/subscriptions/s".to_owned()];
        let of = integration("google-pubsub");
        let of = Integration { secrets: Vec::new(), url: Some(url.to_owned()), verify: Some(verify), tenants, ..of };
        stage.configure(&of).await;
        serve(&stage, KEYS, pushed["keys"].to_string().as_bytes());
        stage
    };
    let stage = to(address, None).await;
    assert_eq!(stage.answer(push("tenant=a%20b&x[]=1")).await.status, 204);
    assert_eq!(stage.answer(push("tenant=a%20b")).await.status, 401, "another endpoint");
    assert_eq!(
        to("https://h.example/hooks/google-pubsub/demo", None).await.answer(push("tenant=a%20b&x[]=1")).await.status,
        401
    );
    let own = to("https://h.example/", pushed["audience"].as_str()).await;
    assert_eq!(own.answer(push("anything")).await.status, 204, "an audience of its own is no address");
}
