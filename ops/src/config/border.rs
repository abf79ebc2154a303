//! From what the file says to what the core knows, with a place in the file for everything that can be wrong.

use std::ops::Range;

use hookbox_core::address::{check_base_url, path_of};
use hookbox_core::integration::{Idempotency, Integration, InvalidIntegration, Retention};
use hookbox_core::name::OperationName;
use toml::Spanned;

use super::Declared;
use super::operation::{operation, whole_seconds};
use super::source::Problem;
use super::text::period;
use super::wire::{File, IntegrationTable, OperationTable};

/// Where the parts of an integration stand in the file.
#[derive(Clone, Debug)]
pub struct Places {
    /// `provider = …`
    pub provider: Range<usize>,
    /// `url = …`, or else the provider.
    pub url: Range<usize>,
    /// `secrets = …`, or else the provider.
    pub secrets: Range<usize>,
    /// `variant = …`, or else the provider.
    pub variant: Range<usize>,
    /// `[integration.verify]`, or else the provider.
    pub verify: Range<usize>,
    /// `receipt_retention = …`, or else the provider.
    pub receipt_retention: Range<usize>,
    payload_retention: Range<usize>,
    operations: Vec<OperationPlaces>,
}

#[derive(Clone, Debug)]
struct OperationPlaces {
    name: Range<usize>,
    timeout: Range<usize>,
    url: Range<usize>,
    not_done_statuses: Range<usize>,
}

/// Every integration of the file, and every problem that is found on the way.
pub fn integrations(file: &File, problems: &mut Vec<Problem>) -> Vec<Declared> {
    let mut all: Vec<Declared> = Vec::new();
    let base_url = file.base_url.as_ref().and_then(|url| base_url(url, problems));
    for table in &file.integration {
        let Some(declared) = integration(table.get_ref(), base_url, problems) else { continue };
        let Integration { provider, account, .. } = &declared.integration;
        if all.iter().any(|other| other.integration.provider == *provider && other.integration.account == *account) {
            let says = format!("{provider}/{account} is declared twice");
            problems
                .push(Problem::new(declared.places.provider, says).write("one [[integration]] with all operations"));
            continue;
        }
        all.push(declared);
    }
    if file.integration.is_empty() {
        let example =
            "[[integration]]\nprovider = \"stripe\"\naccount = \"main\"\nsecrets = [\"ssm:/hookbox/stripe/main\"]";
        problems.push(Problem::new(0..0, "the file declares no integration").write(example));
    }
    all
}

/// The address that all connections share, without a slash at its end.
fn base_url<'a>(url: &'a Spanned<String>, problems: &mut Vec<Problem>) -> Option<&'a str> {
    let text = url.get_ref().trim_end_matches('/');
    match check_base_url(text) {
        Ok(()) => Some(text),
        Err(invalid) => {
            let problem = Problem::new(url.span(), format!("`base_url`: {invalid}"));
            problems.push(problem.write("base_url = \"https://hooks.example.com\"").hide());
            None
        }
    }
}

fn integration(table: &IntegrationTable, base_url: Option<&str>, problems: &mut Vec<Problem>) -> Option<Declared> {
    let found = problems.len();
    let default = Retention::default();
    let retention = Retention {
        payload: whole_seconds(table.payload_retention.as_ref(), default.payload, problems),
        receipt: whole_seconds(table.receipt_retention.as_ref(), default.receipt, problems),
    };
    let operations = table.operation.iter().filter_map(|table| operation(table.get_ref(), problems)).collect();
    if problems.len() > found {
        return None;
    }
    let (provider, account) = (table.provider.get_ref(), table.account.get_ref());
    let shared = base_url.map(|base| format!("{base}{}", path_of(provider, account)));
    let integration = Integration {
        provider: provider.clone(),
        account: account.clone(),
        url: table.url.as_ref().map(|url| url.get_ref().clone()).or(shared),
        rev: 0,
        secrets: table.secrets.as_ref().map(|secrets| secrets.get_ref().0.clone()).unwrap_or_default(),
        variant: table.variant.as_ref().map(|variant| variant.get_ref().clone()),
        verify: table.verify.as_ref().map(|verify| verify.get_ref().clone()),
        tenants: table.tenants.clone(),
        operations,
        retention,
    };
    let places = Places::of(table);
    if let Err(invalid) = integration.validate() {
        let problem = Problem::new(places.of_invalid(&integration, &invalid), invalid.to_string());
        // An address may carry a password.
        let hidden = matches!(invalid, InvalidIntegration::PublicUrl(_));
        problems.push(if hidden { problem.hide() } else { problem });
        return None;
    }
    let warnings = warnings(table, &integration);
    Some(Declared { integration, places, warnings })
}

