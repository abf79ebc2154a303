//! The profile format as it is written. `docs/adding-a-provider.md` describes every field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One `profiles/<provider>.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileFile {
    pub(crate) name: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) documentation: Vec<String>,
    #[serde(default)]
    pub(crate) setup: Vec<String>,
    pub(crate) delivery: DeliveryFile,
    #[serde(default)]
    pub(crate) acknowledgement: Vec<AcknowledgementFile>,
    pub(crate) refusal: Option<RefusalFile>,
    #[serde(default)]
    pub(crate) tenants: Option<String>,
    pub(crate) verify: Vec<SchemeFile>,
    #[serde(default)]
    pub(crate) overridable: Vec<String>,
    #[serde(default)]
    pub(crate) handshake: Vec<HandshakeFile>,
    pub(crate) body: BodyFile,
    #[serde(default)]
    pub(crate) document: Vec<DocumentFile>,
    #[serde(default)]
    pub(crate) event: Vec<EventFile>,
    #[serde(default)]
    pub(crate) unsupported: UnsupportedFile,
    #[serde(default)]
    pub(crate) keep: KeepFile,
    pub(crate) sample: SampleFile,
}

/// How the provider delivers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryFile {
    pub(crate) response_budget: Option<String>,
    pub(crate) retry_horizon: Option<String>,
    pub(crate) retry_after: Option<String>,
    #[serde(default)]
    pub(crate) retries: String,
}

/// An answer that is sent back as it stands here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerFile {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: String,
}

/// The answer after everything is committed, for the deliveries that it is for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcknowledgementFile {
    #[serde(default)]
    pub(crate) when: Vec<ConditionFile>,
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: String,
}

/// How a delivery is refused that will never be accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefusalFile {
    pub(crate) status: Option<u16>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
}

/// A scheme and its parameters. Which ones apply depends on the scheme.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SchemeFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
    /// How files of signed requests call this way to verify.
    #[serde(skip_serializing)]
    pub(crate) vectors: OneOrMany,
    pub(crate) scheme: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) header_prefixes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list: Option<ListFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signed: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp_unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tolerance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tolerance_sides: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) any_port: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) each: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<Vec<OneOrMany>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) separator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) second_signature: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp_field: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) once: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keys_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) issuers: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted: Option<String>,
    /// Whether times are not looked at. Only for files of signed requests that have none.
    #[serde(skip)]
    pub(crate) untimed: bool,
}

/// The parameters of schemes, by their names in [`SchemeFile`].
pub(crate) const PARAMETERS: [&str; 28] = [
    "url",
    "algorithm",
    "encoding",
    "key_encoding",
    "header",
    "header_prefixes",
    "prefix",
    "list",
    "signed",
    "id",
    "timestamp",
    "timestamp_unit",
    "tolerance",
    "tolerance_sides",
    "body_hash",
    "any_port",
    "each",
    "fields",
    "separator",
    "signature",
    "second_signature",
    "timestamp_field",
    "once",
    "keys_url",
    "issuers",
    "audience",
    "email",
    "trusted",
];

/// A header that holds a list such as `t=…,v1=…`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFile {
    pub(crate) separator: char,
    pub(crate) signature: String,
}

/// A request that asks whether somebody is there and is answered without a receipt.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandshakeFile {
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) when: Vec<ConditionFile>,
    pub(crate) token: Option<String>,
    #[serde(default)]
    pub(crate) unsigned: bool,
    pub(crate) echo: Option<String>,
    pub(crate) confirm: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) answer: AnswerFile,
}

/// How a body is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BodyFile {
    pub(crate) format: String,
    pub(crate) form_json: Option<String>,
    #[serde(default)]
    pub(crate) query_form: bool,
}

/// A document inside the body, such as base64 JSON in a field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentFile {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) parse: String,
}

/// One rule: which elements it takes, and what their fields are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EventFile {
    pub(crate) each: Vec<StepFile>,
    pub(crate) when: Vec<ConditionFile>,
    pub(crate) kinds: Vec<String>,
    pub(crate) ignore: Option<String>,
    pub(crate) id: Sources,
    pub(crate) identity: Sources,
    pub(crate) kind: Sources,
    pub(crate) resource: Sources,
    pub(crate) tenant: Sources,
    pub(crate) version: Sources,
    pub(crate) occurred_at: Sources,
    pub(crate) time_unit: Option<String>,
    pub(crate) without_id: Vec<FallbackFile>,
    pub(crate) volatile: Vec<String>,
}

/// One step of the way from the delivery to an element.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepFile {
    #[serde(rename = "as")]
    pub(crate) name: String,
    pub(crate) path: String,
}

/// A condition on a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConditionFile {
    pub(crate) source: String,
    pub(crate) is: Option<OneOrMany>,
    pub(crate) starts_with: Option<OneOrMany>,
    pub(crate) present: Option<bool>,
}

/// What an event without an id of its own is known by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FallbackFile {
    #[serde(rename = "use")]
    pub(crate) method: String,
    pub(crate) window: String,
}

/// What an element gets that no rule takes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UnsupportedFile {
    pub(crate) answer: Option<String>,
    pub(crate) kind: Sources,
    pub(crate) tenant: Sources,
    pub(crate) resource: Sources,
}

/// What of the request an operation is given beside the body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KeepFile {
    pub(crate) headers: Vec<String>,
    pub(crate) query: bool,
}

/// A delivery to rehearse with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SampleFile {
    pub(crate) kind: String,
    pub(crate) resource: String,
    pub(crate) event_id: String,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// Sources in the order in which they are tried.
pub(crate) type Sources = OneOrMany;

/// One text or a list of them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}
