//! Estimates and top-ups.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::invalid::https_url;
use super::{Extra, ImageGenerate, InvalidField, TopUpId, Usd, Validate, VideoGenerate};
use crate::contract::TopUpStatus;

/// The body of `POST /v1/open/estimate`: a model, and the fields that it would be submitted with.
///
/// ```
/// use svc_sdk::types::{EstimateRequest, VideoGenerate};
///
/// let estimate = EstimateRequest::from(&VideoGenerate::new("video-f").duration(5));
/// assert_eq!(estimate.model, "video-f");
/// assert_eq!(estimate.input["duration"], 5);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EstimateRequest {
    /// The model's id, or `auto`.
    pub model: String,
    /// The submit's fields other than `model`.
    pub input: Map<String, Value>,
}

impl EstimateRequest {
    /// A price question.
    #[must_use]
    pub fn new(model: impl Into<String>, input: Map<String, Value>) -> Self {
        Self {
            model: model.into(),
            input,
        }
    }

    /// Only what the price can depend on: how the submit is answered and the caller's own data
    /// are left out.
    fn of(body: &impl Serialize, model: &str) -> Self {
        let mut input = match serde_json::to_value(body) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        for field in [
            "model",
            "mode",
            "webhook_url",
            "wait_timeout_seconds",
            "metadata",
        ] {
            input.remove(field);
        }
        Self::new(model, input)
    }
}

impl From<&VideoGenerate> for EstimateRequest {
    fn from(body: &VideoGenerate) -> Self {
        Self::of(body, &body.model)
    }
}

impl From<&ImageGenerate> for EstimateRequest {
    fn from(body: &ImageGenerate) -> Self {
        Self::of(body, &body.model)
    }
}

impl Validate for EstimateRequest {
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}

/// A price; it equals the charge. Its fields are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Estimate {
    /// The model; the one picked, for `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the submit will cost.
    pub price_usd: Usd,
    /// For example `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What is counted: `second` or `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The price of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price_usd: Option<Usd>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<u64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The body of `POST /v1/open/top-ups`.
///
/// ```
/// use svc_sdk::types::TopUpCreate;
///
/// let body = TopUpCreate::new(2_000).success_url("https://shop.example/thanks");
/// assert_eq!(body.amount_usd_cents, 2_000);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TopUpCreate {
    /// Whole cents, 500 to 1000000.
    pub amount_usd_cents: u64,
    /// Where the payer lands after paying (HTTPS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
    /// Where the payer lands after leaving (HTTPS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Any other field.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TopUpCreate {
    /// A top-up of so many whole cents.
    #[must_use]
    pub fn new(amount_usd_cents: u64) -> Self {
        Self {
            amount_usd_cents,
            success_url: None,
            cancel_url: None,
            extra: Extra::default(),
        }
    }

    /// Where the payer lands after paying (HTTPS).
    #[must_use]
    pub fn success_url(mut self, url: impl Into<String>) -> Self {
        self.success_url = Some(url.into());
        self
    }

    /// Where the payer lands after leaving (HTTPS).
    #[must_use]
    pub fn cancel_url(mut self, url: impl Into<String>) -> Self {
        self.cancel_url = Some(url.into());
        self
    }

    /// A field that this build has no setter for.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

impl Validate for TopUpCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        https_url("success_url", self.success_url.as_ref())?;
        https_url("cancel_url", self.cancel_url.as_ref())
    }
}

/// A top-up of the balance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TopUp {
    /// Identifies the top-up. Assumed.
    pub id: TopUpId,
    /// What became of it.
    pub status: TopUpStatus,
    /// The checkout to open in a browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_url: Option<String>,
    /// The amount requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_usd_cents: Option<u64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
