//! The profiles themselves: all of them read, and what is wrong with one is said with its line.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use hookbox_core::event::Identity;
use hookbox_core::time::Timestamp;
use hookbox_providers::{Fetched, Handshake, Profile, Profiles, Reason, Request, SampleValues, Secret, Verdict};
use serde_json::json;

#[test]
fn every_built_in_profile_is_read_under_its_own_name() {
    let profiles = Profiles::built_in();
    for name in profiles.names() {
        let profile = profiles.get(&name.parse().unwrap()).unwrap_or_else(|error| panic!("{error}")).unwrap();
        assert_eq!(profile.name().as_str(), name);
        assert!(!profile.title().is_empty());
        for variant in profile.variants() {
            assert!(profile.configure(Some(variant), None).is_ok(), "{name}/{variant}");
        }
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles")).unwrap().count();
    assert_eq!(profiles.names().len(), files, "every file is compiled in");
    assert!(profiles.get(&"nobody".parse().unwrap()).unwrap().is_none());
}

#[test]
fn the_page_about_providers_is_what_the_profiles_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers.md");
    let page = Profiles::built_in().page();
    if std::fs::read_to_string(path).ok().as_deref() != Some(page.as_str()) {
        std::fs::write(format!("{path}.new"), page).unwrap();
        panic!("docs/providers.md is not what the profiles say; docs/providers.md.new is");
    }
}

#[test]
fn a_profile_that_is_wrong_says_where() {
    let good = Profiles::built_in().text("stripe").unwrap();
    let line = |needle: &str| 1 + good.lines().position(|line| line.contains(needle)).unwrap();
    let cases = [
        ("title = \"Stripe\"", "title = \"Stripe\"\nnonsense = 1", line("title =") + 1, "unknown field `nonsense`"),
        ("algorithm = \"sha256\"", "algorithm = \"md5\"", line("algorithm"), "`md5` is no algorithm"),
        ("scheme = \"hmac\"", "scheme = \"rsa\"", line("scheme ="), "`rsa` is no scheme"),
        ("scheme = \"hmac\"", "scheme = \"basic\"", line("algorithm"), "means nothing to the scheme `basic`"),
        ("element:t", "element", line("timestamp ="), "`header:` and a header"),
        ("{timestamp}.{body}", "{timestamp}", line("signed ="), "the body is not signed"),
        ("{timestamp}.{body}", "{body}", line("timestamp ="), "counts only where it is signed"),
        ("tolerance = \"300s\"", "tolerance = \"300\"", line("tolerance ="), "is not a duration"),
        ("retry_horizon = \"30d\"", "retry_horizon = \"x\"", line("retry_horizon"), "is not a duration"),
        ("\"body:$.related_object.id\"", "\"body:$.[\"", line("related_object"), "is not a path"),
        ("\"body:$.related_object.id\"", "\"item:$.id\"", line("related_object"), "nothing is called `item`"),
        ("id = \"body:$.id\"\n", "", line("[[event]]"), "the same event"),
        ("volatile = [\"/pending_webhooks\"]", "volatile = [\"pending\"]", line("volatile ="), "not a JSON pointer"),
        ("format = \"json\"", "format = \"xml\"", line("format ="), "`xml` is no format"),
        ("answer = \"ignore\"", "answer = \"drop\"", line("answer ="), "not `ignore` or `reject`"),
        ("[sample]", "[keep]\nheaders = [\"Stripe-Signature\"]\n[sample]", line("[sample]") + 1, "credential"),
        ("list = {", "list = 1 #", line("list ="), "invalid type"),
        ("name = \"stripe\"", "name = \"Stripe\"", line("name ="), "not a valid provider name"),
    ];
    for (old, new, expected, message) in cases {
        assert!(good.contains(old), "{old}");
        let text = good.replacen(old, new, 1);
        let error = Profile::parse(&text).expect_err(new);
        assert!(error.to_string().contains(message), "{new}: {error}");
        assert_eq!(error.line, Some(expected), "{new}: {error}");
    }
}

