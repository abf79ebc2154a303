use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::job::Status;
use hookbox_core::key::JobKey;
use hookbox_core::outcome::{Outcome, Report};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::replay::ForgottenKey;
use hookbox_ledger::BulkState;
use hookbox_ledger::test_support::{Behind, TestClock, TestTable};

use super::*;
use crate::deed::{Author, Intent};
use crate::jobs::{Decision, Jobs, Verb, WhichArgs};
use crate::receipts::{Moment, Receipts, Wanted, show};
use crate::terminal::Format;
use crate::testing::{
    Captured, args, arrival, attempt, begin, clock, configured, event, ingest, load, stored, surroundings, terminal,
};

/// A table in which four events are about `pi_1`, and one about somebody else.
struct Scene {
    clock: TestClock,
    storage: TestTable,
    table: Table,
    /// The first failed and waits for a person, the second is done, the third waits, a worker has the fourth in hand; the
    /// fifth is somebody else's.
    ids: Vec<ReceiptId>,
}

impl Scene {
    async fn new() -> Self {
        let clock = clock();
        let (storage, table) = stored(&clock).await;
        configured(&table).await;
        let mut ids = Vec::new();
        for n in 1..=5 {
            let mut event = event(&format!("evt_{n}"), "charge.refunded");
            event.resource = Some(if n == 5 { "pi_2" } else { "pi_1" }.into());
            ids.push(ingest(&event, &table, &clock).await);
            clock.advance(Duration::from_secs(60));
        }
        let failed = Report::new(Outcome::Permanent, "http-422", "jane is unknown");
        attempt(&deliver(ids[0]), &failed, &table, &clock).await;
        attempt(&deliver(ids[1]), &Report::done("http-200"), &table, &clock).await;
        begin(&deliver(ids[3]), &table, &clock).await;
        Self { clock, storage, table, ids }
    }

    async fn by_resource(&self) -> Vec<ReceiptId> {
        let (mut terminal, _) = terminal(Format::Table);
        let connections = ConnectionArgs { provider: Some("stripe".parse().unwrap()), account: None };
        about("pi_1", connections, &self.table, &mut terminal).await.unwrap()
    }

    async fn carry_out(
        &self,
        receipts: Vec<ReceiptId>,
        intent: Intent,
        format: Format,
        stop_after: usize,
    ) -> (Result<Answer, Failure>, Captured) {
        let (mut terminal, captured) = terminal(format);
        let (author, query) = (Author::Named("maria".to_owned()), "one resource of stripe/*".to_owned());
        let erasing = Erasing { receipts, reason: "request 17", query, intent, author };
        let around = surroundings(&self.clock, stop_after);
        (erasing.carry_out(&self.table, around, &mut terminal).await, captured)
    }

    async fn erased(&self, receipts: Vec<ReceiptId>) -> (Result<Answer, Failure>, String) {
        let (answer, captured) = self.carry_out(receipts, Intent::Write, Format::Table, usize::MAX).await;
        (answer, captured.out())
    }

    /// The words of which any would lead to somebody, as far as they are in the table.
    async fn words(&self) -> Vec<&'static str> {
        let items = format!("{:?}", self.storage.items().await);
        ["pi_1", "evt_1", "evt_2", "evt_3", "jane"].into_iter().filter(|word| items.contains(word)).collect()
    }
}

fn deliver(receipt: ReceiptId) -> JobKey {
    JobKey::first(receipt, "deliver".parse().unwrap())
}

#[tokio::test]
async fn a_dry_run_counts_and_names_and_writes_nothing() {
    let scene = Scene::new().await;
    let receipts = scene.by_resource().await;
    assert_eq!(receipts, scene.ids[..4], "everything about it, in the order of arrival, and nothing else");
    let before = scene.storage.items().await.len();
    let missing = ReceiptId::derive(
        &"stripe".parse().unwrap(),
        &"demo".parse().unwrap(),
        &hookbox_core::event::Identity::ProviderEvent { event_id: "evt_9".into() },
        None,
    );
    let receipts = [receipts, vec![missing, scene.ids[0]]].concat();
    for format in [Format::Table, Format::Json] {
        let (answer, captured) = scene.carry_out(receipts.clone(), Intent::DryRun, format, usize::MAX).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.code(), 3, "it would not be all");
        insta::assert_snapshot!(format!("dry_run_{format:?}"), format!("{}---\n{failure}\n", captured.out()));
    }
    assert_eq!(scene.storage.items().await.len(), before);
    assert_eq!(load(&scene.ids[2], &scene.table).await.jobs[0].status(), Status::Pending);
}

