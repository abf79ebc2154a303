//! The order in which history is fed, and a place in it.

use std::fmt;
use std::str::FromStr;

use hookbox_core::key::ReceiptId;
use hookbox_core::receipt::Receipt;
use hookbox_core::time::Timestamp;

/// Where an event stands. Those of one resource stand in the order in which they happened: providers deliver late and out
/// of order, and an older update that is applied after a newer one would undo it. Where the provider does not say when
/// something happened, its arrival is the best that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    happened_at: Timestamp,
    received_at: Timestamp,
    id: ReceiptId,
}

impl Place {
    /// The place of an event.
    pub fn of(receipt: &Receipt) -> Self {
        let Receipt { occurred_at, received_at, id, .. } = *receipt;
        Self { happened_at: occurred_at.unwrap_or(received_at), received_at, id }
    }

    /// Its receipt.
    pub fn receipt(self) -> ReceiptId {
        self.id
    }

    /// When it happened, as far as that is known.
    pub fn happened_at(self) -> Timestamp {
        self.happened_at
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.happened_at.as_millis(), self.received_at.as_millis(), self.id)
    }
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '.');
        let mut time = || parts.next()?.parse().ok().map(Timestamp::from_millis);
        let times = time().zip(time());
        let place = times
            .zip(parts.next())
            .and_then(|((happened_at, received_at), id)| Some(Self { happened_at, received_at, id: id.parse().ok()? }));
        place.ok_or("expected the place with which an earlier rebuild ended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_as_it_is_told() {
        let id = "ab".repeat(32);
        for text in [format!("1764500000125.1764500001000.{id}"), format!("-5.0.{id}")] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for bad in ["", "1.2", &format!("1.{id}"), &format!("x.2.{id}"), "1.2.abc", &format!("1.2.{id}.")] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }
}
