use std::time::Duration;

use hookbox_core::outcome::ErrorText;
use hookbox_ledger::deployed::Encryption;
use hookbox_ledger::{ItemError, Pause};

use super::*;
use crate::doctor::alarms::Alarm;
use crate::failure::Answer;
use crate::pauses::{HeldJobs, Standing};
use crate::terminal::Format;
use crate::testing::terminal;

fn shown(examination: &Examination, format: Format) -> String {
    let (mut terminal, captured) = terminal(format);
    examination.report().show(&mut terminal).unwrap();
    captured.out()
}

/// Some of everything: a problem, something that could not be seen, warnings.
fn ailing() -> Examination {
    let mut ailing = healthy();
    ailing.table.time_to_live = Ok(None);
    ailing.functions[3].configuration = Err(Unseen::because("service error: AccessDeniedException")
        .advise("a role that allows lambda:GetFunctionConfiguration"));
    ailing.queues.dead_letter.queue.as_mut().unwrap().as_mut().unwrap().depth.visible = 2;
    ailing
}

#[test]
fn people_get_a_table_and_below_it_what_to_do() {
    insta::assert_snapshot!("healthy", shown(&healthy(), Format::Table));
    insta::assert_snapshot!("ailing", shown(&ailing(), Format::Table));
}

#[test]
fn programs_get_every_finding() {
    insta::assert_snapshot!("json", shown(&ailing(), Format::Json));
    let lines = shown(&ailing(), Format::Jsonl);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["check"], &first["level"]), (&"caller".into(), &"ok".into()));
    assert_eq!(lines.lines().count(), ailing().report().findings.len());
}

#[test]
fn what_could_not_be_seen_is_never_healthy_and_hides_no_problem() {
    assert_eq!(healthy().report().answer().unwrap(), Answer::Yes, "a warning is no problem");
    let mut blind = healthy();
    blind.alarms = Err(unseen());
    assert_eq!(blind.report().answer().unwrap_err().code(), 3);
    blind.table.recovery = Ok(Some(false));
    assert_eq!(blind.report().answer().unwrap(), Answer::No);
}

/// What is found, at which level, of what, when this is done to a healthy deployment.
type Case = (&'static str, Level, &'static str, fn(&mut Examination));

fn of_the_deployment() -> Vec<Case> {
    vec![
        ("clock", Level::Warning, "this machine", |e| e.clock.as_mut().unwrap().here = now().plus(secs(6))),
        ("clock", Level::Problem, "this machine", |e| e.clock.as_mut().unwrap().there = now().plus(secs(300))),
        ("stack", Level::Warning, "hookbox", |e| stack_of(e).status = "UPDATE_ROLLBACK_COMPLETE".into()),
        ("stack", Level::Problem, "hookbox", |e| stack_of(e).status = "ROLLBACK_FAILED".into()),
        ("version", Level::Warning, "hookbox", |e| drop(stack_of(e).outputs.insert("Version".into(), "9".into()))),
        ("version", Level::Warning, "hookbox", |e| drop(stack_of(e).outputs.remove("Version"))),
        ("function", Level::Problem, "ingest", |e| e.functions[0].configuration = Ok(None)),
        ("function", Level::Problem, "ingest", |e| configuration(e, 0).last_update = Some("Failed".into())),
        ("function", Level::Warning, "ingest", |e| configuration(e, 0).state = Some("Pending".into())),
        ("timeout", Level::Problem, "worker", |e| configuration(e, 2).timeout = Some(secs(46))),
        ("timeout", Level::Warning, "sweeper", |e| configuration(e, 3).timeout = Some(secs(61))),
        ("environment", Level::Problem, "ingest", |e| variable(e, 0, "HOOKBOX_TABLE", Some("other"))),
        ("environment", Level::Problem, "sweeper", |e| variable(e, 3, "HOOKBOX_SHARDS", Some("8"))),
        ("environment", Level::Problem, "dispatcher", |e| variable(e, 1, "HOOKBOX_WORK_QUEUE_URL", None)),
        ("environment", Level::CouldNotLook, "worker", |e| configuration(e, 2).variables = Err("KMS".into())),
    ]
}

