//! One operation, from what the file says to what the core knows.

use std::ops::Range;
use std::time::Duration;

use hookbox_core::integration::{Idempotency, Operation, Target};
use hookbox_core::limits::{DEFAULT_KEY_RETENTION, DEFAULT_OPERATION_TIMEOUT};
use hookbox_core::retry::Schedule;
use toml::Spanned;

use super::source::Problem;
use super::spelling::misspelt;
use super::wire::{OperationTable, Period};

/// The types that every worker knows.
const BUILT_IN: [&str; 2] = ["http", "sqs"];
/// A good name for an operation of one's own, one letter from `sqs`.
const NO_SLIP: &str = "sns";

/// The operation, or `None` when a problem was found.
pub fn operation(table: &OperationTable, problems: &mut Vec<Problem>) -> Option<Operation> {
    let target = target(table, problems);
    let idempotency = idempotency(table, problems);
    let timeout = whole_seconds(table.timeout.as_ref(), DEFAULT_OPERATION_TIMEOUT, problems);
    let schedule = schedule(table, problems);
    Some(Operation {
        name: table.name.get_ref().clone(),
        kinds: kinds(table, problems),
        timeout,
        schedule: schedule?,
        idempotency: idempotency?,
        target: target?,
    })
}

/// Kinds are compared as they are. A pattern would match nothing, and every event would be recorded without its job.
fn kinds(table: &OperationTable, problems: &mut Vec<Problem>) -> Vec<String> {
    for kind in &table.kinds {
        let text = kind.get_ref();
        if text.contains(['*', '?']) {
            let says = format!("`{text}` is a pattern, and kinds are exact: it would never match");
            problems
                .push(Problem::new(kind.span(), says).write("every kind by its name, or no `kinds` for all of them"));
        } else if text.trim() != text || text.is_empty() {
            let says = format!("`{text}` is the name of no kind: it would never match");
            problems.push(Problem::new(kind.span(), says).write("the kind as the provider writes it"));
        }
    }
    table.kinds.iter().map(|kind| kind.get_ref().clone()).collect()
}

/// The table keeps seconds: anything finer would silently be cut.
pub fn whole_seconds(stated: Option<&Spanned<Period>>, default: Duration, problems: &mut Vec<Problem>) -> Duration {
    let Some(stated) = stated else { return default };
    let duration = stated.get_ref().0;
    if duration.subsec_nanos() != 0 {
        let says = "this duration is kept in whole seconds";
        problems.push(Problem::new(stated.span(), says).write("a duration without fractions of a second"));
    }
    duration
}

fn schedule(table: &OperationTable, problems: &mut Vec<Problem>) -> Option<Schedule> {
    let Some(delays) = &table.schedule else { return Some(Schedule::default()) };
    match Schedule::new(delays.get_ref().iter().map(|delay| delay.0).collect()) {
        Ok(schedule) => Some(schedule),
        Err(invalid) => {
            problems.push(Problem::new(delays.span(), invalid.to_string()));
            None
        }
    }
}

fn target(table: &OperationTable, problems: &mut Vec<Problem>) -> Option<Target> {
    let kind = table.target.get_ref().as_str();
    if let Some(meant) = misspelt(kind, &BUILT_IN).filter(|_| kind != NO_SLIP) {
        let says = format!("`{kind}` is no type of operation, and too close to `{meant}` for a name of your own");
        problems.push(Problem::new(table.target.span(), says).write(format!("type = \"{meant}\"")));
        return None;
    }
    refuse_foreign_keys(table, kind, problems);
    for url in [&table.url, &table.reconcile_url].into_iter().flatten() {
        if carries_credentials(url) {
            let says = "this address carries a user name or a password, and it is not kept as a secret";
            problems.push(Problem::new(url.span(), says).write("the address without it: calls are signed").hide());
        } else if !is_callable(url) {
            let says = "this address cannot be called: its host, its port or a character in it is not valid";
            let write = "https://host.example/path, other characters percent-encoded";
            problems.push(Problem::new(url.span(), says).write(write));
        }
    }
    match kind {
        "http" => {
            let url = required(table, table.url.as_ref(), "url = \"https://…\"", problems);
            let secret =
                required(table, table.signing_secret.as_ref(), "signing_secret = \"ssm:/hookbox/…\"", problems);
            let not_done_statuses = table.not_done_statuses.as_ref().map(|list| list.get_ref().clone());
            Some(Target::Http {
                url: url?,
                signing_secret: secret?,
                not_done_statuses: not_done_statuses.unwrap_or_default(),
            })
        }
        "sqs" => {
            let queue_url = required(table, table.queue_url.as_ref(), "queue_url = \"https://sqs.…\"", problems);
            Some(Target::Sqs { queue_url: queue_url? })
        }
        name => Some(Target::Custom {
            name: name.to_owned(),
            settings: table.settings.as_ref().map(|settings| settings.get_ref().clone()).unwrap_or_default(),
        }),
    }
}

