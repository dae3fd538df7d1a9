//! Estimates and top-ups.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::request::request_body;
use super::response::response_body;
use super::validation::https_url;
use super::{ImageGenerate, InvalidField, TopUpId, Usd, Validate, VideoGenerate};
use crate::contract::TopUpStatus;

const MICROS_PER_CENT: i64 = 10_000;
const NOT_WHOLE_CENTS: &str = "must be a whole number of cents";

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
        Self { model: model.into(), input }
    }

    fn from_body(body: &impl Serialize, model: &str) -> Self {
        let fields = match serde_json::to_value(body) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        Self { model: model.to_owned(), ..Self::for_body(fields) }
    }

    /// Creates the estimate request of a generate request with these fields: those that can affect the
    /// price, which are not the communication fields and the metadata.
    #[must_use]
    pub fn for_body(mut input: Map<String, Value>) -> Self {
        let model = match input.get("model") {
            Some(Value::String(model)) => model.clone(),
            _ => String::new(),
        };
        for field in ["model", "mode", "webhook_url", "wait_timeout_seconds", "metadata"] {
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

impl Validate for EstimateRequest {}

response_body! {
    /// An estimated price. It equals the charge. Its fields are assumed.
    pub struct Estimate {
        /// The model; for `auto`, the selected model.
        optional model: String,
        /// The price of the request.
        required_amount price_usd: Usd,
        /// The currency, for example `USD`.
        optional currency: String,
        /// The billing unit: `second` or `image`.
        optional unit: String,
        /// The price of one unit.
        amount unit_price_usd: Usd,
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
    /// let body = TopUpCreate::new("20.00".parse()?).success_url("https://shop.example/thanks");
    /// assert_eq!(serde_json::to_value(&body)?["amount_usd_cents"], 2_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct TopUpCreate (
        /// The amount in whole cents: 500 to 1000000.
        #[written_as(Cents)]
        #[cfg_attr(feature = "schemars", schemars(with = "u64"))]
        amount_usd_cents: [Usd],
    ) {
        /// The page that the payer returns to after paying (HTTPS).
        success_url: text,
        /// The page that the payer returns to after canceling (HTTPS).
        cancel_url: text,
    }
}

/// An amount that is written as a number of cents.
struct Cents<'u>(&'u Usd);

impl Cents<'_> {
    /// Returns the number of cents, or `None` if it is not whole.
    fn count(&self) -> Option<i64> {
        let micros = self.0.as_micros();
        (micros % MICROS_PER_CENT == 0).then_some(micros / MICROS_PER_CENT)
    }
}

impl Serialize for Cents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cents = self.count();
        cents.ok_or_else(|| S::Error::custom(NOT_WHOLE_CENTS))?.serialize(serializer)
    }
}

impl Validate for TopUpCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        if Cents(&self.amount_usd_cents).count().is_none() {
            return Err(InvalidField::new("amount_usd_cents", NOT_WHOLE_CENTS));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_top_up_is_a_whole_number_of_cents() {
        let body = |amount: &str| TopUpCreate::new(amount.parse().unwrap());
        assert_eq!(
            serde_json::to_value(body("20.5")).unwrap(),
            serde_json::json!({"amount_usd_cents": 2_050})
        );
        assert!(serde_json::to_value(body("20.505")).is_err());
    }
}
