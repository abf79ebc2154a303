//! The messages of the dead-letter queue: looked at, then given back.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use hookbox_queue::Received;

use crate::connection::NamedQueue;
use crate::failure::Failure;

/// How long others do not see a message that is being looked at, should this process end before it gives it back.
const LOOKING: Duration = Duration::from_secs(30);
/// The most messages that are looked at.
const MAX_MESSAGES: usize = 1_000;
/// SQS may answer with nothing although there is something: it asks a part of its hosts only.
const EMPTY_ANSWERS: usize = 3;
/// Calls under way at once.
const AT_ONCE: usize = 8;

/// Every message, as far as it can be seen, each given back.
pub(super) async fn look(queue: &NamedQueue) -> Result<Vec<Received>, Failure> {
    let mut seen = Vec::new();
    let looked = receive(queue, &mut seen).await;
    // Given back even when looking failed half-way.
    let releases: Vec<_> = stream::iter(&seen)
        .map(|received: &Received| queue.queue.release(&received.handle))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    looked?;
    for release in releases {
        release.map_err(|error| queue.failure("give back a message", &error))?;
    }
    Ok(seen)
}

async fn receive(queue: &NamedQueue, seen: &mut Vec<Received>) -> Result<(), Failure> {
    let mut ids = BTreeSet::new();
    let mut empty = 0;
    while empty < EMPTY_ANSWERS && seen.len() < MAX_MESSAGES {
        let received = queue.queue.peek(10, LOOKING).await;
        let received = received.map_err(|error| queue.failure("look at the dead-letter queue", &error))?;
        let mut news = 0;
        for message in received {
            // One that comes again was visible again before we were done: its newer handle is the one that works.
            if ids.insert(message.message_id.clone()) {
                news += 1;
                seen.push(message);
            } else if let Some(known) = seen.iter_mut().find(|known| known.message_id == message.message_id) {
                *known = message;
            }
        }
        empty = if news == 0 { empty + 1 } else { 0 };
    }
    Ok(())
}
