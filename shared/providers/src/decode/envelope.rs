//! The provider's envelope around one element of a batch, cut from the delivery byte for byte.

use super::json::{Json, NodeId};

/// The document with all of `elements` removed but `keep`. `elements` are in the order of the document.
///
/// What surrounds the element stays as the provider wrote it; elements of other events disappear from their arrays and
/// objects together with the comma before or after them.
pub(crate) fn around(json: &Json<'_>, keep: NodeId, elements: &[NodeId]) -> String {
    let mut out = String::new();
    Cut { json, keep, elements }.write(0, &mut out);
    out
}

struct Cut<'a> {
    json: &'a Json<'a>,
    keep: NodeId,
    elements: &'a [NodeId],
}

impl Cut<'_> {
    /// Whether something in there, or the value itself, belongs to another event.
    fn has_others(&self, id: NodeId) -> bool {
        let family = self.json.family(id);
        let from = self.elements.partition_point(|element| *element < family.start);
        self.elements[from..].iter().take_while(|element| **element < family.end).any(|element| *element != self.keep)
    }

    fn has_kept(&self, id: NodeId) -> bool {
        self.json.family(id).contains(&self.keep)
    }

    /// Whether a part of an array or object goes: an element of another event, or, in an array, what holds only such.
    fn goes(&self, id: NodeId, in_array: bool) -> bool {
        !self.has_kept(id) && if in_array { self.has_others(id) } else { self.elements.binary_search(&id).is_ok() }
    }

    fn write(&self, id: NodeId, out: &mut String) {
        if id == self.keep || !self.has_others(id) {
            out.push_str(self.json.slice(id));
            return;
        }
        let text = self.json.text();
        let span = self.json.span(id);
        let in_array = text.as_bytes().get(span.start) == Some(&b'[');
        let mut end_of_last = None;
        let mut written = false;
        for child in self.json.children(id) {
            let member = self.json.member_span(child);
            if !self.goes(child, in_array) {
                // What stands between two neighbours is kept; in the place of what went there is one comma.
                let before = match (end_of_last, written) {
                    (Some(end), true) => text.get(end..member.start),
                    (_, true) => Some(","),
                    (_, false) => text.get(span.start..self.first(id)),
                };
                out.push_str(before.unwrap_or_default());
                out.push_str(text.get(member.start..self.json.span(child).start).unwrap_or_default());
                self.write(child, out);
                written = true;
                end_of_last = Some(member.end);
            } else if written {
                end_of_last = None;
            }
        }
        let last_end = self.json.children(id).last().map_or(span.start + 1, |child| self.json.span(child).end);
        if written {
            out.push_str(text.get(last_end..span.end).unwrap_or_default());
        } else {
            out.push_str(if in_array { "[]" } else { "{}" });
        }
    }

    /// Where the first part of an array or object begins.
    fn first(&self, id: NodeId) -> usize {
        self.json.children(id).next().map_or(self.json.span(id).end, |child| self.json.member_span(child).start)
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
        ids.iter().map(|id| around(&json, *id, &ids)).collect()
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
            for id in &ids {
                let envelope = around(&json, *id, &ids);
                let inner = Json::parse(envelope.as_str().into()).unwrap();
                let found = path.places(&inner, (0, inner.root()));
                assert_eq!(found.len(), 1, "{envelope}");
                assert_eq!(inner.slice(found[0].0), json.slice(*id));
            }
        }
    }
}
