//! The provider's envelope around one element of a batch, cut from the delivery byte for byte.

use std::collections::HashMap;

use super::json::{Json, NodeId};

/// The envelopes of all elements of a delivery. What surrounds an element stays as the provider wrote it; elements of other
/// events disappear from their arrays and objects together with the comma before or after them.
///
/// What is the same in every envelope is found once: the time that one takes is that of writing it.
pub(crate) struct Envelopes<'a> {
    json: &'a Json<'a>,
    /// Every array and object on the way to an element.
    around: HashMap<NodeId, Container>,
}

/// An array or object with elements inside.
struct Container {
    in_array: bool,
    /// Where its first part begins, and where its last one ends.
    first: usize,
    last_end: usize,
    /// What stays whichever element is kept, in the order of the document.
    staying: Vec<Part>,
    /// What is an element or holds one, in the order of the document.
    leading: Vec<Part>,
}

/// A part of a container, and its number among all parts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    number: usize,
    id: NodeId,
}

impl<'a> Envelopes<'a> {
    /// `elements` are in the order of the document, and none lies inside of another.
    pub(crate) fn new(json: &'a Json<'a>, elements: &[NodeId]) -> Self {
        let mut around = HashMap::new();
        let mut open = vec![(0, elements)];
        while let Some((id, inside)) = open.pop() {
            if inside.is_empty() || inside == [id] {
                continue;
            }
            let span = json.span(id);
            let in_array = json.text().as_bytes().get(span.start) == Some(&b'[');
            let mut container = Container {
                in_array,
                first: span.end,
                last_end: span.start + 1,
                staying: Vec::new(),
                leading: Vec::new(),
            };
            let mut left = inside;
            for (number, child) in json.children(id).enumerate() {
                let end = json.family(child).end;
                let (within, after) = left.split_at(left.partition_point(|element| *element < end));
                let part = Part { number, id: child };
                if !within.is_empty() {
                    container.leading.push(part);
                }
                // An array loses what holds only elements of other events; a member of an object is emptied of them.
                if within.is_empty() || (!in_array && within != [child]) {
                    container.staying.push(part);
                }
                let member = json.member_span(child);
                container.first = container.first.min(member.start);
                container.last_end = member.end;
                open.push((child, within));
                left = after;
            }
            around.insert(id, container);
        }
        Self { json, around }
    }

    /// The document with all elements removed but `keep`.
    pub(crate) fn of(&self, keep: NodeId) -> String {
        let mut out = String::new();
        self.write(0, Some(keep), &mut out);
        out
    }

    /// `keep` is `None` where the element that is kept stands elsewhere.
    fn write(&self, id: NodeId, keep: Option<NodeId>, out: &mut String) {
        let container = match self.around.get(&id) {
            Some(container) if keep != Some(id) => container,
            _ => return out.push_str(self.json.slice(id)),
        };
        let text = self.json.text();
        let span = self.json.span(id);
        let kept = keep.and_then(|keep| container.way_to(keep, self.json));
        // Where the kept part stands among those that stay, or belongs.
        let place = kept.map_or(container.staying.len(), |kept| {
            container.staying.partition_point(|part| part.number < kept.number)
        });
        let (before, after) = container.staying.split_at(place);
        let after = if after.first() == kept.as_ref() { after.get(1..).unwrap_or_default() } else { after };
        let mut last: Option<Part> = None;
        for part in before.iter().chain(&kept).chain(after) {
            let member = self.json.member_span(part.id);
            // What stands between two neighbours is kept; in the place of what went there is one comma.
            let between = match last {
                None => text.get(span.start..container.first),
                Some(last) if last.number + 1 == part.number => text.get(self.json.span(last.id).end..member.start),
                Some(_) => Some(","),
            };
            out.push_str(between.unwrap_or_default());
            out.push_str(text.get(member.start..self.json.span(part.id).start).unwrap_or_default());
            self.write(part.id, keep.filter(|_| kept == Some(*part)), out);
            last = Some(*part);
        }
        match last {
            Some(_) => out.push_str(text.get(container.last_end..span.end).unwrap_or_default()),
            None => out.push_str(if container.in_array { "[]" } else { "{}" }),
        }
    }
}

