use std::pin::pin;

use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use hookbox_core::surroundings::Clock as _;
use hookbox_core::transition::replay::{ForgottenKey, replay};
use hookbox_runtime::SystemRandom;

use super::*;
use crate::deed::Intent;
use crate::terminal::Format;
use crate::testing::{Captured, configured, held, load, pause as put_pause, terminal};

static NONE: BTreeSet<String> = BTreeSet::new();
const DRAIN: Drain<'static> =
    Drain { messages: &NONE, poison: false, missing: false, limit: 100, intent: Intent::Write };

struct Drained {
    answer: Result<Answer, Failure>,
    captured: Captured,
}

async fn drained(drain: Drain<'_>, table: &Table, sqs: &Sqs, format: Format) -> Drained {
    drained_on(drain, table, sqs, format, &clock(), never()).await
}

async fn drained_on(
    drain: Drain<'_>,
    table: &Table,
    sqs: &Sqs,
    format: Format,
    clock: &TestClock,
    stop: BoxFuture<'_, ()>,
) -> Drained {
    let (mut terminal, captured) = terminal(format);
    let sleep = SharedAsyncSleep::new(TokioSleep::new());
    let mut around = Surroundings { clock, random: &SystemRandom, sleep, stop };
    let queue = sqs.queue().await;
    let answer = pin!(drain.carry_out(table, &queue, &mut around, &mut terminal)).await;
    Drained { answer, captured }
}

/// Notices of a job in review, of one that is completed, of one that was replayed and of one that is held; wake-ups of a
/// job that is done, of one that waits for its worker and of one that is missing; a notice that cannot be judged; poison.
async fn everything(clock: &TestClock) -> (Table, Sqs) {
    let storage = TestTable::on(clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    let reviewed = in_review("evt_review", &table, clock).await;
    let again = in_review("evt_again", &table, clock).await;
    let loaded = load(&again.receipt, &table).await;
    let job = loaded.job(&again).unwrap();
    let pending = replay(job, ForgottenKey::Refuse, clock.now()).unwrap();
    table.ledger.write_job(&loaded, job, &pending).await.unwrap();
    let deliver = |receipt| JobKey::first(receipt, "deliver".parse().unwrap());
    let waiting = deliver(ingest(&event("evt_waiting", "charge.refunded"), &table, clock).await);
    let paused = deliver(ingest(&event("evt_held", "charge.refunded"), &table, clock).await);
    let pause = put_pause("deliver", "answered 401", &table, clock).await;
    held(&paused, &pause, &table, clock).await;
    let unreadable = done("evt_unreadable", &table, clock).await;
    let mut item = storage.item(&unreadable.receipt.to_string(), "job#deliver#v0001").await.unwrap();
    item.remove("ended_at");
    storage.put_item(item).await;
    let sqs = Sqs::holding(&[
        Message::notice(reviewed, "permanent").to_json(),
        Message::notice(done("evt_done", &table, clock).await, "exhausted").to_json(),
        Message::notice(again, "permanent").to_json(),
        Message::notice(paused, "exhausted").to_json(),
        Message::wake_up(done("evt_woken", &table, clock).await).to_json(),
        Message::wake_up(waiting).to_json(),
        Message::wake_up(missing()).to_json(),
        Message::notice(unreadable, "permanent").to_json(),
        POISON.to_owned(),
    ]);
    (table, sqs)
}

fn messages(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|n| format!("message-{n}")).collect()
}

fn named_messages(numbers: &[usize]) -> BTreeSet<String> {
    messages(numbers).into_iter().collect()
}

#[tokio::test]
async fn what_nobody_needs_is_deleted_and_whatever_else_is_given_back() {
    for format in [Format::Table, Format::Json] {
        let (table, sqs) = everything(&clock()).await;
        let Drained { answer, captured } = drained(DRAIN, &table, &sqs, format).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        assert_eq!((sqs.ids(), sqs.hidden()), (messages(&[0, 5, 6, 7, 8]), 0));
        insta::assert_snapshot!(format!("drained_{format:?}"), captured.out());
        let again = drained(DRAIN, &table, &sqs, Format::Json).await;
        assert_eq!((again.answer.unwrap(), &again.captured.json()["drained"]), (Answer::Yes, &json!({})));
    }
}

#[tokio::test]
async fn a_dry_run_counts_and_names_some_and_deletes_nothing() {
    for format in [Format::Table, Format::Json] {
        let (table, sqs) = everything(&clock()).await;
        let dry = Drain { poison: true, missing: true, intent: Intent::DryRun, ..DRAIN };
        let Drained { answer, captured } = drained(dry, &table, &sqs, format).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        assert_eq!((sqs.ids().len(), sqs.hidden(), sqs.board().deletes), (9, 0, 0));
        insta::assert_snapshot!(format!("dry_run_{format:?}"), captured.out());
    }
}

