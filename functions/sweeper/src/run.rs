//! One run: from every list a page in turn, until all are done or the time is over.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use hookbox_core::time::Timestamp;
use hookbox_core::transition::wake::Backlog;
use hookbox_ledger::{Cursor, Ledger, OpenQuery};
use hookbox_queue::{Queue, QueueError};
use hookbox_runtime::chain;

use crate::entry::Sending;
use crate::lists::List;
use crate::swept::Tally;
use crate::{DEADLINE_MARGIN, Sweeper};

/// Entries that a list gets in one turn.
const PAGE: u32 = 25;
/// Lists whose turn is taken at once.
const LISTS_AT_ONCE: usize = 4;
/// Entries of a list that are looked at at once.
const ENTRIES_AT_ONCE: usize = 8;
/// Jobs of one list that are released in one run: those after them follow a minute later.
const MAX_RELEASED: u64 = 250;
/// Waiting messages from which on the queue has a backlog: more than the workers take in one go.
const BACKLOG: u64 = 100;
/// Log lines of one run about single entries: the rest is only counted.
const MAX_COMPLAINTS: u32 = 50;
/// How long before the process's end the last call to the ledger ends.
const LAST_CALL: Duration = Duration::from_secs(1);

/// What the parts of one run share.
pub(crate) struct Run<'a> {
    pub(crate) sweeper: &'a Sweeper,
    pub(crate) ledger: Ledger,
    pub(crate) started: Timestamp,
    pub(crate) backlog: Backlog,
    stop: Timestamp,
    work_is_down: AtomicBool,
    dead_letters_are_down: AtomicBool,
    complaints: AtomicU32,
}

/// How far a list has come.
struct Place {
    list: List,
    after: Option<Cursor>,
    released: u64,
}

/// What a turn leaves.
enum Left {
    /// All is done.
    Nothing,
    /// The list goes on in the next round.
    More(Place),
    /// The list is not done and does not go on in this run.
    Unfinished(List),
}

impl<'a> Run<'a> {
    /// Begins a run of a process that ends at `deadline`.
    pub(crate) async fn begin(sweeper: &'a Sweeper, deadline: Timestamp) -> (Self, Tally) {
        let mut tally = Tally::default();
        let depth = sweeper.work.depth().await;
        let mut run = Self {
            sweeper,
            ledger: sweeper.ledger.until(deadline.minus(LAST_CALL)),
            started: sweeper.clock.now(),
            backlog: Backlog::No,
            stop: deadline.minus(DEADLINE_MARGIN),
            work_is_down: AtomicBool::new(false),
            dead_letters_are_down: AtomicBool::new(false),
            complaints: AtomicU32::new(0),
        };
        match depth {
            Ok(depth) if depth.visible >= BACKLOG => run.backlog = Backlog::Yes,
            Ok(_) => {}
            // A queue whose depth is unknown may still take messages; wake-ups are few enough by themselves.
            Err(error) => {
                run.complain("the work queue's depth", &error);
                tally.errors += 1;
            }
        }
        (run, tally)
    }

    /// Goes through the lists. The answer names those that are not done.
    pub(crate) async fn through(&self, due: Vec<List>) -> (Vec<List>, Tally) {
        let mut tally = Tally::default();
        let mut unfinished = Vec::new();
        let mut places: Vec<_> = due.into_iter().map(|list| Place { list, after: None, released: 0 }).collect();
        while !places.is_empty() {
            let turns = places.drain(..).map(|place| self.turn(place)).collect::<Vec<_>>();
            let turns: Vec<_> = stream::iter(turns).buffered(LISTS_AT_ONCE).collect().await;
            for (left, counted) in turns {
                tally += counted;
                match left {
                    Left::Nothing => {}
                    Left::More(place) => places.push(place),
                    Left::Unfinished(list) => unfinished.push(list),
                }
            }
        }
        (unfinished, tally)
    }

    /// One page of a list.
    async fn turn(&self, mut place: Place) -> (Left, Tally) {
        let mut tally = Tally::default();
        if self.is_over() || self.is_down(&place.list) || place.released >= MAX_RELEASED {
            return (Left::Unfinished(place.list), tally);
        }
        // Entries that this run has moved are not met again: they stand after its start.
        let page = self.ledger.open_entries(&place.list.query, self.started, PAGE, place.after.take()).await;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                self.complain(&place.list.name(), &error);
                tally.errors += 1;
                return (Left::Unfinished(place.list), tally);
            }
        };
        let looks = page.items.iter().map(|entry| self.look_at(&place.list, entry)).collect::<Vec<_>>();
        let looked: Vec<_> = stream::iter(looks).buffered(ENTRIES_AT_ONCE).collect().await;
        let mut sendings = Vec::new();
        for (sending, counted) in looked {
            tally += counted;
            sendings.extend(sending);
        }
        tally += self.send(sendings).await;
        place.released += tally.released;
        place.after = page.next;
        let left = match place.after {
            _ if tally.left > 0 => Left::Unfinished(place.list),
            Some(_) => Left::More(place),
            None => Left::Nothing,
        };
        (left, tally)
    }

    /// Sends what the entries' writes have entitled us to.
    async fn send(&self, sendings: Vec<Sending>) -> Tally {
        let (work, notices): (Vec<_>, Vec<_>) =
            sendings.into_iter().partition(|sending| sending.message.reason.is_none());
        let mut tally = Tally::default();
        let (woken, failed) = self.send_to(&self.sweeper.work, &self.work_is_down, work).await;
        tally.woken += woken;
        tally.errors += failed;
        let (posted, failed) = self.send_to(&self.sweeper.dead_letters, &self.dead_letters_are_down, notices).await;
        tally.notices += posted;
        tally.errors += failed;
        tally
    }

    /// How many were sent and how many were not. What was not sent is put back, so that the next run finds it and no
    /// wake-up is counted that nobody could hear.
    async fn send_to(&self, queue: &Queue, is_down: &AtomicBool, sendings: Vec<Sending>) -> (u64, u64) {
        let messages: Vec<_> = sendings.iter().map(|sending| sending.message.clone()).collect();
        let results = queue.send_batch(&messages).await;
        let (mut sent, mut failed, mut down) = (0, 0, false);
        for (sending, result) in sendings.iter().zip(results) {
            let Err(error) = result else {
                sent += 1;
                continue;
            };
            failed += 1;
            down |= !matches!(error, QueueError::MessageRefused { .. });
            self.complain(&sending.message.job.to_string(), &error);
            if let Err(error) = self.ledger.move_entry(&sending.moved, &sending.before).await {
                self.complain(&sending.message.job.to_string(), &error);
            }
        }
        if down && sent == 0 {
            is_down.store(true, Ordering::Relaxed);
        }
        (sent, failed)
    }

    /// Whether nothing new may be taken up.
    pub(crate) fn is_over(&self) -> bool {
        self.sweeper.clock.now() >= self.stop
    }

    /// Whether the queue that the list's entries need has failed in this run.
    fn is_down(&self, list: &List) -> bool {
        match list.query {
            OpenQuery::Due { .. } => self.work_is_down.load(Ordering::Relaxed),
            OpenQuery::Review { .. } => self.dead_letters_are_down.load(Ordering::Relaxed),
            OpenQuery::Held { .. } => false,
        }
    }

    /// Logs what is wrong with something, unless this run has logged enough.
    pub(crate) fn complain(&self, with: &str, error: &dyn Error) {
        if self.complaints.fetch_add(1, Ordering::Relaxed) < MAX_COMPLAINTS {
            tracing::warn!(with, error = chain(error), "left for the next run");
        }
    }
}
