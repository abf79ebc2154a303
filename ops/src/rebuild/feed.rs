//! Event after event is read, sent and waited for; the first that is not taken ends it.

use std::time::Duration;

use aws_smithy_async::rt::sleep::AsyncSleep as _;
use futures_util::future::{Either, select};
use hookbox_core::key::JobKey;
use hookbox_core::limits::MAX_OPERATION_TIMEOUT;
use hookbox_core::name::OperationName;
use hookbox_core::surroundings::Clock;
use hookbox_destination::{Facts, delivery};
use hookbox_ledger::{Bulk, BulkState, LedgerError};
use hookbox_runtime::SecretText;
use http::header::{HeaderName, HeaderValue};

use super::place::Place;
use super::plan::Plan;
use super::report::{self, Progress};
use crate::bulk::{Counts, RECORD_EVERY, Undertaking, record};
use crate::connection::Table;
use crate::deed::{Author, Intent};
use crate::failure::{Answer, Failure, Trouble, chain};
use crate::jobs::Surroundings;
use crate::layout::count;
use crate::search::receipts::ReceiptFilter;
use crate::terminal::{Format, Terminal};

/// The IAM actions that it takes.
pub(super) const ACTIONS: &str =
    "dynamodb:Query and BatchGetItem on the table, Query on its index `history`, and PutItem for the record";
/// What is done, as the record and the keys of events call it.
const WHAT: &str = "rebuild";
/// The header by which a destination tells a rebuild from the event's own delivery.
const HEADER: HeaderName = HeaderName::from_static("hookbox-rebuild");

/// History that is to be sent.
#[derive(Debug)]
pub struct Rebuild<'a> {
    /// Which events.
    pub filter: ReceiptFilter,
    /// Whether somebody has said until when.
    pub ends: bool,
    /// Behind which place.
    pub after: Option<Place>,
    /// Whether those whose payload has expired are left out.
    pub skip_expired: bool,
    /// At most so many a second.
    pub rate: u32,
    /// Why.
    pub reason: &'a str,
    /// Whether to ask.
    pub intent: Intent,
    /// Who wants it.
    pub author: Author,
}

/// Where history is sent to.
pub struct Destination {
    url: String,
    /// The address without what may be secret in it.
    shown: String,
    secret: SecretText,
    client: reqwest::Client,
    /// In the place of an operation's name, in the keys of events.
    name: OperationName,
}

/// What is under way.
struct Course<'a> {
    plan: &'a Plan,
    progress: Progress,
    bulk: Bulk,
}

/// Why an event ended it.
pub(super) struct NotTaken(String);

/// How it ended.
enum Ending {
    Finished,
    Stopped,
    NotTaken { place: Place, why: String },
}

impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Destination").field("url", &self.shown).finish_non_exhaustive()
    }
}

impl Destination {
    /// The destination at an address, to which calls are signed with a secret.
    pub fn new(url: &str, secret: SecretText) -> Result<Self, Failure> {
        let attempted = "rebuild a destination";
        let usage = |why: String| {
            Failure::Usage(
                Trouble::new(attempted, why).advise("--to https://host.example/path, without user and password"),
            )
        };
        let address = reqwest::Url::parse(url).map_err(|error| usage(format!("--to is no address: {error}")))?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(usage("--to is no address of HTTP".to_owned()));
        }
        if !address.username().is_empty() || address.password().is_some() {
            return Err(usage("--to carries a user name or a password".to_owned()));
        }
        let name = WHAT.parse().map_err(|error| usage(format!("{error}")))?;
        let mut shown = address.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        // Another part of the process may have chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("Hookbox/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(MAX_OPERATION_TIMEOUT)
            .build();
        let client =
            client.map_err(|error| Failure::CouldNotLook(Trouble::new("prepare the connection", chain(&error))))?;
        Ok(Self { url: url.to_owned(), shown: shown.to_string(), secret, client, name })
    }

    /// Sends one event, and waits until it is taken.
    async fn send(
        &self,
        facts: &Facts,
        payload: &hookbox_core::event::Payload,
        clock: &dyn Clock,
    ) -> Result<(), NotTaken> {
        let request = delivery(&self.url, facts, payload, self.secret.expose(), clock.now());
        let (mut head, body) = request.map_err(|error| NotTaken(error.to_string()))?.into_parts();
        head.headers.insert(HEADER, HeaderValue::from_static("true"));
        let sent = self.client.request(head.method, &self.url).headers(head.headers).body(body).send().await;
        // The address may hold a token.
        let answer = sent.map_err(|error| NotTaken(chain(&error.without_url())))?;
        if answer.status().is_success() { Ok(()) } else { Err(NotTaken(format!("answered {}", answer.status()))) }
    }
}

