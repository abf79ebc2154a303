//! Requests by which a provider asks whether somebody is there. They are answered and leave no receipt.

use std::collections::BTreeMap;

use crate::decode::condition::Condition;
use crate::decode::source::{Source, View};
use crate::profile::error::{Flaw, Placed};
use crate::profile::file::{AcknowledgementFile, AnswerFile, HandshakeFile};
use crate::scheme;
use crate::secret::Secret;
use crate::verdict::{Misconfiguration, Reason, Verdict};

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
    /// A handshake that is answered only after somebody has fetched a URL, by which the provider learns that this
    /// endpoint wants its deliveries. A failed fetch is 503.
    Confirm {
        /// What to fetch: https, no redirects; checked against the scheme's allow-list.
        url: String,
        /// Whose deliveries they would be. A tenant that the integration does not take is not confirmed.
        tenant: Option<String>,
        /// The answer afterwards.
        answer: Answer,
    },
    /// A handshake that nobody vouches for; the verdict is not `Valid`. With `NeedsFetch` it is asked about again once
    /// that has been fetched.
    Refused(Verdict),
}

/// One rule for handshakes.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    method: String,
    when: Vec<Condition>,
    trust: Trust,
    /// What is sent back in the place of `{echo}`.
    echo: Option<Source>,
    confirm: Option<Source>,
    tenant: Option<Source>,
    answer: Answer,
}

/// Why a handshake is believed.
#[derive(Clone, Debug)]
enum Trust {
    /// It is verified as every delivery is.
    Signature,
    /// It carries a token that was agreed on; one of the secrets that are only this.
    Token(Source),
    /// It is not, and its answer says nothing but that there is an endpoint. For providers that insist.
    Nothing,
}

/// What is asked of the profile's scheme.
pub(crate) struct Ask<'a> {
    pub(crate) secrets: &'a [Secret],
    pub(crate) verify: &'a dyn Fn() -> Verdict,
    /// Whether the scheme would fetch from this URL.
    pub(crate) allows: &'a dyn Fn(&str) -> bool,
}

/// An answer, and the deliveries that get it.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledgement {
    pub(crate) when: Vec<Condition>,
    pub(crate) answer: Answer,
}

impl Acknowledgement {
    pub(crate) fn compile(file: &AcknowledgementFile) -> Result<Self, Flaw> {
        let answer = AnswerFile {
            status: file.status,
            content_type: file.content_type.clone(),
            headers: file.headers.clone(),
            body: file.body.clone(),
        };
        Ok(Self { when: conditions(&file.when)?, answer: Answer::compile(&answer)? })
    }
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

fn conditions(files: &[crate::profile::file::ConditionFile]) -> Result<Vec<Condition>, Flaw> {
    let compile = |(index, file)| Condition::compile(file, &["body"]).at(index).under("when");
    files.iter().enumerate().map(compile).collect()
}

impl Rule {
    pub(crate) fn compile(file: &HandshakeFile) -> Result<Self, Flaw> {
        if !matches!(file.method.as_str(), "GET" | "HEAD" | "POST") {
            return Err(Flaw::new(format!("`{}` is not GET, HEAD or POST", file.method))).under("method");
        }
        let source = |text: &Option<String>, key| {
            text.as_deref().map(|text| Source::compile(text, &["body"])).transpose().under(key)
        };
        let echo = source(&file.echo, "echo")?;
        let (plain, keyed) = (file.answer.body.contains("{echo}"), file.answer.body.contains("{echo_hmac}"));
        if (plain || keyed) != echo.is_some() {
            return Err(Flaw::new("what is echoed is named in `echo` and stands in the answer as {echo}"))
                .under("echo");
        }
        let trust = match (source(&file.token, "token")?, file.unsigned) {
            (None, false) => Trust::Signature,
            (Some(token), false) => Trust::Token(token),
            (None, true) if echo.is_none() && file.confirm.is_none() => Trust::Nothing,
            (_, true) => {
                return Err(Flaw::new("a handshake that nobody vouches for echoes and confirms nothing"))
                    .under("unsigned");
            }
        };
        if keyed && !matches!(trust, Trust::Signature) {
            return Err(Flaw::new("only a signed challenge is answered with the key")).under("echo");
        }
        if file.when.is_empty() && echo.is_none() && file.method != "HEAD" {
            return Err(Flaw::new("nothing says which requests are handshakes: add `when` or `echo`"));
        }
        Ok(Self {
            method: file.method.clone(),
            when: conditions(&file.when)?,
            trust,
            echo,
            confirm: source(&file.confirm, "confirm")?,
            tenant: source(&file.tenant, "tenant")?,
            answer: Answer::compile(&file.answer).under("answer")?,
        })
    }