#[test]
fn an_integration_changes_only_what_the_profile_allows() {
    let profiles = Profiles::built_in();
    let get = |name: &str| profiles.get(&name.parse().unwrap()).unwrap().unwrap();
    let refused = |name: &str, verify: serde_json::Value| {
        get(name).configure(None, Some(&verify)).expect_err("refused").to_string()
    };
    assert!(get("stripe").configure(None, Some(&json!({"tolerance": "10m"}))).is_ok());
    assert!(refused("stripe", json!({"header": "X"})).contains("`header` is fixed"));
    assert!(refused("stripe", json!({"event": {}})).contains("`event` is fixed"));
    assert!(refused("generic", json!({"headr": "X"})).contains("headr"));
    assert!(refused("generic", json!({"event": {"idd": "x"}})).contains("idd"));
    assert!(refused("generic", json!({"variant": "x"})).contains("variant"));
    assert!(refused("generic", json!([])).contains("not a table"));
    assert!(refused("generic", json!({"scheme": "basic", "header": "X"})).contains("means nothing"));
    assert!(refused("generic", json!({"header": "X-A", "keep": {"headers": ["x-a"]}})).contains("not kept"));
    assert!(refused("generic", json!({"tolerance": "5m"})).contains("no signed timestamp"));
    let basic = get("generic").configure(None, Some(&json!({"scheme": "basic"}))).unwrap();
    assert_eq!(basic.scheme(), "basic");
    let error = get("yelp").configure(Some("oauth"), None).unwrap_err().to_string();
    assert!(error.contains("path-token, basic, token"), "{error}");
    assert!(get("yelp").configure(None, None).unwrap().has_secret_path());
}

#[test]
fn a_users_own_profile_takes_the_place_of_a_built_in_one() {
    let mut profiles = Profiles::built_in();
    let text = profiles.text("stripe").unwrap().replace("title = \"Stripe\"", "title = \"Ours\"");
    assert_eq!(profiles.add(&text).unwrap().title(), "Ours");
    assert_eq!(profiles.get(&"stripe".parse().unwrap()).unwrap().unwrap().title(), "Ours");
    assert!(profiles.add("name = 1").is_err());
}

#[test]
fn the_example_of_the_documentation_is_a_profile_that_works() {
    let page = include_str!("../../../docs/adding-a-provider.md");
    let (_, rest) = page.split_once("```toml profile\n").expect("the example");
    let (text, _) = rest.split_once("\n```").expect("its end");
    let profile = Profile::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let acme = profile.configure(None, None).unwrap();
    let (secret, now) = (Secret::new("s3cret").unwrap(), Timestamp::from_seconds(1_760_000_000));
    let sign = |headers: &mut Vec<(String, String)>, body: &[u8]| {
        let request = Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body };
        headers.extend(acme.sign(&request, None, &secret, now).unwrap().headers);
    };

    let mut sample = acme.sample(&SampleValues { occurred_at: now, ..SampleValues::default() }).unwrap();
    sign(&mut sample.headers, &sample.body);
    let request = Request {
        method: "POST",
        path_token: None,
        url: None,
        query: None,
        headers: &sample.headers,
        body: &sample.body,
    };
    let secrets = std::slice::from_ref(&secret);
    assert!(matches!(acme.verify(&request, secrets, &Fetched::nothing(), now), Verdict::Valid { .. }));
    assert_eq!(acme.handshake(&request, secrets, &Fetched::nothing(), now), None);
    let event = &acme.decode(&request).unwrap().events[0];
    assert_eq!(event.identity, Identity::ProviderEvent { event_id: "s1:chg_1".into() });
    assert_eq!((event.kind.as_str(), event.tenant.as_deref()), ("contact.created", Some("s1")));
    assert_eq!(event.payload.headers, [("x-acme-region".to_owned(), "eu".to_owned())]);
    assert_eq!(acme.acknowledgement(&request).map(|answer| answer.body.as_str()), Some("OK"));

    let body = br#"{"type":"ping","challenge":"abc"}"#;
    let mut headers = Vec::new();
    sign(&mut headers, body);
    let ping = Request { headers: &headers, body, ..request };
    let Some(Handshake::Answer(answer)) = acme.handshake(&ping, secrets, &Fetched::nothing(), now) else {
        panic!("no answer")
    };
    assert_eq!(answer.body, "abc");
    let unsigned = Request { headers: &[], ..ping };
    let refused = acme.handshake(&unsigned, secrets, &Fetched::nothing(), now);
    assert_eq!(refused, Some(Handshake::Refused(Verdict::Invalid(Reason::MissingSignature))));
}

#[test]
fn a_document_inside_the_body_is_looked_into() {
    let page = include_str!("../../../docs/adding-a-provider.md");
    let (_, rest) = page.split_once("```toml profile\n").expect("the example");
    let (text, _) = rest.split_once("\n```").expect("its end");
    let text = text.replace("resource = \"change:$.contact.id\"", "resource = \"details:$.contact\"");
    let acme = Profile::parse(&text).unwrap().configure(None, None).unwrap();
    let resource = |details: &str| {
        let body = format!(r#"{{"details":"{details}","shops":[{{"id":"s","changes":[{{"id":1,"type":"t"}}]}}]}}"#);
        let request =
            Request { method: "POST", path_token: None, url: None, query: None, headers: &[], body: body.as_bytes() };
        acme.decode(&request).unwrap().events.remove(0).resource
    };
    assert_eq!(resource("eyJjb250YWN0Ijo5MDA3MTk5MjU0NzQwOTkzfQ=="), Some("9007199254740993".into()));
    assert_eq!(resource("not base64"), None);
}
