//! The whole machine as one table, and random legal histories that keep the invariants.

mod versions;

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::claim::{Approach, Claim, Claimed, NotClaimed, claim};
use super::erase::{Leased, erase};
use super::finish::{Finish, finish, resumed_meanwhile};
use super::new_version::{NoNewVersion, new_version};
use super::replay::{ForgottenKey, NotReplayed, replay};
use super::wake::{Backlog, Wake, wake};
use super::{dismiss::dismiss, hold::hold, postpone::postpone, release::release, review::review};
use crate::digest::Digest;
use crate::event::{Disposition, Event, Identity, Payload};
use crate::integration::{Idempotency, Integration, Operation, Retention, SecretRef, Target};
use crate::invariants;
use crate::job::{AttemptOutcome, DismissReason, Job, Mode, ReviewReason, State, Status};
use crate::limits::{BACKLOG_PATIENCE, DEFAULT_KEY_RETENTION, MAX_WAKES};
use crate::outcome::{Outcome, Report};
use crate::receipt::{Arrival, Folder};
use crate::retry::Jitter;
use crate::time::Timestamp;

const START: Timestamp = Timestamp::from_millis(1_764_500_000_000);
const LEASE: Duration = Duration::from_secs(75);

fn operation(idempotency: Idempotency) -> Operation {
    let signing_secret = SecretRef::Env("SIGNING".into());
    let target = Target::Http { url: "https://example.test/".into(), signing_secret, not_done_statuses: Vec::new() };
    Operation::new("deliver".parse().unwrap(), idempotency, target)
}

fn integration(idempotency: Idempotency) -> Integration {
    Integration {
        provider: "stripe".parse().unwrap(),
        account: "demo".parse().unwrap(),
        url: None,
        rev: 3,
        secrets: vec![SecretRef::Env("SECRET".into())],
        variant: None,
        verify: None,
        tenants: Vec::new(),
        operations: vec![operation(idempotency)],
        retention: Retention::default(),
    }
}

fn pending() -> Job {
    let event = Event {
        identity: Identity::ProviderEvent { event_id: "evt_1".into() },
        weak: None,
        event_id: Some("evt_1".into()),
        kind: "payment_intent.succeeded".into(),
        resource: Some("pi_1".into()),
        tenant: None,
        occurred_at: Some(START),
        version: None,
        disposition: Disposition::Accepted,
        digest: Digest::of(b"event"),
        payload: Payload { body: Vec::new(), content_type: None, headers: Vec::new(), query: None },
    };
    let arrival = Arrival { at: START, digest: Digest::of(b"body"), secret_index: 0, request_id: "r".into() };
    let folder = Folder::open(&event, &integration(Idempotency::key()), arrival, None);
    folder.jobs.into_iter().next().expect("one operation, one job")
}

fn claimed(job: &Job, operation: &Operation, now: Timestamp) -> Result<Claimed, NotClaimed> {
    claim(job, Claim { now, lease_expires_at: now.plus(LEASE), operation, config_rev: 3 })
}

fn called(job: &Job, operation: &Operation, now: Timestamp) -> (Job, Approach) {
    match claimed(job, operation, now) {
        Ok(Claimed::Call { job, approach }) => (job, approach),
        other => panic!("expected a call, got {other:?}"),
    }
}

fn finished(job: &Job, operation: &Operation, outcome: Outcome, now: Timestamp) -> Job {
    let report = Report::new(outcome, "code", "detail");
    finish(job, Finish { now, report: &report, schedule: &operation.schedule, jitter: Jitter(0) }).expect("processing")
}

const UNKNOWN: Outcome = Outcome::Unknown;
const TRANSIENT: Outcome = Outcome::Transient { retry_after: None };

