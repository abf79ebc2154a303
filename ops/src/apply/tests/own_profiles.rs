//! A team's own profiles beside the file.

use super::*;
use crate::testing::ACME;

const OWN_FILE: &str = "[[integration]]\nprovider = \"acme\"\naccount = \"main\"\nsecrets = [\"ssm:/hookbox/a\"]\n";

fn acme(toml: &str) -> Vec<OwnFile> {
    vec![OwnFile { name: "acme".parse().unwrap(), toml: toml.to_owned() }]
}

async fn with_profile(own: &[OwnFile], table: &Table, intent: Intent, format: Format) -> (Answer, Captured) {
    let (mut terminal, captured) = terminal(format);
    (apply_both(OWN_FILE, own, table, intent, &mut terminal).await.unwrap(), captured)
}

async fn apply_both(
    text: &str,
    own: &[OwnFile],
    table: &Table,
    intent: Intent,
    terminal: &mut Terminal,
) -> Result<Answer, Failure> {
    let (file, author, clock) = (file(text), Author::Named("jane".to_owned()), clock());
    let reason = Some("a new provider");
    let mut profiles = Profiles::built_in();
    for own in own {
        // One that cannot be read is somebody else's to find.
        let _ = profiles.add(&own.toml);
    }
    let profiles = &profiles;
    let application =
        Application { file: &file, own, profiles, table, secrets: None, intent, author, reason, clock: &clock };
    application.apply(terminal).await
}

#[tokio::test]
async fn a_team_s_own_profile_is_shown_written_and_recorded() {
    let (table, name) = (table(&clock()).await, "acme".parse().unwrap());
    let (answer, captured) = with_profile(&acme(ACME), &table, Intent::DryRun, Format::Table).await;
    assert_eq!(answer, Answer::No);
    assert!(captured.out().starts_with("profile acme is new\n  +\n  + name = \"acme\"\n"), "{}", captured.out());
    assert_eq!(table.ledger.own_profile(&name).await.unwrap(), None);

    let (_, captured) = with_profile(&acme(ACME), &table, Intent::Write, Format::Table).await;
    assert!(captured.out().contains("applied the profile acme as rev 1\napplied acme/main as rev 1"));
    assert_eq!(table.ledger.own_profile(&name).await.unwrap().unwrap().toml, ACME);

    let (answer, captured) = with_profile(&acme(ACME), &table, Intent::DryRun, Format::Table).await;
    assert_eq!(answer, Answer::Yes);
    insta::assert_snapshot!("own_profile_unchanged", captured.out());

    let changed = acme(&ACME.replace("\"5s\"", "\"7s\""));
    let (_, captured) = with_profile(&changed, &table, Intent::Write, Format::Table).await;
    insta::assert_snapshot!("own_profile_changed", captured.out());
    let deeds = table.ledger.own_profile_audit(&name).await.unwrap().items;
    let mut recorded: Vec<_> =
        deeds.iter().map(|deed| (deed.who.as_str(), deed.before.as_deref(), deed.after.as_deref())).collect();
    recorded.sort_unstable();
    assert_eq!(recorded, [("jane", None, Some("rev 1")), ("jane", Some("rev 1"), Some("rev 2"))]);
    assert!(deeds.iter().all(|deed| deed.why.as_deref() == Some("a new provider")));

    let (_, captured) = with_profile(&acme(ACME), &table, Intent::DryRun, Format::Json).await;
    let json = &captured.json()["profiles"][0];
    assert_eq!((&json["name"], &json["change"], &json["rev"]), (&"acme".into(), &"changed".into(), &3.into()));
    assert!(json["diff"].as_array().unwrap().contains(&"-response_budget = \"7s\"".into()), "{json}");
}

#[tokio::test]
async fn a_profile_that_was_changed_in_between_is_not_overwritten() {
    let table = table(&clock()).await;
    let step = ProfileStep::of(&acme(ACME)[0], &table).await.unwrap();
    with_profile(&acme(&ACME.replace("5s", "9s")), &table, Intent::Write, Format::Table).await;
    let overtaken = step.put(&table).await.unwrap_err();
    assert_eq!(overtaken.code(), 1);
    assert!(overtaken.to_string().contains("somebody else applied it in the meantime"), "{overtaken}");
}

#[tokio::test]
async fn an_applied_profile_is_known_without_its_folder() {
    let table = table(&clock()).await;
    let file = file(OWN_FILE);
    let mut profiles = Profiles::built_in();
    let unknown = file.unknown_to(&profiles);
    assert_eq!(unknown, ["acme".parse().unwrap()]);
    own::add_applied(&unknown, &mut profiles, &table).await.unwrap();
    assert!(file.check(&profiles, ShortRetention::Refuse).is_err(), "nobody has applied it");

    with_profile(&acme(ACME), &table, Intent::Write, Format::Table).await;
    own::add_applied(&unknown, &mut profiles, &table).await.unwrap();
    file.check(&profiles, ShortRetention::Refuse).unwrap();

    with_profile(&acme("name = 7"), &table, Intent::Write, Format::Table).await;
    let failure = own::add_applied(&unknown, &mut profiles, &table).await.unwrap_err();
    assert_eq!(failure.code(), 2, "{failure}");
}

#[tokio::test]
async fn a_changed_profile_must_fit_the_connections_that_the_file_does_not_name() {
    let (table, name) = (table(&clock()).await, "acme".parse().unwrap());
    let variants = ACME.replace("[[verify]]", "[[verify]]\nvariant = \"old\"");
    let old = OWN_FILE.replace("\"main\"", "\"main\"\nvariant = \"old\"");
    let other = OWN_FILE.replace("\"main\"", "\"second\"");
    let apply = async |text: &str, toml: &str| {
        apply_both(text, &acme(toml), &table, Intent::Write, &mut terminal(Format::Table).0).await
    };
    apply(&old, &variants).await.unwrap();
    let failure = apply(&other, ACME).await.unwrap_err();
    assert_eq!(failure.code(), 2);
    insta::assert_snapshot!(failure);
    assert_eq!(table.ledger.own_profile(&name).await.unwrap().unwrap().toml, variants, "nothing was written");
    apply(&other, &variants.replace("5s", "6s")).await.unwrap();
}
