use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use hookbox_core::digest::Digest;
use hookbox_core::key::ReceiptId;
use hookbox_providers::{Fetched, Profiles, Request, SampleValues, Secret, Verdict};
use serde_json::json;

use super::key::tests::{ED25519, ED25519_PUBLIC, P256, P256_PUBLIC, pem};
use super::*;
use crate::testing::{clock, terminal};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The seed of an Ed25519 key, and its public half.
const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const PUBLIC: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";

/// Thumbtack sends a user and a password, Adyen's keys are hexadecimal digits, and those of discord and sendgrid are pairs.
fn secret(provider: &str) -> &'static str {
    match provider {
        "sendgrid" => Box::leak(pem(P256).into_boxed_str()),
        "thumbtack" => "user:MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "adyen" | "discord" => SEED,
        _ => SECRET,
    }
}

/// What the endpoint verifies with.
fn verifying(provider: &str) -> &'static str {
    match provider {
        "discord" => PUBLIC,
        "sendgrid" => P256_PUBLIC,
        _ => secret(provider),
    }
}

/// Providers whose private key nobody else has.
const SIGNED_BY_OTHERS: [&str; 3] = ["aws-sns", "google-pubsub", "paypal"];

/// Answers as `ingest` does, for one connection with one secret.
#[derive(Clone)]
struct Api {
    provider: &'static str,
    url: String,
    now: Timestamp,
    receipts: Arc<Mutex<BTreeMap<ReceiptId, Digest>>>,
}

impl Api {
    async fn start(provider: &'static str) -> (String, Self) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let api = Self { provider, url: url.clone(), now: clock().now(), receipts: Arc::default() };
        let router = Router::new().fallback(take).with_state(api.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, api)
    }

    fn receipts(&self) -> usize {
        self.receipts.lock().unwrap().len()
    }
}

async fn take(State(api): State<Api>, uri: Uri, headers: HeaderMap, body: Bytes) -> (StatusCode, String) {
    let named = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.to_str().unwrap().to_owned());
    let headers: Vec<_> = headers.iter().map(named).collect();
    let rest = uri.path().strip_prefix(&format!("/api/hooks/{}/demo", api.provider)).unwrap();
    let request = Request {
        method: "POST",
        path_token: rest.strip_prefix('/'),
        url: Some(&format!("{}/api/hooks/{}/demo", api.url, api.provider)),
        query: uri.query(),
        headers: &headers,
        body: &body,
    };
    let provider = api.provider.parse().unwrap();
    let profiles = Profiles::built_in();
    let profile = profiles.get(&provider).unwrap().unwrap().configure(None, None).unwrap();
    let verdict =
        profile.verify(&request, &[Secret::new(verifying(api.provider)).unwrap()], &Fetched::nothing(), api.now);
    if !matches!(verdict, Verdict::Valid { .. }) {
        let error = json!({"success": false, "error": "the delivery could not be verified"});
        return (StatusCode::UNAUTHORIZED, error.to_string());
    }
    let event = profile.decode(&request).unwrap().events.remove(0);
    let id = ReceiptId::derive(&provider, &"demo".parse().unwrap(), &event.identity, None);
    let mut receipts = api.receipts.lock().unwrap_or_else(PoisonError::into_inner);
    let state = match receipts.insert(id, event.digest) {
        None => "created",
        Some(known) if known == event.digest => "duplicate",
        Some(_) => "conflict",
    };
    if let Some(answer) = profile.acknowledgement(&request) {
        return (StatusCode::from_u16(answer.status).unwrap(), answer.body.clone());
    }
    (StatusCode::OK, json!({"success": true, "state": state, "receiptId": id.to_string()}).to_string())
}

fn signer(provider: &str, url: &str, secret: &str) -> Signer {
    let endpoint = Endpoint {
        provider: provider.parse().unwrap(),
        account: "demo".parse().unwrap(),
        variant: None,
        verify: None,
        secret: "env:S".parse().unwrap(),
        url: format!("{url}/api"),
        public_url: None,
    };
    Signer::new(&endpoint, &secret.to_owned().into(), &Profiles::built_in(), Arc::new(clock())).unwrap()
}

fn draft(signer: &Signer, set: Option<&Value>) -> Draft {
    let values = SampleValues { event_id: Some("evt_1"), occurred_at: FIXED_TIME, set, ..SampleValues::default() };
    signer.draft(&values).unwrap()
}

