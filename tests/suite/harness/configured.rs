//! Which configurations there were: a receipt names the revision that it was created under.

use hookbox_core::integration::Integration;
use hookbox_core::time::Timestamp;

use super::table::Change;

/// Every configuration that was stored, in their order.
#[derive(Default)]
pub(crate) struct Configured(Vec<(Timestamp, String, Integration)>);

impl Configured {
    /// Notes a change of the table, if it is one of a configuration.
    pub(crate) fn note(&mut self, change: &Change, now: Timestamp) {
        if let Some(new) = change.new.as_ref().filter(|_| change.sk == "config") {
            self.0.push((now, change.pk.clone(), serde_json::from_str(new.text("config")).unwrap()));
        }
    }

    /// The operations that events of a connection (by the partition key of its configuration) required at the revision,
    /// if that stood at `since` or later; sorted.
    pub(crate) fn operations(&self, pk: &str, rev: i64, since: Timestamp) -> Option<Vec<String>> {
        let mut ours = self
            .0
            .iter()
            .filter(|(_, key, _)| key == pk)
            .skip_while(|(_, _, stored)| i64::try_from(stored.rev) != Ok(rev));
        let (_, _, found) = ours.next()?;
        let stood = ours.next().is_none_or(|(replaced_at, _, _)| *replaced_at >= since);
        let mut names: Vec<_> = found.operations.iter().map(|operation| operation.name.to_string()).collect();
        names.sort();
        stood.then_some(names)
    }
}
