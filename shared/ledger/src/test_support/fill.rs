//! Many folders at once, faster than they could arrive.

use aws_sdk_dynamodb::types::AttributeValue;
use dynoxide::ImportOptions;
use hookbox_core::receipt::Folder;

use super::TestTable;
use crate::item::Item;
use crate::item::job::StoredJob;
use crate::item::receipt::StoredReceipt;

impl TestTable {
    /// Stores receipts and jobs as they are, whatever is there, without payloads and without a stream.
    pub fn fill(&self, folders: &[Folder]) {
        let shards = self.ledger().shards();
        let items = folders.iter().flat_map(|folder| {
            let receipt = StoredReceipt { receipt: folder.receipt.clone(), token: "filled".to_owned(), chunks: 0 };
            let jobs = folder.jobs.iter().map(move |job| {
                let expires_at = folder.receipt.expires_at;
                let job = StoredJob { job: job.clone(), token: None, wake_token: None, expires_at };
                job.to_item(shards).unwrap()
            });
            [receipt.to_item(shards).unwrap()].into_iter().chain(jobs)
        });
        let items = items.map(native).collect();
        self.database.import_items(self.name(), items, ImportOptions::default()).unwrap();
    }
}

fn native(item: Item) -> dynoxide::Item {
    item.into_iter().map(|(name, value)| (name, native_value(value))).collect()
}

fn native_value(value: AttributeValue) -> dynoxide::AttributeValue {
    use dynoxide::AttributeValue as Native;
    match value {
        AttributeValue::S(text) => Native::S(text),
        AttributeValue::N(number) => Native::N(number),
        AttributeValue::B(blob) => Native::B(blob.into_inner()),
        AttributeValue::Bool(yes) => Native::BOOL(yes),
        AttributeValue::Null(null) => Native::NULL(null),
        AttributeValue::L(list) => Native::L(list.into_iter().map(native_value).collect()),
        AttributeValue::M(map) => Native::M(native(map)),
        other => panic!("{other:?} is in no item of ours"),
    }
}
