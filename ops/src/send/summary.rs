//! What the answers to a number of deliveries come to.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use hookbox_core::key::ReceiptId;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Answer, Failure, Trouble};
use crate::layout::{Cell, Columns};
use crate::terminal::{Terminal, Tone};

/// What came of one delivery.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// The answer's body: JSON where it is, or else text.
    pub body: Value,
    /// Why there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    #[serde(rename = "ms", serialize_with = "millis")]
    pub took: Duration,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    sent: usize,
    answers: Vec<Outcome>,
    receipts: Vec<String>,
    created: usize,
    duplicates: usize,
    conflicts: usize,
    refused: usize,
    unanswered: usize,
}

fn millis<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}

impl Outcome {
    fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// State and receipt of every event that the answer speaks of. A provider's own acknowledgement speaks of none.
    fn events(&self) -> Vec<(&str, &str)> {
        fn one(value: &Value) -> Option<(&str, &str)> {
            Some((value.get("state")?.as_str()?, value.get("receiptId")?.as_str()?))
        }
        match self.body.get("receipts").and_then(Value::as_array) {
            Some(list) => list.iter().filter_map(one).collect(),
            None => one(&self.body).into_iter().collect(),
        }
    }

    /// The answer in a few words.
    fn says(&self) -> String {
        if let Some(error) = &self.error {
            return error.clone();
        }
        let events = self.events();
        match events.as_slice() {
            [] => match &self.body {
                Value::Object(fields) => fields.get("error").and_then(Value::as_str).unwrap_or("-").to_owned(),
                _ => "-".to_owned(),
            },
            [(state, _)] => (*state).to_owned(),
            many => {
                let mut states = BTreeMap::new();
                for (state, _) in many {
                    *states.entry(*state).or_insert(0) += 1;
                }
                states.iter().map(|(state, number)| format!("{number} {state}")).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl Summary {
    /// From the answers in the order of sending. `expected` are the receipts to name when no answer names any.
    pub fn new(answers: Vec<Outcome>, expected: &[ReceiptId]) -> Self {
        let events = || answers.iter().filter(|outcome| outcome.is_success()).flat_map(Outcome::events);
        let of = |states: &[&str]| events().filter(|(state, _)| states.contains(state)).count();
        let mut receipts: Vec<String> = Vec::new();
        for (_, receipt) in events() {
            if !receipts.iter().any(|known| known == receipt) {
                receipts.push(receipt.to_owned());
            }
        }
        if receipts.is_empty() && answers.iter().any(Outcome::is_success) {
            receipts = expected.iter().map(ToString::to_string).collect();
        }
        let unanswered = answers.iter().filter(|outcome| outcome.status.is_none()).count();
        Self {
            sent: answers.len(),
            created: of(&["created", "ignored", "rejected"]),
            duplicates: of(&["duplicate"]),
            conflicts: of(&["conflict"]),
            refused: answers.iter().filter(|outcome| !outcome.is_success()).count() - unanswered,
            unanswered,
            receipts,
            answers,
        }
    }

    /// The statuses of all answers, each once.
    pub fn statuses(&self) -> BTreeSet<u16> {
        self.answers.iter().filter_map(|outcome| outcome.status).collect()
    }

    /// Shows the answers, equal ones together, and what they come to.
    pub fn show(&self, url: &str, terminal: &mut Terminal) -> io::Result<()> {
        let deliveries = if self.sent == 1 { "1 delivery".to_owned() } else { format!("{} deliveries", self.sent) };
        terminal.say(format_args!("sent {deliveries} to {url}"))?;
        let mut groups: BTreeMap<(Option<u16>, String), Vec<Duration>> = BTreeMap::new();
        for outcome in &self.answers {
            groups.entry((outcome.status, outcome.says())).or_default().push(outcome.took);
        }
        let mut columns = Columns::indented(2).headed(["STATUS", "COUNT", "FASTEST", "SLOWEST", "ANSWER"]);
        for ((status, says), times) in groups {
            let good = status.is_some_and(|status| (200..300).contains(&status));
            let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            let ms = |time: Option<&Duration>| format!("{} ms", time.map_or(0, Duration::as_millis));
            columns.row([
                Cell::new(if good { Tone::Good } else { Tone::Bad }, status),
                times.len().to_string().into(),
                ms(times.iter().min()).into(),
                ms(times.iter().max()).into(),
                says.into(),
            ]);
        }
        for line in columns.lines(terminal) {
            terminal.say(line)?;
        }
        for receipt in &self.receipts {
            terminal.say(format_args!("hookbox receipts show {receipt}"))?;
        }
        Ok(())
    }

    /// Whether every delivery was accepted. When none was answered at all, nothing is known.
    pub fn answer(&self, url: &str) -> Result<Answer, Failure> {
        if self.unanswered == self.sent && self.sent > 0 {
            let why = self.answers.first().and_then(|outcome| outcome.error.as_deref()).unwrap_or("no answer");
            let trouble = Trouble::new(format!("reach {url}"), why);
            return Err(Failure::CouldNotLook(trouble.advise("the stack's output `ApiUrl`: --url or HOOKBOX_URL")));
        }
        Ok(if self.refused + self.unanswered == 0 { Answer::Yes } else { Answer::No })
    }
}
