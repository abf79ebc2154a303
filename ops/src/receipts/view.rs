//! A folder for people.

use std::io;
use std::time::Duration;

use hookbox_core::job::{Attempt, AttemptOutcome, Job, Mode, State, Status};
use hookbox_core::limits::MAX_CONFLICTS;
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Listing, Loaded, Pause};

use super::json;
use crate::layout::{Cell, Columns, count};
use crate::pauses::resume_command;
use crate::terminal::{Terminal, Tone};

pub(super) fn show(loaded: &Loaded, pauses: &Listing<Pause>, terminal: &mut Terminal) -> io::Result<()> {
    title("Receipt", &loaded.id.to_string(), terminal)?;
    match &loaded.receipt {
        Some(receipt) => {
            print(&facts(receipt, terminal), terminal)?;
            deliveries(receipt, terminal)?;
            conflicts(receipt, terminal)?;
        }
        None => terminal.say("  the receipt itself is gone or unreadable, what follows is left of its folder")?,
    }
    for job in &loaded.jobs {
        show_job(job, pauses, terminal)?;
    }
    if loaded.jobs.is_empty() {
        terminal.say("\nNo jobs")?;
    }
    audit(loaded, terminal)?;
    for item in &loaded.unreadable {
        let line = terminal.paint(Tone::Bad, format!("unreadable: {}", item.error));
        terminal.say(line)?;
    }
    Ok(())
}

/// One job, the event that requires it, and what people decided about it.
pub(super) fn show_sheet(
    job: &Job,
    loaded: &Loaded,
    pauses: &Listing<Pause>,
    terminal: &mut Terminal,
) -> io::Result<()> {
    let of = |cell: &str, value: String| [Cell::new(Tone::Quiet, cell), value.into()];
    title("Event", &format!("{} of {}/{}", job.kind, job.provider, job.account), terminal)?;
    let mut facts = Columns::indented(2);
    facts.row(of("receipt", job.key.receipt.to_string()));
    if let Some(resource) = &job.resource {
        facts.row(of("resource", resource.clone()));
    }
    facts.row(of("received", terminal.time(job.received_at)));
    print(&facts, terminal)?;
    show_job(job, pauses, terminal)?;
    audit(loaded, terminal)
}

fn title(what: &str, rest: &str, terminal: &mut Terminal) -> io::Result<()> {
    let what = terminal.paint(Tone::Heading, what);
    terminal.say(format_args!("{what}  {rest}"))
}

fn print(columns: &Columns, terminal: &mut Terminal) -> io::Result<()> {
    for line in columns.lines(terminal) {
        terminal.say(line)?;
    }
    Ok(())
}

fn facts(receipt: &Receipt, terminal: &Terminal) -> Columns {
    let mut facts = Columns::indented(2);
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.row([Cell::new(Tone::Quiet, name), value.into()]);
        }
    };
    fact("provider", Some(receipt.provider.to_string()));
    fact("account", Some(receipt.account.to_string()));
    fact("tenant", receipt.tenant.clone());
    fact("event", receipt.event_id.clone());
    fact("kind", Some(receipt.kind.clone()));
    fact("resource", receipt.resource.clone());
    fact("version", receipt.event_version.clone());
    fact("occurred", receipt.occurred_at.map(|at| terminal.time(at)));
    fact("received", Some(terminal.time(receipt.received_at)));
    let (state, reason) = json::state(&receipt.disposition);
    fact("state", Some(reason.map_or_else(|| state.to_owned(), |reason| format!("{state}: {reason}"))));
    fact("erased", receipt.erased_at.map(|at| terminal.time(at)));
    fact(
        "identity",
        receipt
            .window
            .map(|window| format!("weak: believed for {} after its arrival", humantime::format_duration(window.0))),
    );
    fact("content", Some(receipt.event_digest.to_string()));
    fact("config", Some(format!("rev {}", receipt.config_rev)));
    fact(
        "expires",
        Some(match receipt.expires_at {
            Some(at) => terminal.time(Timestamp::from_seconds(at.get())),
            None => "not while a job needs it".to_owned(),
        }),
    );
    facts
}