#[tokio::test]
async fn everything_about_a_person_is_erased_but_what_a_worker_has_in_hand() {
    let scene = Scene::new().await;
    let (answer, out) = scene.erased(scene.by_resource().await).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code(), 3);
    insta::assert_snapshot!(format!("{out}---\n{failure}\n"));
    let bulk = scene.table.ledger.bulk(&"erase-20261130-00000007".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((bulk.state, bulk.counts["erased"], bulk.why.as_deref()), (BulkState::Finished, 3, Some("request 17")));
    for id in &scene.ids[..3] {
        let loaded = load(id, &scene.table).await;
        let deed = loaded.audit.last().unwrap();
        assert_eq!(
            (deed.what.as_str(), deed.who.as_str(), deed.why.as_deref()),
            ("erase", "maria", Some("request 17"))
        );
        assert_eq!(deed.bulk.as_deref(), Some("erase-20261130-00000007"));
        assert!(loaded.jobs[0].has_ended());
    }

    scene.clock.advance(Duration::from_secs(60));
    let left = scene.by_resource().await;
    assert_eq!(left, [scene.ids[3]], "the index leads to what is left only");
    let (answer, out) = scene.erased(left).await;
    assert_eq!(answer.unwrap(), Answer::Yes, "{out}");
    assert_eq!(scene.words().await, [""; 0]);
    let other = load(&scene.ids[4], &scene.table).await;
    assert_eq!(other.receipt.unwrap().resource.as_deref(), Some("pi_2"), "nobody else lost anything");
    assert!(scene.table.ledger.has_payload(&scene.ids[4]).await.unwrap());
}

#[tokio::test]
async fn programs_get_what_was_erased_as_json_and_doing_it_again_is_nothing() {
    let scene = Scene::new().await;
    let receipts = scene.ids[..2].to_vec();
    let (answer, captured) = scene.carry_out(receipts.clone(), Intent::Write, Format::Json, usize::MAX).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    insta::assert_snapshot!("finished_Json", captured.out());
    let before = load(&receipts[0], &scene.table).await;
    let (answer, out) = scene.erased(receipts.clone()).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    insta::assert_snapshot!("erased_before", out);
    assert_eq!(load(&receipts[0], &scene.table).await, before);
}

#[tokio::test]
async fn one_receipt_is_erased_without_a_record_of_many() {
    let scene = Scene::new().await;
    let (answer, out) = scene.erased(vec![scene.ids[0]]).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert!(out.ends_with("finished: erased 1 receipt, deleted 1 payload, dismissed 1 job\n"), "{out}");
    assert_eq!(load(&scene.ids[0], &scene.table).await.audit[0].bulk, None);
}

#[tokio::test]
async fn a_worker_s_job_is_refused_and_it_is_said_until_when() {
    let scene = Scene::new().await;
    let (answer, _) = scene.erased(vec![scene.ids[3]]).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code(), 3);
    insta::assert_snapshot!(failure);
    assert!(scene.table.ledger.has_payload(&scene.ids[3]).await.unwrap());
    assert_eq!(load(&scene.ids[3], &scene.table).await.audit, []);
}

#[tokio::test]
async fn what_is_not_there_or_cannot_be_read_is_never_called_erased() {
    let scene = Scene::new().await;
    scene.erased(vec![scene.ids[4]]).await.0.unwrap();
    let (mut terminal, _) = terminal(Format::Table);
    let failure = about("pi_2", ConnectionArgs::default(), &scene.table, &mut terminal).await.unwrap_err();
    assert_eq!(failure.code(), 1, "{failure}");
    let missing: ReceiptId = "ab".repeat(32).parse().unwrap();
    let (answer, _) = scene.erased(vec![missing]).await;
    assert_eq!(answer.unwrap_err().code(), 1);

    let id = scene.ids[2].to_string();
    let mut newer = scene.storage.item(&id, "head").await.unwrap();
    newer.insert("schema".to_owned(), AttributeValue::N("2".to_owned()));
    scene.storage.put_item(newer).await;
    let (answer, out) = scene.erased(scene.ids[..3].to_vec()).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.code(), 3, "{failure}");
    assert!(failure.to_string().contains("newer than this version"), "{failure}");
    assert!(out.contains("finished: erased 2 receipts"), "one does not hide the others: {out}");
    assert!(scene.table.ledger.has_payload(&scene.ids[2]).await.unwrap());
}

