use super::*;

/// What CloudWatch has of the scene: everything but the conflicts, of which none was published.
fn published(cloudwatch: &CloudWatch, now: Timestamp) {
    let at = |hours: u32| now.minus(HOUR * hours);
    cloudwatch.metric("EventsCreated Provider=stripe", "Sum", &[(at(5), 4.0), (at(4), 3.0), (at(30), 100.0)]);
    cloudwatch.metric("EventsWithoutJobs Provider=github", "Sum", &[(at(1), 1.0)]);
    cloudwatch.metric("EventsDuplicate Provider=stripe", "Sum", &[(at(5), 11.0), (at(3), 1.0)]);
    let completed = "CompletionDuration Provider=stripe Account=demo";
    cloudwatch.metric(completed, "SampleCount", &[(at(5), 20.0), (at(4), 4.0)]);
    cloudwatch.metric(completed, "p50", &[(at(20), 480.0)]);
    cloudwatch.metric(completed, "p95", &[(at(20), 65_432.1), (at(2), 900.0)]);
    cloudwatch.metric("JobsToReview", "Sum", &[(at(4), 2.0)]);
}

#[tokio::test]
async fn what_happened_is_told_by_metrics_and_no_data_point_is_not_zero() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    published(&cloudwatch, clock.now());
    let stats = gathered(&[], &table, &cloudwatch, clock.now()).await.unwrap();
    let (out, notes) = shown(&stats, Format::Table);
    insta::assert_snapshot!(out);
    assert_eq!(notes, "");
    insta::assert_snapshot!("programs_get_the_metrics_too", shown(&stats, Format::Json).0);
}

#[tokio::test]
async fn metrics_alone_read_nothing_but_the_directory() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let faults = hookbox_ledger::test_support::Faults::none();
    scene(&Table::new(storage.ledger(), "hookbox", "in eu-west-1"), &storage, &clock).await;
    let table = Table::new(storage.ledger_through(&faults), "hookbox", "in eu-west-1");
    let cloudwatch = CloudWatch::default();
    published(&cloudwatch, clock.now());
    let now = clock.now();
    let minute = |ago: u64| now.minus(Duration::from_secs(60 * ago));
    cloudwatch.metric("OpenJobs", "Maximum", &[(minute(3), 9.0), (minute(1), 4.0), (minute(2), 5.0)]);
    cloudwatch.metric("ReviewJobs", "Maximum", &[(minute(1), 0.0)]);
    cloudwatch.metric("OldestOpenAge", "Maximum", &[(minute(1), 172_800.0)]);
    let stats = gathered(&["--metrics-only", "--max-read-units", "1"], &table, &cloudwatch, now).await.unwrap();
    assert_eq!(faults.count(), 1);
    insta::assert_snapshot!(shown(&stats, Format::Table).0);
    assert_eq!(lines(&stats, "indexes").len() + lines(&stats, "sample").len(), 0);
    let gauges = &lines(&stats, "gauges")[0];
    assert_eq!((&gauges["open_jobs"], &gauges["review_jobs"]), (&serde_json::json!(4), &serde_json::json!(0)));
    assert!(gauges["held_jobs"].is_null(), "nobody knows");
}

#[tokio::test]
async fn a_cloudwatch_that_refuses_is_named_with_what_it_takes() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    cloudwatch.refuses(Some("AccessDeniedException"));
    let failure = gathered(&["--metrics-only"], &table, &cloudwatch, clock.now()).await.unwrap_err();
    assert_eq!(failure.code(), 3);
    assert!(failure.to_string().contains("a role that allows cloudwatch:GetMetricData"), "{failure}");
    cloudwatch.refuses(None);
    cloudwatch.breaks();
    let failure = gathered(&["--metrics-only"], &table, &cloudwatch, clock.now()).await.unwrap_err();
    assert!(
        failure.to_string().contains("CloudWatch answers InternalError"),
        "what it cannot read is not nothing: {failure}"
    );
    let stats = gathered(&[], &table, &cloudwatch, clock.now()).await.unwrap();
    assert_eq!(lines(&stats, "sample").len(), 3, "two connections and the total");
    let notes = shown(&stats, Format::Table).1;
    assert!(notes.contains("metrics say nothing: could not read the metrics of CloudWatch"), "{notes}");
}

#[tokio::test]
async fn a_local_aws_without_metrics_is_as_it_should_be() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "at http://127.0.0.1:4566");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    cloudwatch.refuses(Some("InvalidAction"));
    let aws = Aws::of(cloudwatch.aws().await.config().clone(), Some("http://127.0.0.1:4566".to_owned()));
    let wanted = args::<StatsArgs>(&[]).wanted(clock.now()).unwrap();
    let stats = Stats::gather(&wanted, &table, &aws, clock.now()).await.unwrap();
    assert_eq!(shown(&stats, Format::Table).1, "metrics say nothing: the local AWS keeps none\n");
}

#[tokio::test]
async fn only_the_metrics_of_what_was_asked_for_are_asked_for() {
    let clock = clock();
    let storage = TestTable::on(&clock).await;
    let table = Table::new(storage.ledger(), "hookbox", "in eu-west-1");
    scene(&table, &storage, &clock).await;
    let cloudwatch = CloudWatch::default();
    published(&cloudwatch, clock.now());
    let stats = gathered(&["--metrics-only", "--provider", "github"], &table, &cloudwatch, clock.now()).await.unwrap();
    let Told::Metrics(metrics, _) = &stats.told else { panic!("{:?}", stats.told) };
    assert_eq!((metrics.stored(), metrics.failed), (Some(1), None), "what is of all integrations is left out");
    let asked = serde_json::to_string(&cloudwatch.asked()).unwrap();
    assert!(asked.contains("\"github\"") && !asked.contains("\"stripe\""), "{asked}");
}

#[tokio::test]
async fn what_is_older_is_asked_for_in_the_periods_that_are_kept() {
    let clock = clock();
    let table = table(&clock).await;
    configured(&table).await;
    for (since, period) in [("24h", 60), ("14d", 300), ("70d", 3_600)] {
        let cloudwatch = CloudWatch::default();
        gathered(&["--metrics-only", "--since", since], &table, &cloudwatch, clock.now()).await.unwrap();
        let asked = &cloudwatch.asked()[0];
        assert_eq!(asked["MetricDataQueries"][0]["MetricStat"]["Period"], period, "{since}");
        let whole = |name: &str| asked[name].as_f64().unwrap() % f64::from(period);
        assert!(whole("StartTime").abs() + whole("EndTime").abs() < 0.001, "{since}: {asked}");
    }
}