fn deliveries(receipt: &Receipt, terminal: &mut Terminal) -> io::Result<()> {
    let duplicates = receipt.duplicate_count;
    let last = receipt.last_duplicate_at.map(|at| format!(", the last at {}", terminal.time(at)));
    // A conflict is counted as a further delivery too, and is described while there is room.
    let conflicts = receipt.conflicts.len();
    let further = match (duplicates, conflicts) {
        (0, _) => "no duplicates".to_owned(),
        (_, 0) => count(duplicates, "duplicate"),
        (_, MAX_CONFLICTS..) => format!("{duplicates} further, at least {conflicts} of them conflicts"),
        (_, _) => {
            let conflicts = conflicts as u64;
            format!("{}, {}", count(duplicates.saturating_sub(conflicts), "duplicate"), count(conflicts, "conflict"))
        }
    };
    let summary = format!("{}: the first, {further}{}", duplicates + 1, last.unwrap_or_default());
    terminal.say("")?;
    title("Deliveries", &summary, terminal)?;
    let mut columns = Columns::indented(2).headed(["AT", "SECRET", "REQUEST", "DIGEST"]);
    let mut above = None;
    for arrival in &receipt.arrivals {
        let digest = if above == Some(arrival.digest) {
            Cell::new(Tone::Quiet, "same")
        } else {
            arrival.digest.to_string().into()
        };
        above = Some(arrival.digest);
        columns.row([
            terminal.time(arrival.at).into(),
            arrival.secret_index.to_string().into(),
            request(&arrival.request_id).into(),
            digest,
        ]);
    }
    print(&columns, terminal)?;
    let shown = (receipt.arrivals.len() + receipt.conflicts.len()) as u64;
    let more = (duplicates + 1).saturating_sub(shown);
    if more > 0 { terminal.say(format_args!("  {more} more, counted only")) } else { Ok(()) }
}

/// The id of a request; an erased receipt has none.
fn request(id: &str) -> &str {
    if id.is_empty() { "-" } else { id }
}

fn conflicts(receipt: &Receipt, terminal: &mut Terminal) -> io::Result<()> {
    if receipt.conflicts.is_empty() {
        return Ok(());
    }
    let summary = "the same key with another content: recorded, and nothing else was done about them";
    terminal.say("")?;
    let what = terminal.paint(Tone::Bad, "Conflicts");
    terminal.say(format_args!("{what}  {summary}"))?;
    let mut columns = Columns::indented(2).headed(["AT", "REQUEST", "CONTENT"]);
    columns.row([
        Cell::new(Tone::Quiet, terminal.time(receipt.received_at)),
        Cell::new(Tone::Quiet, "(the receipt)"),
        Cell::new(Tone::Quiet, receipt.event_digest.to_string()),
    ]);
    for conflict in &receipt.conflicts {
        columns.row([
            terminal.time(conflict.at).into(),
            request(&conflict.request_id).into(),
            Cell::new(Tone::Bad, conflict.event_digest.to_string()),
        ]);
    }
    print(&columns, terminal)
}