async fn sent(signer: &Signer, draft: &Draft, times: u32, concurrent: bool) -> (Summary, String) {
    let (mut terminal, captured) = terminal(Format::Table);
    let summary = deliver(signer, draft, times, concurrent, &mut terminal).await.unwrap();
    (summary, captured.notes())
}

#[tokio::test]
async fn every_profile_s_sample_is_accepted() {
    for provider in Profiles::built_in().names().into_iter().filter(|name| !SIGNED_BY_OTHERS.contains(name)) {
        // Names are compiled in, so they live as long as the program.
        let provider: &'static str = Box::leak(provider.to_owned().into_boxed_str());
        let (url, api) = Api::start(provider).await;
        let signer = signer(provider, &url, secret(provider));
        let (summary, _) = sent(&signer, &draft(&signer, None), 2, false).await;
        assert_eq!(summary.answer("").unwrap(), Answer::Yes, "{provider}: {summary:?}");
        let json = serde_json::to_value(&summary).unwrap();
        let id = api.receipts.lock().unwrap().keys().next().unwrap().to_string();
        assert_eq!(json["receipts"], json!([id]), "{provider}");
        assert!(!signer.shown_url().contains(SECRET), "{provider}");
    }
}

#[tokio::test]
async fn the_same_delivery_at_once_is_counted() {
    let (url, api) = Api::start("stripe").await;
    let signer = signer("stripe", &url, SECRET);
    let (summary, notes) = sent(&signer, &draft(&signer, None), 25, true).await;
    let json = serde_json::to_value(&summary).unwrap();
    let counts = ["sent", "created", "duplicates", "conflicts", "refused"].map(|name| json[name].as_u64().unwrap());
    assert_eq!(counts, [25, 1, 24, 0, 0]);
    assert_eq!(api.receipts(), 1);
    assert_eq!(json["receipts"].as_array().unwrap().len(), 1);
    assert_eq!(json["answers"][0]["status"], 200);
    assert_eq!(json["answers"][0]["body"]["success"], true);
    assert_eq!(notes, "10 of 25 answered\n20 of 25 answered\n");
}

#[tokio::test]
async fn at_once_means_that_nobody_waits_for_another_s_answer() {
    let everybody = Arc::new(tokio::sync::Barrier::new(5));
    let together = Router::new().fallback(move || {
        let everybody = Arc::clone(&everybody);
        async move { everybody.wait().await.is_leader().to_string() }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, together).await });
    let signer = signer("stripe", &url, SECRET);
    let draft = draft(&signer, None);
    let all = tokio::time::timeout(Duration::from_secs(20), sent(&signer, &draft, 5, true)).await;
    assert_eq!(all.expect("five calls that meet").0.answer("").unwrap(), Answer::Yes);
}

#[tokio::test]
async fn another_content_under_one_id_is_a_conflict() {
    let (url, _) = Api::start("stripe").await;
    let signer = signer("stripe", &url, SECRET);
    sent(&signer, &draft(&signer, None), 1, false).await;
    let (summary, _) = sent(&signer, &draft(&signer, Some(&json!({"livemode": true}))), 1, false).await;
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!((&json["conflicts"], &json["created"], &json["refused"]), (&json!(1), &json!(0), &json!(0)));
}

#[tokio::test]
async fn a_refusal_is_a_negative_answer() {
    let (url, api) = Api::start("stripe").await;
    let signer = signer("stripe", &url, "whsec_another");
    let (summary, _) = sent(&signer, &draft(&signer, None), 2, false).await;
    assert_eq!(summary.answer("").unwrap(), Answer::No);
    assert_eq!(api.receipts(), 0);
}

#[test]
fn answers_are_summed_up() {
    let answer = |status: Option<u16>, body: Value, ms| Outcome {
        status,
        error: status.is_none().then(|| "connection refused".to_owned()),
        body,
        took: Duration::from_millis(ms),
    };
    let one = |state: &str, ms| answer(Some(200), json!({"state": state, "receiptId": "aa"}), ms);
    let batch = json!({"receipts": [{"state": "created", "receiptId": "bb"}, {"state": "ignored", "receiptId": "cc"}]});
    let answers = vec![
        one("created", 40),
        one("duplicate", 12),
        one("duplicate", 9),
        answer(Some(200), batch, 51),
        answer(Some(401), json!({"success": false, "error": "the delivery could not be verified"}), 7),
        answer(Some(204), Value::String(String::new()), 8),
        answer(None, Value::Null, 1),
    ];
    let summary = Summary::new(answers, &[]);
    assert_eq!(summary.answer("").unwrap(), Answer::No);
    let (mut terminal, captured) = terminal(Format::Table);
    summary.show("https://api.example/hooks/stripe/demo", &mut terminal).unwrap();
    insta::assert_snapshot!(captured.out());
    insta::assert_json_snapshot!("answers_as_json", summary);
}

