//! Agent Completions: the agent on an ad-hoc prompt, with nothing saved.

use serde::Serialize;

use super::body::run_setters;
use super::format::{cap_in_dollars, spend_cap};
use super::invalid::webhook_url;
use super::{Extra, InvalidField, Usd, Validate};

/// The body of `POST /v1/agent/completions`. The cap has no default: it is never made up.
///
/// ```
/// use svc_sdk::types::{AgentCompletionCreate, Usd};
///
/// let body = AgentCompletionCreate::new("Three posters for a jazz night", Usd::from_micros(2_500_000));
/// assert_eq!(
///     serde_json::to_value(&body)?,
///     serde_json::json!({
///         "instruction": "Three posters for a jazz night",
///         "generation_spend_cap_usd": 2.5,
///     }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentCompletionCreate {
    /// What the agent is to do.
    pub instruction: String,
    /// What its generations may cost: above 0, at most 500 USD.
    #[serde(serialize_with = "cap_in_dollars")]
    #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
    pub generation_spend_cap_usd: Usd,
    /// Where the terminal receipt is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AgentCompletionCreate {
    /// An instruction, and what its generations may cost.
    #[must_use]
    pub fn new(instruction: impl Into<String>, generation_spend_cap: Usd) -> Self {
        Self {
            instruction: instruction.into(),
            generation_spend_cap_usd: generation_spend_cap,
            webhook_url: None,
            extra: Extra::default(),
        }
    }
}

run_setters!(AgentCompletionCreate: webhook_url, field);

impl Validate for AgentCompletionCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.instruction.trim().is_empty() {
            return Err(InvalidField::new("instruction", "must say something"));
        }
        spend_cap(Some(self.generation_spend_cap_usd))?;
        webhook_url(self.webhook_url.as_ref())
    }
}
