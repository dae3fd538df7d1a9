//! Estimates and top-ups.

use serde::Serialize;
use serde_json::{Map, Value};

use super::request::request_body;
use super::response::response_body;
use super::validation::https_url;
use super::{ImageGenerate, InvalidField, TopUpId, Usd, Validate, VideoGenerate};
use crate::contract::TopUpStatus;

/// The body of `POST /v1/open/estimate`: a model and the fields of its generate request.
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
    /// The fields of the generate request other than `model`.
    pub input: Map<String, Value>,
}

impl EstimateRequest {
    /// Creates an estimate request.
    #[must_use]
    pub fn new(model: impl Into<String>, input: Map<String, Value>) -> Self {
        Self {
            model: model.into(),
            input,
        }
    }

    /// Keeps the fields that can affect the price: not the communication fields and the metadata.
    fn from_body(body: &impl Serialize, model: &str) -> Self {
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
        Self::from_body(body, &body.model)
    }
}

impl From<&ImageGenerate> for EstimateRequest {
    fn from(body: &ImageGenerate) -> Self {
        Self::from_body(body, &body.model)
    }
}

impl Validate for EstimateRequest {
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}

response_body! {
    /// An estimated price. It equals the charge. Its fields are assumed.
    pub struct Estimate {
        /// The model; for `auto`, the selected model.
        optional model: String,
        /// The price of the request.
        required price_usd: Usd,
        /// The currency, for example `USD`.
        optional currency: String,
        /// The billing unit: `second` or `image`.
        optional unit: String,
        /// The price of one unit.
        optional unit_price_usd: Usd,
        /// The number of units.
        optional units: u64,
    }
}

request_body! {
    /// The body of `POST /v1/open/top-ups`.
    ///
    /// ```
    /// use svc_sdk::types::TopUpCreate;
    ///
    /// let body = TopUpCreate::new(2_000).success_url("https://shop.example/thanks");
    /// assert_eq!(body.amount_usd_cents, 2_000);
    /// ```
    pub struct TopUpCreate (
        /// The amount in whole cents: 500 to 1000000.
        amount_usd_cents: integer,
    ) {
        /// The page that the payer returns to after paying (HTTPS).
        success_url: text,
        /// The page that the payer returns to after canceling (HTTPS).
        cancel_url: text,
    }
}

impl Validate for TopUpCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        https_url("success_url", self.success_url.as_ref())?;
        https_url("cancel_url", self.cancel_url.as_ref())
    }
}

response_body! {
    /// A top-up of the balance.
    pub struct TopUp {
        /// The top-up's identifier. Assumed.
        required id: TopUpId,
        /// The top-up's status, empty if the service did not send it.
        text status: TopUpStatus,
        /// The URL of the hosted checkout, to be opened in a browser.
        optional checkout_url: String,
        /// The requested amount in cents.
        optional amount_usd_cents: u64,
    }
}
