//! A JSON reader that knows where in the text every value stands.
//!
//! It is stricter than `serde_json`: a key that occurs twice is refused (the sender and we might not mean the same one),
//! and so are depth and number of values beyond a limit.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::Fault;

/// How deep arrays and objects may be nested.
pub const MAX_JSON_DEPTH: usize = 64;
/// How many values one document may hold.
pub const MAX_JSON_VALUES: usize = 500_000;
/// How much memory the values of one document may take, in bytes, beside their texts. Whoever knows an address can make
/// a function read a document, some two at once, and it has 256 MB.
const MAX_JSON_MEMORY: usize = 48 * 1024 * 1024;
/// What a value takes with its place in the text, counted while the lists that hold them grow.
const VALUE_MEMORY: usize = 64;
/// What a leaf of an object's tree takes, which holds eleven members at most.
const OBJECT_MEMORY: usize = 640;
/// From how many members on a further leaf is counted: leaves are half full at least.
const MEMBERS_OF_A_LEAF: usize = 6;

/// The number of a value within its document, in the order in which the values begin.
pub(crate) type NodeId = u32;

/// A document: its text, its value, and the place of every part of the value in the text.
#[derive(Debug)]
pub(crate) struct Json<'t> {
    text: Cow<'t, str>,
    root: Value,
    nodes: Vec<Node>,
}

/// Where a value stands. Its parts follow it, so `size` numbers from it on belong to it.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    end: u32,
    size: u32,
    /// Where its key begins, with the quote, if it is a member of an object.
    key: u32,
}

const NO_KEY: u32 = u32::MAX;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Name(String),
    Index(usize),
}

impl<'t> Json<'t> {
    pub(crate) fn parse(text: Cow<'t, str>) -> Result<Self, Fault> {
        let mut reader = Reader { text: &text, at: 0, nodes: Vec::new(), memory: 0 };
        reader.skip_blanks();
        let root = reader.value(NO_KEY, 1)?;
        reader.skip_blanks();
        if reader.at < text.len() {
            return Err(Fault::TrailingBytes { at: reader.at });
        }
        let nodes = reader.nodes;
        Ok(Self { text, root, nodes })
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id as usize)
    }

    /// The numbers of a value and everything in it.
    pub(crate) fn family(&self, id: NodeId) -> Range<NodeId> {
        id..id + self.node(id).map_or(1, |node| node.size)
    }

    /// Where a value stands in the text.
    pub(crate) fn span(&self, id: NodeId) -> Range<usize> {
        self.node(id).map_or(0..0, |node| node.start as usize..node.end as usize)
    }

    /// Where a value stands in the text, together with its key.
    pub(crate) fn member_span(&self, id: NodeId) -> Range<usize> {
        let span = self.span(id);
        match self.node(id) {
            Some(node) if node.key != NO_KEY => node.key as usize..span.end,
            _ => span,
        }
    }

    /// The source text of a value.
    pub(crate) fn slice(&self, id: NodeId) -> &str {
        self.text.get(self.span(id)).unwrap_or_default()
    }

    /// The direct parts of an array or object.
    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let family = self.family(id);
        let mut next = family.start + 1;
        std::iter::from_fn(move || {
            let child = (next < family.end).then_some(next)?;
            next = self.family(child).end;
            Some(child)
        })
    }

    /// One step further, in the value and in the text at once.
    pub(crate) fn step<'v>(&self, id: NodeId, value: &'v Value, segment: &Segment) -> Option<(NodeId, &'v Value)> {
        match segment {
            Segment::Index(index) => Some((self.children(id).nth(*index)?, value.as_array()?.get(*index)?)),
            Segment::Name(name) => {
                let inner = value.as_object()?.get(name)?;
                Some((self.children(id).find(|child| self.has_key(*child, name))?, inner))
            }
        }
    }

    /// The members of an object in the order of the document: name, number and value.
    pub(crate) fn members<'v>(
        &self,
        id: NodeId,
        object: &'v Map<String, Value>,
    ) -> impl Iterator<Item = (&'v str, NodeId, &'v Value)> {
        self.children(id).filter_map(|child| {
            let (name, value) = object.get_key_value(&*self.name(child))?;
            Some((name.as_str(), child, value))
        })
    }

    /// The name of a member.
    pub(crate) fn name(&self, id: NodeId) -> Cow<'_, str> {
        let key = self.key(id);
        if key.contains('\\') {
            Cow::Owned(unquoted(key).unwrap_or_default())
        } else {
            Cow::Borrowed(key.get(1..key.len().saturating_sub(1)).unwrap_or_default())
        }
    }

    /// The source text of a member's key, with its quotes.
    fn key(&self, id: NodeId) -> &str {
        let rest = match self.node(id) {
            Some(node) => self.text.get(node.key as usize..node.start as usize).unwrap_or_default(),
            None => "",
        };
        &rest[..rest.rfind('"').map_or(0, |quote| quote + 1)]
    }

    fn has_key(&self, id: NodeId, name: &str) -> bool {
        self.name(id) == name
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    nodes: Vec<Node>,
    memory: usize,
}

