//! What would be sent, without sending it.

use std::io;

use serde::Serialize;

use super::{Draft, Signer};
use crate::failure::Failure;
use crate::layout::{Cell, Columns, count};
use crate::terminal::{Format, Terminal, Tone};

/// The most characters of a body that people are shown.
const ROOM: usize = 2_000;

/// What would be sent.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// `dry-run`.
    state: &'static str,
    url: String,
    /// How often.
    times: u32,
    event_id: String,
    /// Without those that sign.
    headers: Vec<(String, String)>,
    body: String,
    /// The receipts that it would come to, where its identity alone says so.
    receipts: Vec<String>,
}

impl Preview {
    /// Of this delivery. It is signed, so that what would keep it from being sent is found.
    pub fn of(signer: &Signer, draft: &Draft, times: u32) -> Result<Self, Failure> {
        signer.sign(draft)?;
        Ok(Self {
            state: "dry-run",
            url: signer.shown_url(),
            times,
            event_id: draft.event_id.clone(),
            headers: draft.headers.clone(),
            body: String::from_utf8_lossy(&draft.body).into_owned(),
            receipts: signer.expected(draft).iter().map(ToString::to_string).collect(),
        })
    }

    /// Shows it.
    pub fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_json(self);
        }
        let times = if self.times == 1 { "1 delivery".to_owned() } else { format!("{} deliveries", self.times) };
        terminal.say(format_args!("would send {times} to {}, signed", self.url))?;
        let mut facts = Columns::indented(2);
        let mut fact = |name: &str, value: String| facts.row([Cell::new(Tone::Quiet, name), value.into()]);
        fact("event", self.event_id.clone());
        for (name, value) in &self.headers {
            fact("header", format!("{name}: {value}"));
        }
        fact("body", count(self.body.len() as u64, "byte"));
        fact("", self.body.chars().take(ROOM).collect());
        for line in facts.lines(terminal) {
            terminal.say(line)?;
        }
        for receipt in &self.receipts {
            terminal.say(format_args!("hookbox receipts show {receipt}"))?;
        }
        Ok(())
    }
}
