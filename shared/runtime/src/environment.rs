//! The process's environment. Everything that is read from it is read here.

/// The variable's value, or `None` when it is unset, empty or not UTF-8.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
