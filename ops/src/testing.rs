#![allow(clippy::unwrap_used, clippy::expect_used)]
//! What the tests of this crate share: a terminal that remembers what was written to it.

use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use crate::terminal::{Format, Terminal};

/// What a command wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    out: Shared,
    notes: Shared,
}

#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A terminal with nobody at it.
pub(crate) fn terminal(format: Format) -> (Terminal, Captured) {
    let captured = Captured::default();
    (captured.terminal(format, None), captured)
}

impl Captured {
    /// A terminal with somebody who types `answer`.
    pub(crate) fn answering(answer: &str) -> (Terminal, Self) {
        let captured = Self::default();
        (captured.terminal(Format::Table, Some(answer)), captured)
    }

    fn terminal(&self, format: Format, answer: Option<&str>) -> Terminal {
        let answers = answer.map(|text| Box::new(Cursor::new(text.to_owned())) as Box<dyn io::BufRead + Send>);
        Terminal::of(Box::new(self.out.clone()), Box::new(self.notes.clone()), answers, format)
    }

    /// What went to standard output.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// What went to standard error.
    pub(crate) fn notes(&self) -> String {
        self.notes.text()
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out()).unwrap()
    }
}
