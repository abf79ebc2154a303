//! Destinations: they do what they are asked, or not, and say so, or not.
//!
//! `https://destination.invalid/<mode>/<operation>` is called, `/asked/<job key>` is asked. A destination of mode `key`
//! does nothing twice for a key that it remembers; the others do everything that they are asked. What a destination does
//! it does when the request arrives.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hookbox_core::surroundings::Clock as _;
use hookbox_core::time::Timestamp;
use hookbox_ledger::test_support::{Fault, Faults, TestClock};
use hookbox_worker::operation::exchange::{Exchange, ExchangeError};

use super::interrupts::Interrupts;

/// How long a destination of mode `key` remembers a key.
pub(crate) const KEY_RETENTION: Duration = Duration::from_secs(24 * 3_600);

/// All destinations.
pub(crate) struct Destination {
    clock: TestClock,
    faults: Faults,
    interrupts: Interrupts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    moods: BTreeMap<String, Mood>,
    calls: Vec<Call>,
    rounds: BTreeMap<String, u32>,
    wishes: BTreeMap<String, u32>,
    signatures: Vec<String>,
}

/// How the destination of an operation behaves from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It works.
    Well,
    /// It behaves so always.
    Always(Manner),
    /// It behaves so in the first calls of each job.
    First(usize, Manner),
    /// It cannot say what it has done, whenever it is asked, and behaves so when it is called.
    Mute(Manner),
}

/// How a destination behaves in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It does the work and says so.
    Works,
    /// It cannot be reached.
    Unreachable,
    /// It does the work, and its answer is lost.
    LosesTheAnswer,
    /// It does the work too slowly to be waited for.
    WorksSlowly,
    /// It does nothing and never answers.
    Hangs,
    /// It does nothing and answers so.
    Answers(u16),
    /// It does the work and answers so.
    WorksAndAnswers(u16),
    /// It does nothing and asks for patience, in seconds.
    AsksToWait(u64),
}

/// One request that arrived, or should have.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: Timestamp,
    /// The job's key, which is the idempotency key.
    pub(crate) job: String,
    /// `key`, `reconcile` or `none`.
    pub(crate) mode: String,
    /// The rounds that the job had begun by then, from 0.
    pub(crate) round: u32,
    /// How often somebody had asked for one more effect by then: a person, or the same event after its receipt had expired.
    pub(crate) wishes: u32,
    pub(crate) asked: Option<Found>,
    /// Whether it had an effect.
    pub(crate) effect: bool,
    /// The status that was answered, if one was.
    pub(crate) answer: Option<u16>,
    /// Whether the worker knows that nothing of it arrived.
    pub(crate) unsent: bool,
}

/// What a destination says that it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Yes,
    No,
    Unsaid,
}

impl Call {
    /// Whether the worker cannot know if it had an effect, by the rules of `docs/destinations.md`.
    pub(crate) fn is_unknown(&self) -> bool {
        self.asked.is_none()
            && !self.unsent
            && self.answer.is_none_or(|status| status == 408 || status >= 500 && status != 503)
    }
}

impl Destination {
    pub(crate) fn new(clock: &TestClock, faults: &Faults, interrupts: &Interrupts) -> Self {
        let (clock, faults, interrupts) = (clock.clone(), faults.clone(), interrupts.clone());
        Self { clock, faults, interrupts, state: Mutex::default() }
    }

    /// Sets how the destination of an operation behaves.
    pub(crate) fn be(&self, operation: &str, mood: Mood) {
        self.state.lock().unwrap().moods.insert(operation.to_owned(), mood);
    }

    /// All of them work.
    pub(crate) fn all_well(&self) {
        self.state.lock().unwrap().moods.clear();
    }

    /// The job has a new round. One more effect is its aim, unless it is to be none where the first is remembered.
    pub(crate) fn expect_round(&self, job: &str, one_more: bool) {
        let mut state = self.state.lock().unwrap();
        *state.rounds.entry(job.to_owned()).or_default() += 1;
        *state.wishes.entry(job.to_owned()).or_default() += u32::from(one_more);
    }

    /// Every signature that came with a call.
    pub(crate) fn signatures(&self) -> Vec<String> {
        self.state.lock().unwrap().signatures.clone()
    }

    /// Every call so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state.lock().unwrap().calls.clone()
    }

    /// How many effects a job has had.
    pub(crate) fn effects(&self, job: &str) -> usize {
        self.state.lock().unwrap().calls.iter().filter(|call| call.job == job && call.effect).count()
    }

    fn answer(&self, request: &http::Request<Bytes>, within: Duration) -> Result<http::Response<()>, ExchangeError> {
        let intruder = self.interrupts.take();
        let fault = self.slowed(self.faults.enter(request.method().as_str()), within);
        let mut segments = request.uri().path().split('/').skip(1);
        let (first, second) = (segments.next().unwrap(), segments.next().unwrap());
        let (call, wait) = if first == "asked" {
            self.state.lock().unwrap().ask(&second.replace("%3A", ":"), fault, self.clock.now())
        } else {
            let header = |name: &str| request.headers()[name].to_str().unwrap();
            let job = header("idempotency-key");
            let signature = header("webhook-signature").trim_start_matches("v1,").to_owned();
            self.state.lock().unwrap().signatures.push(signature);
            self.state.lock().unwrap().call(first, second, job, fault, self.clock.now())
        };
        self.interrupts.let_in(intruder);
        self.reply(&call, wait, within)
    }

    /// A delay passes. Nobody waits for longer than `within`: what takes longer has no answer.
    fn slowed(&self, fault: Option<Fault>, within: Duration) -> Option<Fault> {
        match fault {
            Some(Fault::Delay(wait) | Fault::DelayReply(wait)) if wait < within => self.clock.advance(wait),
            Some(Fault::Delay(_) | Fault::DelayReply(_)) => return Some(Fault::LoseReply),
            _ => {}
        }
        fault
    }

    fn reply(&self, call: &Call, wait: Option<u64>, within: Duration) -> Result<http::Response<()>, ExchangeError> {
        let detail = String::new();
        match call.answer {
            Some(status) => {
                let mut answer = http::Response::builder().status(status);
                if let Some(wait) = wait {
                    answer = answer.header("retry-after", wait);
                }
                Ok(answer.body(()).unwrap())
            }
            None if call.unsent => Err(ExchangeError::NotSent { code: "connect", detail }),
            None => {
                // Whole seconds: what is left of them is real time.
                self.clock.advance(Duration::from_secs(within.as_secs()));
                Err(ExchangeError::Unanswered { code: "timeout", detail })
            }
        }
    }
}