#[test]
fn a_dry_run_shows_what_would_be_sent_and_needs_nobody_to_answer() {
    let signer = signer("github", "https://api.example", SECRET);
    let draft = draft(&signer, None);
    for format in [Format::Table, Format::Json] {
        let (mut terminal, captured) = terminal(format);
        Preview::of(&signer, &draft, 20).unwrap().show(&mut terminal).unwrap();
        assert!(!captured.out().contains(SECRET) && !captured.out().contains("sha256="), "{}", captured.out());
        insta::assert_snapshot!(format!("dry_run_{format:?}"), captured.out());
    }
    let unsigned = self::signer("standard-webhooks", "http://127.0.0.1:9", "whsec_%MfKQ9");
    assert_eq!(Preview::of(&unsigned, &draft, 1).unwrap_err().code(), 2, "what cannot be signed cannot be sent");
}

#[tokio::test]
async fn a_dry_run_sends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (url, api) = Api::start("stripe").await;
    let file = "[[integration]]\nprovider = \"stripe\"\naccount = \"demo\"\nsecrets = [\"env:CARGO_PKG_NAME\"]\n";
    std::fs::write(directory.path().join("hookbox.toml"), file).unwrap();
    let (mut terminal, captured) = terminal(Format::Json);
    let mut args = arguments(&["stripe", "--account", "demo", "--dry-run", "--times", "3"]);
    (args.config, args.url) = (directory.path().join("hookbox.toml"), format!("{url}/api"));
    assert_eq!(run(&args, Arc::new(clock()), &mut terminal).await.unwrap(), Answer::Yes);
    assert_eq!((&captured.json()["times"], api.receipts()), (&json!(3), 0));
}

#[tokio::test]
async fn nobody_there_is_could_not_look() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let signer = signer("yelp", &format!("http://{gone}"), SECRET);
    let (summary, _) = sent(&signer, &draft(&signer, None), 1, false).await;
    let failure = summary.answer(&signer.shown_url()).unwrap_err();
    assert_eq!(failure.code(), 3);
    let text = failure.to_string();
    assert!(text.contains("--url or HOOKBOX_URL") && !text.contains(SECRET), "{text}");
    let json = serde_json::to_string(&summary).unwrap();
    assert!(!json.contains(SECRET), "{json}");
}

#[test]
fn where_the_answer_names_no_receipt_the_event_does() {
    let id: ReceiptId = "ab".repeat(32).parse().unwrap();
    let acknowledged = |status| Outcome { status: Some(status), body: json!("ok"), error: None, took: Duration::ZERO };
    let receipts =
        |status| serde_json::to_value(Summary::new(vec![acknowledged(status)], &[id])).unwrap()["receipts"].clone();
    assert_eq!(receipts(204), json!([id]));
    assert_eq!(receipts(401), json!([]), "what was refused left none");
}

fn arguments(rest: &[&str]) -> SendArgs {
    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        send: SendArgs,
    }
    let fixed = ["send", "--url", "https://api.example/"];
    <Only as clap::Parser>::try_parse_from(fixed.iter().chain(rest)).unwrap().send
}

fn found(rest: &[&str], directory: &Path) -> Result<Endpoint, Failure> {
    let mut args = arguments(rest);
    args.config = directory.join("hookbox.toml");
    Endpoint::find(&args, &Profiles::built_in())
}

#[test]
fn settings_come_from_the_file_and_the_secret_from_the_command_first() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let own = found(&["stripe", "--account", "a", "--secret", "env:MINE"], here).unwrap();
    assert_eq!(own.secret.to_string(), "env:MINE", "no file is needed");
    assert_eq!(found(&["stripe", "--account", "a"], here).unwrap_err().code(), 2);

    let file = "[[integration]]\nprovider = \"yelp\"\naccount = \"a\"\nvariant = \"basic\"\nsecrets = [\"env:NEW\", \"env:OLD\"]\nurl = \"https://hooks.example.com/y\"\n";
    std::fs::write(here.join("hookbox.toml"), file).unwrap();
    let declared = found(&["yelp", "--account", "a"], here).unwrap();
    assert_eq!((declared.secret.to_string().as_str(), declared.variant.as_deref()), ("env:NEW", Some("basic")));
    assert_eq!(declared.url, "https://api.example");
    assert_eq!(
        declared.public_url.as_deref(),
        Some("https://hooks.example.com/y"),
        "what is signed is what is declared"
    );
    let mine = found(&["yelp", "--account", "a", "--secret", "env:MINE"], here).unwrap();
    assert_eq!((mine.secret.to_string().as_str(), mine.variant.as_deref()), ("env:MINE", Some("basic")));

    let missing = found(&["stripe", "--account", "b"], here).unwrap_err();
    assert_eq!(missing.code(), 2);
    let text = missing.to_string().replace(&here.display().to_string(), "DIR");
    insta::assert_snapshot!(text);
}

