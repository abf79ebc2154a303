use serde_json::json;

use super::*;
use crate::testing::{ACME, Captured, terminal};

fn shown(provider: &str, format: Format) -> Captured {
    let (mut terminal, captured) = terminal(format);
    let args = ProvidersShowArgs { provider: provider.parse().unwrap(), profiles: ProfilesArgs::default() };
    assert_eq!(show(&args, &mut terminal).unwrap(), Answer::Yes);
    captured
}

#[test]
fn the_list_has_every_provider() {
    let mut profiles = Profiles::built_in();
    profiles.add(ACME).unwrap();
    let (mut table, captured) = terminal(Format::Table);
    list(&profiles, &mut table).unwrap();
    insta::assert_snapshot!(captured.out());

    let (mut json, captured) = terminal(Format::Json);
    list(&profiles, &mut json).unwrap();
    let lines = captured.json();
    assert_eq!(lines.as_array().unwrap().len(), profiles.names().len());
    let acme = lines.as_array().unwrap().iter().find(|line| line["provider"] == "acme").unwrap();
    let expected = json!({
        "provider": "acme", "title": "Acme CRM", "schemes": ["hmac"], "identity": ["`body:$.id`"], "handshakes": [],
        "response_budget_seconds": 5, "retry_horizon_seconds": 172_800, "without_id": ["refused"]
    });
    assert_eq!(*acme, expected);
    insta::assert_snapshot!("list_as_json", captured.out());
}

#[test]
fn what_a_provider_needs_is_shown() {
    for provider in ["facebook", "gitlab", "google-pubsub", "mailgun", "generic"] {
        insta::assert_snapshot!(provider, shown(provider, Format::Table).out());
    }
    let json = shown("square", Format::Json).json();
    insta::assert_json_snapshot!("square_as_json", json);
    assert_eq!(
        json["ways"],
        json!([{"variant": null, "scheme": "hmac", "secret": "the signing key", "signs_url": true}])
    );
    assert_eq!(json["retry_horizon"], "24h");
}

#[test]
fn every_provider_says_what_to_do_there() {
    for name in Profiles::built_in().names() {
        let sheet = shown(name, Format::Json).json();
        assert!(sheet["setup"].as_array().is_some_and(|setup| !setup.is_empty()), "{name}");
        // What is shown can be applied once its gaps are filled.
        let example = sheet["example"].as_str().unwrap().replace('…', "x.example");
        let source = crate::config::source::Source::new("hookbox.toml", example.as_str());
        let file = crate::config::ConfigFile::parse(source).unwrap_or_else(|error| panic!("{name}: {error}"));
        let checked = file.check(&Profiles::built_in(), crate::config::profile::ShortRetention::Accept);
        checked.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn an_unknown_provider_is_wrong_usage() {
    let args = ProvidersShowArgs { provider: "nobody".parse().unwrap(), profiles: ProfilesArgs::default() };
    let failure = show(&args, &mut terminal(Format::Table).0).unwrap_err();
    assert_eq!(failure.code(), 2);
    assert!(failure.to_string().contains("try: one of adyen, aws-sns"), "{failure}");
}
