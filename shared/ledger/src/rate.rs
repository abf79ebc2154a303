//! Counters of calls, one item for each shard of an operation and second. They exist only where a limit is configured.

use std::time::Duration;

use hookbox_core::name::{Account, OperationName, Provider};
use hookbox_core::time::Timestamp;

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::expression::{Expression, number};
use crate::item::{SCHEMA, key};
use crate::transact::Key;

/// How long a counter stays after its second: long enough for clocks that differ.
const KEPT: Duration = Duration::from_secs(3_600);

impl Ledger {
    /// Takes one of the `limit` calls that a shard of an operation has in the second of `at`. `false` when they are all
    /// taken. A call whose answer was lost may be counted twice: the limit is never exceeded, only used up early.
    pub async fn take_call(
        &self,
        provider: &Provider,
        account: &Account,
        operation: &OperationName,
        shard: u16,
        limit: u32,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        if limit == 0 {
            return Ok(false);
        }
        let second = Timestamp::from_seconds(at.as_millis().div_euclid(1_000));
        let key = Key::new(key::rate(provider, account, operation, shard), second.to_string());
        let mut free = Expression::default();
        let (pk, schema, calls) = (free.name("pk"), free.name("schema"), free.name("calls"));
        let (ours, most) = (free.value(number(SCHEMA)), free.value(number(limit)));
        let free = free
            .when(format!("(attribute_not_exists({pk}) OR ({schema} <= {ours} AND {calls} < {most}))"))
            .add("calls", number(1))
            .set("schema", number(SCHEMA))
            .set("expires_at", number(second.plus(KEPT).to_epoch_seconds().get()));
        let mut tries = self.tries();
        loop {
            match tries.make(self.update(key.clone(), &free).send()).await {
                Ok(_) => return Ok(true),
                Err(Failure::Condition(_)) => return Ok(false),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}
