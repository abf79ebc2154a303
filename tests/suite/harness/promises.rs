//! What must be true, by the ids of `docs/guarantees.md`: of every change, of every answer, and at rest.

use std::collections::{BTreeMap, BTreeSet};

use hookbox_core::invariants;
use hookbox_core::limits::MAX_WAKES;
use hookbox_core::transition::replay::ForgottenKey;

use super::destination::{Call, Found, KEY_RETENTION};
use super::kept::Life;
use super::process::{PROVIDER_SECRET, SIGNING_SECRET};
use super::provider::PRIVATE;
use super::table::{Change, Item, is_job, operation_of};
use super::world::{ATTEMPTS, Connection, World};

/// What moving an entry of the open index may change without a new version.
const ENTRY: [&str; 4] = ["open_at", "wakes", "wake_token", "expires_at"];
/// What changes on a receipt after its insert.
const NOTED: [&str; 8] = [
    "arrivals",
    "conflicts",
    "conflict_token",
    "count_token",
    "duplicate_count",
    "expires_at",
    "last_duplicate_at",
    "version",
];

/// What must be seen nowhere but where it belongs.
const SECRETS: [&str; 3] = [PROVIDER_SECRET, SIGNING_SECRET, PRIVATE];

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Its id.
    pub(crate) promise: &'static str,
    /// How.
    pub(crate) what: String,
}

/// What must be remembered to judge a change.
#[derive(Default)]
pub(crate) struct Watch {
    /// Claims of each round of each job, without attempts that were given back.
    claims: BTreeMap<(String, i64), usize>,
    /// The content of each event that was stored, where an answer has shown it.
    pub(super) contents: BTreeMap<(Connection, u32), u8>,
    /// What was inserted and has not expired.
    pub(super) inserted: BTreeSet<(String, String)>,
    /// Jobs that there have ever been.
    known: BTreeSet<String>,
    /// What each folder is to hold and for how long.
    pub(super) lives: BTreeMap<String, Life>,
    /// Folders of events of which a provider was told that they are stored, until they have expired.
    pub(super) acknowledged: BTreeSet<String>,
    /// How many changes there were when a job last came into review.
    reviews: BTreeMap<String, usize>,
    /// The replay that a person is asking for.
    pub(super) person_asks: Option<(String, ForgottenKey)>,
}

impl Watch {
    /// How many changes there were when the job last came into review.
    pub(super) fn in_review_since(&self, job: &str) -> usize {
        self.reviews.get(job).copied().unwrap_or_default()
    }
}

impl World {
    /// Of every change: G1 (nothing is inserted twice), G4, G5, G7 (what is stored first stays), G8 and G9.
    pub(crate) fn look_at_change(&self, change: &Change) {
        self.configured.lock().unwrap().note(change, self.now());
        let place = format!("{}… {}", &change.pk[..change.pk.len().min(8)], change.sk);
        let text = change.record.to_string();
        for secret in SECRETS {
            if text.contains(secret) {
                self.report("G8", format!("a secret in {place}"));
            }
        }
        match (&change.old, &change.new) {
            (None, Some(new)) => self.look_at_insert(change, new, &place),
            (Some(_), None) => self.look_at_expiry(change, &place),
            (Some(old), Some(new)) if is_job(&change.sk) => {
                self.look_at_job(old, new, &place);
                self.look_at_state(&change.pk, old, new);
                self.look_at_round(&key_of(&change.pk, &change.sk), old, new);
            }
            (Some(old), Some(new)) if change.sk == "head" => {
                let mut changed = old.differences(new);
                changed.retain(|name| !NOTED.contains(&name.as_str()));
                if !changed.is_empty() {
                    self.report("G7", format!("{place}: {changed:?} changed"));
                }
                self.look_at_head(&change.pk, old, new);
            }
            _ => {}
        }
    }

    fn look_at_insert(&self, change: &Change, new: &Item, place: &str) {
        if change.sk == "head" {
            self.begin_life(&change.pk, new, place);
        }
        let mut watch = self.watch.lock().unwrap();
        if is_job(&change.sk) && !watch.known.insert(key_of(&change.pk, &change.sk)) {
            // The same event after its receipt has expired is a new one.
            watch.claims.retain(|(job, _), _| job != place);
            self.destination.expect_round(&key_of(&change.pk, &change.sk), true);
        }
        if !watch.inserted.insert((change.pk.clone(), change.sk.clone())) {
            self.report("G1", format!("inserted twice: {place}"));
        }
        if is_job(&change.sk) && (new.text("status"), new.number("version")) != ("pending", Some(1)) {
            self.report("G1", format!("{place} begins as {}", new.text("status")));
        }
    }

    fn look_at_job(&self, old: &Item, new: &Item, place: &str) {
        let differences = old.differences(new);
        let version = |item: &Item| item.number("version").unwrap_or_default();
        if version(new) == version(old) {
            if differences.iter().any(|name| !ENTRY.contains(&name.as_str())) {
                self.report("G5", format!("{place}: {differences:?} changed under one version"));
            }
        } else if version(new) != version(old) + 1 {
            self.report("G5", format!("{place}: version {} follows {}", version(new), version(old)));
        }
        let (before, after) = (old.list("attempts"), new.list("attempts"));
        let same_round = old.number("round") == new.number("round");
        if same_round && version(new) > version(old) && old.has_ended() {
            self.report("G5", format!("{place}: {} after {}", new.text("status"), old.text("status")));
        }
        let ended = before.iter().filter(|attempt| attempt["M"].get("outcome").is_some());
        if same_round && ended.zip(after).any(|(before, after)| before != after) {
            self.report("G5", format!("{place}: an outcome was overwritten"));
        }
        if after.len() > ATTEMPTS || new.number("wakes") > Some(i64::from(MAX_WAKES)) {
            self.report("G4", format!("{place}: {} attempts, {:?} wake-ups", after.len(), new.number("wakes")));
        }
        if version(new) == version(old) {
            return;
        }
        let round = (place.to_owned(), new.number("round").unwrap_or_default());
        let mut watch = self.watch.lock().unwrap();
        let claims = watch.claims.entry(round).or_default();
        if new.text("status") == "processing" {
            *claims += 1;
        } else if same_round && after.len() < before.len() {
            *claims -= 1;
        }
        if *claims > ATTEMPTS {
            let claims = *claims;
            drop(watch);
            self.report("G4", format!("{place}: {claims} claims in one round"));
        }
    }