impl Container {
    /// The part that is this element or holds it.
    fn way_to(&self, element: NodeId, json: &Json<'_>) -> Option<Part> {
        let at = self.leading.partition_point(|part| json.family(part.id).end <= element);
        self.leading.get(at).copied().filter(|part| json.family(part.id).contains(&element))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::decode::path::Path;

    fn cut(text: &str, paths: &[&str]) -> Vec<String> {
        let json = Json::parse(text.into()).unwrap();
        let root = (0, json.root());
        let mut ids: Vec<NodeId> =
            paths.iter().flat_map(|path| Path::compile(path).unwrap().places(&json, root)).map(|(id, _)| id).collect();
        ids.sort_unstable();
        let envelopes = Envelopes::new(&json, &ids);
        ids.iter().map(|id| envelopes.of(*id)).collect()
    }

    #[test]
    fn one_element_is_left_and_everything_else_is_as_it_was() {
        let text = "{ \"t\":1.0, \"u\" : [\n {\"a\":1} , {\"a\":\"\\u00e4\"},\n{\"a\":3}\n], \"z\":[9] }";
        assert_eq!(
            cut(text, &["$.u[*]"]),
            [
                "{ \"t\":1.0, \"u\" : [\n {\"a\":1}\n], \"z\":[9] }",
                "{ \"t\":1.0, \"u\" : [\n {\"a\":\"\\u00e4\"}\n], \"z\":[9] }",
                "{ \"t\":1.0, \"u\" : [\n {\"a\":3}\n], \"z\":[9] }",
            ]
        );
    }

    #[test]
    fn nested_arrays_and_their_neighbours_are_cut_too() {
        let text = r#"{"entry":[{"id":1,"m":["a","b"],"c":["d"]},{"id":2,"m":["e"]}]}"#;
        assert_eq!(
            cut(text, &["$.entry[*].m[*]", "$.entry[*].c[*]"]),
            [
                r#"{"entry":[{"id":1,"m":["a"],"c":[]}]}"#,
                r#"{"entry":[{"id":1,"m":["b"],"c":[]}]}"#,
                r#"{"entry":[{"id":1,"m":[],"c":["d"]}]}"#,
                r#"{"entry":[{"id":2,"m":["e"]}]}"#,
            ]
        );
    }

    #[test]
    fn a_batch_may_be_the_whole_document_or_members_of_an_object() {
        assert_eq!(cut("[1, 2, 3]", &["$[*]"]), ["[1]", "[2]", "[3]"]);
        assert_eq!(cut(r#"{"a":1,"b":2,"k":0}"#, &["$.a", "$.b"]), [r#"{"a":1,"k":0}"#, r#"{"b":2,"k":0}"#]);
        assert_eq!(cut("{\"a\": 1}", &["$"]), ["{\"a\": 1}"]);
    }

    proptest::proptest! {
        #[test]
        fn every_envelope_is_json_that_holds_the_element(parts in proptest::collection::vec(0_u8..5, 1..8)) {
            let list: Vec<String> = parts.iter().enumerate().map(|(at, kind)| match kind {
                0 => format!("{{\"e\":[{at}]}}"),
                1 => format!("{{\"e\":[ {at} , \"x{at}\" ], \"f\" : {at}}}"),
                2 => "{\"e\":[]}".to_owned(),
                3 => "{}".to_owned(),
                _ => format!("{{\"g\":0,\"e\":[[{at}]]}}"),
            }).collect();
            let text = format!("{{\"l\":[{}], \"n\": null}}", list.join(" , "));
            let json = Json::parse(text.as_str().into()).unwrap();
            let path = Path::compile("$.l[*].e[*]").unwrap();
            let ids: Vec<NodeId> = path.places(&json, (0, json.root())).into_iter().map(|(id, _)| id).collect();
            let envelopes = Envelopes::new(&json, &ids);
            for id in &ids {
                let envelope = envelopes.of(*id);
                let inner = Json::parse(envelope.as_str().into()).unwrap();
                let found = path.places(&inner, (0, inner.root()));
                assert_eq!(found.len(), 1, "{envelope}");
                assert_eq!(inner.slice(found[0].0), json.slice(*id));
            }
        }
    }
}