impl Reader<'_> {
    fn spend(&mut self, memory: usize) -> Result<(), Fault> {
        self.memory += memory;
        if self.memory > MAX_JSON_MEMORY { Err(Fault::TooManyValues) } else { Ok(()) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong<T>(&self) -> Result<T, Fault> {
        // An escape that is cut off ends behind the text.
        Err(Fault::Syntax { at: self.at.min(self.text.len()) })
    }

    fn offset(&self) -> Result<u32, Fault> {
        u32::try_from(self.at).or_else(|_| self.wrong())
    }

    fn value(&mut self, key: u32, depth: usize) -> Result<Value, Fault> {
        if self.nodes.len() == MAX_JSON_VALUES {
            return Err(Fault::TooManyValues);
        }
        self.spend(VALUE_MEMORY)?;
        let id = self.nodes.len();
        let start = self.offset()?;
        self.nodes.push(Node { start, end: start, size: 1, key });
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return self.wrong(),
        };
        let end = self.offset()?;
        let size = u32::try_from(self.nodes.len() - id).unwrap_or(1);
        if let Some(node) = self.nodes.get_mut(id) {
            (node.end, node.size) = (end, size);
        }
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_JSON_DEPTH {
            return Err(Fault::TooDeep { at: self.at });
        }
        let mut map = Map::new();
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(map));
        }
        loop {
            let (key_at, key_start) = (self.at, self.offset()?);
            if self.peek() != Some(b'"') {
                return self.wrong();
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return self.wrong();
            }
            self.at += 1;
            self.skip_blanks();
            if map.len().is_multiple_of(MEMBERS_OF_A_LEAF) {
                self.spend(OBJECT_MEMORY)?;
            }
            let value = self.value(key_start, depth + 1)?;
            if map.insert(key, value).is_some() {
                return Err(Fault::DuplicateKey { at: key_at });
            }
            if !self.more(b'}')? {
                return Ok(Value::Object(map));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_JSON_DEPTH {
            return Err(Fault::TooDeep { at: self.at });
        }
        let mut list = Vec::new();
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(list));
        }
        loop {
            list.push(self.value(NO_KEY, depth + 1)?);
            if !self.more(b']')? {
                return Ok(Value::Array(list));
            }
        }
    }

    /// After an element: whether another one follows, or else the end.
    fn more(&mut self, end: u8) -> Result<bool, Fault> {
        self.skip_blanks();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_blanks();
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.wrong(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return self.wrong();
        }
        self.at += word.len();
        Ok(value)
    }

    /// Stands on the opening quote; leaves behind the closing one.
    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut escaped = false;
        self.at += 1;
        loop {
            let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|byte| !plain(byte)).unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                _ => return self.wrong(),
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        if escaped {
            unquoted(quoted).ok_or(Fault::Syntax { at: start })
        } else {
            Ok(quoted[1..quoted.len() - 1].to_owned())
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        // Most numbers are short and whole; that `0` comes first only alone is JSON's rule.
        let whole =
            text.len() < 19 && text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
        if let (true, Ok(number)) = (whole, text.parse::<u64>()) {
            return Ok(Value::from(number));
        }
        match serde_json::from_str::<Number>(text) {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(Fault::Syntax { at: start }),
        }
    }
}

