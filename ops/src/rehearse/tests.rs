use hookbox_core::integration::{Operation, Target};
use hookbox_core::key::ReceiptId;

use super::*;
use crate::config::ConfigFile;
use crate::config::source::Source;
use crate::terminal::Format;
use crate::testing::{args, terminal};

const SANDBOX: &str = "http://127.0.0.1:9099";

fn config(words: &[&str]) -> ConfigArgs {
    args(&[&[SANDBOX], words].concat())
}

fn applied(words: &[&str]) -> Integration {
    let file = ConfigFile::parse(Source::new("rehearsal.toml", config(words).text().unwrap())).unwrap();
    Integration { rev: 1, ..file.declared[0].integration.clone() }
}

#[test]
fn what_it_needs_is_a_valid_file() {
    let text = config(&[]).text().unwrap();
    insta::assert_snapshot!(text);
    let profiles = hookbox_providers::Profiles::built_in();
    for words in [&[][..], &["--provider", "stripe", "--account", "rehearsal-2"]] {
        let file = ConfigFile::parse(Source::new("rehearsal.toml", config(words).text().unwrap())).unwrap();
        file.check(&profiles, crate::config::profile::ShortRetention::Accept).unwrap();
    }
    let failure = ConfigArgs { sandbox: "127.0.0.1:9099".into(), ..config(&[]) }.text().unwrap_err();
    assert_eq!(failure.code(), 2);
}

#[test]
fn what_was_applied_for_it_is_taken_and_leads_to_its_sandbox() {
    for words in [&[][..], &["--provider", "stripe", "--account", "rehearsal-2", "--secret", "env:S"]] {
        assert_eq!(needed::sandbox_of(&applied(words)).unwrap(), SANDBOX);
    }
}

#[test]
fn whatever_was_not_applied_for_it_is_refused() {
    fn operation(integration: &mut Integration, name: &str) -> usize {
        integration.operations.iter().position(|operation| operation.name.as_str() == name).unwrap()
    }
    fn url(operation: &mut Operation, new: &str) {
        let Target::Http { url, .. } = &mut operation.target else { panic!("http") };
        *url = new.to_owned();
    }
    type Change = fn(&mut Integration);
    let cases: [(&str, Change); 7] = [
        ("it is not marked for rehearsals", |of| of.account = "main".parse().unwrap()),
        ("it is not marked for rehearsals", |of| of.account = "rehearsals".parse().unwrap()),
        ("it has no operation `works`", |of| of.operations.clear()),
        ("leads to /ok of a sandbox", |of| {
            let works = operation(of, "works");
            url(&mut of.operations[works], "https://crm.example.com/leads");
        }),
        ("`down` is not the one that a rehearsal needs", |of| {
            let down = operation(of, "down");
            url(&mut of.operations[down], "https://crm.example.com/down");
        }),
        ("`lost-unsafe` is not the one", |of| {
            let lost = operation(of, "lost-unsafe");
            of.operations.remove(lost);
        }),
        ("`crm-upsert` is none of a rehearsal", |of| {
            let mut more = of.operations[0].clone();
            more.name = "crm-upsert".parse().unwrap();
            of.operations.push(more);
        }),
    ];
    for (why, change) in cases {
        let mut integration = applied(&[]);
        change(&mut integration);
        let failure = needed::sandbox_of(&integration).unwrap_err();
        assert_eq!(failure.code(), 1, "{why}");
        let text = failure.to_string();
        assert!(text.contains(why) && text.contains("hookbox rehearse config"), "{text}");
    }
}

#[tokio::test]
async fn what_is_not_applied_or_is_paused_is_refused() {
    let clock = crate::testing::clock();
    let table = crate::testing::table(&clock).await;
    let integration = applied(&[]);
    let (provider, account) = (&integration.provider, &integration.account);
    let missing = fit(provider, account, &table).await.unwrap_err();
    assert!(missing.code() == 1 && missing.to_string().contains("it is not applied"), "{missing}");
    table.ledger.put_integration(&integration, None).await.unwrap();
    assert_eq!(fit(provider, account, &table).await.unwrap().1, SANDBOX);
    let (operation, why) = ("down".parse().unwrap(), "maintenance".to_owned().into());
    table.ledger.put_pause(provider, account, &operation, &why, clock.now()).await.unwrap();
    let paused = fit(provider, account, &table).await.unwrap_err();
    assert_eq!(paused.code(), 1);
    assert!(paused.to_string().contains("hookbox resume --provider generic"), "{paused}");
}

#[tokio::test]
async fn what_answers_and_is_no_sandbox_is_never_sent_to() {
    let client = send::client().unwrap();
    for answer in ["{}", "{\"calls\":1,\"effects\":1,\"refused\":0,\"by_key\":{},\"more\":1}", "<html>"] {
        let router = axum::Router::new().fallback(move || async move { answer });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let failure = stage::book(&url, &client).await.unwrap_err();
        assert!(failure.code() == 1 && failure.to_string().contains("is no `hookbox sandbox`"), "{failure}");
    }
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(stage::book(&format!("http://{gone}"), &client).await.unwrap_err().code(), 3);
}

fn report(seen: impl Fn(Case) -> Result<Played, Failure>) -> Report {
    let cases = Case::ALL.map(|case| Line::of(case, seen(case))).to_vec();
    Report { integration: "generic/rehearsal".to_owned(), run: "1f3c9a70".to_owned(), cases }
}

fn as_expected(case: Case) -> Played {
    Played { seen: case.expected().to_owned(), receipts: vec!["ab".repeat(32).parse::<ReceiptId>().unwrap()] }
}

fn shown(report: &Report, format: Format) -> String {
    let (mut terminal, captured) = terminal(format);
    report.show(&mut terminal).unwrap();
    captured.out()
}

#[test]
fn expected_and_seen_stand_side_by_side() {
    let good = report(|case| Ok(as_expected(case)));
    assert_eq!(good.answer().unwrap(), Answer::Yes);
    insta::assert_snapshot!("as_expected", shown(&good, Format::Table));
    let bad = report(|case| match case {
        Case::LostUnsafe => Ok(Played { seen: "completed, 2 calls, 2 effects".to_owned(), ..as_expected(case) }),
        Case::DiesAfter => Err(Failure::CouldNotLook(Trouble::new(
            "wait until the job is held",
            "the time for it is over: --patience",
        ))),
        _ => Ok(as_expected(case)),
    });
    assert_eq!(bad.answer().unwrap(), Answer::No);
    insta::assert_snapshot!("differs", shown(&bad, Format::Table));
    insta::assert_snapshot!("differs_json", shown(&bad, Format::Json));
    assert_eq!(shown(&bad, Format::Jsonl).lines().count(), Case::ALL.len());
    let blind = report(|case| match case {
        Case::Storm => Err(Failure::CouldNotLook(Trouble::new("deliver an event", "it was answered 503"))),
        _ => Ok(as_expected(case)),
    });
    assert_eq!(blind.answer().unwrap_err().code(), 3);
}

#[test]
fn a_dry_run_shows_what_would_be_played() {
    let planned = Report { cases: Case::ALL.map(Line::planned).to_vec(), ..report(|case| Ok(as_expected(case))) };
    let out = shown(&planned, Format::Table);
    assert!(out.contains("not-played") && !out.contains("as expected"), "{out}");
}
