//! Profiles: everything that is particular about a provider, as data.

mod catalog;
mod check;
pub(crate) mod duration;
pub(crate) mod error;
mod facts;
pub(crate) mod file;
mod overrides;
mod page;

use std::sync::Arc;
use std::time::Duration;

use hookbox_core::name::Provider;
use hookbox_core::time::Timestamp;

use crate::decode::source::View;
use crate::decode::{DecodeError, Decoder, Delivery};
use crate::handshake::{self, Acknowledgement, Answer, Ask, Handshake};
use crate::request::Request;
use crate::sample::{Sample, SampleValues};
use crate::scheme::{Scheme, SignError, Signed};
use crate::secret::Secret;
use crate::verdict::{Fetched, Match, Verdict};

pub use catalog::Profiles;
pub use error::ProfileError;
use error::{Flaw, Placed};
use file::{ProfileFile, RefusalFile, SchemeFile};

/// One provider's profile, parsed and checked.
#[derive(Clone, Debug)]
pub struct Profile {
    file: Arc<ProfileFile>,
    name: Provider,
    response_budget: Option<Duration>,
    retry_horizon: Option<Duration>,
    retry_after: Option<Duration>,
    shared: Arc<Shared>,
}

/// A profile with an integration's own settings: what verifies and decodes its deliveries. Cheap to clone and keep.
#[derive(Clone, Debug)]
pub struct Configured(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    scheme: Scheme,
    shared: Arc<Shared>,
}

/// How a provider is told that a delivery will never be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status in the place of the ordinary one.
    pub status: Option<u16>,
    /// Headers beside the ordinary ones.
    pub headers: Vec<(String, String)>,
}

impl Refusal {
    fn compile(file: &RefusalFile) -> Result<Self, Flaw> {
        if file.status.is_some_and(|status| !(400..=499).contains(&status)) {
            return Err(Flaw::new("a permanent refusal has a status from 400 to 499")).under("status");
        }
        let headers = file.headers.iter();
        Ok(Self { status: file.status, headers: headers.map(|(name, value)| (name.clone(), value.clone())).collect() })
    }
}

/// What does not depend on the scheme.
#[derive(Debug)]
struct Shared {
    file: Arc<ProfileFile>,
    handshakes: Vec<handshake::Rule>,
    decoder: Decoder,
    acknowledgements: Vec<Acknowledgement>,
    refusal: Option<Refusal>,
}

