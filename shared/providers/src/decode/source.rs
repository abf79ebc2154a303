//! Sources: where a field's text comes from, with fallbacks and joins.

use std::borrow::Cow;

use hookbox_core::digest::Digest;
use serde_json::Value;

use super::canonical;
use super::json::Json;
use super::path::{Path, Place};
use super::{Fault, form::Form};
use crate::profile::error::{Flaw, Placed};
use crate::request::Request;

/// The names that a source may refer to, in the order of [`View::bound`].
pub(crate) type Names<'n> = [&'n str];

/// Everything that sources look at.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) form: Option<&'a Form>,
    /// What each name stands for: the body, the documents inside it, then the steps of a rule.
    pub(crate) bound: &'a [Option<Bound<'a>>],
    /// JSON pointers, relative to a step's value, that its digest leaves out.
    pub(crate) volatile: &'a [String],
}

impl View<'_> {
    /// The digest of a value without its volatile fields.
    pub(crate) fn digest(&self, bound: Bound<'_>) -> Digest {
        let volatile: Vec<&str> = self.volatile.iter().map(String::as_str).collect();
        canonical::digest(bound.json, bound.place.0, &volatile)
    }
}

/// A value and the document that it stands in.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) json: &'a Json<'a>,
    pub(crate) place: Place<'a>,
}

/// Sources in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    alternatives: Vec<Alternative>,
    /// As the profile writes them, for errors.
    shown: String,
}

/// One source, or several joined with text between them.
#[derive(Clone, Debug)]
struct Alternative {
    parts: Vec<Part>,
    /// Whether `:` and `\` inside of a part are escaped, so that two different lists of parts never give one text.
    escape: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Source { source: Source, optional: bool },
}

/// Where one text comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A path relative to what a name stands for.
    Path(usize, Path),
    /// The digest of what a name stands for, without its volatile fields.
    Digest(usize),
    /// The first of these names that an object has a member of.
    Member(usize, Vec<String>),
    /// A header.
    Header(String),
    /// A query parameter.
    Query(String),
    /// A field of a form.
    Form(String),
    /// The text itself.
    Const(String),
    /// What follows the last of these in another source's text.
    After(String, Box<Source>),
}

impl Source {
    pub(crate) fn compile(text: &str, names: &Names<'_>) -> Result<Self, Flaw> {
        let (kind, rest) = text.split_once(':').ok_or_else(|| {
            let known =
                "header:, query:, form:, const:, digest:, member:, after: or a name and a path such as body:$.id";
            Flaw::new(format!("`{text}` is not a source: write {known}"))
        })?;
        let number = |name: &str| {
            names
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| Flaw::new(format!("nothing is called `{name}` here; there are {}", names.join(", "))))
        };
        match kind {
            "const" => Ok(Self::Const(rest.to_owned())),
            _ if rest.is_empty() => Err(Flaw::new(format!("`{text}` names nothing"))),
            "after" => {
                let wrong = || Flaw::new(format!("`{text}` is not after anything: write after:@:body:$.address"));
                let (separator, source) = rest.split_once(':').ok_or_else(wrong)?;
                Ok(Self::After(separator.to_owned(), Box::new(Self::compile(source, names)?)))
            }
            "header" => Ok(Self::Header(rest.to_owned())),
            "query" => Ok(Self::Query(rest.to_owned())),
            "form" => Ok(Self::Form(rest.to_owned())),
            "digest" => number(rest).map(Self::Digest),
            "member" => {
                let wrong = || Flaw::new(format!("`{text}` names no members: write member:item:first,second"));
                let (name, members) = rest.split_once(':').ok_or_else(wrong)?;
                Ok(Self::Member(number(name)?, members.split(',').map(str::to_owned).collect()))
            }
            name => Ok(Self::Path(number(name)?, Path::compile(rest)?)),
        }
    }

    /// The number of the name that it looks into, if it looks into one.
    pub(crate) fn name(&self) -> Option<usize> {
        match self {
            Self::Path(name, _) | Self::Digest(name) | Self::Member(name, _) => Some(*name),
            Self::Header(_) | Self::Query(_) | Self::Form(_) | Self::Const(_) => None,
            Self::After(_, source) => source.name(),
        }
    }

    /// The text, if there is one that is not empty.
    pub(crate) fn text(&self, view: &View<'_>) -> Result<Option<String>, Fault> {
        let text = match self {
            Self::Const(text) => Some(text.clone()),
            Self::After(separator, source) => source
                .text(view)?
                .and_then(|text| text.rsplit_once(separator.as_str()).map(|(_, after)| after.to_owned())),
            Self::Header(name) => view.request.header(name).map_err(|_| Fault::Duplicate)?.map(str::to_owned),
            Self::Query(name) => view.request.query_parameter(name).map_err(|_| Fault::Duplicate)?.map(Cow::into_owned),
            Self::Form(name) => match view.form {
                Some(form) => form.get(name).map_err(|_| Fault::Duplicate)?.map(str::to_owned),
                None => None,
            },
            Self::Digest(name) => view.bound.get(*name).copied().flatten().map(|bound| view.digest(bound).to_string()),
            Self::Member(name, members) => {
                let object = view.bound.get(*name).copied().flatten().and_then(|bound| bound.place.1.as_object());
                object.and_then(|object| members.iter().find(|member| object.contains_key(*member)).cloned())
            }
            Self::Path(name, path) => match view.bound.get(*name).copied().flatten() {
                Some(bound) => path_text(path, bound)?,
                None => None,
            },
        };
        Ok(text.filter(|text| !text.is_empty()))
    }
}