fn of_the_table() -> Vec<Case> {
    vec![
        ("table", Level::Problem, "t", |e| table_of(e).status = Some("ARCHIVED".into())),
        ("key", Level::Problem, "t", |e| table_of(e).key.range = None),
        ("capacity", Level::Warning, "t", |e| table_of(e).on_demand = false),
        ("deletion-protection", Level::Warning, "t", |e| table_of(e).deletion_protected = false),
        ("encryption", Level::Problem, "t", |e| table_of(e).encryption = Some(key("DISABLED", false))),
        ("encryption", Level::Problem, "t", |e| table_of(e).encryption = Some(key("ENABLED", true))),
        ("recovery", Level::Problem, "t", |e| e.table.recovery = Ok(Some(false))),
        ("time-to-live", Level::Problem, "t", |e| e.table.time_to_live = Ok(None)),
        ("time-to-live", Level::Problem, "t", |e| expires(e).attribute = Some("ttl".into())),
        ("time-to-live", Level::Warning, "t", |e| expires(e).status = Some("ENABLING".into())),
        ("index", Level::Problem, "t index history", |e| drop(table_of(e).indexes.remove(1))),
        ("index", Level::Problem, "t index open", |e| table_of(e).indexes[0].key.range = Some("due".into())),
        ("index", Level::Problem, "t index open", |e| {
            table_of(e).indexes[0].projected = Projected::Include(["kind".into()].into());
        }),
        ("index", Level::Warning, "t index open", |e| table_of(e).indexes[0].projected = Projected::All),
        ("index", Level::Warning, "t index open", |e| table_of(e).indexes[0].status = Some("CREATING".into())),
        ("index", Level::CouldNotLook, "t index open", |e| table_of(e).indexes[0].status = None),
        ("index", Level::Warning, "t index mine", |e| {
            let mine = DeployedIndex { name: "mine".into(), ..index(&TABLE.indexes[0]) };
            table_of(e).indexes.push(mine);
        }),
        ("stream", Level::Problem, "t", |e| stream_of(e).view = Some("KEYS_ONLY".into())),
    ]
}

fn of_the_event_sources() -> Vec<Case> {
    vec![
        ("event-source", Level::Problem, "dispatcher", |e| e.stream_sources.sources = Ok(Vec::new())),
        ("event-source", Level::Problem, "dispatcher", |e| source(e).arn = Some("an earlier stream".into())),
        ("event-source", Level::Problem, "dispatcher from the table's stream", |e| {
            source(e).state = Some("Disabled".into());
        }),
        ("event-source", Level::Warning, "dispatcher from the table's stream", |e| {
            source(e).state = Some("Enabling".into());
        }),
        ("event-source", Level::Problem, "dispatcher from the table's stream", |e| {
            source(e).last_result = Some("PROBLEM: Function call failed".into());
        }),
        ("batch-item-failures", Level::Problem, "dispatcher from the table's stream", |e| {
            source(e).reports_failures = false;
        }),
        ("retries", Level::Problem, "dispatcher from the table's stream", |e| source(e).bisects = false),
        ("retries", Level::Warning, "dispatcher from the table's stream", |e| source(e).max_age = Some(-1)),
        ("retries", Level::Problem, "dispatcher from the table's stream", |e| {
            (source(e).max_age, source(e).retries) = (Some(-1), Some(-1));
        }),
        ("filter", Level::Problem, "dispatcher from the table's stream", |e| {
            source(e).filters = vec![STREAM_FILTER.replace(",\"review\"", "")];
        }),
        ("filter", Level::Warning, "dispatcher from the table's stream", |e| source(e).filters = Vec::new()),
        ("on-failure", Level::Warning, "dispatcher from the table's stream", |e| source(e).on_failure = None),
        ("on-failure", Level::Warning, "dispatcher from the table's stream", |e| source(e).on_failure = Some(arn("x"))),
        ("event-source", Level::Problem, "worker from the work queue", |e| {
            worker_source(e).state = Some("Disabled".into());
        }),
        ("batch-item-failures", Level::Problem, "worker from the work queue", |e| {
            worker_source(e).reports_failures = false;
        }),
        ("concurrency", Level::Warning, "worker from the work queue", |e| worker_source(e).concurrency = None),
        ("concurrency", Level::Warning, "worker from the work queue", |e| worker_source(e).concurrency = Some(2)),
    ]
}

