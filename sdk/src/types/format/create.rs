//! The body that starts a run of a Format.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::contract::limits::{MAX_RUN_INPUT_BYTES, MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD};
use crate::open_enum::open_enum;
use crate::types::body::run_setters;
use crate::types::invalid::{https_url, webhook_url};
use crate::types::{Extra, InvalidField, OutputSchema, RunId, Usd, Validate};

open_enum! {
    /// What to do where a run of the same Format is in flight.
    pub enum OnActiveRun {
        /// Refuse the new one (`format_run_in_progress`).
        Reject = "reject",
    }
}

/// The body of a Format run: an instruction, input, attachments or a run to continue, and how.
///
/// ```
/// use svc_sdk::types::{FormatRunCreate, Usd};
///
/// let body = FormatRunCreate::new("A teaser for a jazz night")
///     .input("city", "Lisbon")
///     .generation_spend_cap(Usd::from_micros(1_500_000));
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FormatRunCreate {
    /// What to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Values that the Format asks for: at most 64 keys and 2 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("maxProperties" = MAX_RUN_INPUT_KEYS)))]
    pub input: Option<Map<String, Value>>,
    /// The run to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_run_id: Option<RunId>,
    /// Files to work with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// What the output is to fit; not together with `response_format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// The form of the output; not together with `output_schema`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
    /// What its generations may cost: above 0, at most 500 USD. One above the Format's own cap is
    /// honoured.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "optional_cap_in_dollars"
    )]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<f64>"))]
    pub generation_spend_cap_usd: Option<Usd>,
    /// A model of the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What to do where a run of the Format is in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_active_run: Option<OnActiveRun>,
    /// Where the terminal receipt is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    /// Any other field, such as `communication`.
    #[serde(flatten)]
    pub extra: Extra,
}

impl FormatRunCreate {
    /// A run with an instruction.
    #[must_use]
    pub fn new(instruction: impl Into<String>) -> Self {
        Self {
            instruction: Some(instruction.into()),
            ..Self::default()
        }
    }

    /// A run that continues another one of the same Format.
    #[must_use]
    pub fn continuing(run: impl Into<RunId>) -> Self {
        Self {
            previous_run_id: Some(run.into()),
            ..Self::default()
        }
    }

    /// A file to work with.
    #[must_use]
    pub fn attachment(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// What the output is to fit.
    #[must_use]
    pub fn output_schema(mut self, schema: OutputSchema) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// The form of the output.
    #[must_use]
    pub fn response_format(mut self, format: impl Into<Value>) -> Self {
        self.response_format = Some(format.into());
        self
    }

    /// What its generations may cost.
    #[must_use]
    pub fn generation_spend_cap(mut self, cap: Usd) -> Self {
        self.generation_spend_cap_usd = Some(cap);
        self
    }

    /// A model of the catalog.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// What to do where a run of the Format is in flight.
    #[must_use]
    pub fn on_active_run(mut self, what: OnActiveRun) -> Self {
        self.on_active_run = Some(what);
        self
    }
}

run_setters!(FormatRunCreate: instruction, input, webhook_url, field);

/// A file for a run to work with.
///
/// ```
/// use svc_sdk::types::Attachment;
///
/// let photo = Attachment::url("https://files.example/fox.png");
/// assert_eq!(serde_json::to_value(&photo)?, serde_json::json!({"url": "https://files.example/fox.png"}));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Attachment {
    /// An asset of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset_id: Option<String>,
    /// A public HTTPS URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Attachment {
    /// A field that this build has no setter for.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }

    /// A file at a public HTTPS URL.
    #[must_use]
    pub fn url(url: impl Into<String>) -> Self {
        Self {
            asset_id: None,
            url: Some(url.into()),
            extra: Extra::default(),
        }
    }

    /// An asset of the workspace.
    #[must_use]
    pub fn asset(asset_id: impl Into<String>) -> Self {
        Self {
            asset_id: Some(asset_id.into()),
            url: None,
            extra: Extra::default(),
        }
    }
}

impl Validate for FormatRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        let empty = self.instruction.is_none()
            && self.input.is_none()
            && self.previous_run_id.is_none()
            && self.attachments.is_empty();
        if empty && self.extra.is_empty() {
            return Err(InvalidField::new(
                "instruction",
                "is missing: a run needs an instruction, input, attachments or previous_run_id",
            ));
        }
        if self.output_schema.is_some() && self.response_format.is_some() {
            return Err(InvalidField::new(
                "response_format",
                "must not come together with output_schema",
            ));
        }
        if let Some(input) = &self.input {
            within_limits(input)?;
        }
        for attachment in &self.attachments {
            let is_known = attachment.extra.is_empty();
            if is_known && attachment.asset_id.is_some() == attachment.url.is_some() {
                let reason = "must have asset_id or url, and not both";
                return Err(InvalidField::new("attachments", reason));
            }
            https_url("attachments", attachment.url.as_ref())?;
        }
        spend_cap(self.generation_spend_cap_usd)?;
        webhook_url(self.webhook_url.as_ref())
    }
}

