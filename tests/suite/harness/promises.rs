//! What must be true, by the ids of `docs/guarantees.md`: of every change, of every answer, and at rest.

use std::collections::{BTreeMap, BTreeSet};

use hookbox_core::invariants;
use hookbox_core::limits::MAX_WAKES;

use super::destination::{Call, Found, KEY_RETENTION};
use super::process::{PROVIDER_SECRET, SIGNING_SECRET};
use super::provider::{Answer, Delivery, receipt};
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
    contents: BTreeMap<(Connection, u32), u8>,
    /// What was inserted and has not expired.
    inserted: BTreeSet<(String, String)>,
    /// Folders without a payload, because it has expired.
    expired: BTreeSet<String>,
}

impl World {
    /// Of every change: G1 (nothing is inserted twice), G4, G5, G7 (what is stored first stays), G8 and G9.
    pub(crate) fn look_at_change(&self, change: &Change) {
        let place = format!("{}… {}", &change.pk[..change.pk.len().min(8)], change.sk);
        let text = change.record.to_string();
        for secret in [PROVIDER_SECRET, SIGNING_SECRET] {
            if text.contains(secret) {
                self.report("G8", format!("a secret in {place}"));
            }
        }
        match (&change.old, &change.new) {
            (None, Some(new)) => self.look_at_insert(change, new, &place),
            (Some(_), None) => self.look_at_expiry(change, &place),
            (Some(old), Some(new)) if is_job(&change.sk) => self.look_at_job(old, new, &place),
            (Some(old), Some(new)) if change.sk == "head" => {
                let mut changed = old.differences(new);
                changed.retain(|name| !NOTED.contains(&name.as_str()));
                if !changed.is_empty() {
                    self.report("G7", format!("{place}: {changed:?} changed"));
                }
            }
            _ => {}
        }
    }