impl Profile {
    /// Reads a profile and everything in it; an error names the line.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: ProfileFile = toml::from_str(text).map_err(|error| error::from_toml(None, text, &error))?;
        let name = file.name.clone();
        Self::check(file).map_err(|flaw| flaw.locate(Some(&name), Some(text)))
    }

    fn check(file: ProfileFile) -> Result<Self, Flaw> {
        let name = file.name.parse().map_err(|error| Flaw::new(format!("{error}"))).under("name")?;
        let delivery = &file.delivery;
        let duration = |text: &Option<String>| text.as_deref().map(duration::parse).transpose();
        let response_budget = duration(&delivery.response_budget).under("response_budget").under("delivery")?;
        let retry_horizon = duration(&delivery.retry_horizon).under("retry_horizon").under("delivery")?;
        let retry_after = duration(&delivery.retry_after).under("retry_after").under("delivery")?;
        overrides::check(&file.overridable)?;
        if file.verify.is_empty() {
            return Err(Flaw::new("nothing verifies a delivery")).under("verify");
        }
        let file = Arc::new(file);
        let shared = Arc::new(Shared::compile(&file)?);
        for (index, scheme) in file.verify.iter().enumerate() {
            let earlier = &file.verify[..index];
            if file.verify.len() > 1 && scheme.variant.is_none() {
                return Err(Flaw::new("one of several variants needs a name"))
                    .under("variant")
                    .at(index)
                    .under("verify");
            }
            if earlier.iter().any(|other| other.variant == scheme.variant) {
                return Err(Flaw::new("there already is such a variant")).under("variant").at(index).under("verify");
            }
            // Every variant is tried, so that a mistake shows when the profile is read and not when it is used.
            Configured::compile(&shared, scheme, Some(index))?;
        }
        Sample::build(&file.sample, &SampleValues::default()).map_err(Flaw::new).under("sample")?;
        Ok(Self { file, name, response_budget, retry_horizon, retry_after, shared })
    }

    /// The profile as an integration uses it.
    ///
    /// `variant` chooses among the profile's ways to verify; without one it is the first. `overrides` is the
    /// integration's `verify` table: parameters of the scheme and, for a profile that allows it, everything else.
    pub fn configure(
        &self,
        variant: Option<&str>,
        overrides: Option<&serde_json::Value>,
    ) -> Result<Configured, ProfileError> {
        let located = |flaw: Flaw| flaw.locate(Some(self.name.as_str()), None);
        let index = variant.map_or(Ok(0), |name| self.variant(name)).map_err(located)?;
        let scheme = self.file.verify.get(index).cloned().unwrap_or_default();
        let (shared, scheme) = match overrides {
            None => (Arc::clone(&self.shared), scheme),
            Some(overrides) => {
                let changed = overrides::apply(&self.file, &scheme, overrides).map_err(located)?;
                let shared = match changed.file {
                    None => Arc::clone(&self.shared),
                    Some(file) => Arc::new(Shared::compile(&Arc::new(file)).map_err(located)?),
                };
                (shared, changed.scheme)
            }
        };
        Configured::compile(&shared, &scheme, None).map_err(located)
    }

    /// The way to verify that files of signed requests call by this name.
    pub(crate) fn index_for_vectors(&self, scheme: &str) -> Option<usize> {
        let named = |file: &SchemeFile| file.vectors.as_slice().iter().any(|name| name == scheme);
        self.file.verify.iter().position(named)
    }

    /// The scheme of a way to verify.
    pub(crate) fn scheme_at(&self, index: usize) -> &str {
        self.file.verify.get(index).map(|file| file.scheme.as_str()).unwrap_or_default()
    }

    /// Whether a way to verify looks at the time, if nobody says how far off it may be.
    pub(crate) fn is_timed_at(&self, index: usize) -> bool {
        self.file.verify.get(index).is_some_and(|file| file.tolerance.is_some())
    }

    /// All parameters of the way to verify that files of signed requests call by this name.
    pub(crate) fn parameters_for_vectors(&self, name: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
        let mut file = self.file.verify.get(self.index_for_vectors(name)?)?.clone();
        file.variant = None;
        match serde_json::to_value(file).ok()? {
            serde_json::Value::Object(parameters) => Some(parameters),
            _ => None,
        }
    }

    /// Whether an integration may change everything.
    pub(crate) fn is_open(&self) -> bool {
        self.file.overridable.iter().any(|key| key == "*")
    }

    /// The profile with parameters that only a test may set, and without any look at the time where there is none.
    pub(crate) fn configure_for_vectors(
        &self,
        index: usize,
        parameters: serde_json::Map<String, serde_json::Value>,
        timed: bool,
    ) -> Result<Configured, ProfileError> {
        let located = |flaw: Flaw| flaw.locate(Some(self.name.as_str()), None);
        let scheme = self.file.verify.get(index).cloned().unwrap_or_default();
        let mut scheme = overrides::merged(&scheme, parameters).map_err(located)?;
        if !timed {
            (scheme.tolerance, scheme.tolerance_sides, scheme.untimed) = (None, None, true);
        }
        Configured::compile(&self.shared, &scheme, None).map_err(located)
    }

    fn variant(&self, name: &str) -> Result<usize, Flaw> {
        let mut variants = self.file.verify.iter();
        variants.position(|scheme| scheme.variant.as_deref() == Some(name)).ok_or_else(|| {
            let known: Vec<&str> = self.variants().collect();
            Flaw::new(format!("there is no variant `{name}`; there are: {}", known.join(", "))).under("variant")
        })
    }

    /// The provider's name, as in a path and in `hookbox.toml`.
    pub fn name(&self) -> &Provider {
        &self.name
    }

    /// The provider's name for people.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// Pages of the provider's documentation.
    pub fn documentation(&self) -> &[String] {
        &self.file.documentation
    }

    /// The names of the ways to verify, the default first. A profile with only one need not name it.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.file.verify.iter().filter_map(|scheme| scheme.variant.as_deref())
    }

    /// How long the provider waits for an answer.
    pub fn response_budget(&self) -> Option<Duration> {
        self.response_budget
    }

    /// How long after the event the provider may still deliver it: receipts are kept at least as long.
    pub fn retry_horizon(&self) -> Option<Duration> {
        self.retry_horizon
    }

    /// How long a provider that honours `Retry-After` is asked to wait after a 503.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What is known about the provider's retries, in a sentence.
    pub fn retries(&self) -> &str {
        &self.file.delivery.retries
    }
}

impl Shared {
    fn compile(file: &Arc<ProfileFile>) -> Result<Self, Flaw> {
        let handshakes = file.handshake.iter().enumerate();
        let acknowledgements = file.acknowledgement.iter().enumerate();
        if file.tenants.as_deref().is_some_and(|tenants| tenants != "required") {
            return Err(Flaw::new("an integration's `tenants` can only be `required`")).under("tenants");
        }
        Ok(Self {
            file: Arc::clone(file),
            handshakes: handshakes
                .map(|(index, file)| handshake::Rule::compile(file).at(index).under("handshake"))
                .collect::<Result<_, _>>()?,
            decoder: Decoder::compile(file)?,
            acknowledgements: acknowledgements
                .map(|(index, file)| Acknowledgement::compile(file).at(index).under("acknowledgement"))
                .collect::<Result<_, _>>()?,
            refusal: file.refusal.as_ref().map(|file| Refusal::compile(file).under("refusal")).transpose()?,
        })
    }
}

impl Configured {
    /// `index` is the scheme's place in the profile, where it stands in one as it is.
    fn compile(shared: &Arc<Shared>, scheme: &SchemeFile, index: Option<usize>) -> Result<Self, Flaw> {
        let placed = |flaw: Flaw| index.map_or(flaw.clone(), |index| flaw.at(index).under("verify"));
        let scheme = Scheme::compile(scheme).map_err(placed)?;
        shared.decoder.keeps_none_of(&scheme.secret_headers())?;
        Ok(Self(Arc::new(Inner { scheme, shared: Arc::clone(shared) })))
    }

