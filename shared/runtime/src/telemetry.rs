//! Logs: one JSON object a line on standard output.

use std::io;

use tracing::{Level, Subscriber};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::environment;

const DEFAULT_FILTER: &str = "info";

/// Begins to log, at the level of `HOOKBOX_LOG`, which is a filter of `tracing` and by default `info`. Does nothing when
/// the process logs already.
pub fn init() {
    let filter = environment::variable("HOOKBOX_LOG");
    let started = subscriber(filter.as_deref(), io::stdout).try_init().is_ok();
    if let (true, Some(filter)) = (started, filter)
        && let Err(error) = EnvFilter::try_new(&filter)
    {
        tracing::warn!(%error, "HOOKBOX_LOG is not a filter, logging at info");
    }
}

/// The subscriber of [`init`] that writes elsewhere. A filter that cannot be read counts as the default: nothing is
/// worth less than a function that does not start because of its logs.
///
/// Below `info` only our own crates are heard, whatever the filter says: at `trace` the Lambda runtime logs whole events
/// and the SDK whole requests.
pub fn subscriber<W>(filter: Option<&str>, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let wanted =
        filter.and_then(|text| EnvFilter::try_new(text).ok()).unwrap_or_else(|| EnvFilter::new(DEFAULT_FILTER));
    let safe = filter_fn(|metadata| metadata.target().starts_with("hookbox") || *metadata.level() <= Level::INFO);
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_ansi(false)
        .with_writer(writer);
    Registry::default().with(lines.with_filter(wanted.and(safe)))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(filter: Option<&str>, speak: impl FnOnce()) -> Vec<Value> {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing::subscriber::with_default(subscriber(filter, move || writer.clone()), speak);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_line_is_one_object_with_its_fields_beside_the_message() {
        let lines = logged(None, || {
            let span = tracing::info_span!("invoke", requestId = "r-1");
            span.in_scope(|| tracing::info!(job = "k", "sent\nand done"));
        });
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["message"], "sent\nand done");
        assert_eq!(line["job"], "k");
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["span"]["requestId"], "r-1");
        assert!(line["timestamp"].is_string());
    }

    #[test]
    fn the_filter_is_heard_and_a_broken_one_is_the_default() {
        let speak = || {
            tracing::debug!("quiet");
            tracing::info!("loud");
        };
        assert_eq!(logged(None, speak).len(), 1);
        assert_eq!(logged(Some("debug"), speak).len(), 2);
        assert_eq!(logged(Some("error"), speak).len(), 0);
        assert_eq!(logged(Some("=!="), speak).len(), 1);
    }

    #[test]
    fn no_filter_makes_other_crates_log_events_and_requests() {
        let lines = logged(Some("trace"), || {
            tracing::trace!(target: "lambda_runtime::requests", body = "payload", "event");
            tracing::debug!(target: "aws_smithy_runtime::client", body = "payload", "request");
            tracing::info!(target: "lambda_runtime", "starting");
        });
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["message"], "starting");
    }
}