    fn look_at_insert(&self, change: &Change, new: &Item, place: &str) {
        let mut watch = self.watch.lock().unwrap();
        watch.expired.remove(&change.pk);
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

    fn look_at_expiry(&self, change: &Change, place: &str) {
        self.watch.lock().unwrap().inserted.remove(&(change.pk.clone(), change.sk.clone()));
        if change.pk.len() != 64 {
            return;
        }
        let folder = self.copy.lock().unwrap().folder(&change.pk);
        let jobs = folder.iter().filter(|(sk, _)| is_job(sk)).map(|(_, job)| job);
        let own = change.old.as_ref().filter(|_| is_job(&change.sk));
        if let Some(open) = jobs.chain(own).find(|job| !job.has_ended()) {
            self.report("G9", format!("{place} expired while a job was {}", open.text("status")));
        }
        let mut watch = self.watch.lock().unwrap();
        if change.sk == "head" {
            watch.contents.retain(|(connection, id), _| receipt(*connection, *id).to_string() != change.pk);
        } else {
            watch.expired.insert(change.pk.clone());
        }
    }

    /// Of every answer: G2, G7 and G8.
    pub(crate) fn look_at_answer(&self, delivery: &Delivery, answer: Option<&Answer>) {
        let acknowledged = answer.is_some_and(|answer| answer.status < 300);
        for event in &delivery.events {
            let folder = self.copy.lock().unwrap().folder(&receipt(delivery.connection, event.id).to_string());
            let new = answer.is_some_and(|answer| answer.states.iter().all(|state| state == "created"));
            if let Some(missing) = missing(&folder, new).filter(|_| acknowledged || !folder.is_empty()) {
                self.report("G2", format!("event {} has no {missing}; the answer was {answer:?}", event.id));
            }
        }
        let Some(answer) = answer else { return };
        if (300..500).contains(&answer.status) {
            self.report("G2", format!("a valid delivery was refused: {answer:?}"));
        }
        let signatures = &self.provider.lock().unwrap().signatures;
        let secret = [PROVIDER_SECRET, SIGNING_SECRET].iter().any(|secret| answer.text.contains(secret));
        if secret || signatures.iter().any(|signature| answer.text.contains(signature)) {
            self.report("G8", format!("a secret in an answer: {}", answer.text));
        }
        if acknowledged {
            self.look_at_contents(delivery, answer);
        }
    }

    /// G7: what differs from what is stored is a conflict, what does not is none, and a conflict is on the receipt.
    fn look_at_contents(&self, delivery: &Delivery, answer: &Answer) {
        for (event, state) in delivery.events.iter().zip(&answer.states) {
            let key = (delivery.connection, event.id);
            let known = self.watch.lock().unwrap().contents.get(&key).copied();
            let same = known.is_none_or(|known| known == event.content);
            if (state == "conflict") == same && (known.is_some() || state != "conflict") {
                self.report("G7", format!("event {} with content {} is {state}", event.id, event.content));
            }
            if state != "conflict" {
                self.watch.lock().unwrap().contents.insert(key, event.content);
            } else if !answer.troubled {
                let head = self.copy.lock().unwrap().folder(&receipt(key.0, key.1).to_string()).remove("head");
                let digest = |conflict: &serde_json::Value| conflict["M"]["event"]["S"].as_str().map(str::to_owned);
                let own = head.as_ref().map(|head| head.text("event_digest").to_owned());
                let conflicts = head.as_ref().map_or(&[][..], |head| head.list("conflicts"));
                if conflicts.is_empty() || conflicts.iter().any(|conflict| digest(conflict) == own) {
                    self.report("G7", format!("the conflict of event {} is not on its receipt", event.id));
                }
            }
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
        let text = self.copy.lock().unwrap().text() + &self.said.lock().unwrap().join("\n");
        let provider = self.provider.lock().unwrap();
        let secrets = provider.signatures.iter().map(String::as_str).chain([PROVIDER_SECRET, SIGNING_SECRET]);
        if secrets.into_iter().any(|secret| text.contains(secret)) {
            self.report("G8", "a secret in an item or a metric".to_owned());
        }
    }

    /// G1 and G2: each event has one whole folder, and there is no other.
    fn look_at_receipts(&self) {
        let provider = self.provider.lock().unwrap();
        let mut events = BTreeMap::new();
        for sent in &provider.sent {
            if !sent.is_acknowledged() {
                self.report("G2", format!("never acknowledged: {:?}", sent.answers.last()));
            }
            for event in &sent.delivery.events {
                let calls = events.entry(receipt(sent.delivery.connection, event.id).to_string()).or_insert(0);
                *calls += sent.answers.len();
            }
        }
        let copy = self.copy.lock().unwrap();
        for (pk, folder) in copy.events() {
            match events.get(pk) {
                None => self.report("G1", format!("nobody delivered {pk}")),
                Some(1)
                    if folder.get("head").and_then(|head| head.number("duplicate_count")).is_some_and(|n| n > 0) =>
                {
                    self.report("G2", format!("{pk} was delivered once and counts duplicates"));
                }
                Some(_) => {}
            }
            let waits = folder.values().any(|item| item.text("status") == "review");
            if let Some(missing) = missing(folder, waits && !self.watch.lock().unwrap().expired.contains(pk)) {
                self.report("G1", format!("{pk} has no {missing} at rest"));
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
            let earlier: Vec<_> = calls[..i].iter().filter(|earlier| earlier.replays == call.replays).collect();
            let made = earlier.iter().filter(|call| call.asked.is_none() && call.answer != Some(401)).count();
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
}

/// What a folder lacks of what one transaction writes; with the payload, unless that may have expired.
fn missing(folder: &BTreeMap<String, Item>, payload: bool) -> Option<String> {
    let Some(head) = folder.get("head") else { return Some("receipt".to_owned()) };
    let operations = head.list("operations").iter().filter_map(|name| name["S"].as_str());
    let lost = operations.into_iter().map(|name| format!("job#{name}#v0001")).find(|job| !folder.contains_key(job));
    let chunks = usize::try_from(head.number("chunks").unwrap_or_default()).unwrap_or_default();
    let stored = folder.keys().filter(|sk| sk.starts_with("payload#")).count();
    lost.or_else(|| (payload && stored != chunks).then(|| "payload".to_owned()))
}