fn of_queues_and_what_stands() -> Vec<Case> {
    vec![
        ("queue", Level::Warning, "StreamFailureQueue", |e| deployed(&mut e.queues.stream_failure).encrypted = false),
        ("retention", Level::Problem, "DeadLetterQueue", |e| {
            deployed(&mut e.queues.dead_letter).retention = Some(secs(345_600));
        }),
        ("retention", Level::Warning, "WorkQueue", |e| deployed(&mut e.queues.work).retention = Some(secs(345_600))),
        ("visibility", Level::Problem, "WorkQueue", |e| deployed(&mut e.queues.work).visibility = Some(secs(359))),
        ("visibility", Level::Problem, "WorkQueue", |e| configuration(e, 2).timeout = Some(secs(61))),
        ("redrive", Level::Problem, "WorkQueue", |e| deployed(&mut e.queues.work).redrive = None),
        ("redrive", Level::Problem, "WorkQueue", |e| redrive(e).max_receives = Some(3)),
        ("redrive", Level::Problem, "WorkQueue", |e| redrive(e).target = Some(arn("other"))),
        ("schedule", Level::Problem, "sweep", |e| e.sweeper.schedule = Ok(None)),
        ("schedule", Level::Problem, "sweep", |e| schedule(e).state = Some("DISABLED".into())),
        ("schedule", Level::Problem, "sweep", |e| {
            schedule(e).target = Some("arn:aws:lambda:eu-west-1:1:function:sweeper2".into());
        }),
        ("schedule", Level::Warning, "sweep", |e| schedule(e).expression = Some("rate(1 hour)".into())),
        ("sweeper", Level::Problem, "/hookbox/hookbox/sweeper", |e| e.sweeper.last = Ok(None)),
        ("sweeper", Level::Problem, "/hookbox/hookbox/sweeper", |e| e.now = now().plus(secs(180))),
        ("integrations", Level::Warning, "t", |e| e.standing.applied = Ok(Applied::default())),
        ("schema", Level::Warning, "t", |e| {
            unreadable(e, ItemError::NewerSchema { pk: "p".into(), sk: "s".into(), schema: 9 });
        }),
        ("schema", Level::Problem, "t", |e| {
            unreadable(e, ItemError::Corrupt { pk: "p".into(), sk: "s".into(), what: "w".into() });
        }),
        ("pauses", Level::Warning, "stripe/demo deliver", |e| paused(e, 0)),
        ("pauses", Level::Problem, "stripe/demo deliver", |e| paused(e, 3)),
        ("review", Level::Warning, "t", |e| e.standing.review = Ok((1, false))),
        ("dead-letters", Level::Warning, "DeadLetterQueue", |e| {
            deployed(&mut e.queues.dead_letter).depth.in_flight = 1;
        }),
        ("stream-failures", Level::Warning, "StreamFailureQueue", |e| {
            deployed(&mut e.queues.stream_failure).depth.visible = 1;
        }),
        ("secrets", Level::Problem, "ssm:/hookbox/demo/signing", |e| secret(e).read = SecretRead::Missing(unseen())),
        ("secrets", Level::CouldNotLook, "ssm:/hookbox/demo/signing", |e| {
            secret(e).read = SecretRead::Unseen(unseen());
        }),
        ("secrets", Level::Problem, "ssm:/elsewhere/x", |e| secret(e).reference = "ssm:/elsewhere/x".parse().unwrap()),
        ("secrets", Level::Problem, "env:SIGNING", |e| {
            (secret(e).reference, secret(e).read) = ("env:SIGNING".parse().unwrap(), SecretRead::Variable);
        }),
    ]
}

/// Each thing that can be wrong is found by its own check and by no other.
#[test]
fn one_thing_that_is_wrong_is_one_finding() {
    let cases = [of_the_deployment(), of_the_table(), of_the_event_sources(), of_queues_and_what_stands()].concat();
    assert_eq!(said(&healthy()), []);
    for (number, (check, level, resource, spoil)) in cases.into_iter().enumerate() {
        let mut spoilt = healthy();
        spoil(&mut spoilt);
        let said = said(&spoilt);
        let [(found, found_level, of)] = said.as_slice() else { panic!("{number}: {check}: {said:?}") };
        assert_eq!((*found, *found_level), (check, level), "{number}");
        assert!(of == resource || of.ends_with(&format!("/{resource}")), "{number}: {check}: {of}");
        let finding =
            spoilt.report().findings.into_iter().find(|finding| finding.check == check && finding.level == level);
        let finding = finding.unwrap();
        assert!(level == Level::CouldNotLook || finding.expected.is_some(), "{number}: {finding:?}");
        assert!(!finding.advice.is_empty(), "{number}: {finding:?} leaves people alone");
    }
}

#[test]
fn a_stream_that_is_off_has_no_event_source_that_could_be_right() {
    let mut off = healthy();
    table_of(&mut off).stream = None;
    assert_eq!(said(&off), [("stream", Level::Problem, "t".to_owned())]);
}

#[test]
fn a_queue_that_is_gone_is_one_problem_and_what_leads_to_it_another() {
    let mut gone = healthy();
    gone.queues.dead_letter.queue = Ok(None);
    let said: Vec<_> = said(&gone).into_iter().map(|(check, level, _)| (check, level)).collect();
    assert_eq!(said, [("queue", Level::Problem), ("redrive", Level::Problem)]);
}