/// What is allowed and probably not meant, or decides much without being stated.
fn warnings(table: &IntegrationTable, integration: &Integration) -> Vec<String> {
    let name = format!("{}/{}", integration.provider, integration.account);
    let mut warnings = Vec::new();
    if integration.operations.is_empty() {
        warnings.push(format!("{name} has no operation: its events are recorded, and nothing is done about them"));
    }
    for (operation, table) in integration.operations.iter().zip(&table.operation) {
        if let (Idempotency::Key { retention }, None) = (&operation.idempotency, &table.get_ref().key_retention) {
            warnings.push(format!(
                "{name} {}: key_retention is not stated, so the destination is taken to remember a key for {}",
                operation.name,
                period(*retention)
            ));
        }
    }
    warnings
}

impl Places {
    fn of(table: &IntegrationTable) -> Self {
        let provider = table.provider.span();
        let or_provider = |place: Option<Range<usize>>| place.unwrap_or_else(|| provider.clone());
        Self {
            url: or_provider(table.url.as_ref().map(Spanned::span)),
            secrets: or_provider(table.secrets.as_ref().map(Spanned::span)),
            variant: or_provider(table.variant.as_ref().map(Spanned::span)),
            verify: or_provider(table.verify.as_ref().map(Spanned::span)),
            receipt_retention: or_provider(table.receipt_retention.as_ref().map(Spanned::span)),
            payload_retention: or_provider(table.payload_retention.as_ref().map(Spanned::span)),
            operations: table.operation.iter().map(|operation| OperationPlaces::of(operation.get_ref())).collect(),
            provider,
        }
    }

    fn of_invalid(&self, integration: &Integration, invalid: &InvalidIntegration) -> Range<usize> {
        let of = |name: &OperationName, part: fn(&OperationPlaces) -> &Range<usize>| {
            let position = integration.operations.iter().rposition(|operation| operation.name == *name);
            position.and_then(|i| self.operations.get(i)).map_or(&self.provider, part).clone()
        };
        match invalid {
            InvalidIntegration::DuplicateOperation(name) => of(name, |places| &places.name),
            InvalidIntegration::TooManyOperations(_) => self.provider.clone(),
            InvalidIntegration::Timeout(name) => of(name, |places| &places.timeout),
            InvalidIntegration::PublicUrl(_) => self.url.clone(),
            InvalidIntegration::PayloadRetention => self.payload_retention.clone(),
            InvalidIntegration::ReceiptRetention => self.receipt_retention.clone(),
            InvalidIntegration::Url(name) | InvalidIntegration::ReconcileName(name) => of(name, |places| &places.url),
            InvalidIntegration::NotDoneStatus(name) => of(name, |places| &places.not_done_statuses),
        }
    }
}

impl OperationPlaces {
    fn of(table: &OperationTable) -> Self {
        let name = table.name.span();
        let or_name = |place: Option<Range<usize>>| place.unwrap_or_else(|| name.clone());
        Self {
            timeout: or_name(table.timeout.as_ref().map(Spanned::span)),
            url: or_name(table.url.as_ref().or(table.reconcile_url.as_ref()).map(Spanned::span)),
            not_done_statuses: or_name(table.not_done_statuses.as_ref().map(Spanned::span)),
            name,
        }
    }
}
