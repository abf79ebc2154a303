//! What each folder is to hold, and for how long: what an event requires follows from the configuration that stood, what
//! may be deleted from the retention, and neither from what the receipt says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use hookbox_core::limits::KEEP_AFTER_END;
use hookbox_core::time::Timestamp;

use super::provider::receipt;
use super::table::{Change, Item, is_job};
use super::world::{Connection, World};

/// For how long ingest may use a configuration that it has read.
const CONFIGURATION_AGE: Duration = Duration::from_secs(10);
/// No step takes longer: a change is seen at the end of its step at the latest.
const STEP: Duration = Duration::from_secs(15 * 60);

/// What a folder is to hold.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    connection: Connection,
    received_at: Timestamp,
    /// What the configuration required when the event arrived; one job each.
    operations: Vec<String>,
    /// Where something was kept: the end of the last job, and the time to look once more.
    kept_until: Option<Timestamp>,
    /// Whether the payload has expired.
    spent: bool,
}

impl World {
    /// G1: a receipt names what the configuration required.
    pub(super) fn begin_life(&self, pk: &str, head: &Item, place: &str) {
        let connection = Connection::ALL.into_iter().find(|known| known.provider().as_str() == head.text("provider"));
        let Some(connection) = connection else {
            return self.report("G1", format!("{place} is of no connection"));
        };
        let received_at = Timestamp::from_millis(head.number("received_at").unwrap_or_default());
        if received_at > self.now() || self.now().since(received_at) > STEP {
            self.report(
                "G9",
                format!("{place} was received at {received_at}, by its receipt, and now is {}", self.now()),
            );
        }
        let mut named: Vec<_> = head.list("operations").iter().filter_map(|name| name["S"].as_str()).collect();
        named.sort_unstable();
        let configuration = format!("integration#{}#{}", connection.provider(), connection.account());
        let rev = head.number("config_rev").unwrap_or_default();
        let since = earlier(received_at, CONFIGURATION_AGE);
        let required = self.configured.lock().unwrap().operations(&configuration, rev, since);
        if required.as_ref().is_none_or(|required| *required != named) {
            self.report("G1", format!("{place} requires {named:?}, and revision {rev} {required:?}"));
        }
        let operations = required.unwrap_or_default();
        let life = Life { connection, received_at, operations, kept_until: None, spent: false };
        self.watch.lock().unwrap().lives.insert(pk.to_owned(), life);
    }

    /// What waits for a person or is opened again is kept, and after its end for a while more.
    pub(super) fn look_at_state(&self, pk: &str, old: &Item, new: &Item) {
        let mut watch = self.watch.lock().unwrap();
        let Some(life) = watch.lives.get_mut(pk) else { return };
        let waits = matches!(new.text("status"), "held" | "review");
        let ends = new.has_ended() && !old.has_ended();
        if waits || old.has_ended() && !new.has_ended() || ends && life.kept_until.is_some() {
            life.kept_until = Some(earlier(self.now(), STEP).plus(KEEP_AFTER_END));
        }
    }

    /// The sweeper keeps what has been open for long.
    pub(super) fn look_at_head(&self, pk: &str, old: &Item, new: &Item) {
        let mut watch = self.watch.lock().unwrap();
        let Some(life) = watch.lives.get_mut(pk) else { return };
        if old.number("expires_at").is_some() && new.number("expires_at").is_none() && life.kept_until.is_none() {
            life.kept_until = Some(earlier(self.now(), STEP).plus(KEEP_AFTER_END));
        }
    }

    /// G9: nothing is deleted before its time.
    pub(super) fn look_at_expiry(&self, change: &Change, place: &str) {
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
            watch.acknowledged.remove(&change.pk);
            watch.contents.retain(|(connection, id), _| receipt(*connection, *id).to_string() != change.pk);
        }
        let Some(life) = watch.lives.get_mut(&change.pk) else { return };
        let of_payload = change.sk.starts_with("payload#");
        life.spent |= of_payload;
        let retention = life.connection.retention();
        let retention = if of_payload { retention.payload } else { retention.receipt };
        let until = life.kept_until.max(Some(life.received_at.plus(retention)));
        drop(watch);
        if until.is_some_and(|until| self.now() < until) {
            self.report("G9", format!("{place} was deleted at {}, before {until:?}", self.now()));
        }
    }

    /// G1, G2 and G9: each event that was acknowledged has one whole folder until that has expired, each folder is of an
    /// event that was delivered, and there is no other.
    pub(super) fn look_at_receipts(&self) {
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
        let acknowledged = self.watch.lock().unwrap().acknowledged.clone();
        for pk in acknowledged {
            if let Some(missing) = self.missing(&pk, &copy.folder(&pk)) {
                self.report("G2", format!("{pk} was acknowledged and has no {missing} at rest"));
            }
        }
        for (pk, folder) in copy.events() {
            let duplicates = folder.get("head").and_then(|head| head.number("duplicate_count")).unwrap_or_default();
            match events.get(pk) {
                None => self.report("G1", format!("nobody delivered {pk}")),
                Some(1) if duplicates > 0 => {
                    self.report("G2", format!("{pk} was delivered once and counts duplicates"));
                }
                Some(_) => {}
            }
            if let Some(missing) = self.missing(pk, folder) {
                self.report("G1", format!("{pk} has no {missing} at rest"));
            }
        }
    }

    /// What a folder lacks of what one transaction writes, or has beyond it; without the payload when that has expired.
    pub(super) fn missing(&self, pk: &str, folder: &BTreeMap<String, Item>) -> Option<String> {
        let watch = self.watch.lock().unwrap();
        let (Some(head), Some(life)) = (folder.get("head"), watch.lives.get(pk)) else {
            return Some("receipt".to_owned());
        };
        let required: Vec<_> = life.operations.iter().map(|name| format!("job#{name}#v0001")).collect();
        let lost = required.iter().find(|job| !folder.contains_key(*job)).cloned();
        let beyond = folder.keys().find(|sk| is_job(sk) && !required.contains(sk));
        let beyond = beyond.map(|job| format!("reason for {job}"));
        let chunks = usize::try_from(head.number("chunks").unwrap_or_default()).unwrap_or_default();
        let stored = folder.keys().filter(|sk| sk.starts_with("payload#")).count();
        let payload = (!life.spent && (chunks == 0 || stored != chunks)).then(|| "payload".to_owned());
        lost.or(beyond).or(payload)
    }
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    Timestamp::from_millis(at.as_millis() - i64::try_from(by.as_millis()).unwrap())
}