    pub(crate) fn is_for(&self, method: &str) -> bool {
        self.method == method
    }

    pub(crate) fn wants_token(&self) -> bool {
        matches!(self.trust, Trust::Token(_))
    }

    /// What the request is, if it is such a handshake.
    fn answer(&self, view: &View<'_>, ask: &Ask<'_>) -> Option<Handshake> {
        if !self.when.iter().all(|condition| condition.holds(view)) {
            return None;
        }
        let echo = match &self.echo {
            None => None,
            Some(source) => match source.text(view).ok().flatten().filter(|text| is_harmless(text)) {
                // Where nothing else says that it is a handshake, it is none.
                None if self.when.is_empty() => return None,
                None => Some(Err(Reason::UnusableChallenge)),
                Some(echo) => Some(Ok(echo)),
            },
        };
        let verdict = match &self.trust {
            Trust::Nothing => return Some(Handshake::Answer(self.answer.clone())),
            Trust::Signature => (ask.verify)(),
            Trust::Token(source) => token_verdict(source, view, ask.secrets),
        };
        let Verdict::Valid { secret_index, .. } = verdict else {
            return Some(Handshake::Refused(verdict));
        };
        let mut answer = self.answer.clone();
        match echo {
            None => {}
            Some(Err(reason)) => return Some(Handshake::Refused(Verdict::Invalid(reason))),
            Some(Ok(echo)) => {
                if answer.body.contains("{echo_hmac}") {
                    let key = ask.secrets.get(secret_index)?;
                    answer.body = answer.body.replace("{echo_hmac}", &scheme::hmac_sha256_hex(key, &echo));
                }
                answer.body = answer.body.replace("{echo}", &echo);
            }
        }
        let Some(source) = &self.confirm else {
            return Some(Handshake::Answer(answer));
        };
        // Whatever else the URL is, it is not one that we fetch.
        let Some(url) = source.text(view).ok().flatten().filter(|url| (ask.allows)(url)) else {
            return Some(Handshake::Refused(Verdict::Invalid(Reason::ForeignUrl)));
        };
        let tenant = self.tenant.as_ref().and_then(|source| source.text(view).ok().flatten());
        Some(Handshake::Confirm { url, tenant, answer })
    }
}

/// Whoever sees the answer in a browser must not be shown what somebody else wrote, and what is sealed with the key must
/// not be the text of a delivery. Letters, digits, and what stands in base64 and in URLs are neither.
fn is_harmless(text: &str) -> bool {
    text.len() <= MAX_ECHO_BYTES && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~+/=".contains(&b))
}

fn token_verdict(source: &Source, view: &View<'_>, secrets: &[Secret]) -> Verdict {
    if secrets.iter().all(|secret| secret.verify_token().is_none()) {
        return Verdict::Misconfigured(Misconfiguration::NoVerifyToken);
    }
    match source.text(view) {
        Ok(Some(given)) => scheme::token_match(&given, secrets).into(),
        Ok(None) => Verdict::Invalid(Reason::MissingCredential),
        Err(_) => Verdict::Invalid(Reason::MalformedCredential),
    }
}

/// The answer to a handshake. It is verified first, like any delivery: an endpoint that greets strangers tells them that
/// it is there.
pub(crate) fn answer(rules: &[Rule], view: &View<'_>, ask: &Ask<'_>) -> Option<Handshake> {
    rules.iter().filter(|rule| rule.is_for(view.request.method)).find_map(|rule| rule.answer(view, ask))
}