fn required<T: Clone>(
    table: &OperationTable,
    value: Option<&Spanned<T>>,
    example: &str,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    if value.is_none() {
        let key = example.split(' ').next().unwrap_or_default();
        let says = format!("operation `{}` has no `{key}`", table.name.get_ref());
        problems.push(Problem::new(table.name.span(), says).write(example));
    }
    value.map(|value| value.get_ref().clone())
}

/// An address with a password in it would be a secret in the table and in every difference that is shown.
fn carries_credentials(url: &Spanned<String>) -> bool {
    let authority = url.get_ref().split("//").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
    authority.is_some_and(|authority| authority.contains('@'))
}

/// Whether the worker's HTTP client takes the address: one that it does not would send every event to review.
fn is_callable(url: &Spanned<String>) -> bool {
    let filled = url.get_ref().replace(['{', '}'], "");
    filled.parse::<http::Uri>().is_ok_and(|uri| {
        let authority = uri.authority().map_or("", http::uri::Authority::as_str);
        let states_port = authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
        uri.host().is_some_and(|host| !host.is_empty()) && states_port == uri.port().is_some()
    })
}

/// Keys that belong to another type are refused: whoever wrote them believes that they do something.
fn refuse_foreign_keys(table: &OperationTable, kind: &str, problems: &mut Vec<Problem>) {
    let of_types = [
        ("url", "http", table.url.as_ref().map(Spanned::span)),
        ("signing_secret", "http", table.signing_secret.as_ref().map(Spanned::span)),
        ("not_done_statuses", "http", table.not_done_statuses.as_ref().map(Spanned::span)),
        ("queue_url", "sqs", table.queue_url.as_ref().map(Spanned::span)),
    ];
    let built_in = BUILT_IN.contains(&kind);
    for (key, belongs_to, place) in of_types {
        let Some(place) = place.filter(|_| kind != belongs_to) else { continue };
        let says = format!("`{key}` belongs to type = \"{belongs_to}\", and this operation has type = \"{kind}\"");
        let settings = if built_in { "" } else { ", or put it into `settings`" };
        problems.push(Problem::new(place, says).write(format!("type = \"{belongs_to}\", or no `{key}`{settings}")));
    }
    if let (Some(settings), true) = (&table.settings, built_in) {
        let says = format!("`settings` are for an operation of your own, and this one has type = \"{kind}\"");
        problems
            .push(Problem::new(settings.span(), says).write("type = \"the-name-in-your-worker\", or no `settings`"));
    }
}

const IDEMPOTENCIES: &str = r#"one of
  idempotency = "key"        the destination does nothing twice for one Idempotency-Key
                             (key_retention = "24h" says for how long)
  idempotency = "reconcile"  it can be asked whether the effect happened (reconcile_url = "https://…/{job_key}")
  idempotency = "none"       neither: an attempt whose outcome nobody knows goes to a person"#;

fn idempotency(table: &OperationTable, problems: &mut Vec<Problem>) -> Option<Idempotency> {
    let name = table.name.get_ref();
    let Some(stated) = &table.idempotency else {
        let says = format!("operation `{name}` does not state what makes it safe to repeat a call");
        problems.push(Problem::new(table.name.span(), says).write(IDEMPOTENCIES));
        return None;
    };
    let mode = stated.get_ref().as_str();
    let mut belongs = |key: &str, to: &str, place: Option<Range<usize>>| {
        if let Some(place) = place.filter(|_| mode != to) {
            let says = format!("`{key}` belongs to idempotency = \"{to}\"");
            problems.push(Problem::new(place, says).write(format!("idempotency = \"{to}\", or no `{key}`")));
        }
    };
    belongs("key_retention", "key", table.key_retention.as_ref().map(Spanned::span));
    belongs("reconcile_url", "reconcile", table.reconcile_url.as_ref().map(Spanned::span));
    match (mode, &table.reconcile_url) {
        ("key", _) => {
            let retention = whole_seconds(table.key_retention.as_ref(), DEFAULT_KEY_RETENTION, problems);
            Some(Idempotency::Key { retention })
        }
        ("reconcile", Some(url)) => Some(Idempotency::Reconcile { url: url.get_ref().clone() }),
        ("reconcile", None) => {
            let says = format!("operation `{name}` does not say where its destination can be asked");
            problems.push(Problem::new(stated.span(), says).write("reconcile_url = \"https://…/{job_key}\""));
            None
        }
        ("none", _) => Some(Idempotency::None),
        (other, _) => {
            problems.push(Problem::new(stated.span(), format!("`{other}` is no idempotency")).write(IDEMPOTENCIES));
            None
        }
    }
}
