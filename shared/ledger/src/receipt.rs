//! What later deliveries of the same event leave on its receipt.

use aws_sdk_dynamodb::types::AttributeValue;
use hookbox_core::key::ReceiptId;
use hookbox_core::limits::{MAX_ARRIVALS, MAX_CONFLICTS};
use hookbox_core::receipt::{Arrival, Conflict};
use hookbox_core::time::{EpochSeconds, Timestamp};

use crate::Ledger;
use crate::classify::Failure;
use crate::error::{LedgerError, Stored};
use crate::expression::{Expression, number, text};
use crate::item::{self, Item, check_schema, key};
use crate::transact::Key;

/// A list on the receipt that describes the first deliveries of a kind.
struct List {
    attribute: &'static str,
    limit: usize,
    entry: Item,
    /// The same without what leads to its sender, for a receipt that was erased.
    erased: Item,
}

/// How a delivery is described.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Described {
    Wholly,
    Erased,
    /// It is only counted.
    Not,
}

impl Ledger {
    /// Counts a further delivery of the same event, and describes it while fewer than [`MAX_ARRIVALS`] are described.
    /// On a receipt that was erased nothing is written that leads to the sender. It needs no version, because it changes
    /// nothing that a decision uses.
    pub async fn count_duplicate(&self, id: &ReceiptId, arrival: &Arrival) -> Result<(), LedgerError> {
        let (entry, erased) = (item::receipt::arrival(arrival)?, item::receipt::arrival(&arrival.erased())?);
        self.count(id, arrival.at, List { attribute: "arrivals", limit: MAX_ARRIVALS, entry, erased }).await
    }

    /// Counts a further delivery that carried another content under the same key, and describes it while fewer than
    /// [`MAX_CONFLICTS`] are described. One delivery is counted by this *or* by
    /// [`count_duplicate`](Self::count_duplicate).
    pub async fn record_conflict(&self, id: &ReceiptId, conflict: &Conflict) -> Result<(), LedgerError> {
        let (entry, erased) = (item::receipt::conflict(conflict)?, item::receipt::conflict(&conflict.erased())?);
        self.count(id, conflict.at, List { attribute: "conflicts", limit: MAX_CONFLICTS, entry, erased }).await
    }

    /// Lets a receipt that expires expire no sooner than `until`; one that is kept stays so. `false` when there is none.
    pub async fn outlive(&self, id: &ReceiptId, until: EpochSeconds) -> Result<bool, LedgerError> {
        let mut sooner = Expression::of_ours();
        let (name, time) = (sooner.name("expires_at"), sooner.value(number(until.get())));
        let sooner = sooner.when(format!("{name} < {time}")).set("expires_at", number(until.get()));
        let mut tries = self.tries();
        loop {
            let key = Key::new(id.to_string(), key::HEAD);
            match tries.make(self.update(key, &sooner).send()).await {
                Ok(_) => return Ok(true),
                Err(Failure::Condition(item)) => return Ok(item.is_some()),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn count(&self, id: &ReceiptId, at: Timestamp, list: List) -> Result<(), LedgerError> {
        let token = self.token();
        let mut tries = self.tries();
        let mut described = Described::Wholly;
        loop {
            let key = Key::new(id.to_string(), key::HEAD);
            let call = self.update(key, &counting(&list, at, &token, described));
            match tries.make(call.send()).await {
                Ok(_) => return Ok(()),
                Err(Failure::Condition(None)) => {
                    return Err(LedgerError::ConditionFailed { stored: Stored::Nothing });
                }
                Err(Failure::Condition(Some(item))) => {
                    check_schema(&item)?;
                    if item.get("count_token") == Some(&text(token.as_str())) {
                        return Ok(());
                    }
                    described = match described {
                        Described::Wholly if item.contains_key("erased_at") => Described::Erased,
                        // What is left is a full list. From here on the delivery is only counted.
                        Described::Wholly | Described::Erased => Described::Not,
                        Described::Not => return Err(LedgerError::ConditionFailed { stored: Stored::Nothing }),
                    };
                }
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

/// An addition is not idempotent: the token of the latest one keeps a retry from counting twice, unless another
/// delivery is counted in between.
fn counting(list: &List, at: Timestamp, token: &str, described: Described) -> Expression {
    let expression = Expression::of_ours()
        .add("duplicate_count", number(1))
        .set("last_duplicate_at", number(at.as_millis()))
        .set("count_token", text(token));
    let mut expression = {
        let mut expression = expression;
        let (name, ours) = (expression.name("count_token"), expression.value(text(token)));
        expression.when(format!("{name} <> {ours}"))
    };
    let entry = match described {
        Described::Wholly => {
            expression = expression.when_absent("erased_at");
            &list.entry
        }
        Described::Erased => &list.erased,
        Described::Not => return expression,
    };
    let (name, limit) = (expression.name(list.attribute), expression.value(number(list.limit)));
    expression
        .when(format!("(attribute_not_exists({name}) OR size({name}) < {limit})"))
        .append(list.attribute, AttributeValue::M(entry.clone()))
}