impl Rebuild<'_> {
    /// Counts, asks, and sends.
    pub async fn carry_out(
        &self,
        destination: &Destination,
        table: &Table,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<Answer, Failure> {
        let plan = Plan::make(&self.filter, self.after, table, terminal).await?;
        let shown = destination.shown.as_str();
        if terminal.format() == Format::Table {
            report::show_plan(&plan, shown, terminal)?;
        }
        let progress = Progress { place: self.after, ..Progress::default() };
        if !plan.expired.is_empty() && !self.skip_expired {
            report::say(None, "refused", &plan, &progress, shown, terminal)?;
            let expired = count(plan.expired.len() as u64, "event");
            let trouble = Trouble::new(format!("rebuild {shown}"), format!("the payload of {expired} has expired"));
            let trouble = trouble.advise("--skip-expired leaves them out: the state that is built will lack them");
            return Err(Failure::Forbidden(trouble.advise("a later --since")));
        }
        let events = count(plan.events.len() as u64, "event");
        let question = format!("Send {events} to {shown}?");
        if plan.events.is_empty() || !self.intent.allows(&question, &format!("send {events}"), terminal)? {
            let state = if plan.events.is_empty() { "nothing" } else { "dry-run" };
            report::say(None, state, &plan, &progress, shown, terminal)?;
            return Ok(Answer::Yes);
        }
        let bulk = self.begin(&plan, shown, table, &around).await?;
        let mut course = Course { plan: &plan, progress, bulk };
        let ended = self.through(&mut course, destination, table, &mut around, terminal).await;
        let state = if matches!(ended, Ok(Ending::Finished)) { BulkState::Finished } else { BulkState::Cancelled };
        let recorded = course.record(state, table, around.clock).await;
        let Course { progress, bulk, .. } = course;
        let ended = ended.map_err(|failure| failure.advise(self.go_on(progress.place)))?;
        recorded?;
        let state = match &ended {
            Ending::Finished => "finished",
            Ending::Stopped => "cancelled",
            Ending::NotTaken { .. } => "not-taken",
        };
        report::say(Some(&bulk.id), state, &plan, &progress, shown, terminal)?;
        match ended {
            Ending::Finished => Ok(Answer::Yes),
            Ending::Stopped => {
                terminal.note(format_args!("to go on: {}", self.go_on(progress.place)))?;
                Ok(Answer::No)
            }
            Ending::NotTaken { place, why } => {
                let trouble = Trouble::new(format!("send the event {} to {shown}", place.receipt()), why);
                Err(Failure::Refused(trouble.advise(self.go_on(progress.place))))
            }
        }
    }

    /// What to say to go on, with a time that does not move.
    fn go_on(&self, place: Option<Place>) -> String {
        let Some(place) = place else { return "the same command: nothing was sent".to_owned() };
        let range = self.filter.range;
        let until = if self.ends { format!(" --until {}", range.until) } else { String::new() };
        format!("the same command with --since {}{until} --after {place}", range.since)
    }

    async fn begin(&self, plan: &Plan, shown: &str, table: &Table, around: &Surroundings<'_>) -> Result<Bulk, Failure> {
        let ReceiptFilter { connections, range, kinds, .. } = &self.filter;
        let any = || "*".to_owned();
        let provider = connections.provider.as_ref().map_or_else(any, ToString::to_string);
        let account = connections.account.as_ref().map_or_else(any, ToString::to_string);
        let kinds = if kinds.is_empty() { String::new() } else { format!(", kind {}", kinds.join(",")) };
        let (since, until) = (range.since, range.until);
        let query = format!("to {shown}, {provider}/{account}{kinds}, arrived from {since} until {until}");
        let who = self.author.name().await?;
        let counts = Counts::from([("asked".to_owned(), plan.events.len() as u64)]);
        let undertaking = Undertaking { code: WHAT, what: WHAT, who, why: self.reason, query, jobs: &[], counts };
        undertaking.begin(table, around.random, around.clock.now()).await
    }

    async fn through(
        &self,
        course: &mut Course<'_>,
        destination: &Destination,
        table: &Table,
        around: &mut Surroundings<'_>,
        terminal: &Terminal,
    ) -> Result<Ending, Failure> {
        let bar = terminal.progress(course.plan.events.len() as u64, "sent");
        let pause = Duration::from_secs(1) / self.rate.max(1);
        for (n, place) in (0..).zip(&course.plan.events) {
            if n > 0 {
                if let Either::Left(_) = select(&mut around.stop, around.sleep.sleep(pause)).await {
                    return Ok(Ending::Stopped);
                }
                if n % RECORD_EVERY == 0 {
                    course.record(BulkState::Running, table, around.clock).await?;
                }
            }
            let progress = &mut course.progress;
            if let Err(NotTaken(why)) = self.one(*place, progress, destination, table, around.clock).await? {
                return Ok(Ending::NotTaken { place: *place, why });
            }
            progress.place = Some(*place);
            bar.inc(1);
        }
        Ok(Ending::Finished)
    }

    /// Reads one event and sends it: what was erased or has expired since it was counted is not.
    pub(super) async fn one(
        &self,
        place: Place,
        progress: &mut Progress,
        destination: &Destination,
        table: &Table,
        clock: &dyn Clock,
    ) -> Result<Result<(), NotTaken>, Failure> {
        let id = place.receipt();
        let failure = |error: &LedgerError| table.failure_of(&format!("read the event {id}"), ACTIONS, error);
        let mut known = table.ledger.known(&[id]).await.map_err(|error| failure(&error))?;
        let receipt = known.remove(&id);
        if receipt.as_ref().is_some_and(|receipt| receipt.erased_at.is_some()) {
            progress.erased += 1;
            return Ok(Ok(()));
        }
        let payload = table.ledger.payload(&id).await.map_err(|error| failure(&error))?;
        let (Some(receipt), Some(payload)) = (receipt, payload) else {
            if self.skip_expired {
                progress.expired += 1;
                return Ok(Ok(()));
            }
            return Ok(Err(NotTaken("its payload has expired since it was counted".to_owned())));
        };
        let facts = Facts::of_receipt(&receipt, JobKey::first(id, destination.name.clone()), 1);
        let sent = destination.send(&facts, &payload, clock).await;
        progress.sent += u64::from(sent.is_ok());
        Ok(sent)
    }
}

impl Course<'_> {
    /// Records how far it has come.
    async fn record(&mut self, state: BulkState, table: &Table, clock: &dyn Clock) -> Result<(), Failure> {
        self.progress.count(&mut self.bulk.counts);
        self.bulk.state = state;
        self.bulk.cursor = self.progress.place.filter(|_| state != BulkState::Finished).map(|place| place.to_string());
        record(&mut self.bulk, table, clock.now()).await
    }
}
