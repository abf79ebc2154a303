//! RFC 9535 paths, with a shortcut for the plain ones that most fields use.

use std::collections::HashMap;

use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

use super::json::{Json, NodeId, Segment};
use crate::profile::error::Flaw;

/// A path relative to a value.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// Names and indexes only, such as `$.data.object.id`: at most one match.
    Plain(Vec<Segment>),
    /// Anything else.
    Query(JsonPath),
}

/// A value of a document, and where it stands.
pub(crate) type Place<'v> = (NodeId, &'v Value);

impl Path {
    pub(crate) fn compile(text: &str) -> Result<Self, Flaw> {
        let query = JsonPath::parse(text).map_err(|error| Flaw::new(format!("`{text}` is not a path: {error}")))?;
        Ok(plain(text).map_or(Self::Query(query), Self::Plain))
    }

    /// Every match, in the order of the document.
    pub(crate) fn places<'v>(&self, json: &Json<'_>, from: Place<'v>) -> Vec<Place<'v>> {
        let mut places: Vec<_> = match self {
            Self::Plain(segments) => walk(json, from, segments).into_iter().collect(),
            Self::Query(query) => {
                let mut parts = Parts::default();
                let located = query.query_located(from.1).into_iter();
                located.filter_map(|node| parts.walk(json, from, node.location().iter())).collect()
            }
        };
        places.sort_by_key(|(id, _)| *id);
        places.dedup_by_key(|(id, _)| *id);
        places
    }
}

fn walk<'v>(json: &Json<'_>, from: Place<'v>, segments: &[Segment]) -> Option<Place<'v>> {
    segments.iter().try_fold(from, |(id, value), segment| json.step(id, value, segment))
}

/// The parts of the arrays and objects that many matches of one path lie in. To count them again for each match would take
/// the square of their number, and a sender decides how many there are.
#[derive(Default)]
struct Parts<'v> {
    items: HashMap<NodeId, Vec<NodeId>>,
    members: HashMap<NodeId, HashMap<&'v str, Place<'v>>>,
}

impl<'v> Parts<'v> {
    fn walk<'e>(
        &mut self,
        json: &Json<'_>,
        from: Place<'v>,
        mut elements: impl Iterator<Item = &'e PathElement<'e>>,
    ) -> Option<Place<'v>> {
        elements.try_fold(from, |(id, value), element| match element {
            PathElement::Index(index) => {
                let items = self.items.entry(id).or_insert_with(|| json.children(id).collect());
                Some((*items.get(*index)?, value.as_array()?.get(*index)?))
            }
            PathElement::Name(name) => {
                let object = value.as_object()?;
                let named = || json.members(id, object).map(|(name, child, value)| (name, (child, value))).collect();
                self.members.entry(id).or_insert_with(named).get(name).copied()
            }
        })
    }
}

/// The segments of a path that is only names and indexes.
fn plain(text: &str) -> Option<Vec<Segment>> {
    let mut rest = text.strip_prefix('$')?;
    let mut segments = Vec::new();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let name = &tail[..end];
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return None;
            }
            segments.push(Segment::Name(name.to_owned()));
            rest = &tail[end..];
        } else {
            let (index, tail) = rest.strip_prefix('[')?.split_once(']')?;
            segments.push(match index.strip_prefix('\'').and_then(|index| index.strip_suffix('\'')) {
                Some(name) if !name.contains(['\'', '\\']) => Segment::Name(name.to_owned()),
                _ => Segment::Index(index.parse().ok()?),
            });
            rest = tail;
        }
    }
    Some(segments)
}

/// The path with its final filter replaced by `[*]`: everything that the filter chooses from. A filter anywhere else
/// would hide what it leaves out.
pub(crate) fn widened(text: &str) -> Result<Option<Path>, Flaw> {
    let mut quote = None;
    let mut opened_filter = None;
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if c == q && before != '\\' => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => {
                depth += 1;
                if depth == 1 && text[at + 1..].trim_start().starts_with('?') {
                    opened_filter = Some(at);
                }
            }
            (None, ']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 && opened_filter.is_some() && at + 1 != text.len() {
                    return Err(Flaw::new("a filter may only end a step: make two steps of it"));
                }
            }
            _ => {}
        }
        // An escaped backslash does not escape what follows it.
        before = if before == '\\' && c == '\\' { ' ' } else { c };
    }
    opened_filter.map(|at| Path::compile(&format!("{}[*]", &text[..at]))).transpose()
}

/// The path of the list that a path chooses elements from, which ends in `[*]` or a filter.
pub(crate) fn list(text: &str) -> Result<Option<Path>, Flaw> {
    let of_all = text.strip_suffix("[*]");
    let of_filter = || text.ends_with(']').then(|| text.split_once("[?")).flatten().map(|(list, _)| list);
    of_all.or_else(of_filter).map(Path::compile).transpose()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn found(text: &str, path: &str) -> Vec<String> {
        let json = Json::parse(text.into()).unwrap();
        let path = Path::compile(path).unwrap();
        path.places(&json, (0, json.root())).into_iter().map(|(id, _)| json.slice(id).to_owned()).collect()
    }

    #[test]
    fn plain_and_other_paths_find_the_same() {
        let text = r#"{"a":{"b c":[10,20,{"d":1}],"e":2},"f.g":3}"#;
        for (path, expected) in [
            ("$.a.e", vec!["2"]),
            ("$.a['b c'][1]", vec!["20"]),
            ("$['f.g']", vec!["3"]),
            ("$.a['b c'][-1].d", vec!["1"]),
            ("$.a['b c'][*]", vec!["10", "20", "{\"d\":1}"]),
            ("$..d", vec!["1"]),
            ("$.nothing.there", vec![]),
            ("$", vec![text]),
        ] {
            assert_eq!(found(text, path), expected, "{path}");
        }
        assert!(matches!(Path::compile("$.a['b c'][1]").unwrap(), Path::Plain(_)));
        assert!(matches!(Path::compile("$.a[-1]").unwrap(), Path::Query(_)));
        assert!(Path::compile("a.b").is_err() && Path::compile("$.").is_err());
    }

    #[test]
    fn a_filter_is_widened_where_it_ends_a_step_and_refused_elsewhere() {
        let text = r#"{"m":[{"x":1},{"y":"]"}]}"#;
        assert_eq!(found(text, "$.m[?@.x]"), ["{\"x\":1}"]);
        let wide = widened("$.m[?@.y == ']']").unwrap().unwrap();
        let json = Json::parse(text.into()).unwrap();
        assert_eq!(wide.places(&json, (0, json.root())).len(), 2);
        assert!(widened("$.m[*]").unwrap().is_none());
        assert!(widened("$.m[?@.x].z").is_err());
        assert!(widened("$['[?'].m[0]").unwrap().is_none());
    }
}
