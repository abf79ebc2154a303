//! The messages of the dead-letter queue: looked at, then given back or deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use hookbox_queue::{Handle, QueueError, Received};

use crate::connection::NamedQueue;
use crate::failure::{Failure, Trouble};

/// How long others do not see a message that is being looked at, should this process end before it gives it back.
const LOOKING: Duration = Duration::from_secs(30);
/// The most messages that are looked at.
const MAX_MESSAGES: usize = 1_000;
/// SQS may answer with nothing although there is something: it asks a part of its hosts only.
const EMPTY_ANSWERS: usize = 3;
/// Calls under way at once.
const AT_ONCE: usize = 8;

/// Ends when a person wants it to stop.
pub(super) type Stop<'a> = BoxFuture<'a, ()>;

/// The messages that are kept from others while they are looked at.
pub(super) struct Board<'a> {
    queue: &'a NamedQueue,
    /// For how long, should nobody give them back.
    looking: Duration,
    seen: BTreeSet<String>,
    /// By their ids, with the handles that work.
    held: BTreeMap<String, Handle>,
}

impl<'a> Board<'a> {
    pub(super) fn new(queue: &'a NamedQueue, looking: Duration) -> Self {
        Self { queue, looking, seen: BTreeSet::new(), held: BTreeMap::new() }
    }

    /// How many messages were seen.
    pub(super) fn seen(&self) -> usize {
        self.seen.len()
    }

    /// The next messages, at most ten, none of which was given before; none at the end, as far as it can be seen.
    pub(super) async fn next(&mut self) -> Result<Vec<Received>, Failure> {
        for _ in 0..EMPTY_ANSWERS {
            let received = self.queue.queue.peek(10, self.looking).await;
            let received = received.map_err(|error| self.queue.failure("look at the dead-letter queue", &error))?;
            let mut news = Vec::new();
            for message in received {
                // One that comes again was visible again before we were done: its newer handle is the one that works.
                self.held.insert(message.message_id.clone(), message.handle.clone());
                if self.seen.insert(message.message_id.clone()) {
                    news.push(message);
                }
            }
            if !news.is_empty() {
                return Ok(news);
            }
        }
        Ok(Vec::new())
    }

    /// Deletes a message; false when it is not ours to delete any more.
    pub(super) async fn delete(&mut self, message: &Received) -> Result<bool, Failure> {
        match self.queue.queue.delete(&message.handle).await {
            Ok(()) => {
                self.held.remove(&message.message_id);
                Ok(true)
            }
            Err(QueueError::NotHeld) => Ok(false),
            Err(error) => Err(self.queue.failure(&format!("delete the message {}", message.message_id), &error)),
        }
    }

    /// Gives back whatever was not deleted. Each is tried, whatever happens to the others.
    pub(super) async fn give_back(self) -> Result<(), Failure> {
        let releases = stream::iter(self.held.values()).map(|handle| self.queue.queue.release(handle));
        let releases: Vec<_> = releases.buffer_unordered(AT_ONCE).collect().await;
        let failed = releases.into_iter().find_map(Result::err);
        failed.map_or(Ok(()), |error| Err(self.queue.failure("give back a message", &error)))
    }
}

/// The messages until `enough` says so of one, as far as they can be seen, each given back: also when looking failed or was
/// stopped half-way.
pub(super) async fn look(
    queue: &NamedQueue,
    stop: &mut Stop<'_>,
    enough: impl Fn(&Received) -> bool,
) -> Result<Vec<Received>, Failure> {
    let mut board = Board::new(queue, LOOKING);
    let looked = look_until(&mut board, stop, enough).await;
    let given_back = board.give_back().await;
    let looked = looked?;
    given_back?;
    Ok(looked)
}

async fn look_until(
    board: &mut Board<'_>,
    stop: &mut Stop<'_>,
    enough: impl Fn(&Received) -> bool,
) -> Result<Vec<Received>, Failure> {
    let mut all = Vec::new();
    while all.len() < MAX_MESSAGES {
        if is_over(stop) {
            return Err(Failure::Refused(Trouble::new("look at the dead-letter queue", "stopped")));
        }
        let news = board.next().await?;
        let last = news.is_empty() || news.iter().any(&enough);
        all.extend(news);
        if last {
            break;
        }
    }
    Ok(all)
}

/// Whether a person wants it to stop. Between two calls only: one that was cut could hide messages that nobody knows of.
pub(super) fn is_over(stop: &mut Stop<'_>) -> bool {
    stop.now_or_never().is_some()
}