/// One job of each state, by legal commands only.
fn one_of_each() -> Vec<Job> {
    let op = operation(Idempotency::key());
    let pending = pending();
    let (processing, _) = called(&pending, &op, START);
    let retrying = finished(&processing, &op, TRANSIENT, START);
    let held = hold(&pending, START).expect("pending");
    let in_review = finished(&processing, &op, Outcome::Permanent, START);
    let completed = finished(&processing, &op, Outcome::Done, START);
    let dismissed = dismiss(&in_review, START).expect("review");
    vec![pending, processing, retrying, held, in_review, completed, dismissed]
}

#[test]
fn every_state_meets_every_command() {
    let op = operation(Idempotency::key());
    let soon = START.plus(Duration::from_millis(10));
    let later = START.plus(Duration::from_secs(600));
    let report = Report::done("http-200");
    let show = |result: Result<Status, String>| result.map_or_else(|e| format!("✗ {e}"), |s| s.as_str().to_owned());
    let mut table = String::new();
    for job in one_of_each() {
        let of_claim = |now| match claimed(&job, &op, now) {
            Ok(Claimed::Call { job, .. } | Claimed::Review(job)) => Ok(job.status()),
            Err(error) => Err(error.to_string()),
        };
        let of_wake = match wake(&job, Backlog::No, later) {
            Wake::Send(_) => "send",
            Wake::Notify(_) => "notify",
            Wake::Move(_) => "move",
            Wake::Review(_) => "review",
            Wake::Held => "held",
            Wake::Leave => "leave",
        };
        let finish = finish(&job, Finish { now: soon, report: &report, schedule: &op.schedule, jitter: Jitter(0) });
        let rows = [
            ("claim now", show(of_claim(soon))),
            ("claim later", show(of_claim(later))),
            ("finish", show(finish.map(|j| j.status()).map_err(|e| e.to_string()))),
            (
                "resumed meanwhile",
                show(resumed_meanwhile(&job, &report, soon).map(|j| j.status()).map_err(|e| e.to_string())),
            ),
            ("hold", show(hold(&job, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            ("postpone", show(postpone(&job, later, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            ("release", show(release(&job, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            (
                "review now",
                show(
                    review(&job, ReviewReason::OperationRemoved, "", soon)
                        .map(|j| j.status())
                        .map_err(|e| e.to_string()),
                ),
            ),
            (
                "review later",
                show(
                    review(&job, ReviewReason::OperationRemoved, "", later)
                        .map(|j| j.status())
                        .map_err(|e| e.to_string()),
                ),
            ),
            ("dismiss", show(dismiss(&job, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            ("erase now", show(erase(&job, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            ("erase later", show(erase(&job, later).map(|j| j.status()).map_err(|e| e.to_string()))),
            ("replay", show(replay(&job, ForgottenKey::Refuse, soon).map(|j| j.status()).map_err(|e| e.to_string()))),
            (
                "new version",
                show(
                    new_version(&job, std::slice::from_ref(&job), soon).map(|j| j.status()).map_err(|e| e.to_string()),
                ),
            ),
            ("wake later", of_wake.to_owned()),
        ];
        for (command, result) in rows {
            writeln!(table, "{:<10} {command:<18} {result}", job.status().as_str()).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_default_round_is_five_attempts_on_the_documented_schedule() {
    let op = operation(Idempotency::key());
    let mut job = pending();
    let mut now = START;
    let mut waits = Vec::new();
    loop {
        let (claimed, _) = called(&job, &op, now);
        job = finished(&claimed, &op, TRANSIENT, now);
        match job.state {
            State::Retrying { next_attempt_at } => {
                waits.push(next_attempt_at.since(now).as_secs());
                now = next_attempt_at;
            }
            _ => break,
        }
    }
    assert_eq!(waits, [1, 5, 30, 120]);
    assert_eq!(job.state, State::Review { reason: ReviewReason::Exhausted });
    assert_eq!((job.attempts.len(), job.attempts_total), (5, 5));
}

#[test]
fn crashes_are_attempts_and_end_in_review_at_the_bound() {
    let op = operation(Idempotency::key());
    let mut job = pending();
    let mut now = START;
    for _ in 0..5 {
        (job, _) = called(&job, &op, now);
        now = now.plus(LEASE);
    }
    match claimed(&job, &op, now) {
        Ok(Claimed::Review(job)) => {
            assert_eq!(job.state, State::Review { reason: ReviewReason::Uncertain });
            assert_eq!(job.attempts_total, 5, "the bound is never exceeded");
            let outcomes: Vec<_> = job.attempts.iter().filter_map(|a| a.result.as_ref()).map(|r| r.outcome).collect();
            assert_eq!(outcomes, [AttemptOutcome::Uncertain; 5]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_is_respected_until_its_last_millisecond() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    let end = START.plus(LEASE);
    assert_eq!(claimed(&job, &op, end.minus(Duration::from_millis(1))), Err(NotClaimed::Leased { until: end }));
    assert!(matches!(claimed(&job, &op, end), Ok(Claimed::Call { .. })));
}

#[test]
fn an_unknown_outcome_is_repeated_only_where_the_mode_makes_it_safe() {
    let after = |idempotency| {
        let op = operation(idempotency);
        let (job, _) = called(&pending(), &op, START);
        (finished(&job, &op, UNKNOWN, START), op)
    };
    let (by_key, op) = after(Idempotency::key());
    assert_eq!(by_key.status(), Status::Retrying);
    let now = START.plus(Duration::from_secs(60));
    assert_eq!(called(&by_key, &op, now).1, Approach::Send, "the destination remembers the key");
    let forgotten = START.plus(DEFAULT_KEY_RETENTION);
    assert!(matches!(claimed(&by_key, &op, forgotten), Ok(Claimed::Review(_))), "and has forgotten it a day later");

    let (asked, op) = after(Idempotency::Reconcile { url: "https://example.test/{job_key}".into() });
    assert_eq!(called(&asked, &op, now).1, Approach::Reconcile);

    let (given_up, _) = after(Idempotency::None);
    assert_eq!(given_up.state, State::Review { reason: ReviewReason::Uncertain });

    let short = Idempotency::Key { retention: Duration::from_millis(500) };
    assert_eq!(after(short).0.state, State::Review { reason: ReviewReason::Uncertain }, "too late by the next attempt");
}

#[test]
fn an_attempt_is_judged_by_the_mode_that_it_was_made_under() {
    let by_key = operation(Idempotency::key());
    let with_none = operation(Idempotency::None);
    let (job, _) = called(&pending(), &by_key, START);
    let expired = START.plus(LEASE);
    assert!(matches!(claimed(&job, &with_none, expired), Ok(Claimed::Call { .. })), "the key was sent");
    let (job, _) = called(&pending(), &with_none, START);
    assert!(matches!(claimed(&job, &by_key, expired), Ok(Claimed::Review(_))), "no key was promised then");
}

/// An attempt that only asked may be the one whose lease expires: what it was made under says nothing of the call before.
#[test]
fn a_call_that_was_to_be_asked_for_is_never_repeated_by_a_later_promise() {
    let asked = operation(Idempotency::Reconcile { url: "https://example.test/".into() });
    let (job, _) = called(&pending(), &asked, START);
    let waiting = finished(&job, &asked, UNKNOWN, START);
    let by_key = operation(Idempotency::key());
    let due = START.plus(Duration::from_secs(10));
    let (job, approach) = called(&waiting, &by_key, due);
    assert_eq!(approach, Approach::Reconcile);
    let expired = due.plus(LEASE);
    let (_, approach) = called(&job, &by_key, expired);
    assert_eq!(approach, Approach::Reconcile, "the first call was made without a key that is remembered");
    let Ok(Claimed::Review(_)) = claimed(&called(&waiting, &operation(Idempotency::None), due).0, &by_key, expired)
    else {
        panic!("what nothing makes safe is not repeated")
    };
}

/// Each call was promised to be remembered for as long as was configured when it was made.
#[test]
fn a_longer_memory_does_not_make_an_earlier_call_remembered_longer() {
    let hour = Duration::from_secs(3_600);
    let short = operation(Idempotency::Key { retention: hour });
    let long = operation(Idempotency::Key { retention: 3 * hour });
    let (job, _) = called(&pending(), &short, START);
    let job = finished(&job, &short, UNKNOWN, START);
    let later = START.plus(hour / 2);
    for end in [UNKNOWN, TRANSIENT] {
        let (job, _) = called(&job, &long, later);
        let job = finished(&job, &long, end, later);
        let Ok(Claimed::Review(job)) = claimed(&job, &long, START.plus(hour)) else {
            panic!("sent under a forgotten key")
        };
        assert_eq!(job.state, State::Review { reason: ReviewReason::Uncertain });
    }
    let (job, _) = called(&job, &long, later);
    let Ok(Claimed::Review(_)) = claimed(&job, &long, START.plus(hour)) else { panic!("after a crash all the same") };
}

#[test]
fn doubt_about_an_earlier_call_outlives_a_later_clear_failure() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    let job = finished(&job, &op, UNKNOWN, START);
    let later = START.plus(Duration::from_secs(10));
    let (job, _) = called(&job, &op, later);
    let waiting = finished(&job, &op, TRANSIENT, later);
    let removed = review(&waiting, ReviewReason::OperationRemoved, "", later).expect("it waits for an attempt");
    assert_eq!(removed.state, State::Review { reason: ReviewReason::Uncertain });
    let permanent = finished(&job, &op, Outcome::Permanent, later);
    assert_eq!(permanent.state, State::Review { reason: ReviewReason::Uncertain });
    assert_eq!(finished(&job, &op, Outcome::Done, later).uncertain, None);
}

#[test]
fn a_refused_credential_costs_no_attempt() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    let held = finished(&job, &op, Outcome::CredentialRefused, START);
    assert_eq!((held.status(), held.attempts.len()), (Status::Held, 0));
    let report = Report::new(Outcome::CredentialRefused, "http-401", "");
    let resumed = resumed_meanwhile(&job, &report, START).expect("processing");
    assert_eq!((resumed.state, resumed.attempts.len()), (State::Retrying { next_attempt_at: START }, 0));
}

#[test]
fn retry_after_is_a_floor_not_a_ceiling() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    let at = |secs| {
        let outcome = Outcome::Transient { retry_after: Some(Duration::from_secs(secs)) };
        match finished(&job, &op, outcome, START).state {
            State::Retrying { next_attempt_at } => next_attempt_at.since(START).as_secs(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((at(0), at(7)), (1, 7));
}

#[test]
fn ten_wakes_without_a_claim_end_with_a_person() {
    let mut job = pending();
    let mut now = START;
    let mut gaps = Vec::new();
    for _ in 0..MAX_WAKES {
        let at = job.open_at.expect("open");
        gaps.push(at.since(now).as_secs() / 60);
        now = at;
        job = match wake(&job, Backlog::No, now) {
            Wake::Send(next) => next,
            other => panic!("{other:?}"),
        };
        assert_eq!(job.version, 1, "a wake-up leaves the version alone");
    }
    assert_eq!(gaps, [5, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    match wake(&job, Backlog::No, job.open_at.expect("open")) {
        Wake::Review(job) => assert_eq!(job.state, State::Review { reason: ReviewReason::NeverClaimed }),
        other => panic!("{other:?}"),
    }
    let (claimed, _) = called(&job, &operation(Idempotency::key()), now);
    assert_eq!(claimed.wakes, 0, "a claim starts the count again");
}

#[test]
fn a_backlog_moves_pending_entries_and_sends_nothing() {
    let due = START.plus(Duration::from_secs(600));
    let job = pending();
    assert!(matches!(wake(&job, Backlog::Yes, due), Wake::Move(_)));
    assert!(matches!(wake(&job, Backlog::No, START), Wake::Leave), "not its time");
    let given_up = START.plus(BACKLOG_PATIENCE);
    assert!(matches!(wake(&job, Backlog::Yes, given_up), Wake::Send(_)), "a backlog that never ends hides no job");
    let (leased, _) = called(&job, &operation(Idempotency::key()), due);
    match wake(&leased, Backlog::No, due) {
        Wake::Move(moved) => assert_eq!((moved.open_at, moved.wakes), (Some(due.plus(LEASE)), 0)),
        other => panic!("a live lease is looked at when it ends: {other:?}"),
    }
}

#[test]
fn a_replay_opens_a_new_round_and_keeps_what_must_be_remembered() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    let done = finished(&job, &op, Outcome::Done, START);
    let again = replay(&done, ForgottenKey::Refuse, START).expect("completed");
    assert_eq!((again.round, again.attempts.len(), again.attempts_total), (2, 0, 1));
    assert_eq!(again.first_sent_at, Some(START), "the key is as old as its first call");

    let forgotten = START.plus(DEFAULT_KEY_RETENTION);
    assert_eq!(replay(&done, ForgottenKey::Refuse, forgotten), Err(NotReplayed::KeyExpired { until: forgotten }));
    assert!(replay(&done, ForgottenKey::Accept, forgotten).is_ok());
}

/// The replay is allowed, and then the call is late: a pause, a backlog, retries.
#[test]
fn a_replay_is_not_sent_after_the_key_is_forgotten() {
    let op = operation(Idempotency::key());
    let forgotten = START.plus(DEFAULT_KEY_RETENTION);
    // A call that is claimed now has arrived by then at the latest.
    let just_before = forgotten.minus(LEASE);
    let (job, _) = called(&pending(), &op, START);
    for outcome in [Outcome::Done, Outcome::Permanent] {
        let done = finished(&job, &op, outcome, START);
        let again = replay(&done, ForgottenKey::Refuse, just_before).expect("in time");
        assert!(matches!(claimed(&again, &op, just_before), Ok(Claimed::Call { .. })));
        let Ok(Claimed::Review(late)) = claimed(&again, &op, forgotten) else { panic!("sent under a forgotten key") };
        assert_eq!(late.state, State::Review { reason: ReviewReason::KeyExpired });
        // No call was made in that round, and what was known before still is.
        assert_eq!(replay(&late, ForgottenKey::Refuse, forgotten), Err(NotReplayed::KeyExpired { until: forgotten }));
        let accepted = replay(&late, ForgottenKey::Accept, forgotten).expect("accepted");
        assert!(matches!(claimed(&accepted, &op, forgotten), Ok(Claimed::Call { .. })));
    }
}

/// What the first round's destination was promised to remember is not made longer by what a later round is made under.
#[test]
fn a_replay_of_a_replay_remembers_the_first_round() {
    let hour = Duration::from_secs(3_600);
    let (job, op) = (pending(), operation(Idempotency::Key { retention: hour }));
    let done = finished(&called(&job, &op, START).0, &op, Outcome::Done, START);
    let again = replay(&done, ForgottenKey::Refuse, START).expect("in time");
    for later in [Idempotency::Key { retention: 3 * hour }, Idempotency::None] {
        let later = operation(later);
        let failed = finished(&called(&again, &later, START).0, &later, Outcome::Permanent, START);
        let forgotten = START.plus(hour);
        assert!(replay(&failed, ForgottenKey::Refuse, forgotten.minus(Duration::from_secs(1))).is_ok());
        assert_eq!(
            replay(&failed, ForgottenKey::Refuse, forgotten),
            Err(NotReplayed::KeyExpired { until: forgotten }),
            "{later:?}"
        );
        let accepted = replay(&failed, ForgottenKey::Accept, forgotten).expect("accepted");
        assert_eq!((accepted.send_before, accepted.first_sent_at), (None, None));
    }
}

/// Whatever a job has come to: its classes and times stay, and no text that anybody wrote does.
#[test]
fn an_erased_job_is_evidence_without_a_word_and_never_comes_back() {
    let op = operation(Idempotency::key());
    let later = START.plus(Duration::from_secs(600));
    for job in one_of_each() {
        let erased = erase(&job, later).expect("its lease has ended");
        let had_ended = job.has_ended();
        let expected =
            if had_ended { job.state.clone() } else { State::Dismissed { at: later, reason: DismissReason::Erased } };
        assert_eq!(erased.state, expected);
        assert_eq!((erased.version, erased.erased_at, erased.open_at), (job.version + 1, Some(later), None));
        assert_eq!((&erased.resource, &erased.last_error), (&None, &None));
        let outcomes =
            |job: &Job| job.attempts.iter().map(|a| (a.at, a.result.as_ref().map(|r| r.outcome))).collect::<Vec<_>>();
        if job.status() == Status::Processing {
            assert_eq!(outcomes(&erased), [(START, Some(AttemptOutcome::Uncertain))], "nobody knows");
            assert!(erased.uncertain.is_some());
        } else {
            assert_eq!(outcomes(&erased), outcomes(&job));
        }
        let codes = erased.attempts.iter().filter_map(|a| a.result.as_ref()).map(|result| result.code.as_str());
        assert!(codes.into_iter().all(|code| code == "erased"));
        assert_eq!(invariants::broken(&erased, op.schedule.attempts()), None);
        let refused = replay(&erased, ForgottenKey::Accept, later).unwrap_err();
        assert_eq!(refused, NotReplayed::Erased { at: later });
        let refused = new_version(&erased, std::slice::from_ref(&erased), later).unwrap_err();
        assert_eq!(refused, NoNewVersion::Erased { at: later });

        let again = erase(&erased, later.plus(LEASE)).expect("it has ended");
        assert_eq!(again, Job { version: erased.version + 1, ..erased }, "done again it says the same");
    }
    let (running, _) = called(&pending(), &op, START);
    assert_eq!(erase(&running, START), Err(Leased { until: START.plus(LEASE) }));
}

#[test]
fn the_mode_is_written_with_the_attempt() {
    let op = operation(Idempotency::key());
    let (job, _) = called(&pending(), &op, START);
    assert_eq!(job.attempts.first().map(|a| a.mode), Some(Mode::Key { until: START.plus(DEFAULT_KEY_RETENTION) }));
}

#[derive(Clone, Debug)]
enum Command {
    Claim,
    Finish(Outcome),
    Resumed,
    Hold,
    Postpone,
    Release,
    Review,
    Dismiss,
    Replay(ForgottenKey),
    Wake(Backlog),
}

fn commands() -> impl Strategy<Value = Vec<(Command, u64, u64)>> {
    let outcome = prop_oneof![
        Just(Outcome::Done),
        Just(TRANSIENT),
        Just(UNKNOWN),
        Just(Outcome::Permanent),
        Just(Outcome::CredentialRefused),
        (0u64..5_000).prop_map(|s| Outcome::Transient { retry_after: Some(Duration::from_secs(s)) }),
    ];
    let command = prop_oneof![
        4 => Just(Command::Claim),
        4 => outcome.prop_map(Command::Finish),
        1 => Just(Command::Resumed),
        1 => Just(Command::Hold),
        1 => Just(Command::Postpone),
        1 => Just(Command::Release),
        1 => Just(Command::Review),
        1 => Just(Command::Dismiss),
        1 => Just(Command::Replay(ForgottenKey::Refuse)),
        1 => Just(Command::Replay(ForgottenKey::Accept)),
        2 => Just(Command::Wake(Backlog::No)),
        1 => Just(Command::Wake(Backlog::Yes)),
    ];
    let wait = prop_oneof![Just(0u64), 1u64..2_000, 2_000u64..400_000, Just(86_400_000)];
    prop::collection::vec((command, wait, any::<u64>()), 1..60)
}

fn idempotency() -> impl Strategy<Value = Idempotency> {
    prop_oneof![
        Just(Idempotency::key()),
        Just(Idempotency::Key { retention: Duration::from_secs(3) }),
        Just(Idempotency::Reconcile { url: "https://example.test/".into() }),
        Just(Idempotency::None),
    ]
}

fn apply(job: &Job, command: &Command, op: &Operation, now: Timestamp, bits: u64) -> Option<Job> {
    match command {
        Command::Claim => match claimed(job, op, now).ok()? {
            Claimed::Call { job, .. } | Claimed::Review(job) => Some(job),
        },
        Command::Finish(outcome) => {
            let report = Report::new(*outcome, "code", "");
            finish(job, Finish { now, report: &report, schedule: &op.schedule, jitter: Jitter(bits) }).ok()
        }
        Command::Resumed => resumed_meanwhile(job, &Report::new(Outcome::CredentialRefused, "c", ""), now).ok(),
        Command::Hold => hold(job, now).ok(),
        Command::Postpone => postpone(job, now.plus(Duration::from_secs(bits % 1_000)), now).ok(),
        Command::Release => release(job, now).ok(),
        Command::Review => review(job, ReviewReason::OperationRemoved, "", now).ok(),
        Command::Dismiss => dismiss(job, now).ok(),
        Command::Replay(forgotten) => replay(job, *forgotten, now).ok(),
        Command::Wake(backlog) => match wake(job, *backlog, now) {
            Wake::Send(next) | Wake::Notify(next) | Wake::Move(next) | Wake::Review(next) => Some(next),
            Wake::Held | Wake::Leave => None,
        },
    }
}

proptest! {
    #[test]
    fn legal_histories_keep_the_invariants(idempotency in idempotency(), history in commands()) {
        let op = operation(idempotency);
        let mut job = pending();
        let mut now = START;
        for (command, wait, bits) in history {
            now = now.plus(Duration::from_millis(wait));
            let Some(next) = apply(&job, &command, &op, now, bits) else { continue };
            prop_assert_eq!(invariants::broken(&next, op.schedule.attempts()), None, "{:?} on {:?}", command, job);
            let woken = next.version == job.version;
            prop_assert!(woken || next.version == job.version + 1, "every change is one version");
            prop_assert!(!woken || next.state == job.state, "a wake-up changes no state");
            prop_assert!(next.attempts_total >= job.attempts_total);
            if let Some(open_at) = next.open_at {
                prop_assert!(open_at.since(now) <= Duration::from_secs(11 * 86_400), "every open job is looked at again");
            }
            job = next;
        }
    }

    #[test]
    fn what_is_erased_is_never_worked_on_again(idempotency in idempotency(), before in commands(), after in commands()) {
        let op = operation(idempotency);
        let (mut job, mut now) = (pending(), START);
        for (command, wait, bits) in before {
            now = now.plus(Duration::from_millis(wait));
            job = apply(&job, &command, &op, now, bits).unwrap_or(job);
        }
        let erased = erase(&job, now.plus(LEASE)).expect("no lease is longer");
        prop_assert_eq!(invariants::broken(&erased, op.schedule.attempts()), None, "{:?}", job);
        for (command, wait, bits) in after {
            now = now.plus(Duration::from_millis(wait));
            prop_assert_eq!(apply(&erased, &command, &op, now, bits), None, "{:?}", command);
        }
    }

    #[test]
    fn an_uncertain_effect_without_a_promise_is_never_repeated_by_itself(history in commands()) {
        let op = operation(Idempotency::None);
        let mut job = pending();
        let mut now = START;
        let mut unknown = false;
        for (command, wait, bits) in history {
            now = now.plus(Duration::from_millis(wait));
            let before = job.clone();
            let Some(next) = apply(&job, &command, &op, now, bits) else { continue };
            match command {
                Command::Replay(_) => unknown = false,
                Command::Finish(UNKNOWN) => unknown = true,
                Command::Claim if before.status() == Status::Processing => unknown = true,
                _ => {}
            }
            let called = next.attempts_total > before.attempts_total;
            prop_assert!(!(called && unknown), "{:?} repeated {:?}", command, before);
            job = next;
        }
    }
}