#[tokio::test]
async fn a_no_erases_nothing_and_a_stop_only_what_was_reached() {
    let scene = Scene::new().await;
    let (mut terminal, captured) = Captured::answering("n\n");
    let author = Author::Named("maria".to_owned());
    let (receipts, query) = (scene.ids[..3].to_vec(), String::new());
    let erasing = Erasing { receipts: receipts.clone(), reason: "r", query, intent: Intent::Ask, author };
    let answer = erasing.carry_out(&scene.table, surroundings(&scene.clock, usize::MAX), &mut terminal).await;
    assert_eq!(answer.unwrap_err().code(), 1);
    assert_eq!(captured.notes(), "Erase 3 receipts for good? [y/N] ");
    assert_eq!(scene.words().await.len(), 5);

    let (answer, captured) = scene.carry_out(receipts, Intent::Write, Format::Json, 3).await;
    assert_eq!(answer.unwrap(), Answer::No);
    assert_eq!(captured.json()["state"], "cancelled");
    assert_eq!(captured.json()["erased"].as_array().unwrap().len(), 2);
    let bulk = scene.table.ledger.bulk(&"erase-20261130-00000007".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((bulk.state, bulk.cursor), (BulkState::Cancelled, Some(scene.ids[1].to_string())));
    assert!(scene.table.ledger.has_payload(&scene.ids[2]).await.unwrap());
}

#[tokio::test]
async fn an_erased_event_is_shown_as_one_everywhere() {
    let scene = Scene::new().await;
    let id = scene.ids[0];
    scene.table.ledger.count_duplicate(&id, &arrival("first", "req-2", &scene.clock)).await.unwrap();
    scene.clock.advance(Duration::from_secs(3_600));
    scene.erased(vec![id]).await.0.unwrap();
    scene.clock.advance(Duration::from_secs(60));
    scene.table.ledger.count_duplicate(&id, &arrival("first", "req-3", &scene.clock)).await.unwrap();
    for format in [Format::Table, Format::Json] {
        let (mut terminal, captured) = terminal(format);
        show(&Wanted::Id(id), &scene.table, &mut terminal).await.unwrap();
        insta::assert_snapshot!(format!("show_{format:?}"), captured.out());
    }
    let (mut terminal_, captured) = terminal(Format::Table);
    let filter = WhichArgs::default().filter([Status::Dismissed].into(), scene.clock.now());
    Jobs::find(&filter, &scene.table, 10).await.unwrap().show(&mut terminal_).unwrap();
    insta::assert_snapshot!("jobs", captured.out());
    let (mut terminal_, captured) = terminal(Format::Table);
    let words = args(&["--limit", "2", "--until", "2026-11-30T08:01:30Z"]);
    let found = Receipts::find(&words, &scene.table, scene.clock.now()).await.unwrap();
    found.show(&mut terminal_).unwrap();
    insta::assert_snapshot!("list", captured.out());
}

/// The provider's own id still leads to the receipt of whoever knows it: it is what the receipt's id is a hash of.
#[tokio::test]
async fn whoever_has_the_provider_s_id_still_finds_the_evidence() {
    let scene = Scene::new().await;
    scene.erased(vec![scene.ids[0]]).await.0.unwrap();
    let (provider, account) = ("stripe".parse().unwrap(), "demo".parse().unwrap());
    let wanted = Wanted::Event { provider, account, event_id: "evt_1".into() };
    let (mut terminal, captured) = terminal(Format::Table);
    assert_eq!(show(&wanted, &scene.table, &mut terminal).await.unwrap(), Answer::Yes);
    assert!(captured.out().contains("\n  erased    2026-11-30 08:05:00"), "{}", captured.out());
    assert!(!captured.out().contains("evt_1"), "{}", captured.out());
}

#[tokio::test]
async fn a_replay_of_an_erased_job_says_why_it_cannot_work() {
    let scene = Scene::new().await;
    let receipts = scene.ids[..2].to_vec();
    scene.erased(receipts.clone()).await.0.unwrap();
    for receipt in receipts {
        let job = deliver(receipt);
        let verb = Verb::Replay(ForgottenKey::Accept);
        let author = Author::Named("jane".to_owned());
        let decision = Decision { job: &job, verb, reason: "again", intent: Intent::Write, author };
        let (mut terminal, _) = terminal(Format::Table);
        let failure = decision.carry_out(&scene.table, &scene.clock, &mut terminal).await.unwrap_err();
        assert_eq!(failure.code(), 3);
        insta::allow_duplicates! { insta::assert_snapshot!(failure.to_string().replace(&job.to_string(), "JOB")); }
    }
}

/// The index is behind: it still shows what the receipts have not any more.
#[tokio::test]
async fn a_page_of_an_index_that_is_behind_shows_nothing_personal() {
    let scene = Scene::new().await;
    let ledger = scene.storage.ledger_with(&Behind::default().wrap(&scene.storage.config()));
    let behind = Table::new(ledger, "hookbox", "in eu-west-1");
    let range = ["--since", "2026-11-30T08:00:00Z", "--until", "2026-11-30T09:00:00Z"];
    let of_resource = [&range[..], &["--resource", "pi_1"]].concat();
    let now = scene.clock.now();
    let shown = async || {
        let mut shown = String::new();
        for words in [&range[..], &of_resource] {
            for format in [Format::Table, Format::Jsonl] {
                let (mut terminal, captured) = terminal(format);
                Receipts::find(&args(words), &behind, now).await.unwrap().show(&mut terminal).unwrap();
                shown += &captured.out();
            }
        }
        let (mut terminal, captured) = terminal(Format::Table);
        let moments = Moment::all(&args(&of_resource), &behind, now).await.unwrap();
        Moment::show(&moments, &mut terminal).unwrap();
        format!("{shown}{}", captured.out())
    };
    let id = scene.ids[0].to_string();
    let of_it = |shown: &str| shown.lines().filter(|line| line.contains(&id)).map(str::to_owned).collect::<Vec<_>>();
    let before = shown().await;
    assert!(before.contains("evt_1") && before.contains("pi_1"), "{before}");
    scene.erased(vec![scene.ids[0]]).await.0.unwrap();
    let after = of_it(&shown().await);
    assert_eq!(after.len(), of_it(&before).len() + 2, "it is found as before, and the erasure has two lines more");
    for line in &after {
        assert!(!line.contains("evt_1") && !line.contains("pi_1"), "{line}");
    }
    insta::assert_snapshot!("behind", after.join("\n"));

    // Nor is it erased once more.
    let (mut terminal, _) = terminal(Format::Table);
    let found = about("pi_1", ConnectionArgs::default(), &behind, &mut terminal).await.unwrap();
    let (_, out) = scene.erased(found).await;
    assert!(out.contains(&format!("{id}  erased before")), "{out}");
}

#[test]
fn who_is_meant_is_said_exactly() {
    let id = "ab".repeat(32);
    let parsed: EraseArgs = args(&["--receipt", &id, &format!("{}:deliver:v1", "cd".repeat(32)), "--reason", "r"]);
    assert_eq!(parsed.receipt.len(), 2);
    let command = <EraseArgs as clap::Args>::augment_args(clap::Command::new("hookbox"));
    for words in [
        &["--reason", "r"][..],
        &["--resource", "pi_1", "--reason", "r"],
        &["--receipt", &id],
        &["--receipt", &id, "--provider", "stripe", "--reason", "r"],
        &["--receipt", &id, "--resource", "pi_1", "--provider", "stripe", "--reason", "r"],
        &["--receipt", "evt_1", "--reason", "r"],
    ] {
        let words = ["hookbox", "--table", "t"].iter().chain(words).copied();
        assert!(command.clone().try_get_matches_from(words).is_err());
    }
}
