//! Errors in one line.

use std::error::Error;

/// The error and what caused it, outermost first, each said once. A log line of the error alone would keep the causes to
/// itself.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
