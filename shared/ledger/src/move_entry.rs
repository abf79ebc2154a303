//! Moves a job's entry in the open index: the sweeper's claim to act on it.

use hookbox_core::job::Job;

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::expression::{Expression, number, text};
use crate::item::{check_schema, key};
use crate::transact::Key;

impl Ledger {
    /// Moves the job's entry in the open index from `before` to `after` and leaves its version alone. True only for the
    /// one writer that landed: false when the version or the entry's time is no longer as it was read.
    ///
    /// Its token is an attribute of its own, so that a worker still recognises its own write after an entry was moved.
    pub async fn move_entry(&self, before: &Job, after: &Job) -> Result<bool, LedgerError> {
        let (Some(old), Some(new)) = (before.open_at, after.open_at) else { return Ok(false) };
        let token = self.token();
        let moved = Expression::of_ours()
            .when_is("version", number(before.version))
            .when_is("open_at", number(old.as_millis()))
            .set("open_at", number(new.as_millis()))
            .set("wakes", number(after.wakes))
            .set("wake_token", text(token.as_str()));
        let mut tries = self.tries();
        loop {
            let key = Key::new(before.key.receipt.to_string(), key::job(&before.key));
            match tries.make(self.update(key, &moved).send()).await {
                Ok(_) => return Ok(true),
                Err(Failure::Condition(None)) => return Ok(false),
                Err(Failure::Condition(Some(item))) => {
                    check_schema(&item)?;
                    return Ok(item.get("wake_token") == Some(&text(token.as_str())));
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}
