//! What must be true of every answer to a provider.

use std::collections::BTreeSet;

use hookbox_core::limits::MAX_CONFLICTS;

use super::provider::{Answer, Delivery, INVOCATION, receipt};
use super::world::World;

impl World {
    /// Of every answer: G2, G7 and G8.
    ///
    /// `stored` are the events that had a receipt before.
    pub(super) fn look_at_answer(&self, delivery: &Delivery, stored: &BTreeSet<u32>, answer: Option<&Answer>) {
        let acknowledged = answer.is_some_and(|answer| answer.status < 300);
        for (place, event) in delivery.events.iter().enumerate() {
            let pk = receipt(delivery.connection, event.id).to_string();
            let folder = self.copy.lock().unwrap().folder(&pk);
            if let Some(missing) = self.missing(&pk, &folder).filter(|_| acknowledged || !folder.is_empty()) {
                self.report("G2", format!("event {} has no {missing}; the answer was {answer:?}", event.id));
            }
            let state = answer.and_then(|answer| answer.states.get(place)).filter(|_| acknowledged);
            if state.is_some_and(|state| state == "created") && stored.contains(&event.id) {
                self.report("G1", format!("event {} is created a second time", event.id));
            }
            if acknowledged {
                self.watch.lock().unwrap().acknowledged.insert(pk);
            }
        }
        let Some(answer) = answer else { return };
        // A signature grows old while an invocation hangs that would have been ended.
        let in_time = self.now().since(answer.begun) <= INVOCATION;
        if (300..500).contains(&answer.status) && in_time {
            self.report("G2", format!("a valid delivery was refused: {answer:?}"));
        }
        if let Some(secret) = self.secret_in(&answer.text) {
            self.report("G8", format!("{secret} in an answer: {}", answer.text));
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
                let at = |conflict: &serde_json::Value| conflict["M"]["at"]["N"].as_str().map(str::to_owned);
                let begun = Some(answer.begun.as_millis().to_string());
                let described = conflicts.len() >= MAX_CONFLICTS || conflicts.iter().any(|noted| at(noted) == begun);
                if !described || conflicts.iter().any(|conflict| digest(conflict) == own) {
                    self.report("G7", format!("the conflict of event {} is not on its receipt", event.id));
                }
            }
        }
    }
}
