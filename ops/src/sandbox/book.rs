//! What the sandbox remembers: every call and every effect by its idempotency key.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::behaviour::Behaviour;

/// Calls and effects so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Book {
    /// Calls whose signature was right.
    calls: u64,
    /// Effects that happened.
    effects: u64,
    /// Calls that were turned away: unsigned, wrongly signed or without a key.
    refused: u64,
    by_key: BTreeMap<String, Entry>,
}

/// What is known of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// How often it was called.
    pub calls: u64,
    /// How often the effect happened: never twice.
    pub effects: u64,
    /// The provider's event that the last call was about.
    pub event_id: Option<String>,
}

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status; `None` hangs up without any.
    pub status: Option<u16>,
    /// What became of the effect.
    pub effect: Effect,
    /// How long the answer waits.
    pub wait: Duration,
    /// Which call of this key it is, from 1.
    pub call: u64,
}

/// What became of the effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It happened now.
    Done,
    /// It had happened before under this key.
    AlreadyDone,
    /// It did not happen.
    None,
}

impl Effect {
    /// The effect as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "effect",
            Self::AlreadyDone => "already done",
            Self::None => "no effect",
        }
    }
}

impl Book {
    /// A call with this key.
    pub fn call(&mut self, key: &str, event_id: Option<&str>, behaviour: Behaviour) -> Reply {
        self.calls += 1;
        let entry = self.by_key.entry(key.to_owned()).or_default();
        entry.calls += 1;
        entry.event_id = event_id.map(str::to_owned).or_else(|| entry.event_id.take());
        let call = entry.calls;
        let works = match behaviour {
            Behaviour::Works | Behaviour::Slow { .. } | Behaviour::Drops => true,
            Behaviour::Fails { times } => call > times,
            Behaviour::Down | Behaviour::Broken | Behaviour::Unauthorized => false,
        };
        let effect = match (works, entry.effects) {
            (false, _) => Effect::None,
            (true, 0) => Effect::Done,
            (true, _) => Effect::AlreadyDone,
        };
        if effect == Effect::Done {
            entry.effects += 1;
            self.effects += 1;
        }
        let status = match behaviour {
            Behaviour::Drops if call == 1 => None,
            Behaviour::Works | Behaviour::Slow { .. } | Behaviour::Drops => Some(200),
            Behaviour::Fails { .. } if works => Some(200),
            Behaviour::Fails { .. } | Behaviour::Down => Some(503),
            Behaviour::Broken => Some(400),
            Behaviour::Unauthorized => Some(401),
        };
        let wait = if let Behaviour::Slow { after } = behaviour { after } else { Duration::ZERO };
        Reply { status, effect, wait, call }
    }

    /// A call that was turned away.
    pub fn refuse(&mut self) {
        self.refused += 1;
    }

    /// What is known of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.by_key.get(key)
    }

    /// Calls, effects and calls that were turned away.
    pub fn totals(&self) -> (u64, u64, u64) {
        (self.calls, self.effects, self.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(behaviour: Behaviour, calls: usize) -> (Vec<Option<u16>>, u64) {
        let mut book = Book::default();
        let statuses = (0..calls).map(|_| book.call("k", Some("evt"), behaviour).status).collect();
        assert_eq!(book.totals().0, u64::try_from(calls).unwrap());
        (statuses, book.totals().1)
    }

    #[test]
    fn each_behaviour_answers_as_documented_and_no_effect_happens_twice() {
        let slow = Behaviour::Slow { after: Duration::from_secs(5) };
        assert_eq!(statuses(Behaviour::Works, 3), (vec![Some(200); 3], 1));
        assert_eq!(statuses(slow, 2), (vec![Some(200); 2], 1));
        assert_eq!(statuses(Behaviour::Down, 3), (vec![Some(503); 3], 0));
        assert_eq!(statuses(Behaviour::Broken, 2), (vec![Some(400); 2], 0));
        assert_eq!(statuses(Behaviour::Unauthorized, 2), (vec![Some(401); 2], 0));
        let fails = Behaviour::Fails { times: 2 };
        assert_eq!(statuses(fails, 4), (vec![Some(503), Some(503), Some(200), Some(200)], 1));
        assert_eq!(statuses(Behaviour::Drops, 2), (vec![None, Some(200)], 1));
    }

    #[test]
    fn keys_are_counted_apart() {
        let mut book = Book::default();
        book.call("a", Some("evt_1"), Behaviour::Works);
        book.call("a", None, Behaviour::Works);
        let reply = book.call("b", None, Behaviour::Drops);
        assert_eq!(reply, Reply { status: None, effect: Effect::Done, wait: Duration::ZERO, call: 1 });
        assert_eq!(book.entry("a"), Some(&Entry { calls: 2, effects: 1, event_id: Some("evt_1".into()) }));
        assert_eq!(book.totals(), (3, 2, 0));
    }
}