#[test]
fn alarms_say_whether_anybody_would_hear_them() {
    let alarm = |name: &str, state: &str, tells| Alarm { name: name.into(), state: state.into(), reason: None, tells };
    let judged = |alarms: Vec<Alarm>| {
        let findings = alarms::judge("hookbox", &Ok(alarms));
        findings.into_iter().map(|finding| (finding.level, finding.resource)).collect::<Vec<_>>()
    };
    assert_eq!(judged(Vec::new()), [(Level::Warning, "hookbox".to_owned())]);
    let alarms = vec![
        alarm("hookbox-a", "OK", true),
        alarm("hookbox-b", "OK", false),
        alarm("hookbox-c", "ALARM", true),
        alarm("hookbox-d", "INSUFFICIENT_DATA", true),
    ];
    let levels: Vec<_> = judged(alarms).into_iter().map(|(level, _)| level).collect();
    assert_eq!(levels, [Level::Ok, Level::Warning, Level::Problem, Level::Warning]);
}

#[test]
fn a_variable_that_holds_a_secret_has_to_be_set_where_it_is_used() {
    let mut set = healthy();
    (secret(&mut set).reference, secret(&mut set).read) = ("env:SIGNING".parse().unwrap(), SecretRead::Variable);
    variable(&mut set, 2, "SIGNING", Some(""));
    assert_eq!(said(&set), []);
    set.functions[2].configuration = Err(unseen());
    assert!(said(&set).iter().any(|(check, level, _)| (*check, *level) == ("secrets", Level::CouldNotLook)));
}

#[test]
fn gauges_are_read_from_the_sweeper_s_own_line() {
    let line = r#"{"Function":"sweeper","OpenJobs":3,"ReviewJobs":1,"OldestOpenAge":7,"_aws":{}}"#;
    let sweep = sweeper::gauges(line, 1_000).unwrap();
    assert_eq!((sweep.open, sweep.held, sweep.review, sweep.oldest_open), (Some(3), None, Some(1), Some(secs(7))));
    for other in
        ["START RequestId: 1", r#"{"Function":"worker","OpenJobs":3}"#, r#"{"Function":"sweeper","SweepErrors":1}"#]
    {
        assert_eq!(sweeper::gauges(other, 1_000), None, "{other}");
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn stack_of(examination: &mut Examination) -> &mut Stack {
    examination.deployment.stack.as_mut().unwrap()
}

fn configuration(examination: &mut Examination, function: usize) -> &mut Configuration {
    examination.functions[function].configuration.as_mut().unwrap().as_mut().unwrap()
}

fn variable(examination: &mut Examination, function: usize, name: &str, value: Option<&str>) {
    let variables = configuration(examination, function).variables.as_mut().unwrap();
    match value {
        Some(value) => drop(variables.insert(name.to_owned(), value.to_owned())),
        None => drop(variables.remove(name).unwrap()),
    }
}

fn table_of(examination: &mut Examination) -> &mut DeployedTable {
    examination.table.table.as_mut().unwrap().as_mut().unwrap()
}

fn stream_of(examination: &mut Examination) -> &mut DeployedStream {
    table_of(examination).stream.as_mut().unwrap()
}

fn expires(examination: &mut Examination) -> &mut TimeToLive {
    examination.table.time_to_live.as_mut().unwrap().as_mut().unwrap()
}

fn key(status: &str, inaccessible: bool) -> Encryption {
    Encryption { key: Some("k".to_owned()), status: Some(status.to_owned()), inaccessible }
}

fn source(examination: &mut Examination) -> &mut Source {
    &mut examination.stream_sources.sources.as_mut().unwrap()[0]
}

fn worker_source(examination: &mut Examination) -> &mut Source {
    &mut examination.queue_sources.sources.as_mut().unwrap()[0]
}

fn deployed(queue: &mut QueueSeen) -> &mut DeployedQueue {
    queue.queue.as_mut().unwrap().as_mut().unwrap()
}

fn redrive(examination: &mut Examination) -> &mut Redrive {
    deployed(&mut examination.queues.work).redrive.as_mut().unwrap()
}

fn schedule(examination: &mut Examination) -> &mut Schedule {
    examination.sweeper.schedule.as_mut().unwrap().as_mut().unwrap()
}

fn secret(examination: &mut Examination) -> &mut SecretSeen {
    &mut examination.secrets.as_mut().unwrap()[0]
}

fn unreadable(examination: &mut Examination, error: ItemError) {
    examination.standing.applied.as_mut().unwrap().unreadable.push(error);
}

fn paused(examination: &mut Examination, held: u64) {
    let pause = Pause {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        operation: "deliver".parse().unwrap(),
        rev: 1,
        reason: ErrorText::new("answered 401"),
        at: now(),
    };
    let held = HeldJobs { counted: held, more: false };
    examination.standing.pauses.as_mut().unwrap().standing.push(Standing { pause, held });
}
