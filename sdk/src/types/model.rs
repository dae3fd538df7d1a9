//! Models, their capabilities and prices.

use super::Usd;
use super::response::response_body;

response_body! {
    /// An entry of a model list.
    pub struct Model {
        /// The id for generate requests.
        required id: String,
        /// The display name. Assumed.
        optional name: String,
        /// The type of model, for example `video`, `image` or `lip_sync`. Assumed.
        optional model_type as "type": String,
        /// The capabilities of the model. The shape is assumed.
        optional capabilities: Capabilities,
        /// The price in service credits. Dollar prices are in the open catalog.
        optional pricing: serde_json::Value,
    }
}

response_body! {
    /// The capabilities of a model. Inputs, duration range and resolutions are specified; their
    /// shapes are assumed.
    #[derive(Default)]
    pub struct Capabilities {
        /// The accepted inputs, by their field names in generate requests.
        list inputs: String,
        /// The range of the duration in seconds.
        optional duration_seconds: NumberRange,
        /// The supported resolutions.
        list resolutions: String,
        /// The supported aspect ratios. Assumed.
        list aspect_ratios: String,
    }
}

response_body! {
    /// An inclusive range and its default.
    pub struct NumberRange {
        /// The minimum.
        required min: u64,
        /// The maximum.
        required max: u64,
        /// The value that is used if a request has none.
        optional default: u64,
    }
}

response_body! {
    /// An entry of the open catalog: a model with its dollar prices. Its fields are assumed.
    pub struct CatalogModel {
        /// The id for generate requests, also read from `model_id` and `model`.
        required id or "model_id" or "model": String,
        /// The display name.
        optional name: String,
        /// The type of model, for example `video`.
        optional model_type as "type": String,
        /// The dollar prices.
        optional pricing: CatalogPricing,
    }
}

response_body! {
    /// The dollar prices of a model.
    pub struct CatalogPricing {
        /// The billing unit: `second` or `image`.
        required unit: String,
        /// The currency, for example `USD`.
        optional currency: String,
        /// The unit price for each resolution.
        list rates: CatalogRate,
    }
}

response_body! {
    /// A unit price.
    pub struct CatalogRate {
        /// The resolution, if the price depends on it.
        optional resolution: String,
        /// The price per unit in dollars.
        required_amount unit_price_usd: Usd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_id_is_read_from_each_name() {
        let read = |json| serde_json::from_value::<CatalogModel>(json);
        for name in ["id", "model", "model_id"] {
            let entry = read(serde_json::json!({name: "m-1"})).unwrap();
            assert_eq!((entry.id.as_str(), entry.extra.is_empty()), ("m-1", true));
        }
        let error = read(serde_json::json!({"name": "m"})).unwrap_err();
        assert_eq!(error.to_string(), "missing field `id`");
    }
}