fn show_job(job: &Job, pauses: &Listing<Pause>, terminal: &mut Terminal) -> io::Result<()> {
    terminal.say("")?;
    let status = terminal.paint(tone(job.status()), job.status().as_str());
    let since = match job.state {
        State::Pending if job.round == 1 && job.key.version == 1 => " since its event arrived".to_owned(),
        State::Pending => ": a person asked for it".to_owned(),
        State::Held => match pauses.of_operation(&job.key.operation) {
            Ok(Some(pause)) => format!(": its operation is paused since {}", terminal.time(pause.at)),
            Ok(None) => ": its operation is resumed, and the sweeper releases it within minutes".to_owned(),
            Err(why) => format!(": its operation is paused, and this version cannot read the pause: {why}"),
        },
        State::Processing { lease_expires_at } => format!(", leased until {}", terminal.time(lease_expires_at)),
        State::Retrying { next_attempt_at } => format!(", next attempt at {}", terminal.time(next_attempt_at)),
        State::Review { reason } => format!(": {}", reason.as_str()),
        State::Completed { at } => format!(" at {}", terminal.time(at)),
        State::Dismissed { at, reason } => {
            let reason = reason.as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("{reason} at {}", terminal.time(at))
        }
    };
    title("Job", &format!("{}  {status}{since}", json::name(&job.key)), terminal)?;
    let mut facts = Columns::indented(2);
    let mut fact = |name: &str, value: String| facts.row([Cell::new(Tone::Quiet, name), value.into()]);
    fact("key", job.key.to_string());
    let round = if job.round > 1 { format!(" (round {})", job.round) } else { String::new() };
    fact("attempts", format!("{}{round}", job.attempts_total));
    if let (State::Held, Ok(Some(pause))) = (&job.state, pauses.of_operation(&job.key.operation)) {
        fact("paused", pause.reason.to_string());
        fact("resume", resume_command(pause));
    }
    if let Some(at) = job.erased_at {
        fact("erased", terminal.time(at));
    }
    if job.wakes > 0 {
        fact("wakes", format!("{} since the last claim", job.wakes));
    }
    if job.uncertain.is_some() {
        fact("uncertain", "an attempt may have had its effect, and nobody knows".to_owned());
    }
    if let Some(error) = &job.last_error {
        let detail = error.detail.as_str();
        let said = if detail.is_empty() { error.code.to_string() } else { format!("{}: {detail}", error.code) };
        fact("last error", said);
    }
    print(&facts, terminal)?;
    attempts(job, terminal)
}

fn attempts(job: &Job, terminal: &mut Terminal) -> io::Result<()> {
    if job.attempts.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::indented(2).headed(["#", "AT", "OUTCOME", "CODE", "TOOK", "REPEATABLE", "CONFIG"]);
    for (number, attempt) in job.attempts.iter().enumerate() {
        let (outcome, code, took) = result(attempt);
        let repeatable = match attempt.mode {
            Mode::Key { until } => format!("by key until {}", terminal.time(until)),
            Mode::Reconcile => "after asking".to_owned(),
            Mode::None => "no".to_owned(),
        };
        columns.row([
            (number + 1).to_string().into(),
            terminal.time(attempt.at).into(),
            outcome,
            code.into(),
            took.into(),
            repeatable.into(),
            format!("rev {}", attempt.config_rev).into(),
        ]);
    }
    print(&columns, terminal)
}

fn result(attempt: &Attempt) -> (Cell, String, String) {
    let Some(result) = &attempt.result else {
        return (Cell::new(Tone::Busy, "running"), "-".to_owned(), "-".to_owned());
    };
    let tone = match result.outcome {
        AttemptOutcome::Done => Tone::Good,
        AttemptOutcome::Transient => Tone::Busy,
        AttemptOutcome::Uncertain | AttemptOutcome::Permanent => Tone::Bad,
    };
    (Cell::new(tone, json::outcome(result.outcome)), result.code.to_string(), took(result.took))
}

fn took(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 10_000 { format!("{millis} ms") } else { format!("{} s", duration.as_secs()) }
}

fn audit(loaded: &Loaded, terminal: &mut Terminal) -> io::Result<()> {
    if loaded.audit.is_empty() {
        return Ok(());
    }
    terminal.say("")?;
    title("Audit", "what people did", terminal)?;
    let mut columns = Columns::indented(2).headed(["AT", "WHO", "WHAT", "ON", "CHANGE", "WHY"]);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    for deed in &loaded.audit {
        let change = match (&deed.before, &deed.after) {
            (None, None) => "-".to_owned(),
            (before, after) => format!("{} → {}", or_dash(before), or_dash(after)),
        };
        columns.row([
            terminal.time(deed.at).into(),
            deed.who.clone().into(),
            deed.bulk.as_ref().map_or_else(|| deed.what.clone(), |bulk| format!("{} ({bulk})", deed.what)).into(),
            or_dash(&deed.on).into(),
            change.into(),
            or_dash(&deed.why).into(),
        ]);
    }
    print(&columns, terminal)
}

/// The colour of a status.
pub(crate) fn tone(status: Status) -> Tone {
    match status {
        Status::Completed => Tone::Good,
        Status::Pending | Status::Processing | Status::Retrying => Tone::Busy,
        Status::Held | Status::Review => Tone::Bad,
        Status::Dismissed => Tone::Quiet,
    }
}
