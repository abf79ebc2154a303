//! Reconcile: the destination was asked, within a claimed attempt, whether an earlier call had its effect. What it says
//! is written with the end of the attempt; an answer of its own is never stored.

use crate::job::{AttemptOutcome, Job, ReviewReason, State};
use crate::outcome::Report;
use crate::time::Timestamp;

use super::Refused;
use super::finish::ended;

/// The destination does not know the effect: no earlier call had it, and this attempt may send. The version stays,
/// because nothing is written until the attempt has ended.
pub fn absent(job: &Job) -> Result<Job, Refused> {
    let State::Processing { .. } = job.state else {
        return Err(job.refuse("reconcile"));
    };
    Ok(Job { uncertain: None, ..job.clone() })
}

/// The destination was reached and cannot say, so asking again would not help: the job goes to a person.
pub fn cannot_tell(job: &Job, report: &Report, now: Timestamp) -> Result<Job, Refused> {
    let State::Processing { .. } = job.state else {
        return Err(job.refuse("reconcile"));
    };
    let state = State::Review { reason: ReviewReason::Uncertain };
    Ok(ended(job, AttemptOutcome::Uncertain, report, now).moved(state, now))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::claim::{Approach, Claim, Claimed, claim};
    use super::super::finish::{Finish, finish, payload_gone};
    use super::*;
    use crate::digest::Digest;
    use crate::integration::{Idempotency, Operation, Target};
    use crate::job::{Mode, Status};
    use crate::key::JobKey;
    use crate::outcome::Outcome;
    use crate::retry::Jitter;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn waiting() -> Job {
        let operation = "deliver".parse().expect("name");
        Job {
            key: JobKey::first(Digest::of(b"x").to_string().parse().expect("id"), operation),
            provider: "stripe".parse().expect("name"),
            account: "demo".parse().expect("name"),
            kind: "k".into(),
            resource: None,
            occurred_at: None,
            received_at: NOW,
            state: State::Pending,
            version: 1,
            round: 1,
            attempts: Vec::new(),
            attempts_total: 0,
            first_sent_at: None,
            send_before: None,
            uncertain: None,
            wakes: 0,
            open_at: Some(NOW),
            last_error: None,
            erased_at: None,
        }
    }

    fn asking() -> (Job, Operation) {
        let idempotency = Idempotency::Reconcile { url: "https://example.com/{job_key}".into() };
        let target = Target::Sqs { queue_url: "q".into() };
        let operation = Operation::new("deliver".parse().expect("name"), idempotency, target);
        let at = |now| Claim {
            now,
            lease_expires_at: now.plus(Duration::from_secs(1)),
            operation: &operation,
            config_rev: 1,
        };
        let Ok(Claimed::Call { job, approach: Approach::Send }) = claim(&waiting(), at(NOW)) else {
            panic!("a pending job is sent")
        };
        let later = NOW.plus(Duration::from_secs(60));
        let Ok(Claimed::Call { job, approach: Approach::Reconcile }) = claim(&job, at(later)) else {
            panic!("an expired lease of a job that can be asked for is asked")
        };
        assert_eq!(job.uncertain, Some(Mode::Reconcile));
        (job, operation)
    }

    #[test]
    fn an_absent_effect_leaves_a_later_refusal_certain() {
        let (job, operation) = asking();
        let report = Report::new(Outcome::Permanent, "http-422", "");
        let end = |job: &Job| {
            let schedule = &operation.schedule;
            finish(job, Finish { now: NOW, report: &report, schedule, jitter: Jitter(0) }).expect("processing")
        };
        assert_eq!(end(&job).state, State::Review { reason: ReviewReason::Uncertain });
        let known = absent(&job).expect("processing");
        assert_eq!(known.version, job.version);
        assert_eq!(end(&known).state, State::Review { reason: ReviewReason::Permanent });
    }

    #[test]
    fn what_cannot_be_told_goes_to_a_person_with_its_attempt_ended() {
        let (job, _) = asking();
        let told = cannot_tell(&job, &Report::new(Outcome::Unknown, "ask-http-400", ""), NOW).expect("processing");
        assert_eq!(told.state, State::Review { reason: ReviewReason::Uncertain });
        assert_eq!(told.version, job.version + 1);
        assert_eq!(crate::invariants::broken(&told, 5), None);
        assert!(told.attempts.iter().all(|attempt| attempt.result.is_some()));
        assert!(cannot_tell(&told, &Report::done("x"), NOW).is_err() && absent(&told).is_err());
    }

    #[test]
    fn a_missing_payload_is_the_reason_unless_an_earlier_call_is_uncertain() {
        let (job, _) = asking();
        let report = Report::new(Outcome::Permanent, "payload-expired", "");
        let gone = payload_gone(&job, &report, NOW).expect("processing");
        assert_eq!(gone.state, State::Review { reason: ReviewReason::Uncertain });
        let gone = payload_gone(&absent(&job).expect("processing"), &report, NOW).expect("processing");
        assert_eq!(gone.state, State::Review { reason: ReviewReason::PayloadExpired });
        assert_eq!(gone.status(), Status::Review);
        assert_eq!(crate::invariants::broken(&gone, 5), None);
        assert!(payload_gone(&gone, &report, NOW).is_err());
    }
}
