//! The body that starts a run of a Format.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::ResponseFormat;
use crate::contract::limits::{MAX_RUN_INPUT_BYTES, MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD};
use crate::open_enum::open_enum;
use crate::types::json_schema::json_schema;
use crate::types::request::{request_body, run_options};
use crate::types::validation::media_url;
use crate::types::{InvalidField, OutputSchema, RunId, Usd, Validate};

open_enum! {
    /// What happens if a run of the same Format is in flight.
    pub enum OnActiveRun {
        /// The new run is rejected with `format_run_in_progress`.
        Reject = "reject",
    }
}

request_body! {
    /// The body that starts a run of a Format. At least one of `instruction`, `input`,
    /// `previous_run_id` and `attachments` is required.
    ///
    /// ```
    /// use svc_sdk::types::{FormatRunCreate, Usd};
    ///
    /// let body = FormatRunCreate::new("A teaser for a jazz night")
    ///     .input("city", "Lisbon")
    ///     .generation_spend_cap_usd(Usd::from_micros(1_500_000));
    /// assert_eq!(
    ///     serde_json::to_value(&body)?,
    ///     serde_json::json!({
    ///         "instruction": "A teaser for a jazz night",
    ///         "input": {"city": "Lisbon"},
    ///         "generation_spend_cap_usd": 1.5,
    ///     }),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct FormatRunCreate {
        /// The instruction for the run.
        instruction: text,
        /// Input values of the Format: at most 64 keys and 2 MiB.
        #[schemars(extend("maxProperties" = MAX_RUN_INPUT_KEYS))]
        input: object,
        /// The run to continue, of the same Format.
        previous_run_id: [RunId],
        /// Files to use.
        attachments: {Vec<Attachment>},
        /// The schema of the output. Mutually exclusive with `response_format`.
        output_schema: [OutputSchema],
        /// The format of the output. Mutually exclusive with `output_schema`.
        response_format: [ResponseFormat],
        /// The maximum spend on generations: above 0, at most 500 USD. It may be above the Format's
        /// own cap. Null means 500 USD.
        generation_spend_cap_usd: [SpendCap],
        /// A model of the catalog.
        model: text,
        /// What happens if a run of the Format is in flight.
        on_active_run: [OnActiveRun],
    } + run_options
}

impl FormatRunCreate {
    /// Creates a body with an instruction.
    #[must_use]
    pub fn new(instruction: impl Into<String>) -> Self {
        Self::default().instruction(instruction)
    }

    /// Creates a body that continues another run of the same Format.
    #[must_use]
    pub fn continue_from(run: impl Into<RunId>) -> Self {
        Self::default().previous_run_id(run)
    }

    /// Sets `attachments`.
    #[must_use]
    pub fn attachments(mut self, attachments: impl IntoIterator<Item = Attachment>) -> Self {
        self.attachments = attachments.into_iter().collect();
        self
    }
}

/// The spend cap of a Format run. Without one, the Format's own cap applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpendCap {
    /// An amount, in JSON a number of dollars.
    Amount(Usd),
    /// The largest cap that the service accepts, 500 USD. It is `null` in JSON.
    ServiceMaximum,
}

impl From<Usd> for SpendCap {
    fn from(amount: Usd) -> Self {
        Self::Amount(amount)
    }
}

impl Serialize for SpendCap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Amount(cap) => CapAsNumber(cap).serialize(serializer),
            Self::ServiceMaximum => serializer.serialize_none(),
        }
    }
}

// The mark keeps the `null`, which in other requests stands for an absent field.
json_schema! { inline SpendCap {"type": ["number", "null"], "x-nullable": true} }

request_body! {
    /// A file for a run.
    pub struct Attachment {
        /// The id of an asset of the workspace.
        asset_id: {Option<String>},
        /// A public HTTPS URL.
        url: {Option<String>},
    }
}

impl Attachment {
    /// Creates an attachment from a public HTTPS URL.
    #[must_use]
    pub fn from_url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }

    /// Creates an attachment from an asset of the workspace.
    #[must_use]
    pub fn from_asset(asset_id: impl Into<String>) -> Self {
        Self { asset_id: Some(asset_id.into()), ..Self::default() }
    }
}

impl Validate for FormatRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        let is_empty = self.instruction.is_none()
            && self.input.is_none()
            && self.previous_run_id.is_none()
            && self.attachments.is_empty();
        if is_empty && self.extra.is_empty() {
            return Err(InvalidField::new(
                "instruction",
                "is missing: one of instruction, input, previous_run_id and attachments is required",
            ));
        }
        if self.output_schema.is_some() && self.response_format.is_some() {
            return Err(InvalidField::new(
                "response_format",
                "and output_schema are mutually exclusive",
            ));
        }
        if let Some(input) = &self.input {
            validate_input(input)?;
        }
        for attachment in &self.attachments {
            let is_known = attachment.extra.is_empty();
            if is_known && attachment.asset_id.is_some() == attachment.url.is_some() {
                let reason = "must have asset_id or url, and not both";
                return Err(InvalidField::new("attachments", reason));
            }
            media_url("attachments", attachment.url.as_ref())?;
        }
        if let Some(SpendCap::Amount(cap)) = self.generation_spend_cap_usd {
            validate_spend_cap(cap)?;
        }
        run_options(self.webhook_url.as_ref(), self.communication.as_ref())
    }
}

fn validate_input(input: &Map<String, Value>) -> Result<(), InvalidField> {
    if input.len() > MAX_RUN_INPUT_KEYS {
        let reason = format!("must have at most {MAX_RUN_INPUT_KEYS} keys");
        return Err(InvalidField::new("input", reason));
    }
    if serde_json::to_vec(input).is_ok_and(|json| json.len() > MAX_RUN_INPUT_BYTES) {
        return Err(InvalidField::new("input", "must have at most 2 MiB"));
    }
    Ok(())
}

/// Checks that a cap is in the range that the service accepts.
pub(in crate::types) fn validate_spend_cap(cap: Usd) -> Result<(), InvalidField> {
    let max = Usd::from_micros(i64::try_from(MAX_SPEND_CAP_USD * 1_000_000).unwrap_or(i64::MAX));
    if cap <= Usd::ZERO || cap > max {
        return Err(InvalidField::new(
            "generation_spend_cap_usd",
            format!("must be above 0 and at most {MAX_SPEND_CAP_USD}"),
        ));
    }
    Ok(())
}

/// Dollars that are serialized as a JSON number. In the range of a cap, a float has exact micros.
pub(in crate::types) struct CapAsNumber<'a>(pub(in crate::types) &'a Usd);

impl Serialize for CapAsNumber<'_> {
    #[expect(clippy::cast_precision_loss, reason = "the micros of a cap are exact")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = self.0.as_micros();
        if micros % 1_000_000 == 0 {
            serializer.serialize_i64(micros / 1_000_000)
        } else {
            serializer.serialize_f64(micros as f64 / 1e6)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn serializes_the_cap_as_a_number() {
        for (micros, json) in [(1, "1e-6"), (499_999_999, "499.999999"), (2_000_000, "2")] {
            let body =
                FormatRunCreate::default().generation_spend_cap_usd(Usd::from_micros(micros));
            let written = serde_json::to_string(&body).unwrap();
            assert_eq!(written, format!("{{\"generation_spend_cap_usd\":{json}}}"));
        }
        let body = FormatRunCreate::default().generation_spend_cap_usd(SpendCap::ServiceMaximum);
        assert!(body.validate().is_err(), "the cap alone is not a request");
        assert_eq!(serde_json::to_value(body).unwrap(), json!({"generation_spend_cap_usd": null}));
    }
}