/// The text of a string with escapes. Half of a surrogate pair, which is what a sender leaves who cuts a text in two, is no
/// character, and RFC 8259 (8.2) allows it: it stays the escape that it is, so that it fails no delivery.
pub(super) fn unquoted(quoted: &str) -> Option<String> {
    serde_json::from_str(quoted).ok().or_else(|| serde_json::from_str(&with_halves_escaped(quoted)).ok())
}

/// The string with a second backslash before each escape of half a surrogate pair.
fn with_halves_escaped(quoted: &str) -> String {
    let half = |text: &str, first: std::ops::RangeInclusive<u8>| {
        let digits = text.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        unit.is_some_and(|unit| first.contains(&unit.to_be_bytes()[0]))
    };
    let mut text = String::with_capacity(quoted.len() + 1);
    let mut rest = quoted;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (high, low) = (half(rest, 0xd8..=0xdb), half(rest, 0xdc..=0xdf));
        let length = if high && rest.get(6..).is_some_and(|second| half(second, 0xdc..=0xdf)) {
            12
        } else {
            if high || low {
                text.push('\\');
            }
            2
        };
        let Some((escape, tail)) = rest.split_at_checked(length) else { break };
        text.push_str(escape);
        rest = tail;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(text: &str) -> Result<Json<'_>, Fault> {
        Json::parse(Cow::Borrowed(text))
    }

    #[test]
    fn values_and_their_places_agree_with_serde_json() {
        let text =
            " {\"a\" : [1, -2.50e1, \"x\\u00e9\\n\", {\"b\\u0022\":null}], \"ä\": {}, \"t\": [true,false, [] ] } ";
        let json = parse(text).unwrap();
        assert_eq!(json.root(), &serde_json::from_str::<Value>(text).unwrap());
        let path = |segments: &[Segment]| {
            segments.iter().try_fold((0, json.root()), |(id, value), segment| json.step(id, value, segment))
        };
        let name = |name: &str| Segment::Name(name.to_owned());
        let (id, _) = path(&[name("a"), Segment::Index(1)]).unwrap();
        assert_eq!(json.slice(id), "-2.50e1", "a number keeps its source text");
        let (id, value) = path(&[name("a"), Segment::Index(3), name("b\"")]).unwrap();
        assert_eq!((json.slice(id), value), ("null", &Value::Null), "an escaped key is found");
        let (id, _) = path(&[name("ä")]).unwrap();
        assert_eq!(&text[json.member_span(id)], "\"ä\": {}");
        assert!(path(&[name("a"), Segment::Index(4)]).is_none());
        assert_eq!(json.children(0).count(), 3);
    }

    #[test]
    fn what_json_does_not_allow_is_refused() {
        let bad = [
            "",
            " ",
            "{",
            "[",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "[1 2]",
            "nul",
            "tru",
            "01",
            "1.",
            "-",
            "+1",
            ".5",
            "1e",
            "1e999",
            "\"",
            "\"\\x\"",
            "\"\\",
            "\"a\nb\"",
            "'a'",
            "NaN",
            "{\"a\":1]",
            "[1}",
        ];
        for text in bad {
            assert!(matches!(parse(text), Err(Fault::Syntax { .. })), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_fails_no_document_and_stays_what_it_is() {
        for (text, expected) in [
            (r#""\ud83d\ude00 \ud83d""#, "\u{1f600} \\ud83d"),
            (r#""\udE00\uD83d\n""#, "\\udE00\\uD83d\n"),
            (r#""\ud83d\ud83d\ude00""#, "\\ud83d\u{1f600}"),
            (r#""\\ud83d""#, "\\ud83d"),
        ] {
            assert_eq!(parse(text).unwrap().root(), &Value::from(expected), "{text}");
        }
        let json = parse(r#"{"\ud83d":[{"id":1}]}"#).unwrap();
        let key = Segment::Name("\\ud83d".to_owned());
        assert!(json.step(0, json.root(), &key).is_some(), "as a key it is found");
        for bad in [r#""\ud83""#, r#""\ud83d\x""#, r#""\ud83d"#, r#""\ud83d\u""#] {
            assert!(matches!(parse(bad), Err(Fault::Syntax { .. })), "{bad}");
        }
    }

    #[test]
    fn a_fault_lies_within_the_text() {
        for text in ["{\"a\":1,\"\\", "\"\\", "[\"\\u", "{", "\"ä\\ä"] {
            let Err(Fault::Syntax { at }) = parse(text) else { panic!("{text}") };
            assert!(at <= text.len(), "{text}: {at}");
        }
    }

    #[test]
    fn trailing_bytes_are_refused() {
        assert_eq!(parse("{} x").unwrap_err(), Fault::TrailingBytes { at: 3 });
        assert_eq!(parse("{}{}").unwrap_err(), Fault::TrailingBytes { at: 2 });
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused_even_when_spelled_otherwise() {
        assert_eq!(parse(r#"{"a":1,"a":1}"#).unwrap_err(), Fault::DuplicateKey { at: 7 });
        assert_eq!(parse(r#"{"a":1,"\u0061":2}"#).unwrap_err(), Fault::DuplicateKey { at: 7 });
        assert!(parse(r#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).is_ok(), "in another object it is another key");
    }

    #[test]
    fn the_depth_is_limited() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_JSON_DEPTH)).is_ok());
        assert_eq!(parse(&nested(MAX_JSON_DEPTH + 1)).unwrap_err(), Fault::TooDeep { at: MAX_JSON_DEPTH });
        assert!(matches!(parse(&"[".repeat(4_000_000)), Err(Fault::TooDeep { .. })));
        assert!(matches!(parse(&"{\"a\":".repeat(100)), Err(Fault::TooDeep { .. })));
    }

    #[test]
    fn the_number_of_values_is_limited() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        assert!(parse(&list(MAX_JSON_VALUES - 1)).is_ok());
        assert_eq!(parse(&list(MAX_JSON_VALUES)).unwrap_err(), Fault::TooManyValues);
    }

    #[test]
    fn the_memory_is_limited() {
        let objects = |count: usize| format!("[{}0]", "{\"\":0},".repeat(count));
        assert!(parse(&objects(60_000)).is_ok());
        assert_eq!(parse(&objects(70_000)).unwrap_err(), Fault::TooManyValues);
        let nested = format!("[{}0]", format!("{}0{},", "{\"\":".repeat(62), "}".repeat(62)).repeat(2_000));
        assert_eq!(parse(&nested).unwrap_err(), Fault::TooManyValues);
        let members: Vec<_> = (0..400_000).map(|n| format!("\"{n}\":0")).collect();
        assert_eq!(parse(&format!("{{{}}}", members.join(","))).unwrap_err(), Fault::TooManyValues);
    }

    #[test]
    fn numbers_beyond_two_to_the_53_keep_their_text() {
        let json = parse("[9007199254740993, 820982911946154508, 123456789012345678901234567890, 1.10]").unwrap();
        let texts: Vec<_> = json.children(0).map(|id| json.slice(id)).collect();
        assert_eq!(texts, ["9007199254740993", "820982911946154508", "123456789012345678901234567890", "1.10"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_as_serde_json_reads_it(text in r#"[\[\]{},:"a\\0-9.eE+\-tn ]{0,40}"#) {
            let ours = parse(&text);
            let theirs = serde_json::from_str::<Value>(&text);
            match ours {
                Ok(json) => assert_eq!(json.root(), &theirs.unwrap()),
                Err(Fault::DuplicateKey { .. }) => {}
                Err(_) => assert!(theirs.is_err(), "{text}"),
            }
        }
    }
}