impl State {
    /// The call, and for how long the destination asks to wait.
    fn call(
        &mut self,
        mode: &str,
        operation: &str,
        job: &str,
        fault: Option<Fault>,
        now: Timestamp,
    ) -> (Call, Option<u64>) {
        let earlier = self.calls.iter().filter(|call| call.job == job && call.asked.is_none()).count();
        let manner = match self.moods.get(operation).copied().unwrap_or(Mood::Well) {
            Mood::Always(manner) | Mood::Mute(manner) => manner,
            Mood::First(calls, manner) if earlier < calls => manner,
            Mood::First(..) | Mood::Well => Manner::Works,
        };
        let manner = under(fault, manner);
        let (works, answer, unsent, wait) = match manner {
            Manner::Works => (true, Some(200), false, None),
            Manner::Unreachable => (false, None, true, None),
            Manner::LosesTheAnswer | Manner::WorksSlowly => (true, None, false, None),
            Manner::Hangs => (false, None, false, None),
            Manner::Answers(status) => (false, Some(status), false, None),
            Manner::WorksAndAnswers(status) => (true, Some(status), false, None),
            Manner::AsksToWait(wait) => (false, Some(503), false, Some(wait)),
        };
        let effect = works && !(mode == "key" && self.remembers(job, now));
        let call = Call { mode: mode.to_owned(), effect, answer, unsent, ..self.begun(job, now) };
        self.calls.push(call.clone());
        (call, wait)
    }

    fn ask(&mut self, job: &str, fault: Option<Fault>, now: Timestamp) -> (Call, Option<u64>) {
        let operation = job.split(':').nth(1).unwrap_or_default();
        let done = self.calls.iter().any(|call| call.job == job && call.effect);
        let says_nothing = matches!(self.moods.get(operation), Some(Mood::Mute(_)));
        let status = match (says_nothing, done) {
            (true, _) => 400,
            (false, true) => 200,
            (false, false) => 404,
        };
        let (answer, unsent) = match under(fault, Manner::Answers(status)) {
            Manner::Answers(status) => (Some(status), false),
            Manner::Unreachable => (None, true),
            Manner::AsksToWait(_) => (Some(503), false),
            _ => (None, false),
        };
        let found = match answer {
            Some(200) => Found::Yes,
            Some(404) => Found::No,
            _ => Found::Unsaid,
        };
        let call = Call { asked: Some(found), answer, unsent, ..self.begun(job, now) };
        self.calls.push(call.clone());
        (call, None)
    }

    /// From the first time that it did something for the key.
    fn remembers(&self, job: &str, now: Timestamp) -> bool {
        let mut calls = self.calls.iter().filter(|call| call.job == job && call.effect);
        calls.next_back().is_some_and(|call| now.since(call.at) < KEY_RETENTION)
    }

    fn begun(&self, job: &str, at: Timestamp) -> Call {
        let count = |of: &BTreeMap<String, u32>| of.get(job).copied().unwrap_or_default();
        let (round, wishes) = (count(&self.rounds), count(&self.wishes));
        let (job, mode) = (job.to_owned(), "reconcile".to_owned());
        Call { at, job, mode, round, wishes, asked: None, effect: false, answer: None, unsent: false }
    }
}

/// How a destination behaves when this goes wrong on the way to it.
fn under(fault: Option<Fault>, manner: Manner) -> Manner {
    match fault {
        None | Some(Fault::DoTwice | Fault::Delay(_) | Fault::DelayReply(_) | Fault::Conflict | Fault::InProgress) => {
            manner
        }
        Some(Fault::FailBefore | Fault::StopBefore) => Manner::Unreachable,
        Some(Fault::LoseReply | Fault::StopAfter) => match manner {
            Manner::Works | Manner::WorksAndAnswers(_) | Manner::WorksSlowly => Manner::LosesTheAnswer,
            Manner::Answers(_) | Manner::AsksToWait(_) | Manner::Hangs => Manner::Hangs,
            other => other,
        },
        Some(Fault::Throttle) => Manner::Answers(429),
        Some(Fault::ExceedThroughput) => Manner::AsksToWait(7),
        Some(Fault::Internal) => Manner::Answers(500),
    }
}

impl Exchange for Destination {
    fn exchange(
        &self,
        request: http::Request<Bytes>,
        within: Duration,
    ) -> BoxFuture<'_, Result<http::Response<()>, ExchangeError>> {
        async move { self.answer(&request, within) }.boxed()
    }
}