#[tokio::test]
async fn poison_and_missing_jobs_are_deleted_only_when_they_are_asked_for() {
    let cases: [(Drain<'_>, &[usize]); 3] = [
        (Drain { poison: true, ..DRAIN }, &[0, 5, 6, 7]),
        (Drain { missing: true, ..DRAIN }, &[0, 5, 7, 8]),
        (Drain { poison: true, missing: true, ..DRAIN }, &[0, 5, 7]),
    ];
    for (drain, left) in cases {
        let (table, sqs) = everything(&clock()).await;
        drained(drain, &table, &sqs, Format::Table).await.answer.unwrap();
        assert_eq!((sqs.ids(), sqs.hidden()), (messages(left), 0), "{drain:?}");
    }
}

#[tokio::test]
async fn a_named_message_is_deleted_whatever_it_is_but_never_the_notice_of_a_job_in_review() {
    let (table, sqs) = everything(&clock()).await;
    let named = named_messages(&[5, 6, 8]);
    let drain = Drain { messages: &named, ..DRAIN };
    let Drained { answer, .. } = drained(drain, &table, &sqs, Format::Table).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!((sqs.ids(), sqs.hidden()), (messages(&[0, 1, 2, 3, 4, 7]), 0), "and no other");
    for (kept, status) in [(0, "review"), (7, "unreadable")] {
        let named = named_messages(&[kept]);
        let Drained { answer, captured } =
            drained(Drain { messages: &named, ..DRAIN }, &table, &sqs, Format::Json).await;
        assert_eq!(answer.unwrap(), Answer::No, "it was not deleted");
        assert_eq!(captured.json()["kept"], json!({status: 1}));
    }
    let named = named_messages(&[99]);
    assert_eq!(
        drained(Drain { messages: &named, ..DRAIN }, &table, &sqs, Format::Table).await.answer.unwrap(),
        Answer::No
    );
    assert_eq!((sqs.ids().len(), sqs.hidden()), (6, 0));
}

#[tokio::test]
async fn nothing_is_deleted_without_a_yes() {
    let (table, sqs) = everything(&clock()).await;
    let asking = Drain { intent: Intent::Ask, poison: true, ..DRAIN };
    let (mut terminal, captured) = Captured::answering("n\n");
    let sleep = SharedAsyncSleep::new(TokioSleep::new());
    let no_clock = clock();
    let mut around = Surroundings { clock: &no_clock, random: &SystemRandom, sleep, stop: never() };
    let failure = asking.carry_out(&table, &sqs.queue().await, &mut around, &mut terminal).await.unwrap_err();
    let asked = "Delete the messages of the dead-letter queue whose jobs have left review, and poison? [y/N] ";
    assert_eq!((failure.code(), captured.notes().as_str()), (1, asked));
    assert_eq!((sqs.ids().len(), sqs.board().looks), (9, 0), "nothing was looked at");
}

#[tokio::test]
async fn failing_or_stopped_half_way_the_rest_is_given_back() {
    let (table, sqs) = everything(&clock()).await;
    let stop = sqs.stop_after(2);
    let stopped = drained_on(DRAIN, &table, &sqs, Format::Json, &clock(), stop).await;
    assert_eq!((stopped.answer.unwrap(), &stopped.captured.json()["state"]), (Answer::No, &json!("stopped")));
    assert_eq!((sqs.ids(), sqs.hidden()), (messages(&[0, 4, 5, 6, 7, 8]), 0));

    sqs.board().stuck.insert("message-4".to_owned());
    let failure = drained(DRAIN, &table, &sqs, Format::Table).await.answer.unwrap_err();
    assert_eq!((failure.code(), sqs.hidden()), (3, 0));
    assert!(failure.to_string().contains("sqs:DeleteMessage"), "{failure}");
    {
        let mut board = sqs.board();
        board.stuck.clear();
        board.fails_from = Some(board.looks + 2);
    }
    let failure = drained(DRAIN, &table, &sqs, Format::Table).await.answer.unwrap_err();
    assert_eq!((failure.code(), sqs.hidden()), (3, 0), "{failure}");
}

#[tokio::test]
async fn what_was_deleted_before_it_failed_is_said() {
    let (table, sqs) = everything(&clock()).await;
    sqs.board().stuck.insert("message-3".to_owned());
    let failure = drained(DRAIN, &table, &sqs, Format::Table).await.answer.unwrap_err();
    assert!(failure.to_string().contains("2 messages deleted before, the others are given back"), "{failure}");
    assert_eq!((sqs.ids(), sqs.hidden()), (messages(&[0, 3, 4, 5, 6, 7, 8]), 0));
}

#[tokio::test]
async fn a_message_that_is_no_longer_ours_is_reported_and_not_counted_as_deleted() {
    let (table, sqs) = everything(&clock()).await;
    sqs.board().taken.insert("message-1".to_owned());
    let Drained { answer, captured } = drained(DRAIN, &table, &sqs, Format::Json).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    let said = captured.json();
    assert_eq!((&said["expired"], &said["drained"]), (&json!(1), &json!({"completed": 1, "held": 1, "pending": 1})));
    assert_eq!(sqs.ids(), messages(&[0, 1, 5, 6, 7, 8]));

    // SQS does not always say so: what took too long is not tried.
    let (table, sqs) = everything(&clock()).await;
    let clock = clock();
    sqs.board().slow = Some((clock.clone(), Duration::from_secs(100)));
    let late = drained_on(DRAIN, &table, &sqs, Format::Table, &clock, never()).await;
    assert!(late.captured.out().contains("\nnot deleted 4: "), "{}", late.captured.out());
    assert_eq!((sqs.ids().len(), sqs.hidden(), sqs.board().deletes), (9, 0, 0));
}

#[tokio::test]
async fn no_more_messages_are_looked_at_than_it_was_told() {
    let (table, sqs) = everything(&clock()).await;
    let Drained { answer, captured } = drained(Drain { limit: 4, ..DRAIN }, &table, &sqs, Format::Json).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert_eq!((&captured.json()["looked_at"], &captured.json()["more"]), (&json!(4), &json!(true)));
    assert_eq!(sqs.ids(), messages(&[0, 4, 5, 6, 7, 8]));
}
