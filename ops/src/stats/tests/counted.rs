use hookbox_ledger::test_support::{Faults, Meter};
use serde_json::json;

use super::*;

#[tokio::test]
async fn jobs_are_counted_as_they_stand_and_the_rest_is_told_by_a_sample() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    let stats = gathered(&[], &table, &cloudwatch, clock.now()).await.unwrap();
    let (out, notes) = shown(&stats, Format::Table);
    insta::assert_snapshot!(format!("{out}--- notes\n{notes}"));
    insta::assert_snapshot!("programs_get_the_sample_too", shown(&stats, Format::Json).0);
    let whole = &lines(&stats, "indexes")[1];
    let by_status = json!({
        "pending": 1, "processing": 1, "retrying": 1, "pending_processing_or_retrying": 0, "held": 2, "review": 1,
        "ended": 2,
    });
    assert_eq!((whole["provider"].as_str(), &whole["by_status"]), (Some("stripe"), &by_status));
    assert_eq!(
        (&whole["jobs"], &whole["open_of_earlier_events"]),
        (&json!(7), &json!(1)),
        "7 first jobs, 1 of them twice"
    );
}

#[tokio::test]
async fn only_what_was_asked_for_is_counted() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    for (words, receipts, review, earlier) in [
        (&["--provider", "github"][..], 1, 0, 0),
        (&["--provider", "stripe", "--account", "demo"], 7, 1, 1),
        (&["--provider", "stripe", "--account", "main"], 0, 0, 0),
        (&["--since", "2h"], 1, 0, 7),
        (&["--since", "3d"], 9, 1, 0),
        (&["--since", "3d", "--until", "24h"], 1, 0, 0),
    ] {
        let stats = gathered(words, &table, &cloudwatch, clock.now()).await.unwrap();
        let total = stats.counted.as_ref().unwrap().total();
        assert_eq!((total.receipts, total.open.review, total.earlier), (receipts, review, earlier), "{words:?}");
    }
    let failure = gathered(&["--since", "1h", "--until", "2h"], &table, &cloudwatch, clock.now()).await.unwrap_err();
    assert_eq!(failure.code(), 2);
}

#[tokio::test]
async fn an_index_that_is_behind_does_not_decide_what_has_ended() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    let key = one("evt_1", None, &table, &clock).await;
    let (pk, sk) = (key.receipt.to_string(), "job#deliver#v0001");
    let before = storage.item(&pk, sk).await.unwrap();
    attempt(&key, &Report::done("http-200"), &table, &clock).await;
    let mut item = storage.item(&pk, sk).await.unwrap();
    for attribute in ["open_pk", "open_at"] {
        item.insert(attribute.to_owned(), before[attribute].clone());
    }
    storage.put_item(item).await;
    let now = clock.now().plus(HOUR);
    let stats = gathered(&[], &table, &CloudWatch::default(), now).await.unwrap();
    let counts = stats.counted.as_ref().unwrap().total();
    assert_eq!((counts.ended(), counts.open), (1, indexes::Open::default()));
}

/// A table that counts its calls, with so many receipts of a day, each with a job that waits.
async fn many(receipts: usize) -> (Table, Faults, Meter, TestClock) {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    table.ledger.put_integration(&other(), None).await.unwrap();
    for n in 0..receipts {
        clock.advance(Duration::from_secs(60));
        one(&format!("evt_{n}"), None, &table, &clock).await;
    }
    let (table, faults, meter) = metered(&storage);
    (table, faults, meter, clock)
}

/// The table with its calls counted, and what they cost.
fn metered(storage: &TestTable) -> (Table, Faults, Meter) {
    let (faults, meter) = (Faults::none(), Meter::default());
    let ledger = storage.ledger_with(&faults.wrap(&meter.wrap(&storage.config())));
    (Table::new(ledger, "hookbox", "in eu-west-1"), faults, meter)
}

#[tokio::test]
async fn reading_takes_a_query_for_each_list_and_not_for_each_receipt() {
    for receipts in [5, 95] {
        let (table, faults, meter, clock) = many(receipts).await;
        // With metrics nothing is sampled.
        let cloudwatch = CloudWatch::default();
        cloudwatch.metric("EventsCreated Provider=stripe", "Sum", &[(clock.now().minus(HOUR), 1.0)]);
        let stats = gathered(&[], &table, &cloudwatch, clock.now().plus(Duration::from_secs(1))).await.unwrap();
        assert_eq!(stats.counted.as_ref().unwrap().total().open.pending, receipts as u64);
        let calls = faults.log();
        let number = |operation: &str| calls.iter().filter(|call| call.operation == operation).count();
        // Of four shards each: two days of two connections, what is due, in review, and held by three operations.
        assert_eq!(number("Query"), 1 + 4 * (2 * 2 + 1 + 1 + 3), "and the directory");
        assert_eq!((number("BatchGetItem"), calls.len()), (1, number("Query") + 1));
        let directory = meter.calls()[0].total();
        assert_eq!(stats.read_units.to_bits(), (meter.read() - directory).to_bits(), "what is billed");
    }
}