fn within_limits(input: &Map<String, Value>) -> Result<(), InvalidField> {
    if input.len() > MAX_RUN_INPUT_KEYS {
        let reason = format!("must have at most {MAX_RUN_INPUT_KEYS} keys");
        return Err(InvalidField::new("input", reason));
    }
    if serde_json::to_vec(input).is_ok_and(|json| json.len() > MAX_RUN_INPUT_BYTES) {
        return Err(InvalidField::new("input", "must have at most 2 MiB"));
    }
    Ok(())
}

/// Whether a cap is one that the service takes.
pub(in crate::types) fn spend_cap(cap: Option<Usd>) -> Result<(), InvalidField> {
    let most = Usd::from_micros(i64::try_from(MAX_SPEND_CAP_USD * 1_000_000).unwrap_or(i64::MAX));
    match cap {
        Some(cap) if cap <= Usd::ZERO || cap > most => Err(InvalidField::new(
            "generation_spend_cap_usd",
            format!("must be above 0 and at most {MAX_SPEND_CAP_USD}"),
        )),
        _ => Ok(()),
    }
}

/// Dollars as a JSON number. Up to the largest cap a float shows micros exactly.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::cast_precision_loss,
    reason = "serde gives a reference; whole micros of a cap are exact"
)]
pub(in crate::types) fn cap_in_dollars<S: Serializer>(
    cap: &Usd,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let micros = cap.micros();
    if micros % 1_000_000 == 0 {
        serializer.serialize_i64(micros / 1_000_000)
    } else {
        serializer.serialize_f64(micros as f64 / 1e6)
    }
}

#[expect(clippy::ref_option, reason = "serde gives a reference")]
fn optional_cap_in_dollars<S: Serializer>(
    cap: &Option<Usd>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match cap {
        Some(cap) => cap_in_dollars(cap, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_of_the_specification_is_sent_by_its_name() {
        let schema = OutputSchema::new(json!({"type": "object"})).unwrap();
        let body = FormatRunCreate::new("i")
            .input("a", 1)
            .attachment(Attachment::asset("asset_1"))
            .output_schema(schema)
            .generation_spend_cap(Usd::from_micros(100_001))
            .model("m")
            .on_active_run(OnActiveRun::Reject)
            .webhook_url("https://a.example/hook")
            .field("communication", json!({"mode": "async"}));
        assert!(body.validate().is_ok());
        assert_eq!(
            serde_json::to_value(FormatRunCreate {
                previous_run_id: Some("run_1".into()),
                ..body
            })
            .unwrap(),
            json!({
                "instruction": "i", "input": {"a": 1}, "previous_run_id": "run_1",
                "attachments": [{"asset_id": "asset_1"}], "output_schema": {"type": "object"},
                "generation_spend_cap_usd": 0.100_001, "model": "m", "on_active_run": "reject",
                "webhook_url": "https://a.example/hook", "communication": {"mode": "async"}
            })
        );
    }

    #[test]
    fn what_can_never_be_right_is_found_before_it_is_sent() {
        let run = || FormatRunCreate::new("x");
        let schema = || OutputSchema::unchecked(json!({"type": "object"}));
        let wide = (0..65).fold(run(), |run, n| run.input(n.to_string(), n));
        let cap = |micros| run().generation_spend_cap(Usd::from_micros(micros));
        let rows = [
            (FormatRunCreate::default(), "instruction"),
            (
                run().output_schema(schema()).response_format(json!({})),
                "response_format",
            ),
            (wide, "input"),
            (run().input("a", "x".repeat(2 * 1024 * 1024)), "input"),
            (
                run().attachment(Attachment::url("http://a.example")),
                "attachments",
            ),
            (
                run().attachment(Attachment {
                    asset_id: Some("a".into()),
                    ..Attachment::url("https://a")
                }),
                "attachments",
            ),
            (cap(0), "generation_spend_cap_usd"),
            (cap(-1), "generation_spend_cap_usd"),
            (cap(500_000_001), "generation_spend_cap_usd"),
            (run().webhook_url("http://a.example"), "webhook_url"),
        ];
        for (body, field) in rows {
            assert_eq!(body.validate().unwrap_err().field(), field);
        }
        for micros in [1, 500_000_000] {
            assert!(cap(micros).validate().is_ok(), "{micros}");
        }
        assert!(FormatRunCreate::continuing("run_1").validate().is_ok());
        let of_tomorrow = Attachment {
            url: None,
            ..Attachment::url("").field("file_id", "f")
        };
        assert!(run().attachment(of_tomorrow).validate().is_ok());
    }

    #[test]
    fn a_cap_is_written_as_the_number_that_it_is() {
        for (micros, json) in [(1, "1e-6"), (499_999_999, "499.999999"), (2_000_000, "2")] {
            let body = FormatRunCreate::default().generation_spend_cap(Usd::from_micros(micros));
            let written = serde_json::to_string(&body).unwrap();
            assert_eq!(written, format!("{{\"generation_spend_cap_usd\":{json}}}"));
        }
    }
}
