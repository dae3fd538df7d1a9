//! Agent Completions: runs of the agent on an ad-hoc prompt.

use super::format::{CapAsNumber, validate_spend_cap};
use super::request::{request_body, run_options};
use super::{InvalidField, Usd, Validate};

request_body! {
    /// The body of `POST /v1/agent/completions`. The spend cap is required and has no default.
    pub struct AgentCompletionCreate (
        /// The instruction for the agent.
        instruction: text,
        /// The maximum spend on generations: above 0, at most 500 USD.
        #[written_as(CapAsNumber)]
        #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
        generation_spend_cap_usd: [Usd],
    ) {} + run_options
}

impl Validate for AgentCompletionCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.instruction.trim().is_empty() {
            return Err(InvalidField::new("instruction", "must not be empty"));
        }
        validate_spend_cap(self.generation_spend_cap_usd)?;
        run_options(self.webhook_url.as_ref(), self.communication.as_ref())
    }
}
