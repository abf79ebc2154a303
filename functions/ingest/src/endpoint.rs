//! The endpoint that a request names: its configuration, its profile ready to verify, and its secrets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookbox_core::integration::Integration;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::Timestamp;
use hookbox_ledger::{Ledger, LedgerError};
use hookbox_providers::{Configured, Profile, ProfileError, Profiles};

/// How long a configuration is used before it is read again: a change takes effect within this time, and a busy endpoint
/// costs one read per instance in it.
const CONFIGURATION_AGE: Duration = Duration::from_secs(10);

/// An integration and its profile, ready to verify and decode.
pub struct Endpoint {
    /// The configuration.
    pub integration: Integration,
    /// The profile with the integration's choices.
    pub profile: Configured,
    /// How long the provider waits for an answer, where that is known.
    pub response_budget: Option<Duration>,
    /// How long the provider is asked to wait after a 503, where it honours that.
    pub retry_after: Option<Duration>,
}

/// Why there is no endpoint to use.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Nobody has configured it.
    #[error("no such integration")]
    Unknown,
    /// It is configured for a provider that neither this version nor the team has a profile of.
    #[error("there is no profile of the provider")]
    NoProfile,
    /// Its configuration cannot be used.
    #[error("the integration's profile cannot be used")]
    Broken(#[source] Box<ProfileError>),
    /// It says nothing of whose events it takes, and anybody can have this provider sign.
    #[error("the provider signs for anybody, and the integration lists no `tenants`")]
    NoTenants,
    /// Its configuration cannot be read now.
    #[error("the configuration could not be read")]
    Unreadable(#[from] LedgerError),
}

/// Endpoints by name, each with the time at which it was read.
type Recent = HashMap<(Provider, Account), (Timestamp, Arc<Endpoint>)>;

/// The endpoints that this process has used lately.
pub struct Endpoints {
    profiles: Profiles,
    recent: Mutex<Recent>,
}

impl Endpoints {
    /// None used yet.
    pub fn new(profiles: Profiles) -> Self {
        Self { profiles, recent: Mutex::default() }
    }

    /// The endpoint of this name; read from the ledger unless it was lately.
    pub async fn find(
        &self,
        ledger: &Ledger,
        (provider, account): &(Provider, Account),
        now: Timestamp,
    ) -> Result<Arc<Endpoint>, EndpointError> {
        let name = (provider.clone(), account.clone());
        if let Some(endpoint) = self.recent(&name, now) {
            return Ok(endpoint);
        }
        let integration = ledger.integration(provider, account).await?.ok_or(EndpointError::Unknown)?;
        let profile = self.profile(ledger, provider).await?;
        let endpoint = Arc::new(open(integration, &profile)?);
        self.lock().insert(name, (now, Arc::clone(&endpoint)));
        Ok(endpoint)
    }

    /// The profile that is compiled in, or else the team's own, which is as old as the endpoint that it is read for.
    async fn profile(&self, ledger: &Ledger, provider: &Provider) -> Result<Profile, EndpointError> {
        if let Some(profile) = self.profiles.get(provider).map_err(broken)? {
            return Ok(profile.clone());
        }
        let own = ledger.own_profile(provider).await?.ok_or(EndpointError::NoProfile)?;
        Profile::parse(&own.toml).map_err(broken)
    }

    fn recent(&self, name: &(Provider, Account), now: Timestamp) -> Option<Arc<Endpoint>> {
        let mut recent = self.lock();
        let (read_at, endpoint) = recent.get(name)?;
        if read_at.is_fresh(CONFIGURATION_AGE, now) {
            return Some(Arc::clone(endpoint));
        }
        recent.remove(name);
        None
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        // A panic while the lock was held leaves at worst an entry that is read again.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(integration: Integration, profile: &Profile) -> Result<Endpoint, EndpointError> {
    let (response_budget, retry_after) = (profile.response_budget(), profile.retry_after());
    let profile = profile.configure(integration.variant.as_deref(), integration.verify.as_ref()).map_err(broken)?;
    if profile.requires_tenants() && integration.tenants.is_empty() {
        return Err(EndpointError::NoTenants);
    }
    Ok(Endpoint { integration, profile, response_budget, retry_after })
}

fn broken(error: ProfileError) -> EndpointError {
    EndpointError::Broken(Box::new(error))
}