    /// Whether the request comes from somebody who knows one of the secrets. `now` is when it arrived at the edge.
    pub fn verify(&self, request: &Request<'_>, secrets: &[Secret], fetched: &Fetched, now: Timestamp) -> Verdict {
        let scheme = &self.0.scheme;
        if !self.wants_token() {
            return scheme.verify(request, secrets, fetched, now).into();
        }
        // A token that handshakes carry through addresses and their logs is no key.
        let (places, keys): (Vec<usize>, Vec<Secret>) =
            secrets.iter().cloned().enumerate().filter(|(_, secret)| secret.verify_token().is_none()).unzip();
        let found = scheme.verify(request, &keys, fetched, now);
        let place = |index: usize| places.get(index).copied().unwrap_or(index);
        let found = found.map(|found| Match { secret_index: place(found.secret_index), ..found });
        found.map_err(|refusal| refusal.at_places(place)).into()
    }

    /// What a request is that is a handshake; `None` for everything else. It includes the verification.
    pub fn handshake(
        &self,
        request: &Request<'_>,
        secrets: &[Secret],
        fetched: &Fetched,
        now: Timestamp,
    ) -> Option<Handshake> {
        let shared = &self.0.shared;
        if !shared.handshakes.iter().any(|rule| rule.is_for(request.method)) {
            return None;
        }
        let verify = || self.verify(request, secrets, fetched, now);
        let ask = Ask { secrets, verify: &verify, allows: &|url| self.0.scheme.allows(url) };
        shared.decoder.glance(request, |view| handshake::answer(&shared.handshakes, view, &ask))
    }

    /// The events of a delivery that has been verified.
    pub fn decode(&self, request: &Request<'_>) -> Result<Delivery, DecodeError> {
        self.0.shared.decoder.decode(request)
    }

    /// The answer that this provider wants to a delivery after everything is committed; `None` for Hookbox's own.
    pub fn acknowledgement(&self, request: &Request<'_>) -> Option<&Answer> {
        let shared = &self.0.shared;
        // Most say nothing, or the same to everything: then the body need not be read again.
        let first = shared.acknowledgements.first()?;
        if first.when.is_empty() {
            return Some(&first.answer);
        }
        let wanted = |view: &View<'_>| {
            let mut candidates = shared.acknowledgements.iter();
            candidates.position(|candidate| candidate.when.iter().all(|condition| condition.holds(view)))
        };
        let place = shared.decoder.glance(request, wanted)?;
        shared.acknowledgements.get(place).map(|acknowledgement| &acknowledgement.answer)
    }

    /// How this provider wants to be told that a verified delivery will never be accepted (400, 403, 413, 422), so that
    /// it does not send it again; `None` where the status says it.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.shared.refusal.as_ref()
    }

    /// Whether anybody can have deliveries signed, so that an integration has to say whose it takes.
    pub fn requires_tenants(&self) -> bool {
        self.0.shared.file.tenants.is_some()
    }

    /// The name of the scheme that verifies.
    pub fn scheme(&self) -> &'static str {
        self.0.scheme.name()
    }

    /// Whether the provider signs the endpoint's URL, so that the integration or the deployment has to state it.
    pub fn signs_url(&self) -> bool {
        self.0.scheme.signs_url()
    }

    /// Whether the integration has to name a secret (or the public key or id that takes its place).
    pub fn needs_secret(&self) -> bool {
        self.0.scheme.needs_secret()
    }

    /// Whether the credential is the last segment of the path, which no log may hold.
    pub fn has_secret_path(&self) -> bool {
        self.scheme() == "path-token"
    }

    /// Whether a handshake carries a token that is a secret of its own.
    pub(crate) fn wants_token(&self) -> bool {
        self.0.shared.handshakes.iter().any(handshake::Rule::wants_token)
    }

    /// The text that the request's signature covers, where that can be told without verifying it.
    pub(crate) fn signed_text(&self, request: &Request<'_>, secret: &Secret) -> Option<String> {
        self.0.scheme.signed_text(request, secret)
    }

    /// An example of a delivery, not signed yet.
    pub fn sample(&self, values: &SampleValues<'_>) -> Result<Sample, String> {
        Sample::build(&self.0.shared.file.sample, values)
    }

    /// The headers, and for a secret path the token, that make a request valid. `event_id` is the id that the signature
    /// covers, where it covers one.
    pub fn sign(
        &self,
        request: &Request<'_>,
        event_id: Option<&str>,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Signed, SignError> {
        self.0.scheme.sign(request, event_id, secret, now)
    }
    /// As `sign`, for a scheme that verifies with a public key: `sign` signs a message with the private one. That takes
    /// randomness with some algorithms, which only the caller has.
    pub fn sign_by(
        &self,
        request: &Request<'_>,
        event_id: Option<&str>,
        now: Timestamp,
        sign: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Signed, SignError> {
        self.0.scheme.sign_by(request, event_id, now, sign)
    }
}
