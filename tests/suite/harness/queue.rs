//! The queues as SQS keeps them: at least once, in no order, invisible for a while, and after five receives aside.

use std::time::Duration;

use hookbox_core::limits::{MAX_RECEIVES, WORK_QUEUE_VISIBILITY};
use hookbox_core::time::Timestamp;
use hookbox_worker::Batch;
use serde_json::{Value, json};

use super::world::World;

/// The time that an invocation of the worker has, as `template.yaml` says.
const INVOCATION: Duration = hookbox_core::limits::WORKER_TIMEOUT;
/// The most messages of one invocation, as `template.yaml` says.
pub(crate) const BATCH: usize = 10;

/// The messages of the work queue, and what was put aside.
#[derive(Default)]
pub(crate) struct Messages {
    waiting: Vec<Message>,
    named: u64,
    /// Bodies of messages that were received too often.
    pub(crate) redriven: Vec<String>,
    /// Notices on the dead-letter queue, each with the number of changes of the table before it was seen.
    pub(crate) notices: Vec<(usize, String)>,
}

#[derive(Clone, Debug)]
struct Message {
    id: String,
    body: String,
    visible_at: Timestamp,
    receives: u32,
}

impl Messages {
    pub(crate) fn send(&mut self, body: String, visible_at: Timestamp) {
        self.named += 1;
        self.waiting.push(Message { id: format!("m{}", self.named), body, visible_at, receives: 0 });
    }

    /// Up to `most` messages that can be seen now, beginning with the `first`: SQS keeps no order.
    fn receive(&mut self, now: Timestamp, most: usize, first: usize) -> Vec<Message> {
        let Self { waiting, redriven, .. } = self;
        waiting.retain(|message| {
            let spent = message.visible_at <= now && message.receives >= MAX_RECEIVES;
            if spent {
                redriven.push(message.body.clone());
            }
            !spent
        });
        let visible: Vec<usize> = (0..waiting.len()).filter(|i| waiting[*i].visible_at <= now).collect();
        let turn = first % visible.len().max(1);
        let chosen = visible.iter().cycle().skip(turn).take(visible.len().min(most));
        chosen
            .map(|i| {
                let message = &mut waiting[*i];
                message.receives += 1;
                message.visible_at = now.plus(WORK_QUEUE_VISIBILITY);
                message.clone()
            })
            .collect()
    }

    fn delete(&mut self, id: &str) {
        self.waiting.retain(|message| message.id != id);
    }

    /// One of the messages is received although somebody works on it.
    pub(crate) fn repeat(&mut self, place: usize, now: Timestamp) {
        if !self.waiting.is_empty() {
            let again = self.waiting[place % self.waiting.len()].body.clone();
            self.send(again, now);
        }
    }

    /// One of the messages is lost. SQS does not do that; a message is only a wake-up all the same.
    pub(crate) fn lose(&mut self, place: usize) {
        if !self.waiting.is_empty() {
            self.waiting.remove(place % self.waiting.len());
        }
    }

    /// How many can be seen.
    pub(crate) fn visible(&self, now: Timestamp) -> usize {
        self.waiting.iter().filter(|message| message.visible_at <= now).count()
    }

    /// When the next one can be seen.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.waiting.iter().map(|message| message.visible_at).min()
    }
}

impl World {
    /// Takes over what was sent since the last time.
    pub(crate) fn collect_messages(&self) {
        let now = self.now();
        let mut messages = self.messages.lock().unwrap();
        for sent in self.queues.sent("work") {
            messages.send(sent.body, now.plus(Duration::from_secs(sent.delay)));
        }
        let changes = self.copy.lock().unwrap().changes();
        messages.notices.extend(self.queues.sent("dead").into_iter().map(|sent| (changes, sent.body)));
        self.queues.take("work");
        self.queues.take("dead");
    }

    /// One invocation of the worker with up to `most` messages. False when none could be seen.
    pub(crate) fn work(&self, most: usize, first: usize) -> bool {
        self.collect_messages();
        let received = self.messages.lock().unwrap().receive(self.now(), most.min(BATCH), first);
        if received.is_empty() {
            return false;
        }
        let records = received.iter().map(record).collect();
        let (worker, batch) = (self.worker(), Batch { records });
        let answer = self.run(worker.handle(&batch, self.now().plus(INVOCATION)));
        self.collect_messages();
        if let Some(Ok(answer)) = answer {
            let mut messages = self.messages.lock().unwrap();
            let failed = |message: &&Message| answer.failures.iter().any(|failure| failure.message_id == message.id);
            received.iter().filter(|message| !failed(message)).for_each(|message| messages.delete(&message.id));
        }
        self.follow();
        true
    }
}

fn record(message: &Message) -> Value {
    let attributes = json!({"ApproximateReceiveCount": message.receives.to_string()});
    json!({
        "messageId": message.id, "receiptHandle": "h", "body": message.body, "attributes": attributes,
        "eventSource": "aws:sqs",
    })
}
