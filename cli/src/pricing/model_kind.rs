//! Models that another command generates with, as the unit of their price shows.

use serde_json::Value;
use svc_sdk::contract::Operation;

use super::price::Price;
use crate::error::Failure;
use crate::types::SubmitRequest;

/// Checks that the price of an image is not that of seconds, and the price of a video not that of images.
///
/// # Errors
///
/// Returns an error if the model is of the other kind. The service would reject the request.
pub(crate) fn check_model_kind(price: &Price, request: &SubmitRequest) -> Result<(), Failure> {
    let unit = price
        .estimate()
        .and_then(|estimate| estimate.unit.as_deref());
    let kind = match (request.operation, unit) {
        (Operation::ImageGenerate, Some("second")) => "video",
        (Operation::VideoGenerate, Some("image")) => "image",
        _ => return Ok(()),
    };
    let model = request.body.get("model").and_then(Value::as_str);
    let model = model.unwrap_or_default();
    let article = match kind {
        "image" => "an",
        _ => "a",
    };
    Err(Failure::usage(format!(
        "`{model}` is {article} {kind} model; nothing was sent"
    ))
    .hint(format!("use it with: svc {kind} generate"))
    .hint(format!(
        "or list the {} models with: svc model list --type {}",
        request.noun, request.noun
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_of_the_other_kind_is_rejected() {
        let check = |operation, noun, unit: Value| {
            let estimate = json!({"price_usd": "1", "unit": unit});
            let price = Price::Estimate(serde_json::from_value(estimate).unwrap());
            let body = json!({"model": "video-h"});
            let request = SubmitRequest {
                noun,
                operation,
                segments: Vec::new(),
                body: body.as_object().cloned().unwrap(),
            };
            check_model_kind(&price, &request).map_err(|failure| failure.headline())
        };
        let image = |unit| check(Operation::ImageGenerate, "image", unit);
        assert_eq!(
            image(json!("second")),
            Err("`video-h` is a video model; nothing was sent".to_owned())
        );
        assert!(check(Operation::VideoGenerate, "video", json!("image")).is_err());
        for unit in [json!("image"), json!(null), json!("frame")] {
            assert_eq!(image(unit), Ok(()));
        }
    }
}
