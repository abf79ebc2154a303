//! What is applied and what waits: integrations, pauses, jobs in review, messages on the queues for people.

use hookbox_core::integration::Integration;
use hookbox_ledger::{ItemError, LedgerError, OpenQuery};

use super::finding::{Finding, Seen, Unseen};
use super::queues::QueuesSeen;
use crate::connection::Table;
use crate::layout::count;
use crate::pauses::{Pauses, Standing, resume_command};
use crate::search::FAR;

/// Jobs in review that are counted at most, in each shard.
const PAGE: u32 = 1_000;

/// What was read of the table's items.
#[derive(Clone, Debug)]
pub struct StandingSeen {
    /// The table's name.
    pub table: String,
    /// What is applied.
    pub applied: Seen<Applied>,
    /// What is paused.
    pub pauses: Seen<Pauses>,
    /// How many jobs wait for a person, and whether there are more.
    pub review: Seen<(u64, bool)>,
}

/// What is applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// The integrations.
    pub integrations: Vec<Integration>,
    /// Those that a newer version of Hookbox has written, and what is broken.
    pub unreadable: Vec<ItemError>,
}

impl StandingSeen {
    /// Reads the table.
    pub(super) async fn read(name: String, table: &Seen<Table>) -> Self {
        let table = match table {
            Ok(table) => table,
            Err(unseen) => {
                let unseen = || unseen.clone();
                return Self { table: name, applied: Err(unseen()), pauses: Err(unseen()), review: Err(unseen()) };
            }
        };
        let (applied, pauses, review) = futures_util::join!(applied(table), Pauses::read(table), review(table));
        Self { table: name, applied, pauses: pauses.map_err(Unseen::from), review }
    }
}

async fn applied(table: &Table) -> Seen<Applied> {
    let unseen = |error| Unseen::from(table.failure("read what is applied", &error));
    let directory = table.ledger.directory().await.map_err(unseen)?;
    let mut applied = Applied::default();
    applied.unreadable.extend(directory.unreadable.into_iter().map(|item| item.error));
    for line in directory.items.iter().filter(|line| line.retired_at.is_none()) {
        match table.ledger.integration(&line.provider, &line.account).await {
            Ok(integration) => applied.integrations.extend(integration),
            Err(LedgerError::Corrupt { pk, sk, what }) => {
                applied.unreadable.push(ItemError::Corrupt { pk, sk, what });
            }
            Err(LedgerError::NewerSchema { pk, sk, schema }) => {
                applied.unreadable.push(ItemError::NewerSchema { pk, sk, schema });
            }
            Err(error) => return Err(unseen(error)),
        }
    }
    Ok(applied)
}

async fn review(table: &Table) -> Seen<(u64, bool)> {
    let (mut counted, mut more) = (0, false);
    for shard in table.ledger.shards().all() {
        let page = table.ledger.open_entries(&OpenQuery::Review { shard }, FAR, PAGE, None).await;
        let page = page.map_err(|error| Unseen::from(table.failure("count the jobs in review", &error)))?;
        counted += (page.items.len() + page.unreadable.len()) as u64;
        more |= page.next.is_some();
    }
    Ok((counted, more))
}

/// What stands still, and what waits for a person.
pub(super) fn judge(seen: &StandingSeen, queues: &QueuesSeen) -> Vec<Finding> {
    let table = seen.table.as_str();
    let mut findings = match &seen.applied {
        Ok(applied) => applied_findings(table, applied),
        Err(unseen) => vec![Finding::unseen("integrations", table, unseen)],
    };
    match &seen.pauses {
        Ok(pauses) => findings.extend(pauses_findings(table, pauses)),
        Err(unseen) => findings.push(Finding::unseen("pauses", table, unseen)),
    }
    findings.push(match &seen.review {
        Ok((0, _)) => Finding::ok("review", table, "no job waits for a person"),
        Ok((jobs, more)) => {
            let jobs = if *more { format!("more than {}", count(*jobs, "job")) } else { count(*jobs, "job") };
            Finding::warning("review", table, format!("{jobs} in review")).expected("none").advise("hookbox failed")
        }
        Err(unseen) => Finding::unseen("review", table, unseen),
    });
    findings.extend(notices(queues));
    findings
}

fn applied_findings(table: &str, applied: &Applied) -> Vec<Finding> {
    let mut findings = Vec::new();
    if applied.integrations.is_empty() && applied.unreadable.is_empty() {
        let none = Finding::warning("integrations", table, "none is applied: every delivery is refused");
        findings.push(none.expected("at least one").advise("hookbox apply hookbox.toml"));
    } else {
        findings.push(Finding::ok("integrations", table, count(applied.integrations.len() as u64, "integration")));
    }
    findings.extend(applied.unreadable.iter().map(|error| {
        match error {
            ItemError::NewerSchema { .. } => Finding::warning("schema", table, error)
                .expected("items that this version can read")
                .advise("a newer version of this command, or make deploy of the version that wrote it"),
            ItemError::Corrupt { .. } => {
                Finding::problem("schema", table, error).expected("a whole item").advise("hookbox apply writes it anew")
            }
        }
    }));
    findings
}

fn pauses_findings(table: &str, pauses: &Pauses) -> Vec<Finding> {
    let mut findings: Vec<_> = pauses.standing.iter().map(paused).collect();
    findings.extend(pauses.unreadable.iter().map(|why| {
        let finding = Finding::problem("pauses", table, why);
        finding.expected("a pause that can be read").advise("a newer version of this command")
    }));
    if findings.is_empty() {
        findings.push(Finding::ok("pauses", table, "nothing is paused"));
    }
    findings
}

fn paused(standing: &Standing) -> Finding {
    let Standing { pause, held } = standing;
    let resource = format!("{}/{} {}", pause.provider, pause.account, pause.operation);
    let found = format!("paused since {}: {}; {}", pause.at, pause.reason, held.in_words());
    // On purpose or not: as long as it holds nothing, nothing is late.
    let finding = match held.counted {
        0 => Finding::warning("pauses", &resource, found),
        _ => Finding::problem("pauses", &resource, found),
    };
    finding
        .expected("not paused")
        .advise(format!("{} --reason …, when what is behind it is mended", resume_command(pause)))
}

/// What lies on the queues for people. Messages that are on their way are in nobody's hands.
fn notices(queues: &QueuesSeen) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(deployed) = queues.dead_letter.deployed() {
        let waiting = deployed.depth.visible + deployed.depth.in_flight;
        findings.push(match waiting {
            0 => Finding::ok("dead-letters", &queues.dead_letter.url, "empty"),
            waiting => Finding::warning("dead-letters", &queues.dead_letter.url, count(waiting, "message"))
                .expected("empty")
                .advise("hookbox dlq list"),
        });
    }
    if let Some(deployed) = queues.stream_failure.deployed() {
        let given_up = deployed.depth.visible + deployed.depth.in_flight;
        findings.push(match given_up {
            0 => Finding::ok("stream-failures", &queues.stream_failure.url, "empty"),
            given_up => {
                let found = format!("{} that the stream's event source gave up", count(given_up, "batch"));
                let found = found.replace("batchs", "batches");
                Finding::warning("stream-failures", &queues.stream_failure.url, found)
                    .expected("empty")
                    .advise("the sweeper has woken their jobs; the dispatcher's log says why they failed")
            }
        });
    }
    findings
}
