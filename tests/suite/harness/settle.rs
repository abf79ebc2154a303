//! Everything works again, until nothing is left to do.

use std::time::Duration;

use hookbox_core::time::Timestamp;

use super::process::now;
use super::queue::BATCH;
use super::table::operation_of;
use super::world::{Connection, World};

/// Rounds without end are no rest: wake-ups grow to an hour apart, and ten of them are the bound.
const ROUNDS: usize = 80;
/// How long a provider waits before it delivers again.
const PROVIDER_WAITS: Duration = Duration::from_secs(60);

impl World {
    /// Nothing goes wrong from now on and everything comes to rest; then what was promised is checked.
    pub(crate) fn calm_down(&self) {
        let _ = self.troubled_calls.set(self.faults.count());
        self.interrupts.end();
        self.faults.end();
        self.destination.all_well();
        self.stream.lock().unwrap().off = false;
        self.settle();
        self.look_at_rest();
    }

    /// Goes on until nothing is left to do. What goes wrong meanwhile is part of it; a stream that is off stays off.
    pub(crate) fn settle(&self) {
        for _ in 0..ROUNDS {
            while self.dispatch() || self.work(BATCH, 0) {}
            let Some(next) = self.next_time() else { return };
            let at = next.max(self.now().plus(Duration::from_secs(1)));
            self.clock.set(at);
            self.deliver_again();
            if self.is_for_the_sweeper() {
                self.sweep();
            }
        }
        self.report("G3", format!("not at rest after {ROUNDS} rounds: {}", self.unsettled().join(", ")));
    }

    /// When there is something to do next; `None` at rest.
    fn next_time(&self) -> Option<Timestamp> {
        let message = self.messages.lock().unwrap().next();
        let delivery = (!self.undelivered().is_empty()).then(|| self.now().plus(PROVIDER_WAITS));
        let paused = self.all_paused();
        let copy = self.copy.lock().unwrap();
        let jobs = copy.jobs().filter_map(|(pk, sk, job)| {
            let open_at = Timestamp::from_millis(job.number("open_at")?);
            match job.text("status") {
                "held" if paused.contains(&(job.text("provider").to_owned(), operation_of(sk).to_owned())) => None,
                "held" => Some(self.now().plus(Duration::from_secs(60))),
                "review" if self.has_notice(pk, sk) => None,
                _ => Some(open_at),
            }
        });
        message.into_iter().chain(delivery).chain(jobs).min()
    }

    fn is_for_the_sweeper(&self) -> bool {
        let copy = self.copy.lock().unwrap();
        let due = |job: &super::table::Item| {
            let open_at = job.number("open_at").map(Timestamp::from_millis);
            job.text("status") == "held" || open_at.is_some_and(|at| at <= self.now())
        };
        copy.jobs().any(|(_, _, job)| due(job))
    }

    /// Whether people were told that the job waits for them, since it does.
    pub(crate) fn has_notice(&self, pk: &str, sk: &str) -> bool {
        let key = format!("{pk}:{}:v1", operation_of(sk));
        let since = self.watch.lock().unwrap().in_review_since(&key);
        let messages = self.messages.lock().unwrap();
        messages.notices.iter().any(|(changes, notice)| *changes >= since && notice.contains(&key))
    }

    /// The operations of a connection that are paused.
    pub(crate) fn paused(&self, connection: Connection) -> Vec<String> {
        let pauses = now(self.table.ledger().pauses(&connection.provider(), &connection.account())).unwrap();
        pauses.items.into_iter().map(|pause| pause.operation.to_string()).collect()
    }

    /// Provider and operation of every pause.
    pub(crate) fn all_paused(&self) -> Vec<(String, String)> {
        let copy = self.copy.lock().unwrap();
        Connection::ALL
            .into_iter()
            .flat_map(|connection| {
                let provider = connection.provider().to_string();
                let items = copy.folder(&format!("integration#{provider}#{}", connection.account()));
                let paused = items.into_keys().filter_map(|sk| sk.strip_prefix("pause#").map(str::to_owned));
                paused.map(|operation| (provider.clone(), operation)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Jobs that have not ended and do not wait for a person.
    fn unsettled(&self) -> Vec<String> {
        let copy = self.copy.lock().unwrap();
        let jobs = copy.jobs().filter(|(_, _, job)| !job.has_ended());
        jobs.map(|(pk, sk, job)| format!("{}… {sk} {}", &pk[..8], job.text("status"))).collect()
    }
}
