use hookbox_core::digest::Digest;
use hookbox_core::key::JobKey;
use sha2::Digest as _;

use super::*;

/// HMAC-SHA256 written out after RFC 2104, independent of the crate that signs.
fn hmac_by_hand(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0u8; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

fn facts() -> Facts {
    let receipt = Digest::of(b"x").to_string().parse().unwrap();
    Facts {
        job: JobKey::first(receipt, "deliver".parse().unwrap()),
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        tenant: None,
        event_id: Some("evt_1".into()),
        kind: "Zahlung geglückt".into(),
        resource: Some("pi_1".into()),
        occurred_at: None,
        received_at: Timestamp::from_seconds(1_764_500_000),
        event_version: None,
        attempt: 3,
    }
}

fn payload(headers: &[(&str, &str)]) -> Payload {
    Payload {
        body: b"{\"id\":\"evt_1\"}\r\n\xff".to_vec(),
        content_type: Some("application/json; charset=utf-8".into()),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        query: None,
    }
}

#[test]
fn the_signature_is_that_of_standard_webhooks() {
    // The specification's own vector.
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let body = br#"{"test": 2432232314}"#;
    let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    assert_eq!(signature(secret, id, 1_614_265_330, body).unwrap(), expected);

    for (secret, key) in
        [("whsec_YWJjZA==", &b"abcd"[..]), ("whsec_YWJjZA", b"abcd"), ("plain text ü", "plain text ü".as_bytes())]
    {
        let by_hand = STANDARD.encode(hmac_by_hand(key, b"a:b:v1.17.\xff\x00"));
        assert_eq!(signature(secret, "a:b:v1", 17, b"\xff\x00").unwrap(), format!("v1,{by_hand}"), "{secret}");
    }
    assert_eq!(signature("whsec_not base64!", "id", 1, b""), Err(InvalidSigningSecret));
}

#[test]
fn a_delivery_carries_the_bytes_the_facts_and_a_signature_over_exactly_them() {
    let now = Timestamp::from_millis(1_764_500_001_999);
    let sent =
        delivery("https://example.com/a?b=c", &facts(), &payload(&[("x-github-event", "push")]), "s", now).unwrap();
    assert_eq!((sent.method(), sent.uri().to_string()), (&http::Method::POST, "https://example.com/a?b=c".to_owned()));
    assert_eq!(sent.body(), &payload(&[]).body);
    let header = |name: &str| sent.headers().get(name).map(|value| value.to_str().unwrap());
    let key = facts().job.to_string();
    let expected = [
        ("content-type", "application/json; charset=utf-8"),
        ("idempotency-key", &key),
        ("webhook-id", &key),
        ("webhook-timestamp", "1764500001"),
        ("x-github-event", "push"),
        ("hookbox-version", "1"),
        ("hookbox-provider", "stripe"),
        ("hookbox-account", "demo"),
        ("hookbox-event-id", "evt_1"),
        ("hookbox-kind", "Zahlung%20gegl%C3%BCckt"),
        ("hookbox-resource", "pi_1"),
        ("hookbox-received-at", "2025-11-30T10:53:20.000Z"),
        ("hookbox-receipt", &facts().job.receipt.to_string()),
        ("hookbox-attempt", "3"),
    ];
    for (name, value) in expected {
        assert_eq!(header(name), Some(value), "{name}");
    }
    let unknown = ["hookbox-tenant", "hookbox-occurred-at", "hookbox-event-version", "hookbox-query"];
    assert!(unknown.iter().all(|name| header(name).is_none()), "what is unknown is not sent");

    let signed = [format!("{key}.1764500001.").as_bytes(), sent.body()].concat();
    let by_hand = STANDARD.encode(hmac_by_hand(b"s", &signed));
    assert_eq!(header("webhook-signature"), Some(&*format!("v1,{by_hand}")));
}

#[test]
fn nothing_of_the_provider_s_connection_or_secrets_is_passed_on() {
    let kept = [
        ("X-GitHub-Event", "push"),
        ("Content-Encoding", "gzip"),
        ("Connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("host", "evil.example"),
        ("content-length", "99999"),
        ("transfer-encoding", "chunked"),
        ("expect", "100-continue"),
        ("authorization", "Bearer secret"),
        ("proxy-authorization", "secret"),
        ("cookie", "secret"),
        ("x-hub-signature-256", "sha256=00"),
        ("x-shopify-hmac-sha256", "00"),
        ("x-gitlab-token", "secret"),
        ("hookbox-receipt", "forged"),
        ("webhook-signature", "forged"),
        ("idempotency-key", "forged"),
        ("bad name", "1"),
        ("x-bad-value", "a\nb"),
    ];
    let payload = payload(&kept);
    let names: Vec<_> = passed_on(&payload).map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["x-github-event", "content-encoding"]);
    let sent = delivery("http://example.com", &facts(), &payload, "s", Timestamp::from_seconds(1)).unwrap();
    assert!(sent.headers().values().all(|value| value != "forged"));
}

#[test]
fn a_question_is_signed_over_no_bytes_and_carries_no_idempotency_key() {
    let asked = question("http://example.com/x", &facts(), Some("s"), Timestamp::from_seconds(7)).unwrap();
    assert_eq!(asked.method(), http::Method::GET);
    assert!(asked.body().is_empty() && !asked.headers().contains_key("idempotency-key"));
    let by_hand = STANDARD.encode(hmac_by_hand(b"s", format!("{}.7.", facts().job).as_bytes()));
    assert_eq!(asked.headers()["webhook-signature"].to_str().unwrap(), format!("v1,{by_hand}"));
    let unsigned = question("http://example.com/x", &facts(), None, Timestamp::from_seconds(7)).unwrap();
    assert!(!unsigned.headers().contains_key("webhook-signature"));
    assert_eq!(
        question("not an address", &facts(), None, Timestamp::from_seconds(7)).unwrap_err(),
        Unsendable::Address
    );
}