    /// A round begins when a person asks for it, and people are to be told each time a job comes into review.
    fn look_at_round(&self, job: &str, old: &Item, new: &Item) {
        let changes = self.copy.lock().unwrap().changes();
        let mut watch = self.watch.lock().unwrap();
        if new.text("status") == "review" && old.text("status") != "review" {
            watch.reviews.insert(job.to_owned(), changes);
        }
        let asked = watch.person_asks.clone().filter(|(asked, _)| asked == job);
        drop(watch);
        match (new.number("round").unwrap_or_default() - old.number("round").unwrap_or_default(), asked) {
            (0, _) => {}
            (1, Some((_, forgotten))) => {
                // Where the first effect is remembered, or nothing is done, there is to be no second one.
                let by_key = job.split(':').nth(1).is_some_and(|operation| operation.starts_with("key"));
                self.destination.expect_round(job, forgotten == ForgottenKey::Accept || !by_key);
            }
            (rounds, _) => self.report("G4", format!("{job}: {rounds} rounds that nobody asked for")),
        }
    }

    /// At rest: all of them.
    pub(crate) fn look_at_rest(&self) {
        self.look_at_receipts();
        self.look_at_ends();
        for job in self.jobs() {
            let key = job.to_string();
            let calls: Vec<_> = self.destination.calls().into_iter().filter(|call| call.job == key).collect();
            self.look_at_calls(&key, &calls);
            match self.stored(&job).map(|job| invariants::broken(&job, ATTEMPTS)) {
                Some(None) => {}
                Some(Some(rule)) => self.report("G4", format!("{key}: {rule}")),
                None => self.report("G1", format!("{key} cannot be read")),
            }
        }
        let (items, metrics) = (self.copy.lock().unwrap().text(), self.said.lock().unwrap().join("\n"));
        for (place, text) in [("an item", items), ("a metric", metrics), ("the log", self.heard.text())] {
            if let Some(secret) = self.secret_in(&text) {
                self.report("G8", format!("{secret} in {place}"));
            }
        }
    }

    /// G3: every job has ended, waits for a person who was told, or is held by a pause that stands.
    fn look_at_ends(&self) {
        let paused = self.all_paused();
        let copy = self.copy.lock().unwrap();
        for (pk, sk, job) in copy.jobs() {
            let operation = operation_of(sk).to_owned();
            let key = format!("{pk}:{operation}:v1");
            let effects = self.destination.effects(&key);
            match job.text("status") {
                "completed" if effects == 0 => self.report("G3", format!("{key} is completed without an effect")),
                "review" if !self.has_notice(pk, sk) => {
                    self.report("G3", format!("{key} is in review and nobody was told"));
                }
                "completed" | "dismissed" | "review" => {}
                "held" if paused.contains(&(job.text("provider").to_owned(), operation)) => {}
                status => self.report("G3", format!("{key} is {status} at rest")),
            }
        }
    }

    /// G4 and G6, of the calls of one job in their order.
    fn look_at_calls(&self, job: &str, calls: &[Call]) {
        for (i, call) in calls.iter().enumerate() {
            if call.asked.is_some() {
                continue;
            }
            let round = calls[..i].iter().filter(|earlier| earlier.round == call.round);
            let made = round.filter(|call| call.asked.is_none() && call.answer != Some(401)).count();
            let earlier: Vec<_> = calls[..i].iter().filter(|earlier| earlier.wishes == call.wishes).collect();
            if made >= ATTEMPTS {
                self.report("G4", format!("{job}: call {} of one round", made + 1));
            }
            let doubt = earlier.iter().rposition(|earlier| earlier.effect || earlier.is_unknown());
            let Some(doubt) = doubt.filter(|_| !call.unsent) else { continue };
            let told = earlier[doubt..].iter().any(|call| call.asked == Some(Found::No));
            let first = earlier.iter().find(|call| call.asked.is_none()).map_or(call.at, |call| call.at);
            let safe = match call.mode.as_str() {
                "key" => call.at.since(first) < KEY_RETENTION,
                "reconcile" => told,
                _ => false,
            };
            if !safe || earlier.iter().any(|earlier| earlier.effect) && call.effect {
                self.report("G6", format!("{job} was called again after {:?}", earlier[doubt]));
            }
        }
    }

    /// A secret, a signature that was made on either side, or a part of a payload, if the text holds one.
    pub(super) fn secret_in(&self, text: &str) -> Option<String> {
        let ours = self.destination.signatures();
        let provider = self.provider.lock().unwrap();
        let made = provider.signatures.iter().chain(&ours).map(String::as_str);
        SECRETS.into_iter().chain(made).find(|secret| text.contains(secret)).map(str::to_owned)
    }
}

/// The key of a job from those of its item.
fn key_of(pk: &str, sk: &str) -> String {
    format!("{pk}:{}:v1", operation_of(sk))
}
