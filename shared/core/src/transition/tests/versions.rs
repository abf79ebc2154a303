//! A new version of a job is another job.

use super::super::new_version::{NoNewVersion, new_version};
use super::*;
use crate::key::JobKey;
use crate::limits::{MAX_JOBS, PENDING_OVERDUE};

/// Whatever is known of the first key's calls, the second key is one that no destination has seen.
#[test]
fn a_new_version_is_another_job_that_remembers_nothing_of_the_first() {
    let op = operation(Idempotency::None);
    let unknown = finished(&called(&pending(), &op, START).0, &op, UNKNOWN, START);
    assert_eq!(unknown.uncertain, Some(Mode::None));
    let later = START.plus(2 * DEFAULT_KEY_RETENTION);
    let next = new_version(&unknown, std::slice::from_ref(&unknown), later).expect("in review");
    let expected =
        Job { key: unknown.key.following().expect("2"), open_at: Some(later.plus(PENDING_OVERDUE)), ..pending() };
    assert_eq!(next, expected);
    assert_eq!(invariants::broken(&next, op.schedule.attempts()), None);
    assert_eq!(called(&next, &op, later).1, Approach::Send);
}

#[test]
fn only_the_newest_version_gets_another_and_not_without_end() {
    let op = operation(Idempotency::key());
    let first = finished(&called(&pending(), &op, START).0, &op, Outcome::Done, START);
    let second = new_version(&first, std::slice::from_ref(&first), START).expect("completed");
    let done = finished(&called(&second, &op, START).0, &op, Outcome::Done, START);
    for second in [&second, &done] {
        let jobs = [second.clone(), first.clone()];
        let newest = second.key.clone();
        assert_eq!(new_version(&first, &jobs, START), Err(NoNewVersion::Superseded { newest }));
    }
    let other = JobKey { operation: "other".parse().expect("name"), version: 7, ..first.key.clone() };
    let jobs = [first.clone(), done.clone(), Job { key: other, ..second.clone() }];
    assert_eq!(new_version(&done, &jobs, START).map(|job| job.key.version), Ok(3), "its own operation counts");
    let full = vec![done.clone(); MAX_JOBS];
    assert_eq!(new_version(&done, &full, START), Err(NoNewVersion::TooMany));
    assert!(new_version(&done, full.get(1..).expect("all but one"), START).is_ok());
}
