//! A failing history without what it does not need to fail.

use super::fault_of;
use crate::harness::History;

/// The history without every step and every trouble that can be left out, and the promise that it breaks.
pub(crate) fn shortened(history: &History) -> (History, String) {
    let mut shortest = history.clone();
    let mut fault = fault_of(&shortest).unwrap_or_else(|| "nothing, when it is played again".to_owned());
    loop {
        let shorter = without_one(&shortest).find_map(|shorter| fault_of(&shorter).map(|fault| (shorter, fault)));
        match shorter {
            Some((shorter, why)) => (shortest, fault) = (shorter, why),
            None => return (shortest, fault),
        }
    }
}

/// The history without one of its steps or troubles, each in turn. A trouble stands at the number of a call, so one that
/// depends on a step before it may stay out of reach; what is left is short all the same.
fn without_one(history: &History) -> impl Iterator<Item = History> {
    let steps = (0..history.steps.len()).rev().map(|place| {
        let mut shorter = history.clone();
        shorter.steps.remove(place);
        shorter
    });
    let troubles = (0..history.troubles.len()).rev().map(|place| {
        let mut shorter = history.clone();
        shorter.troubles.remove(place);
        shorter
    });
    troubles.chain(steps)
}
