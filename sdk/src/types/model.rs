//! Models: what they take and what they cost.

use serde::{Deserialize, Serialize};

use super::{Assumed, Extra, Usd};

/// An entry of a model list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Model {
    /// The id to submit with.
    pub id: String,
    /// A name for people. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For example `video`, `image`, `lip_sync`. Assumed.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub model_type: Option<String>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Assumed<Capabilities>>,
    /// What it costs, in service credits; dollars are in the open catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<serde_json::Value>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a model takes. That there are inputs, a range of seconds and resolutions is the
/// specification's; their shapes are assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Capabilities {
    /// The inputs that it takes, by the request's field names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Assumed<Vec<String>>>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<Assumed<Bounds>>,
    /// Resolutions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolutions: Option<Assumed<Vec<String>>>,
    /// Aspect ratios. Assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aspect_ratios: Option<Assumed<Vec<String>>>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The least and the most, both inclusive, and what holds where nothing is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Bounds {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// What holds where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<u64>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An entry of the open catalog: a model with its dollar prices. Its fields are assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(try_from = "CatalogBody")]
#[non_exhaustive]
pub struct CatalogModel {
    /// The id to submit with; also read from `model_id` and `model`.
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For example `video`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub model_type: Option<String>,
    /// Dollar prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Assumed<CatalogPricing>>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An entry as it is read: its id has one of three names, and the others may mean something else.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct CatalogBody {
    id: Option<String>,
    name: Option<String>,
    #[serde(rename = "type")]
    model_type: Option<String>,
    pricing: Option<Assumed<CatalogPricing>>,
    #[serde(flatten)]
    extra: Extra,
}

impl TryFrom<CatalogBody> for CatalogModel {
    type Error = &'static str;

    fn try_from(mut body: CatalogBody) -> Result<Self, Self::Error> {
        let id = body
            .id
            .or_else(|| body.extra.take_text("model_id"))
            .or_else(|| body.extra.take_text("model"));
        Ok(Self {
            id: id.ok_or("missing field `id`")?,
            name: body.name,
            model_type: body.model_type,
            pricing: body.pricing,
            extra: body.extra,
        })
    }
}

/// Dollar prices of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CatalogPricing {
    /// What the price counts: `second` or `image`.
    pub unit: String,
    /// For example `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The price of a unit at each resolution.
    #[serde(default, deserialize_with = "super::assumed::null_is_empty")]
    pub rates: Vec<CatalogRate>,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A price per unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CatalogRate {
    /// The resolution; none where the model has none.
    #[serde(default)]
    pub resolution: Option<String>,
    /// Dollars per unit.
    pub unit_price_usd: Usd,
    /// Fields that this build does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entrys_id_is_found_under_each_name_and_the_others_are_kept() {
        let read = |json| serde_json::from_value::<CatalogModel>(json);
        for name in ["id", "model", "model_id"] {
            let entry = read(serde_json::json!({name: "m-1"})).unwrap();
            assert_eq!((entry.id.as_str(), entry.extra.is_empty()), ("m-1", true));
        }
        let json = serde_json::json!({"id": "m-1", "model": {"family": "m"}, "model_id": "m-1"});
        let entry = read(json.clone()).unwrap();
        assert_eq!(entry.id, "m-1");
        assert_eq!(serde_json::to_value(&entry).unwrap(), json);
        assert!(read(serde_json::json!({"name": "m"})).is_err());
    }
}
