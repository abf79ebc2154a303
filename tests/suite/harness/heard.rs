//! What the functions log, at the level at which they say most.
//!
//! A subscriber costs more than a history, so each thread keeps one; what it hears is handed to the world that is played.

use std::io;
use std::sync::{Arc, Mutex};

use hookbox_runtime::telemetry;
use tracing::Dispatch;
use tracing::dispatcher::{DefaultGuard, set_default};

/// The lines of one world.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<u8>>>);

/// Where the lines of this thread go.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Heard>>);

thread_local! {
    static LISTENER: (Dispatch, Ear) = {
        let ear = Ear::default();
        let writer = ear.clone();
        (Dispatch::new(telemetry::subscriber(Some("debug"), move || writer.clone())), ear)
    };
}

impl Heard {
    /// Hears what is logged on this thread until the guard is dropped.
    pub(crate) fn listen(&self) -> DefaultGuard {
        LISTENER.with(|(dispatch, ear)| {
            *ear.0.lock().unwrap() = self.clone();
            set_default(dispatch)
        })
    }

    /// Everything that was heard.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
