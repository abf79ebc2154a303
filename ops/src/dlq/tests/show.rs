use super::*;
use crate::terminal::Format;
use crate::testing::{Captured, terminal};

async fn shown(wanted: &str, table: &Table, sqs: &Sqs, format: Format) -> (Result<Answer, Failure>, Captured) {
    let (mut terminal, captured) = terminal(format);
    let wanted: Wanted = wanted.parse().unwrap();
    let answer = wanted.show(table, &sqs.queue().await, &mut never(), &mut terminal).await;
    assert_eq!(sqs.hidden(), 0, "every message is given back");
    (answer, captured)
}

#[tokio::test]
async fn a_job_is_shown_with_its_messages_and_a_message_with_its_job() {
    let clock = clock();
    let table = table(&clock).await;
    let key = in_review("evt_1", &table, &clock).await;
    let notice = Message::notice(key.clone(), "permanent\u{1b}[2J").to_json();
    let sqs = Sqs::holding(&["{}".to_owned(), notice.clone(), Message::wake_up(key.clone()).to_json()]);
    for (name, wanted) in [("job", key.to_string().as_str()), ("message", "message-1")] {
        for format in [Format::Table, Format::Json] {
            let (answer, captured) = shown(wanted, &table, &sqs, format).await;
            assert_eq!(answer.unwrap(), Answer::Yes);
            insta::assert_snapshot!(format!("{name}_{format:?}"), captured.out());
        }
    }
}

#[tokio::test]
async fn poison_is_shown_without_what_looks_like_a_secret() {
    let (table, sqs) = scene().await;
    for format in [Format::Table, Format::Json] {
        let (answer, captured) = shown("message-4", &table, &sqs, format).await;
        assert_eq!(answer.unwrap(), Answer::Yes);
        assert!(!captured.out().contains("abc"), "{}", captured.out());
        insta::assert_snapshot!(format!("poison_{format:?}"), captured.out());
    }
}

#[tokio::test]
async fn a_job_that_is_not_found_or_not_to_be_read_is_shown_as_such() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    let key = in_review("evt_1", &table, &clock).await;
    let mut item = storage.item(&key.receipt.to_string(), "job#deliver#v0001").await.unwrap();
    item.remove("reason");
    storage.put_item(item).await;
    let sqs = Sqs::holding(&[Message::wake_up(missing()).to_json(), Message::wake_up(key.clone()).to_json()]);
    for (wanted, status, line) in [
        ("message-0", "missing", format!("Job  {}  missing: a consistent read does not find it\n", missing())),
        (missing().to_string().as_str(), "missing", "a wake-up".to_owned()),
        ("message-1", "unreadable", format!("Job  {key}  unreadable: corrupt item ")),
    ] {
        let line = line.replace("a wake-up", "  wake-up   received too often: its worker crashed");
        let (_, captured) = shown(wanted, &table, &sqs, Format::Table).await;
        assert!(captured.out().contains(&line), "{wanted}: {}", captured.out());
        let (_, captured) = shown(wanted, &table, &sqs, Format::Json).await;
        assert_eq!((&captured.json()["status"], &captured.json()["job"]), (&json!(status), &Value::Null), "{wanted}");
    }
    assert!(shown("message-1", &table, &sqs, Format::Json).await.1.json()["fault"].is_string());
}

#[tokio::test]
async fn what_is_on_neither_side_is_a_negative_answer() {
    let (table, sqs) = scene().await;
    let unnoticed = in_review("evt_4", &table, &clock()).await;
    let (answer, captured) = shown(&unnoticed.to_string(), &table, &sqs, Format::Table).await;
    assert_eq!(answer.unwrap(), Answer::Yes);
    assert!(captured.out().starts_with("No message of it can be seen on the queue\n\nEvent  "), "{}", captured.out());
    let nowhere = JobKey { version: 2, ..missing() };
    for wanted in ["message-9", nowhere.to_string().as_str()] {
        assert_eq!(shown(wanted, &table, &sqs, Format::Table).await.0.unwrap_err().code(), 1, "{wanted}");
    }
}