/// The texts of all matches. Numbers keep their source text: an id beyond 2^53 must not be rounded.
fn path_text(path: &Path, bound: Bound<'_>) -> Result<Option<String>, Fault> {
    let mut texts: Option<String> = None;
    for (id, value) in path.places(bound.json, bound.place) {
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.as_str(),
            Value::Bool(_) | Value::Number(_) => bound.json.slice(id),
            Value::Array(_) | Value::Object(_) => return Err(Fault::NotText),
        };
        match &mut texts {
            None => texts = Some(text.to_owned()),
            Some(texts) => texts.extend([",", text]),
        }
    }
    Ok(texts)
}

impl Sources {
    /// `joined_key` is set for an identity: its parts are kept apart.
    pub(crate) fn compile(texts: &[String], names: &Names<'_>, joined_key: bool) -> Result<Self, Flaw> {
        let alternatives = texts
            .iter()
            .enumerate()
            .map(|(index, text)| Alternative::compile(text, names, joined_key).at(index))
            .collect::<Result<_, _>>()?;
        Ok(Self { alternatives, shown: texts.join(" | ") })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    /// The sources as the profile writes them.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The text of the first alternative that is complete. A fault of one counts only where no other has a text.
    pub(crate) fn text(&self, view: &View<'_>) -> Result<Option<String>, Fault> {
        let mut nothing = Ok(None);
        for alternative in &self.alternatives {
            match alternative.text(view) {
                Ok(None) => {}
                Ok(Some(text)) => return Ok(Some(text)),
                Err(fault) => nothing = nothing.and(Err(fault)),
            }
        }
        nothing
    }
}

impl Alternative {
    fn compile(text: &str, names: &Names<'_>, joined_key: bool) -> Result<Self, Flaw> {
        if !text.contains('{') {
            let source = Source::compile(text, names)?;
            return Ok(Self { parts: vec![Part::Source { source, optional: false }], escape: false });
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            let close = closing_brace(&rest[open..]).ok_or_else(|| Flaw::new("a `{` is never closed"))?;
            let inner = &rest[open + 1..open + close];
            let (inner, optional) = inner.strip_suffix('?').map_or((inner, false), |inner| (inner, true));
            parts.push(Part::Source { source: Source::compile(inner, names)?, optional });
            rest = &rest[open + close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        let escape = joined_key && parts.iter().filter(|part| matches!(part, Part::Source { .. })).count() > 1;
        if escape {
            let apart = |pair: &[Part]| !matches!(pair, [Part::Source { .. }, Part::Source { .. }]);
            let texts = parts.iter().enumerate().filter_map(|(at, part)| match part {
                Part::Text(text) if at > 0 && at + 1 < parts.len() => Some(text),
                _ => None,
            });
            if !parts.windows(2).all(apart) || !texts.clone().all(|text| text.contains(':')) {
                return Err(Flaw::new("the parts of a joined id are kept apart by a `:` between them"));
            }
        }
        Ok(Self { parts, escape })
    }

    fn text(&self, view: &View<'_>) -> Result<Option<String>, Fault> {
        let mut joined = String::new();
        let mut any = false;
        for part in &self.parts {
            match part {
                Part::Text(text) => joined.push_str(text),
                Part::Source { source, optional } => match source.text(view)? {
                    Some(text) if self.escape => {
                        any = true;
                        joined.push_str(&text.replace('\\', "\\\\").replace(':', "\\:"));
                    }
                    Some(text) => {
                        any = true;
                        joined.push_str(&text);
                    }
                    None if *optional => {}
                    None => return Ok(None),
                },
            }
        }
        Ok(any.then_some(joined))
    }
}

/// Where the brace that opens the text is closed; braces in quotes do not count.
fn closing_brace(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '}') => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(source: &str, joined_key: bool) -> Result<Option<String>, Fault> {
        let body =
            r#"{"id":9007199254740993,"f":1.10,"t":true,"n":null,"e":"","o":{},"a":["x","y"],"s":"a:b\\","}":"brace"}"#;
        let json = Json::parse(body.into()).unwrap();
        let headers =
            [("X-Id".to_owned(), "h1".to_owned()), ("twice".into(), "1".into()), ("twice".into(), "1".into())];
        let request = Request {
            method: "POST",
            path_token: None,
            url: None,
            query: Some("q=v%20w"),
            headers: &headers,
            body: b"",
        };
        let bound = [Some(Bound { json: &json, place: (0, json.root()) })];
        let view = View { request: &request, form: None, bound: &bound, volatile: &[] };
        Sources::compile(&[source.to_owned()], &["body"], joined_key).unwrap().text(&view)
    }

    #[test]
    fn every_kind_of_source_gives_its_text() {
        for (source, expected) in [
            ("body:$.id", Some("9007199254740993")),
            ("body:$.f", Some("1.10")),
            ("body:$.t", Some("true")),
            ("body:$.n", None),
            ("body:$.e", None),
            ("body:$.missing", None),
            ("body:$.a[*]", Some("x,y")),
            ("member:body:x,o,id", Some("o")),
            ("member:body:x", None),
            ("after:0:body:$.id", Some("993")),
            ("after:@:body:$.id", None),
            ("header:x-id", Some("h1")),
            ("header:none", None),
            ("query:q", Some("v w")),
            ("form:x", None),
            ("const:c:d", Some("c:d")),
            ("{header:x-id}/{body:$.id}", Some("h1/9007199254740993")),
            ("{header:x-id}/{body:$.missing}", None),
            ("{header:x-id}/{body:$.missing?}", Some("h1/")),
            ("{body:$.missing?}/", None),
            ("<{body:$['}']}>", Some("<brace>")),
        ] {
            assert_eq!(text(source, false), Ok(expected.map(str::to_owned)), "{source}");
        }
        assert_eq!(text("body:$.o", false), Err(Fault::NotText));
        assert_eq!(text("header:twice", false), Err(Fault::Duplicate));
        assert_eq!(text("digest:body", false).unwrap().map(|text| text.len()), Some(64));
    }

    #[test]
    fn the_parts_of_a_joined_id_cannot_run_into_each_other() {
        assert_eq!(text("p:{body:$.s}:{header:x-id}", true), Ok(Some("p:a\\:b\\\\:h1".into())));
        assert_eq!(text("p:{body:$.s}", true), Ok(Some("p:a:b\\".into())), "one part needs nothing to be kept from");
        let compile = |text: &str| Sources::compile(&[text.to_owned()], &["body"], true);
        assert!(compile("{body:$.a}{body:$.b}").is_err());
        assert!(compile("{body:$.a}-{body:$.b}").is_err());
    }

    #[test]
    fn a_source_that_cannot_work_is_refused_when_it_is_read() {
        for bad in
            ["id", "item:$.x", "body:id", "header:", "{body:$.x", "digest:item", "body:", "member:body", "after:@"]
        {
            assert!(Sources::compile(&[bad.to_owned()], &["body"], false).is_err(), "{bad}");
        }
    }
}
