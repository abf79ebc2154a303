//! One delivery: built once, signed anew each time it is sent.

use std::sync::Arc;

use hookbox_core::integration::SecretRef;
use hookbox_core::key::ReceiptId;
use hookbox_core::name::{Account, Provider};
use hookbox_core::surroundings::Clock;
use hookbox_providers::{Configured, Profiles, Request, SampleValues, Secret, SignError, Signed};
use hookbox_runtime::SecretText;
use serde_json::Value;

use super::key::PrivateKey;
use super::{Endpoint, Outcome, Summary, how_to_make_a_pair, only_the_provider};
use crate::failure::{Failure, Trouble, chain};
use crate::own_profiles::find;

/// A delivery that is not signed yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// The id that some schemes sign.
    pub event_id: String,
}

/// Signs and sends as the provider of one connection does.
#[derive(Clone, Debug)]
pub struct Signer {
    provider: Provider,
    account: Account,
    /// The address that is signed, where the integration states it.
    public_url: Option<String>,
    url: String,
    address: reqwest::Url,
    profile: Configured,
    secret: Secret,
    /// What signs in the place of the secret, where the scheme verifies with a public key.
    key: Option<Arc<PrivateKey>>,
    reference: SecretRef,
    clock: Arc<dyn Clock>,
}

impl Signer {
    /// A signer for this endpoint.
    pub fn new(
        endpoint: &Endpoint,
        secret: &SecretText,
        profiles: &Profiles,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        let Endpoint { provider, account, .. } = endpoint;
        let attempted = format!("send as {provider}/{account}");
        let usage = |why: String| Trouble::new(&attempted, why);
        let profile = find(profiles, provider, &attempted)?;
        let url = format!("{}/hooks/{provider}/{account}", endpoint.url);
        let address = reqwest::Url::parse(&url).map_err(|error| {
            Failure::Usage(usage(format!("`{}` is no address: {error}", endpoint.url)).advise("--url https://…"))
        })?;
        let configured = profile
            .configure(endpoint.variant.as_deref(), endpoint.verify.as_ref())
            .map_err(|error| Failure::Usage(usage(error.to_string())))?;
        let key = PrivateKey::read(configured.scheme(), secret.expose()).transpose();
        let key = key.map_err(|why| Failure::Usage(usage(format!("{}: {why}", endpoint.secret))))?;
        Ok(Self {
            provider: provider.clone(),
            account: account.clone(),
            public_url: endpoint.public_url.clone(),
            url,
            address,
            profile: configured,
            secret: Secret::new(secret.expose()).map_err(|error| Failure::Usage(usage(error.to_string())))?,
            key: key.map(Arc::new),
            reference: endpoint.secret.clone(),
            clock,
        })
    }

    /// The address without the part that is secret.
    pub fn shown_url(&self) -> String {
        if self.profile.has_secret_path() { format!("{}/…", self.url) } else { self.url.clone() }
    }

    /// What may be wrong when the answers are like this.
    pub fn hints(&self, summary: &Summary) -> Vec<String> {
        let name = format!("{}/{}", self.provider, self.account);
        let of = |status: u16| match status {
            401 => Some(format!(
                "401: either {name} is not applied (hookbox apply), or it does not verify with what {} holds now; a \
                 secret that was overwritten is noticed after up to five minutes",
                self.reference
            )),
            404 => Some(format!("404: nothing of Hookbox answers at {}: is it the stack's output `ApiUrl`?", self.url)),
            503 => Some("503: the log of `ingest` says what could not be read or written".to_owned()),
            _ => None,
        };
        summary.statuses().into_iter().filter_map(of).collect()
    }

    /// The profile's sample with these values.
    pub fn draft(&self, values: &SampleValues<'_>) -> Result<Draft, Failure> {
        let sample = self
            .profile
            .sample(values)
            .map_err(|why| Failure::Usage(Trouble::new(format!("make a sample of {}", self.provider), why)))?;
        Ok(Draft { headers: sample.headers, body: sample.body, event_id: sample.event_id })
    }

