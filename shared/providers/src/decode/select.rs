//! Which elements of a delivery are events, and whose.
//!
//! Rules take elements in their order; what no rule takes is found by the same steps without their filters, so that it
//! is seen and not dropped, unless the rule is for another form of delivery altogether. Taken elements never lie inside of each other.

use std::collections::{BTreeMap, BTreeSet};

use hookbox_core::limits::MAX_EVENTS_PER_DELIVERY;
use serde_json::Value;

use super::DecodeError;
use super::json::{Json, NodeId};
use super::path::Place;
use super::rule::Rule;
use super::source::{Bound, View};

/// An element and what the rule's steps stand for on the way to it.
pub(crate) struct Found<'r, 'v> {
    pub(crate) place: Place<'v>,
    /// The rule that takes it; `None` for an element that none takes.
    pub(crate) rule: Option<&'r Rule>,
    pub(crate) steps: Vec<Place<'v>>,
}

/// Every element in the order of the document: the body as a whole where no rule looks into it, and none where all lists
/// are empty.
pub(crate) fn select<'r, 'a>(
    rules: &'r [Rule],
    json: &'a Json<'a>,
    view: &View<'a>,
) -> Result<Vec<Found<'r, 'a>>, DecodeError> {
    let root = (0, json.root());
    let mut taken: BTreeMap<NodeId, Found<'r, 'a>> = BTreeMap::new();
    let mut seen: BTreeMap<NodeId, &'a Value> = BTreeMap::new();
    let mut emptied: BTreeSet<NodeId> = BTreeSet::new();
    for rule in rules {
        if !rule.delivery.iter().all(|condition| condition.holds(view)) {
            continue;
        }
        let mut trails = vec![vec![root]];
        let mut wide = vec![root];
        for step in &rule.steps {
            for place in &wide {
                match step.length_at(json, *place) {
                    Some(0) => _ = emptied.insert(place.0),
                    // Before anything is made of each of them.
                    Some(length) => check_count(length)?,
                    None => {}
                }
            }
            trails = further(&trails, |place| step.path.places(json, place))?;
            wide = wide.into_iter().flat_map(|place| step.all().places(json, place)).collect();
            check_count(wide.len())?;
            seen.extend(wide.iter().copied());
        }
        for trail in trails {
            let Some((place, steps)) = trail.last().map(|place| (*place, trail[1..].to_vec())) else {
                continue;
            };
            if !overlaps(&taken, json, place.0) && applies(rule, json, &steps, view) {
                taken.insert(place.0, Found { place, rule: Some(rule), steps });
            }
        }
    }
    let left = seen
        .iter()
        .map(|(id, value)| (*id, *value))
        .filter(|(id, _)| !overlaps(&taken, json, *id) && seen.range(id + 1..json.family(*id).end).next().is_none());
    let (empty, left): (Vec<_>, Vec<Place<'a>>) =
        left.partition(|(id, value)| emptied.contains(id) && has_no_elements(value) && !has_objects(value));
    for place in left {
        taken.insert(place.0, Found { place, rule: None, steps: Vec::new() });
    }
    let is_empty = (emptied.contains(&root.0) || root.1.is_array()) && has_no_elements(root.1);
    if taken.is_empty() && empty.is_empty() && !is_empty {
        taken.insert(root.0, Found { place: root, rule: None, steps: Vec::new() });
    }
    check_count(taken.len())?;
    Ok(taken.into_values().collect())
}

/// Every trail with each of the places that a step finds at its end.
fn further<'a>(
    trails: &[Vec<Place<'a>>],
    step: impl Fn(Place<'a>) -> Vec<Place<'a>>,
) -> Result<Vec<Vec<Place<'a>>>, DecodeError> {
    let mut longer = Vec::new();
    for trail in trails {
        let places = trail.last().map(|place| step(*place)).unwrap_or_default();
        longer.extend(places.into_iter().map(|place| [trail.as_slice(), &[place]].concat()));
        check_count(longer.len())?;
    }
    Ok(longer)
}

/// Whether no list in it has an element.
fn has_no_elements(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(has_no_elements),
        _ => true,
    }
}

/// Whether one of its members is an object with members of its own.
fn has_objects(value: &Value) -> bool {
    let has_members = |value: &Value| value.as_object().is_some_and(|members| !members.is_empty());
    value.as_object().is_some_and(|members| members.values().any(has_members))
}

fn check_count(count: usize) -> Result<(), DecodeError> {
    let limit = MAX_EVENTS_PER_DELIVERY;
    if count > limit { Err(DecodeError::TooManyEvents { limit }) } else { Ok(()) }
}

/// Whether something taken is this element, is in it, or holds it.
fn overlaps<T>(taken: &BTreeMap<NodeId, T>, json: &Json<'_>, id: NodeId) -> bool {
    taken.range(json.family(id)).next().is_some()
        || taken.range(..id).next_back().is_some_and(|(before, _)| json.family(*before).contains(&id))
}

fn applies<'a>(rule: &Rule, json: &'a Json<'a>, steps: &[Place<'a>], view: &View<'a>) -> bool {
    if rule.when.is_empty() {
        return true;
    }
    let mut bound = view.bound.to_vec();
    bound.extend(steps.iter().map(|place| Some(Bound { json, place: *place })));
    let view = View { bound: &bound, ..*view };
    rule.when.iter().all(|condition| condition.holds(&view))
}