#[test]
fn the_same_command_sends_the_same_event() {
    let signer = signer("stripe", "http://x", SECRET);
    let (today, tomorrow) = (clock().now(), clock().now().plus(Duration::from_secs(86_400)));
    let named = arguments(&["stripe", "--account", "demo", "--event-id", "evt_1"]);
    let body = |args: &SendArgs, now| super::draft(args, &signer, now).unwrap().body;
    assert_eq!(body(&named, today), body(&named, tomorrow));
    let unnamed = arguments(&["stripe", "--account", "demo"]);
    assert_ne!(body(&unnamed, today), body(&unnamed, today), "without an id every command sends a new event");
}

#[test]
fn an_answer_that_is_no_success_comes_with_what_it_may_mean() {
    let signer = signer("stripe", "https://api.example", SECRET);
    let hints = |statuses: &[u16]| {
        let answers = statuses
            .iter()
            .map(|status| Outcome { status: Some(*status), body: Value::Null, error: None, took: Duration::ZERO })
            .collect();
        signer.hints(&Summary::new(answers, &[]))
    };
    assert_eq!(hints(&[200, 202, 409]), [""; 0]);
    let said = hints(&[404, 401, 401, 503]);
    assert_eq!(said.len(), 3, "each once: {said:?}");
    assert!(said[0].contains("hookbox apply") && said[0].contains("env:S"), "{said:?}");
    assert!(said[1].contains("https://api.example/api/hooks/stripe/demo") && said[1].contains("ApiUrl"), "{said:?}");
    assert!(said[2].contains("the log of `ingest`"), "{said:?}");
}

#[tokio::test]
async fn a_secret_that_cannot_sign_is_named_and_not_shown() {
    let signer = signer("standard-webhooks", "http://127.0.0.1:9", "whsec_%MfKQ9");
    let draft = draft(&signer, None);
    let (mut terminal, _) = terminal(Format::Table);
    let failure = deliver(&signer, &draft, 1, false, &mut terminal).await.unwrap_err();
    assert_eq!(failure.code(), 2);
    let text = failure.to_string();
    assert!(text.contains("try: env:S must hold the secret as standard-webhooks shows it"), "{text}");
    assert!(!text.contains("MfKQ9"), "{text}");
}

#[test]
fn a_private_key_in_pem_signs_for_a_public_one() {
    let discord = signer("discord", "https://api.example", &pem(ED25519));
    let draft = draft(&discord, None);
    let signed = discord.sign(&draft).unwrap();
    let headers = [draft.headers.clone(), signed.headers].concat();
    let profiles = Profiles::built_in();
    let profile = profiles.get(&"discord".parse().unwrap()).unwrap().unwrap().configure(None, None).unwrap();
    let verdict = |key: &str| {
        let (headers, body) = (&headers, &draft.body);
        let request = Request { method: "POST", path_token: None, url: None, query: None, headers, body };
        profile.verify(&request, &[Secret::new(key).unwrap()], &Fetched::nothing(), clock().now())
    };
    assert!(matches!(verdict(ED25519_PUBLIC), Verdict::Valid { .. }));
    assert!(matches!(verdict(PUBLIC), Verdict::Invalid(_)));
    // Without one the command says how to make a pair.
    let failure = signer("sendgrid", "https://api.example", P256_PUBLIC).sign(&draft).unwrap_err();
    assert!(failure.to_string().contains("openssl genpkey -algorithm EC"), "{failure}");
}

#[test]
fn what_only_the_provider_can_send_is_said_with_what_to_do_instead() {
    let directory = tempfile::tempdir().unwrap();
    for (provider, instead) in
        [("aws-sns", "aws sns publish"), ("paypal", "Webhooks Simulator"), ("google-pubsub", "gcloud pubsub")]
    {
        // Whatever the file says, or does not.
        let failure = found(&[provider, "--account", "a"], directory.path()).unwrap_err();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("so that no other key can sign"), "{failure}");
        assert!(failure.to_string().contains(instead), "{failure}");
    }
}