    /// The receipts that the draft's events come to, where their identity alone says so.
    pub fn expected(&self, draft: &Draft) -> Vec<ReceiptId> {
        // Only the signature's own headers may hold an id that counts, so the draft is signed to be read.
        let Ok(signed) = self.sign(draft) else { return Vec::new() };
        let headers = [draft.headers.clone(), signed.headers].concat();
        let body = signed.body.as_deref().unwrap_or(&draft.body);
        let Ok(delivery) = self.profile.decode(&self.request(&headers, body)) else { return Vec::new() };
        let key = |identity| ReceiptId::derive(&self.provider, &self.account, identity, None);
        delivery.events.iter().map(|event| key(&event.identity)).collect()
    }

    /// Signs the draft as of now and sends it.
    pub async fn send(&self, draft: &Draft, client: &reqwest::Client) -> Result<Outcome, Failure> {
        let mut signed = self.sign(draft)?;
        let body = signed.body.take().unwrap_or_else(|| draft.body.clone());
        self.post(draft, signed, body, client).await
    }

    /// Signs the draft and sends another body with that signature, as a forger would.
    pub(crate) async fn send_forged(
        &self,
        draft: &Draft,
        body: Vec<u8>,
        client: &reqwest::Client,
    ) -> Result<Outcome, Failure> {
        self.post(draft, self.sign(draft)?, body, client).await
    }

    async fn post(
        &self,
        draft: &Draft,
        signed: Signed,
        body: Vec<u8>,
        client: &reqwest::Client,
    ) -> Result<Outcome, Failure> {
        let mut url = self.address.clone();
        if let (Some(token), Ok(mut path)) = (&signed.path_token, url.path_segments_mut()) {
            path.push(token);
        }
        url.set_query(signed.query.as_deref());
        let mut request = client.post(url).body(body);
        for (name, value) in draft.headers.iter().chain(&signed.headers) {
            request = request.header(name, value);
        }
        let began = self.clock.now();
        let answer = async {
            let answer = request.send().await?;
            let status = answer.status().as_u16();
            Ok((status, answer.text().await?))
        };
        let answered: Result<(u16, String), reqwest::Error> = answer.await;
        let took = self.clock.now().since(began);
        Ok(match answered {
            Ok((status, text)) => {
                let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
                Outcome { status: Some(status), body, error: None, took }
            }
            // The address may end with a secret.
            Err(error) => Outcome { status: None, body: Value::Null, error: Some(chain(&error.without_url())), took },
        })
    }

    pub(super) fn sign(&self, draft: &Draft) -> Result<Signed, Failure> {
        let request = self.request(&draft.headers, &draft.body);
        let (id, now) = (Some(draft.event_id.as_str()), self.clock.now());
        let signed = match &self.key {
            Some(key) => self.profile.sign_by(&request, id, now, &|message| key.sign(message)),
            None => self.profile.sign(&request, id, &self.secret, now),
        };
        signed.map_err(|error| {
            let trouble = Trouble::new(format!("sign as {}/{}", self.provider, self.account), error);
            let scheme = self.profile.scheme();
            Failure::Usage(match (error, only_the_provider(scheme), how_to_make_a_pair(scheme)) {
                (SignError::OnlyTheProvider, Some((_, instead)), _) => trouble.advise(instead),
                (SignError::PrivateKey | SignError::SecretEncoding, _, Some(pair)) => trouble.advise(pair),
                _ => trouble.advise(format!(
                    "{} must hold the secret as {} shows it, prefix and all",
                    self.reference, self.provider
                )),
            })
        })
    }

    fn request<'a>(&'a self, headers: &'a [(String, String)], body: &'a [u8]) -> Request<'a> {
        let url = Some(self.public_url.as_deref().unwrap_or(&self.url));
        Request { method: "POST", path_token: None, url, query: None, headers, body }
    }
}
