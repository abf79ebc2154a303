//! A copy of the table from its own changes. Each change is looked at as it comes: what an image shows is never seen
//! again once it is overwritten.

use std::collections::BTreeMap;

use dynoxide::Database;
use dynoxide::actions::describe_stream::DescribeStreamRequest;
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use serde_json::Value;

/// The table as its changes show it.
pub(crate) struct Copy {
    database: Database,
    position: String,
    changes: usize,
    folders: BTreeMap<String, BTreeMap<String, Item>>,
}

/// One item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item(Value);

/// One change of one item.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The record as the stream gives it to a function.
    pub(crate) record: Value,
    pub(crate) pk: String,
    pub(crate) sk: String,
    pub(crate) old: Option<Item>,
    pub(crate) new: Option<Item>,
}

impl Copy {
    /// Of a table that is empty.
    pub(crate) fn of(database: &Database) -> Self {
        let streams = database.list_streams(ListStreamsRequest::default()).unwrap();
        let stream_arn = streams.streams[0].stream_arn.clone();
        let request = DescribeStreamRequest { stream_arn: stream_arn.clone(), ..Default::default() };
        let mut shards = database.describe_stream(request).unwrap().stream_description.shards;
        assert_eq!(shards.len(), 1, "the engine has one shard");
        let request = GetShardIteratorRequest {
            stream_arn,
            shard_id: shards.remove(0).shard_id,
            shard_iterator_type: "TRIM_HORIZON".to_owned(),
            sequence_number: None,
        };
        let position = database.get_shard_iterator(request).unwrap().shard_iterator.unwrap();
        Self { database: database.clone(), position, changes: 0, folders: BTreeMap::new() }
    }

    /// The changes since the last time, in their order; the copy has them already.
    pub(crate) fn follow(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        loop {
            let request = GetRecordsRequest { shard_iterator: self.position.clone(), limit: None };
            let page = self.database.get_records(request).unwrap();
            self.position = page.next_shard_iterator.unwrap();
            if page.records.is_empty() {
                return changes;
            }
            for record in page.records {
                let change = Change::of(serde_json::to_value(record).unwrap());
                self.take(&change);
                changes.push(change);
            }
        }
    }

    /// How many changes it has followed.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    fn take(&mut self, change: &Change) {
        self.changes += 1;
        let folder = self.folders.entry(change.pk.clone()).or_default();
        match &change.new {
            Some(item) => folder.insert(change.sk.clone(), item.clone()),
            None => folder.remove(&change.sk),
        };
    }

    /// What is stored under a partition key, by sort key.
    pub(crate) fn folder(&self, pk: &str) -> BTreeMap<String, Item> {
        self.folders.get(pk).cloned().unwrap_or_default()
    }

    /// The folders of events: those of configuration and directory are none.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&String, &BTreeMap<String, Item>)> {
        self.folders.iter().filter(|(pk, items)| pk.len() == 64 && !items.is_empty())
    }

    /// Every job: its folder's key, its sort key and the item.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&String, &String, &Item)> {
        self.events()
            .flat_map(|(pk, items)| items.iter().filter(|(sk, _)| is_job(sk)).map(move |(sk, item)| (pk, sk, item)))
    }

    /// Every item as text.
    pub(crate) fn text(&self) -> String {
        let items = self.folders.values().flat_map(BTreeMap::values);
        items.map(|item| item.0.to_string()).collect::<Vec<_>>().join("\n")
    }
}

impl Change {
    fn of(record: Value) -> Self {
        let change = &record["dynamodb"];
        let key = |name: &str| change["Keys"][name]["S"].as_str().unwrap().to_owned();
        let image = |name: &str| change.get(name).filter(|image| !image.is_null()).cloned().map(Item);
        let (pk, sk, old, new) = (key("pk"), key("sk"), image("OldImage"), image("NewImage"));
        Self { record, pk, sk, old, new }
    }

    /// Whether the filter of the event source in `template.yaml` lets it pass.
    pub(crate) fn passes_the_filter(&self) -> bool {
        let waits = |item: &Item| matches!(item.text("status"), "pending" | "review");
        is_job(&self.sk) && self.new.as_ref().is_some_and(waits)
    }
}

impl Item {
    /// An attribute that is a text; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0[name]["S"].as_str().unwrap_or_default()
    }

    /// An attribute that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.0[name]["N"].as_str().and_then(|text| text.parse().ok())
    }

    /// The elements of an attribute that is a list.
    pub(crate) fn list(&self, name: &str) -> &[Value] {
        self.0[name]["L"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of the attributes whose values differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (self.0.as_object().unwrap(), other.0.as_object().unwrap());
        let mut names: Vec<_> =
            ours.keys().chain(theirs.keys()).filter(|name| ours.get(*name) != theirs.get(*name)).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether the job has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.text("status"), "completed" | "dismissed")
    }
}

/// Whether a sort key is a job's.
pub(crate) fn is_job(sk: &str) -> bool {
    sk.starts_with("job#")
}

/// The operation of a job's sort key.
pub(crate) fn operation_of(sk: &str) -> &str {
    sk.split('#').nth(1).unwrap_or_default()
}
