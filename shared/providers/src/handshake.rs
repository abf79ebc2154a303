//! Requests by which a provider asks whether somebody is there. They are answered and leave no receipt.

use std::collections::BTreeMap;

use crate::decode::condition::Condition;
use crate::decode::json::Json;
use crate::decode::source::{Bound, Source, View};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{AnswerFile, HandshakeFile};
use crate::request::Request;
use crate::verdict::Verdict;

/// The longest challenge that is sent back.
const MAX_ECHO_BYTES: usize = 256;

/// An answer that goes to the provider as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The content type of the body.
    pub content_type: Option<String>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: String,
}

/// What a request turns out to be before it is decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A handshake, and its answer.
    Answer(Answer),
    /// A handshake that nobody vouches for; the verdict is not `Valid`.
    Refused(Verdict),
}

/// One rule for handshakes.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    method: String,
    when: Vec<Condition>,
    /// What is sent back in the place of `{echo}`.
    echo: Option<Source>,
    answer: Answer,
}

impl Answer {
    pub(crate) fn compile(file: &AnswerFile) -> Result<Self, Flaw> {
        if !(200..=599).contains(&file.status) {
            return Err(Flaw::new(format!("{} is not a status to answer with", file.status))).under("status");
        }
        let headers: &BTreeMap<_, _> = &file.headers;
        Ok(Self {
            status: file.status,
            content_type: file.content_type.clone(),
            headers: headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            body: file.body.clone(),
        })
    }
}

impl Rule {
    pub(crate) fn compile(file: &HandshakeFile) -> Result<Self, Flaw> {
        if !matches!(file.method.as_str(), "GET" | "HEAD" | "POST") {
            return Err(Flaw::new(format!("`{}` is not GET, HEAD or POST", file.method))).under("method");
        }
        let echo = file.echo.as_deref().map(|text| Source::compile(text, &["body"])).transpose().under("echo")?;
        if file.answer.body.contains("{echo}") != echo.is_some() {
            return Err(Flaw::new("what is echoed is named in `echo` and stands in the answer as {echo}"))
                .under("echo");
        }
        if file.when.is_empty() && echo.is_none() {
            return Err(Flaw::new("nothing says which requests are handshakes: add `when` or `echo`"));
        }
        let when = file.when.iter().enumerate();
        Ok(Self {
            method: file.method.clone(),
            when: when
                .map(|(index, file)| Condition::compile(file, &["body"]).at(index).under("when"))
                .collect::<Result<_, _>>()?,
            echo,
            answer: Answer::compile(&file.answer).under("answer")?,
        })
    }

    /// The answer, if the request is such a handshake.
    fn answer(&self, view: &View<'_>) -> Option<Answer> {
        if !self.when.iter().all(|condition| condition.holds(view)) {
            return None;
        }
        let mut answer = self.answer.clone();
        if let Some(source) = &self.echo {
            let echo = source.text(view).ok()??;
            // Whoever sees the answer in a browser must not be shown what somebody else wrote.
            if echo.len() > MAX_ECHO_BYTES || !echo.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return None;
            }
            answer.body = answer.body.replace("{echo}", &echo);
        }
        Some(answer)
    }
}

/// The answer to a handshake. It is verified first, like any delivery: an endpoint that greets strangers tells them that
/// it is there.
pub(crate) fn answer(rules: &[Rule], request: &Request<'_>, verify: impl FnOnce() -> Verdict) -> Option<Handshake> {
    let mut candidates = rules.iter().filter(|rule| rule.method == request.method).peekable();
    candidates.peek()?;
    let json = std::str::from_utf8(request.body).ok().and_then(|text| Json::parse(text.into()).ok());
    let bound = [json.as_ref().map(|json| Bound { json, place: (0, json.root()) })];
    let view = View { request, form: None, bound: &bound, volatile: &[] };
    let answer = candidates.find_map(|rule| rule.answer(&view))?;
    Some(match verify() {
        Verdict::Valid { .. } => Handshake::Answer(answer),
        refused => Handshake::Refused(refused),
    })
}