/// The range of [`full`].
const RANGE: [&str; 2] = ["--since", "40000s"];

/// Many receipts within a day, whose jobs are completed.
async fn full() -> (Table, Meter, TestClock) {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    table.ledger.put_integration(&other(), None).await.unwrap();
    let now = clock.now();
    let folders = (0..4_000_u64).map(|n| {
        let at = now.plus(Duration::from_secs(10 * n));
        let mut arrival = arrival("first", "req-1", &clock);
        arrival.at = at;
        let event = event(&format!("evt_{n}"), "charge.refunded");
        let mut folder = hookbox_core::receipt::Folder::open(&event, &integration(), arrival, None);
        for job in &mut folder.jobs {
            job.state = hookbox_core::job::State::Completed { at };
            job.open_at = None;
        }
        folder
    });
    storage.fill(&folders.collect::<Vec<_>>());
    clock.set(now.plus(Duration::from_secs(40_000)));
    let (table, _, meter) = metered(&storage);
    (table, meter, clock)
}

#[tokio::test]
async fn what_would_take_too_much_is_refused_before_most_of_it_is_read() {
    let (table, meter, clock) = full().await;
    let cloudwatch = CloudWatch::default();
    let whole = gathered(&RANGE, &table, &cloudwatch, clock.now()).await.unwrap();
    let counted = whole.counted.as_ref().unwrap();
    assert_eq!((counted.total().receipts, counted.total().ended()), (4_000, 4_000));
    let about = whole.read_units / counted.estimate.read_units;
    assert!((0.8..=1.2).contains(&about), "{} of {:?}", whole.read_units, counted.estimate);
    // With the number of receipts it is no guess.
    cloudwatch.metric("EventsCreated Provider=stripe", "Sum", &[(clock.now().minus(HOUR), 4_000.0)]);
    let told = gathered(&RANGE, &table, &cloudwatch, clock.now()).await.unwrap();
    let close = told.read_units / told.counted.as_ref().unwrap().estimate.read_units;
    assert!((0.95..=1.05).contains(&close), "{close}");

    // Metrics are of all connections of a provider.
    let others = CloudWatch::default();
    others.metric("EventsCreated Provider=stripe", "Sum", &[(clock.now().minus(HOUR), 1_000_000.0)]);
    let one = [&RANGE[..], &["--account", "demo", "--max-read-units", "1000"]].concat();
    assert!(gathered(&one, &table, &others, clock.now()).await.is_ok());

    meter.reset();
    let refused = gathered(&[&RANGE[..], &["--max-read-units", "100"]].concat(), &table, &cloudwatch, clock.now())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), 3);
    assert!(meter.read() < 60.0, "the first pages: {}", meter.read());
    insta::assert_snapshot!(refused);
    let enough = refused.to_string();
    let enough = enough.rsplit("--max-read-units ").next().unwrap();
    gathered(&[&RANGE[..], &["--max-read-units", enough]].concat(), &table, &cloudwatch, clock.now()).await.unwrap();
}

#[tokio::test]
async fn reading_ends_when_it_takes_more_than_was_estimated() {
    let (table, meter, clock) = full().await;
    let cloudwatch = CloudWatch::default();
    // Metrics that are far behind.
    cloudwatch.metric("EventsCreated Provider=stripe", "Sum", &[(clock.now().minus(HOUR), 1.0)]);
    let failure = gathered(&[&RANGE[..], &["--max-read-units", "100"]].concat(), &table, &cloudwatch, clock.now())
        .await
        .unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("is not done, and --max-read-units is 100"), "{failure}");
    assert!((100.0..200.0).contains(&meter.read()), "a page more at most: {}", meter.read());
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_not_counted_as_something_else() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    configured(&table).await;
    let key = one("evt_1", None, &table, &clock).await;
    one("evt_2", None, &table, &clock).await;
    let mut item = storage.item(&key.receipt.to_string(), "job#deliver#v0001").await.unwrap();
    item.insert("schema".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("99".to_owned()));
    storage.put_item(item).await;
    let now = clock.now().plus(HOUR);
    let stats = gathered(&[], &table, &CloudWatch::default(), now).await.unwrap();
    let open = stats.counted.as_ref().unwrap().total().open;
    assert_eq!((open.pending, open.unread), (1, 1));
    let (out, notes) = shown(&stats, Format::Table);
    assert!(out.contains("1 job pending, processing or retrying: too many to read, or unreadable"), "{out}");
    assert!(notes.contains("has schema 99, which is newer"), "{notes}");
}
