//! Actions: scheduled agent work, of which a run can be started through the API-call trigger.

use serde::Serialize;
use serde_json::{Map, Value};

use super::body::run_setters;
use super::invalid::webhook_url;
use super::received::received;
use super::{ActionId, Extra, InvalidField, Validate};

received! {
    /// An Action. The specification shows no field: all are assumed.
    pub struct Action (
        /// Identifies the Action.
        id: ActionId,
    ) {
        /// Its name.
        name: maybe String,
        /// What it does.
        description: maybe String,
        /// Such as `active`.
        status: maybe String,
        /// What starts it.
        triggers: many ActionTrigger,
        /// When it was created (RFC 3339).
        created_at: maybe String,
        /// When it last changed (RFC 3339).
        updated_at: maybe String,
    }
}

received! {
    /// What starts an Action. Assumed.
    #[derive(Default)]
    pub struct ActionTrigger () {
        /// Its schedule, where it has one.
        schedule: maybe String,
    }
}

impl ActionTrigger {
    /// The kind of trigger, such as `schedule` or `api_call`.
    #[must_use]
    pub fn trigger_type(&self) -> Option<String> {
        self.extra.field("type")
    }
}

/// The body that starts a run of an Action. Its fields are assumed, and all may be left out.
///
/// ```
/// use svc_sdk::types::ActionRunCreate;
///
/// let body = ActionRunCreate::default().instruction("Only the news of today.");
/// assert_eq!(
///     serde_json::to_value(&body)?,
///     serde_json::json!({"instruction": "Only the news of today."}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ActionRunCreate {
    /// What to mind in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Values that the Action asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Map<String, Value>>,
    /// Where the terminal receipt is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

run_setters!(ActionRunCreate: instruction, input, webhook_url, field);

impl Validate for ActionRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        webhook_url(self.webhook_url.as_ref())
    }
}
