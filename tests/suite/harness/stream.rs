//! The event source of the dispatcher: batches in order, from the lowest failed record again, given up after a while,
//! repeated when it likes, and off at times.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::world::World;

/// The most records of a batch, as `template.yaml` says.
const BATCH: usize = 100;
/// How often the first record of the shard is tried before it is given up, as `template.yaml` says.
const RETRIES: u32 = 20;

/// Records on their way to the dispatcher.
#[derive(Default)]
pub(crate) struct Stream {
    waiting: VecDeque<Value>,
    last: Vec<Value>,
    tried: u32,
    /// A batch is with the dispatcher: there is one at a time.
    busy: bool,
    /// Nothing is delivered meanwhile.
    pub(crate) off: bool,
    /// Records that were given up.
    pub(crate) given_up: usize,
}

impl Stream {
    /// A record that has passed the filter.
    pub(crate) fn push(&mut self, record: Value) {
        self.waiting.push_back(record);
    }

    /// Whether something can be delivered.
    pub(crate) fn is_ready(&self) -> bool {
        !self.off && !self.busy && !self.waiting.is_empty()
    }

    /// The last batch comes again, although it was done: its checkpoint was lost.
    pub(crate) fn repeat(&mut self) {
        for record in std::mem::take(&mut self.last).into_iter().rev() {
            self.waiting.push_front(record);
        }
    }

    /// The first records, at most so many.
    pub(crate) fn batch(&self, most: usize) -> Vec<Value> {
        self.waiting.iter().take(most).cloned().collect()
    }

    /// The records before the failed one are done.
    fn done(&mut self, records: usize) {
        if records > 0 {
            self.last = self.waiting.drain(..records).collect();
            self.tried = 0;
        }
    }

    fn failed(&mut self) {
        self.tried += 1;
        if self.tried > RETRIES {
            self.waiting.pop_front();
            self.given_up += 1;
            self.tried = 0;
        }
    }
}

impl World {
    /// Gives the dispatcher one batch. False when there was none to give.
    pub(crate) fn dispatch(&self) -> bool {
        self.follow();
        // Smaller after a failure, as the event source bisects.
        let batch = {
            let mut stream = self.stream.lock().unwrap();
            if !stream.is_ready() {
                return false;
            }
            stream.busy = true;
            stream.batch(BATCH >> stream.tried.min(6))
        };
        let event = json!({"Records": batch});
        let dispatcher = self.dispatcher();
        let answer = self.run(dispatcher.dispatch(&event));
        let mut stream = self.stream.lock().unwrap();
        stream.busy = false;
        match answer {
            Some(Ok(answer)) => match answer.batch_item_failures.first() {
                None => stream.done(batch.len()),
                Some(failure) => {
                    let number = |record: &Value| record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
                    let first = batch.iter().position(|record| number(record) == failure.item_identifier);
                    stream.done(first.expect("a failure names a record of its batch"));
                    stream.failed();
                }
            },
            Some(Err(_)) | None => stream.failed(),
        }
        drop(stream);
        self.collect_messages();
        true
    }
}
