//! Somebody else acts just before a call: the only way in which two processes can meet when one call is in flight.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_types::SdkConfig;
use hookbox_ledger::test_support::Faults;

use super::history::Intruder;
use super::world::World;

/// Who acts before which call.
#[derive(Clone)]
pub(crate) struct Interrupts(Arc<Shared>);

struct Shared {
    faults: Faults,
    planned: Mutex<BTreeMap<usize, Intruder>>,
    acted: Mutex<Vec<(usize, Intruder)>>,
    world: OnceLock<Weak<World>>,
}

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupts").finish_non_exhaustive()
    }
}

impl Interrupts {
    /// None yet, among the calls that `faults` numbers.
    pub(crate) fn of(faults: &Faults) -> Self {
        let (planned, acted) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { faults: faults.clone(), planned, acted, world: OnceLock::new() }))
    }

    /// In whose world the intruders act.
    pub(crate) fn act_in(&self, world: &Weak<World>) {
        let _ = self.0.world.set(Weak::clone(world));
    }

    /// Lets somebody act before call `number`.
    pub(crate) fn before(&self, number: usize, intruder: Intruder) {
        self.0.planned.lock().unwrap().insert(number, intruder);
    }

    /// No more.
    pub(crate) fn end(&self) {
        self.0.planned.lock().unwrap().clear();
    }

    /// Takes the intruder of the call that is about to be made.
    pub(crate) fn take(&self) -> Option<Intruder> {
        // A dead process makes no calls, although they are counted.
        if self.0.faults.is_stopped() {
            return None;
        }
        let number = self.0.faults.count();
        let intruder = self.0.planned.lock().unwrap().remove(&number)?;
        self.0.acted.lock().unwrap().push((number, intruder));
        Some(intruder)
    }

    /// Who has acted, each with the number of the call before which it did.
    pub(crate) fn acted(&self) -> Vec<(usize, Intruder)> {
        self.0.acted.lock().unwrap().clone()
    }

    /// Lets the intruder act.
    pub(crate) fn let_in(&self, intruder: Option<Intruder>) {
        if let (Some(intruder), Some(world)) = (intruder, self.0.world.get().and_then(Weak::upgrade)) {
            world.let_in(intruder);
        }
    }

    /// The same configuration with interrupts before its calls.
    pub(crate) fn wrap(&self, config: &SdkConfig) -> SdkConfig {
        let inner = config.http_client().unwrap();
        let interrupts = self.clone();
        let client = http_client_fn(move |settings, components| {
            let inner = inner.http_connector(settings, components);
            SharedHttpConnector::new(Interrupted { inner, interrupts: interrupts.clone() })
        });
        config.to_builder().http_client(client).build()
    }
}

#[derive(Debug)]
struct Interrupted {
    inner: SharedHttpConnector,
    interrupts: Interrupts,
}

impl HttpConnector for Interrupted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, interrupts) = (self.inner.clone(), self.interrupts.clone());
        HttpConnectorFuture::new(async move {
            interrupts.let_in(interrupts.take());
            inner.call(request).await
        })
    }
}
