//! Price estimates of the service.

use serde_json::{Map, Value};
use svc_sdk::types::{Estimate, EstimateRequest};
use svc_sdk::{Call, Client, Developer, Open, Surface};

use crate::error::Failure;
use crate::text::sanitize;

/// Fields that do not affect the price.
const NON_PRICING_FIELDS: [&str; 4] = ["mode", "webhook_url", "wait_timeout_seconds", "metadata"];

/// Creates the estimate request for a body.
pub(crate) fn estimate_request(body: &Map<String, Value>) -> EstimateRequest {
    let mut input = body.clone();
    let model = match input.remove("model") {
        Some(Value::String(model)) => model,
        _ => String::new(),
    };
    for field in NON_PRICING_FIELDS {
        input.remove(field);
    }
    EstimateRequest::new(model, input)
}

/// A surface that may offer estimates.
pub(crate) trait EstimateSource: Surface {
    /// Returns the call that gets an estimate, or `None` if the surface has no estimates.
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>>;
}

impl EstimateSource for Open {
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>> {
        Some(client.estimates().create(request))
    }
}

impl EstimateSource for Developer {
    fn estimate(_: &Client<Self>, _: EstimateRequest) -> Option<Call<Estimate>> {
        None
    }
}

/// Fetches the estimate of a body. Returns `None` if the service has no price for it.
///
/// # Errors
///
/// Returns an error if the request fails.
pub(crate) async fn fetch_estimate<S: EstimateSource>(
    client: &Client<S>,
    body: &Map<String, Value>,
) -> Result<Option<Estimate>, Failure> {
    let Some(call) = S::estimate(client, estimate_request(body)) else {
        return Ok(None);
    };
    match call.await {
        Ok(estimate) => Ok(Some(estimate)),
        Err(error) if error.is_decode() || error.is_not_found() => Ok(None),
        Err(error) => {
            Err(Failure::from(error).context("cannot get the price; nothing was submitted"))
        }
    }
}

/// Describes an estimate: `0.7035 USD (5 × 0.1407 per second, model video-f)`.
pub(crate) fn describe_estimate(estimate: &Estimate) -> String {
    let mut parts = Vec::new();
    if let (Some(units), Some(unit_price)) = (estimate.units, estimate.unit_price_usd) {
        let unit = estimate.unit.as_deref().unwrap_or("unit");
        parts.push(format!("{units} × {unit_price} per {}", sanitize(unit)));
    }
    if let Some(model) = &estimate.model {
        parts.push(format!("model {}", sanitize(model)));
    }
    let details = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    format!("{} USD{details}", estimate.price_usd)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_estimate_request_has_only_fields_that_affect_the_price() {
        let body = json!({"model": "video-f", "duration": 5, "metadata": {"a": "b"}, "mode": "webhook", "webhook_url": "https://h"});
        let request = estimate_request(body.as_object().unwrap());
        assert_eq!(request.model, "video-f");
        assert_eq!(Value::Object(request.input), json!({"duration": 5}));
    }

    #[test]
    fn a_description_has_the_units_and_the_model() {
        let estimate = serde_json::from_value(json!({
            "model": "video\u{1b}-f", "price_usd": "0.7035", "unit": "second", "unit_price_usd": "0.1407", "units": 5
        }));
        assert_eq!(
            describe_estimate(&estimate.unwrap()),
            "0.7035 USD (5 × 0.1407 per second, model video-f)"
        );
        let bare = serde_json::from_value(json!({"price_usd": "0.005"})).unwrap();
        assert_eq!(describe_estimate(&bare), "0.0050 USD");
    }
}
